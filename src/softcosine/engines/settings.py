"""What engines check of their settings."""

from __future__ import annotations

from softcosine.errors import InvalidInputError
from softcosine.sources.settings import is_whole

__all__ = ["check_whole"]


def check_whole(engine: str, **settings: object) -> None:
    """Raise InvalidInputError unless each setting is a whole number of 1 or more, or None."""
    for name, value in settings.items():
        if value is not None and not (is_whole(value) and value >= 1):  # type: ignore[operator]
            raise InvalidInputError(
                f"{engine}: {name} is {value!r}; needed is a whole number of 1 or more."
            )
