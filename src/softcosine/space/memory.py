"""How much memory there is, so that what would not fit is refused before it is begun."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["available_memory"]

_MEMORY = Path("/proc/meminfo")
# What a container may use and does, in either version of control groups.
_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def available_memory() -> int | None:
    """Bytes that this process could still have without swapping; None where nothing tells.

    On Linux what the kernel calls available, or what is left to the container; on Windows free
    memory; elsewhere all memory of the machine.
    """
    if sys.platform == "win32":
        return _on_windows()
    try:
        found = [_meminfo("MemAvailable")]
    except (OSError, ValueError):
        return _physical()
    for limit, used in _LIMITS:
        try:
            left = int(limit.read_text()) - int(used.read_text())
            found.append(left + _given_back(used.parent / "memory.stat"))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return max(min(found), 0)


def _given_back(statistics: Path) -> int:
    """Bytes of files in memory that count as used, and that the kernel gives back when asked."""
    try:
        facts = dict(line.split(maxsplit=1) for line in statistics.read_text().splitlines())
        return int(facts.get("total_inactive_file", facts.get("inactive_file", 0)))
    except (OSError, ValueError):
        return 0


def _meminfo(field: str) -> int:
    for line in _MEMORY.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"{_MEMORY} has no {field}")


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _on_windows() -> int | None:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [
            ("size", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "free", *"abcde")),
        ]

    status = Status(size=ctypes.sizeof(Status))
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):  # type: ignore[attr-defined]
        return None
    return int(status.free)
