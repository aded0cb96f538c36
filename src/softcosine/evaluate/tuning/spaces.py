"""The default settings of `softcosine index` for given documents, and the space around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from softcosine.errors import InvalidInputError
from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.similarities import Sources, few_neighbors, of_cosines
from softcosine.evaluate.tuning.space import Space, space_around
from softcosine.evaluate.tuning.workbench import Workbench
from softcosine.index.language import analyze_in_language

__all__ = ["space_for"]


def space_for(
    bench: Workbench,
    sources: Sources,
    fields: Sequence[str],
    *,
    stemmer: str | None = None,
    given: Mapping[str, Sequence[Any]] | None = None,
) -> Space:
    """Return the space around the default settings of `softcosine index`.

    Texts are stemmed by their language. The default source is the bundled vectors for English, and
    co-occurrence in the texts for other languages, whose space has no English vectors.

    Parameters
    ----------
    bench : Workbench
        Workbench with the documents.
    sources : mapping of str to TermSimilaritySource or None
        Sources to choose from.
    fields : sequence of str
        Fields of the documents.
    stemmer : str, optional
        A language, or ``"none"``; default: by the language of the texts.
    given : mapping of str to sequence, optional
        See `space_around`.
    """
    default = Settings(stemmer=None if stemmer == "none" else stemmer)
    found = analyze_in_language(bench.texts, "auto", None if stemmer is None else default.analyzer)
    if stemmer is None:
        default = default.changed(stemmer=found.analyzer.stemmer)
    is_english = found.language == "english"
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
