"""What engines check of their settings."""

from __future__ import annotations

from softcosine.errors import InvalidInputError
from softcosine.inputs import is_whole

__all__ = ["check_whole"]


def check_whole(engine: str, **settings: object) -> None:
    """Raise InvalidInputError unless each setting is a whole number that engines take, or None.

    From 1 to 2³¹ - 1, and 2 to 1,000 `links`: what is outside ends some of them without a word.
    """
    for name, value in settings.items():
        least, most = (2, 1000) if name == "links" else (1, 2**31 - 1)
        if value is not None and not (is_whole(value) and least <= value <= most):  # type: ignore[operator]
            raise InvalidInputError(
                f"{engine}: {name} is {value!r}; needed is a whole number from {least} to {most:,}."
            )
