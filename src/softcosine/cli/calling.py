"""The name under which this program was called, for the commands that messages suggest."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

_NAME = "softcosine"


def program() -> str:
    """Return the shell command that calls this program: ``softcosine`` or a path to it."""
    called = Path(sys.argv[0] if sys.argv else _NAME)
    if called.name == "__main__.py":
        return f"{Path(sys.executable).name} -m {_NAME}"
    if called.stem != _NAME or not called.exists():
        return _NAME
    found = shutil.which(_NAME)
    if found is not None and Path(found).absolute() == called.absolute():
        return _NAME
    shown = str(called)
    if called.is_absolute() and called.is_relative_to(Path.cwd()):
        shown = os.path.join(".", called.relative_to(Path.cwd()))  # noqa: PTH118
    return shlex.quote(shown)
