"""Available memory, to refuse work that would not fit before it starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["available_memory"]

_MEMORY = Path("/proc/meminfo")
# Memory limit and usage of a container, in both versions of cgroups.
_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def available_memory() -> int | None:
    """Bytes this process can still allocate without swapping; None if unknown.

    On Linux the kernel's available memory or what is left to the container, on Windows the free
    memory, elsewhere the total memory of the machine.
    """
    if sys.platform == "win32":
        return _on_windows()
    try:
        found = [_available()]
    except (OSError, ValueError):
        return _physical()
    for limit, used in _LIMITS:
        try:
            left = int(limit.read_text()) - int(used.read_text())
            found.append(left + _given_back(used.parent / "memory.stat"))
        except (OSError, ValueError):  # no such file, or the value "max"
            continue
    return max(min(found), 0)


def _given_back(statistics: Path) -> int:
    """Bytes of cached files that count as used and that the kernel can reclaim."""
    try:
        facts = dict(line.split(maxsplit=1) for line in statistics.read_text().splitlines())
        return int(facts.get("total_inactive_file", facts.get("inactive_file", 0)))
    except (OSError, ValueError):
        return 0


def _available() -> int:
    for line in _MEMORY.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"{_MEMORY} has no MemAvailable")


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
