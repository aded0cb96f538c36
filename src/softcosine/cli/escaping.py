"""Escapes for characters that disturb a terminal."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    r"""Return a text with escapes for characters that disturb a terminal or its text direction.

    Control and format characters, line breaks, unassigned characters and lone surrogates become
    escapes, such as ``\x1b`` and ``\u202e``. Blanks of all widths stay, and so do the joiners
    U+200C and U+200D of Persian, Hindi and emoji.
    """
    return "".join(map(_shown, text)) if not text.isprintable() else text


def is_harmless(character: str) -> bool:
    """Whether a character can be printed without an escape."""
    return (
        character.isprintable()
        or character in "\u200c\u200d"
        or unicodedata.category(character) == "Zs"
    )


def _shown(character: str) -> str:
    if is_harmless(character):
        return character
    return character.encode("unicode_escape").decode("ascii")
