"""Checks of engine settings."""

from __future__ import annotations

from softcosine._validation import check_whole

__all__ = ["check_settings"]


def check_settings(engine: str, **settings: object) -> None:
    """Raise InvalidInputError unless each setting is None or an integer from 1 to 2³¹ - 1.

    `links` must be from 2 to 1,000. Values outside these ranges crash some engines.
    """
    for name, value in settings.items():
        least, most = (2, 1000) if name == "links" else (1, 2**31 - 1)
        check_whole(f"{engine}: {name}", value, least=least, most=most, optional=True)
