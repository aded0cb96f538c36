"""The default that `softcosine index` would take for some documents, and the space around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from softcosine.errors import InvalidInputError
from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.similarities import Sources, few_neighbors, of_cosines
from softcosine.evaluate.tuning.space import Space, space_around
from softcosine.evaluate.tuning.workbench import Workbench
from softcosine.index.defaults import MIN_ENGLISH
from softcosine.sources.vectors.english import english_share

__all__ = ["space_for"]


def space_for(
    bench: Workbench,
    sources: Sources,
    fields: Sequence[str],
    *,
    stemmer: str | None = None,
    given: Mapping[str, Sequence[Any]] | None = None,
) -> Space:
    """Return the space around what `softcosine index` does where nothing is said.

    English text is stemmed, and its similarities come from the bundled vectors before what the
    texts teach; others come from the texts alone. The English vectors are left out of the space
    where the text is not English.

    Parameters
    ----------
    bench : Workbench
        Of the documents.
    sources : mapping of str to TermSimilaritySource or None
        Each may be chosen.
    fields : sequence of str
        Of the documents.
    stemmer : str, optional
        A language, or ``"none"``; by default what the text asks for.
    given : mapping of str to sequence, optional
        See `space_around`.
    """
    language = None if stemmer == "none" else stemmer or "english"
    default = Settings(stemmer=language)
    is_english = english_share(bench.vocabulary(default)) >= MIN_ENGLISH
    if stemmer is None and not is_english:
        default = default.changed(stemmer=None)
    if not is_english:
        default = default.changed(sources=("texts",), max_neighbors=10)
    names = [name for name in sources if is_english or name != "english"]
    if not names and not (given or {}).get("sources"):
        raise InvalidInputError(
            "there is no source that knows the words of these documents; name one, such as texts."
        )
    known = {**dict.fromkeys(default.sources), **sources}
    return space_around(
        default,
        sources=names,
        of_cosines=frozenset(name for name in known if of_cosines(name, known)),
        few_neighbors=frozenset(name for name in known if few_neighbors(name, known)),
        fields=fields,
        given=given,
    )
