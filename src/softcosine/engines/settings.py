"""What engines check of their settings."""

from __future__ import annotations

from softcosine._validation import check_whole

__all__ = ["check_settings"]


def check_settings(engine: str, **settings: object) -> None:
    """Raise InvalidInputError unless each setting is a whole number that engines take, or None.

    From 1 to 2³¹ - 1, and 2 to 1,000 `links`: what is outside ends some of them without a word.
    """
    for name, value in settings.items():
        least, most = (2, 1000) if name == "links" else (1, 2**31 - 1)
        check_whole(f"{engine}: {name}", value, least=least, most=most, optional=True)
