"""`KeyRing`: bearer keys with scopes, stored as hashes in a file.

The file is JSON: for each key its name, its scopes, when it was made, and the SHA-256 of its
secret. Secrets are random and of 256 bits, so that one fast hash is enough; they are shown once and
not stored.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from softcosine._file_lock import FileLock
from softcosine._validation import checked_name
from softcosine.errors import AlreadyExistsError, InvalidInputError, MalformedFileError

Scope = Literal["search", "write", "admin"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
_PATIENCE = 10.0  # seconds to wait for another process that changes the keys
_PREFIX = "sc_"  # so that scanners for leaked secrets can recognize a key


class Key(Struct, frozen=True):
    """A key without its secret."""

    name: str
    scopes: tuple[Scope, ...]
    made: str
    sha256: str


class KeyRing:
    """The keys of a file; `current` reads it again after changes.

    Parameters
    ----------
    path : Path
        A missing file has no keys.

    Raises
    ------
    MalformedFileError
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[int, int] | None = None
        self._keys: tuple[Key, ...] = ()
        self.current()

    def current(self) -> tuple[Key, ...]:
        """Return the keys."""
        try:
            facts = self.path.stat()
        except FileNotFoundError:
            self._keys, self._read = (), None
            return ()
        if (seen := (facts.st_mtime_ns, facts.st_ino)) != self._read:
            self._keys, self._read = _keys_in(self.path), seen
        return self._keys

    def find(self, secret: str) -> Key | None:
        """Return the key of a secret."""
        return self.of_hash(hashed(secret))

    def of_hash(self, digest: str) -> Key | None:
        """Return the key whose secret has a hash."""
        found = None
        for key in self.current():  # all of them, so that the time does not tell which fits
            if hmac.compare_digest(key.sha256, digest):
                found = key
        return found

    def add(self, name: str, scopes: Iterable[str]) -> str:
        """Add a key, and return its secret, which is stored nowhere.

        Raises
        ------
        InvalidInputError
            If the name or a scope is invalid.
        AlreadyExistsError
            If a key has the name.
        """
        chosen = tuple(one for one in SCOPES if one in set(scopes))
        checked_name(name, "a key")
        if not chosen or set(scopes) - set(SCOPES):
            raise InvalidInputError(f"the scopes of a key are some of {', '.join(SCOPES)}.")
        secret = _PREFIX + secrets.token_urlsafe(32)
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with self._locked():
            keys = self.current()
            if any(key.name == name for key in keys):
                raise AlreadyExistsError(f"there is a key {name} already; remove it first.")
            self._write((*keys, Key(name, chosen, made, hashed(secret))))
        return secret

    def remove(self, name: str) -> None:
        """Remove a key; servers refuse it from their next request on.

        Raises
        ------
        InvalidInputError
            If no key has the name.
        """
        with self._locked():
            keys = self.current()
            left = tuple(key for key in keys if key.name != name)
            if len(left) == len(keys):
                raise InvalidInputError(f"there is no key {name!r:.120} in {self.path}.")
            self._write(left)

    def _locked(self) -> FileLock:
        """Return the lock that is held while the file is read, changed and written."""
        if not (folder := self.path.absolute().parent).is_dir():
            raise FileNotFoundError(f"the folder {folder} does not exist; create it first.")
        return FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=_PATIENCE)

    def _write(self, keys: tuple[Key, ...]) -> None:
        new = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        content = msgspec.json.format(msgspec.json.encode({"keys": keys}))
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content + b"\n")
            file.flush()
            os.fsync(descriptor)
        new.replace(self.path)
        self._keys, self._read = keys, None


def hashed(secret: str) -> str:
    """Return the SHA-256 of a secret, in hexadecimal."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _keys_in(path: Path) -> tuple[Key, ...]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, tuple[Key, ...]])["keys"]
    except (msgspec.MsgspecError, ValueError, KeyError, RecursionError) as error:
        raise MalformedFileError(path, f"it is no file of keys ({error}).") from error
