"""Commits as entity tags: ``ETag``, ``If-Match``, ``If-None-Match``."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header

from softcosine.serve.problems import Problem

__all__ = ["IfMatch", "IfNoneMatch", "matching", "not_modified"]

IfMatch = Annotated[
    str | None,
    Header(
        description="The commit that must be the last one, as its ETag; * for any.",
        json_schema_extra={"pattern": r'^\s*("[^"]*"|\*)\s*$'},
    ),
]
IfNoneMatch = Annotated[
    str | None, Header(description="A commit that is known; 304 if it is still the last one.")
]


def matching(if_match: str | None) -> str | None:
    """Return the commit of ``If-Match``; None if any will do."""
    if if_match is None or if_match.strip() == "*":
        return None
    tag = if_match.strip()
    if len(tag) < 2 or tag[0] != '"' or tag[-1] != '"' or '"' in tag[1:-1]:
        raise Problem(
            "invalid-input", f"If-Match is {tag!r:.100}; send one ETag of this server, in quotes."
        )
    return tag[1:-1]


def not_modified(if_none_match: str | None, commit: str) -> bool:
    """Whether ``If-None-Match`` names the commit."""
    tags = (if_none_match or "").split(",")
    return any(tag.strip().removeprefix("W/") == f'"{commit}"' for tag in tags)
