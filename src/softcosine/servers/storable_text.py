"""Strings that servers cannot store: NUL characters, lone surrogates, and long keys.

Ids are escaped, so that they come back as they were. Texts and metadata are only for readers of the
server and for filters; there, U+FFFD stands in place of such a character.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

__all__ = ["escaped_id", "is_storable", "key_of", "original_id", "storable_json", "storable_text"]

_ESCAPE = "\x1a"  # the control character "substitute", which is itself escaped
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ESCAPED = re.compile("[\0\x1a\ud800-\udfff]")
_WRITTEN = re.compile(f"{_ESCAPE}([0-9a-f]{{4}})")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def key_of(id: str) -> str:
    """Return a key of 32 hexadecimal digits: servers limit the length of keys."""
    return hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def escaped_id(id: str) -> str:
    """Return an id in which every character can be stored; most ids do not change."""
    return _ESCAPED.sub(lambda found: f"{_ESCAPE}{ord(found[0]):04x}", id)


def original_id(stored: str) -> str:
    """Return the id of `escaped_id`."""
    return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), stored)


def storable_text(text: str) -> str:
    """Return a text with U+FFFD for characters that cannot be stored."""
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def storable_json(text: str) -> str:
    """Return JSON whose keys and strings can be stored; mostly the same."""
    if not _UNSTORABLE.search(text) and "\\u0000" not in text and "\\ud" not in text.lower():
        return text
    return json.dumps(_stored(json.loads(text)))


def is_storable(value: Any) -> bool:
    """Whether a JSON value in a filter means the same on the server and here."""
    text = json.dumps(value, ensure_ascii=False)
    return not _UNSTORABLE.search(text) and "\\u0000" not in text and _REPLACEMENT not in text


def _stored(value: Any) -> Any:
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, list):
        return [_stored(part) for part in value]
    if isinstance(value, dict):
        return {storable_text(key): _stored(part) for key, part in value.items()}
    return value
