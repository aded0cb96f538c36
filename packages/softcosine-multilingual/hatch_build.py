"""Put the converted model into the wheel."""

import atexit
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ModelHook(BuildHookInterface):
    """Converts the weights in a folder of its own; in an editable install beside the code."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Convert, and name the files to include."""
        sys.path.insert(0, self.root)
        from convert import convert

        data = Path("softcosine_multilingual", "data")
        if version == "editable":
            convert(Path(self.root, "src", data))
            return
        folder = Path(tempfile.mkdtemp(prefix="softcosine-multilingual-"))
        atexit.register(shutil.rmtree, folder)
        for file in convert(folder):
            build_data["force_include"][str(file)] = str(data / file.name)
