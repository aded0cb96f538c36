"""Folders of plain arrays with a manifest, written whole or not at all.

A stored object is a folder: ``manifest.json`` beside files of arrays and other files. The manifest
names the kind, the format's version, the settings, and every file with its size and SHA-256; its
own SHA-256 stands in it. It is written last, in a folder beside the target that is renamed into
place (exchanged with what it replaces, on Linux), so that a reader meets the old object or the new
one and nothing between.
"""

from softcosine.storage.copying import copy_folder
from softcosine.storage.disk import (
    check_folder,
    checked_path,
    file_size,
    naming_a_full_disk,
    naming_the_target,
    open_regular,
    sha256,
    sync,
    write_text,
    written_beside,
)
from softcosine.storage.folder import (
    Folder,
    content_checksum,
    fill_folder,
    open_folder,
    write_folder,
)
from softcosine.storage.manifest import (
    FORMAT_VERSION,
    MANIFEST,
    checksum,
    read_manifest,
    signed_manifest,
    write_manifest,
)
from softcosine.storage.replacement import check_target, replacing

__all__ = [
    "FORMAT_VERSION",
    "MANIFEST",
    "Folder",
    "check_folder",
    "check_target",
    "checked_path",
    "checksum",
    "content_checksum",
    "copy_folder",
    "file_size",
    "fill_folder",
    "naming_a_full_disk",
    "naming_the_target",
    "open_folder",
    "open_regular",
    "read_manifest",
    "replacing",
    "sha256",
    "signed_manifest",
    "sync",
    "write_folder",
    "write_manifest",
    "write_text",
    "written_beside",
]
