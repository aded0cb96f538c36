"""Stored objects: folders of arrays and files with a manifest, written atomically.

``manifest.json`` names the kind, the format version, the settings, and every file with its size and
SHA-256; it holds its own SHA-256 too. It is written last, in a folder beside the target, which is
then renamed into place (exchanged with the old one, on Linux). So a reader opens the old object or
the new one, never a mixture.

``folder.py``
    Write, open and copy a stored object; the format of its array files.
``manifest.py``, ``replacement.py``
    The format of the manifest, and atomic replacement.
``disk.py``, ``home.py``
    Single files, and the folders of the user's data and caches.
``remote.py``
    Folders in object storage.
"""

from softcosine.storage.disk import (
    NPZ_ERRORS,
    check_folder,
    checked_path,
    file_size,
    linked,
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
    copy_folder,
    files_in,
    fill_folder,
    open_folder,
    write_folder,
)
from softcosine.storage.manifest import (
    FORMAT_VERSION,
    MANIFEST,
    checksum,
    parsed_manifest,
    read_manifest,
    signed_manifest,
    write_manifest,
)
from softcosine.storage.replacement import check_target, replacing
