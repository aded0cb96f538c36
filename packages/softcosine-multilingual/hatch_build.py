"""Put the converted model into the wheel."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ModelHook(BuildHookInterface):
    """Converts the weights in a folder of its own; in an editable install beside the code."""

    _folder: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Convert, and name the files to include."""
        sys.path.insert(0, self.root)
        from convert import convert

        data = Path("softcosine_multilingual", "data")
        if version == "editable":
            convert(Path(self.root, "src", data))
            return
        self._folder = Path(tempfile.mkdtemp(prefix="softcosine-multilingual-"))
        for file in convert(self._folder):
            build_data["force_include"][str(file)] = str(data / file.name)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if self._folder is not None:
            shutil.rmtree(self._folder)
