"""S of an index during writing: rows for the new terms of its vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from softcosine._progress import Progress
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.in_terms import TermKeys, in_terms
from softcosine.similarity.overrides.guard import guarded
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Space:
    """S and its origin.

    Attributes
    ----------
    S : TermSimilarityMatrix
    source : TermSimilaritySource or None
    part : str or None
        Part name; None if it is not written.
    note : str
        A description of a newly learned source; empty otherwise.
    rescaled : bool
        Whether similarities of earlier terms have changed.
    untaught : bool
        Whether S will be built at the first commit.
    """

    S: TermSimilarityMatrix
    source: TermSimilaritySource | None
    part: str | None
    note: str = ""
    rescaled: bool = False
    untaught: bool = False


def grown(
    space: Space,
    vocabulary: Vocabulary,
    analyzer: Analyzer,
    *,
    antonyms: Literal["english"] | None,
    plain: bool,
    definite: bool,
    progress: Progress | None = None,
) -> Space:
    """Return S over a vocabulary that begins with its terms.

    Parameters
    ----------
    space : Space
    vocabulary : Vocabulary
    analyzer : Analyzer
        Your lists and decisions on a word apply to all forms of its term.
    antonyms : "english" or None
        Antonyms to separate, if the source has no guard yet.
    plain : bool
        Whether S stays I.
    definite : bool
        Whether an S that was made positive semidefinite is made so again, which can change earlier
        similarities. If False, the new entries can leave it slightly indefinite.
    progress : callable, optional
        Called with (terms done, all terms) during lookups in the source.
    """
    S, source = space.S, space.source
    if plain:
        return Space(TermSimilarityMatrix.identity(vocabulary), source, None)
    if source is None:
        return Space(S.restricted(vocabulary), None, None)
    source = in_terms(guarded(source, antonyms=antonyms), TermKeys(analyzer))
    shrunk = "shrunk" in S.settings
    if not len(S):
        larger = TermSimilarityMatrix.from_source(
            source, vocabulary, definite=shrunk, warn=False, progress=progress,
            **_rules(S.settings),
        )  # fmt: skip
        return Space(larger, source, None)
    larger = S.extend(
        vocabulary, source, definite=definite and shrunk, warn=False, progress=progress
    )
    rescaled = larger.settings.get("shrunk") != S.settings.get("shrunk")
    return Space(larger, source, None, rescaled=rescaled)


def rebuilt(
    S: TermSimilarityMatrix,
    source: TermSimilaritySource,
    analyzer: Analyzer,
    *,
    progress: Progress | None = None,
) -> tuple[TermSimilarityMatrix, TermSimilaritySource]:
    """Return S over the same terms from a changed source, by the rules of S, and that source.

    Parameters
    ----------
    S : TermSimilarityMatrix
        Built from a source.
    source : TermSimilaritySource
        With its guard, if any.
    analyzer : Analyzer
        Your lists and decisions on a word apply to all forms of its term.
    progress : callable, optional
        Called with (terms done, all terms).
    """
    source = in_terms(source, TermKeys(analyzer, vocabulary=S.vocabulary))
    rules = _rules(S.settings)
    if "shrunk" in S.settings:
        rules |= {"definite": True, "balanced": False}
    made = TermSimilarityMatrix.from_source(
        source, S.vocabulary, guard=False, analyzer=analyzer, warn=False, progress=progress, **rules
    )
    return made, source


def _rules(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters by which an empty S was built; balanced by default."""
    if settings.get("made") != "source":
        return {"balanced": True}
    names = ("max_neighbors", "min_similarity", "strategy", "order")
    rules = {name: settings[name] for name in names if name in settings}
    if rules.get("order") == "weights":  # weights of an empty vocabulary
        del rules["order"]
    return {**rules, "balanced": bool(settings.get("balanced", False))}
