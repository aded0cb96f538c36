"""Characters that disturb a terminal, and the escapes that stand for them."""

from __future__ import annotations

import unicodedata

__all__ = ["is_harmless", "printable"]


def printable(text: str) -> str:
    r"""Return a text in which nothing disturbs a terminal or turns its direction.

    Control and format characters, line breaks, unassigned characters and lone surrogates become
    escapes, such as ``\x1b`` and ``\u202e``. Blanks of all widths stay, and so do the two joiners
    (U+200C, U+200D) that Persian, Hindi and emoji are written with.
    """
    return "".join(map(_shown, text)) if not text.isprintable() else text


def is_harmless(character: str) -> bool:
    """Whether a character shows as itself and moves nothing."""
    return (
        character.isprintable()
        or character in "\u200c\u200d"
        or unicodedata.category(character) == "Zs"
    )


def _shown(character: str) -> str:
    if is_harmless(character):
        return character
    return character.encode("unicode_escape").decode("ascii")
