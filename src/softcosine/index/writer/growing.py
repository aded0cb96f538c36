"""S of an index that is being written: made larger as its vocabulary grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from softcosine._progress import Progress, Report
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.in_terms import TermKeys, in_terms
from softcosine.similarity.overrides.guard import guarded
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from softcosine.matrix.recipe import BuiltSimilarity
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.stream import TextStream

__all__ = ["SimilarityBuilder", "Space", "grown"]


class SimilarityBuilder(Protocol):
    """Makes S at the first commit, as `SimilarityRecipe` does."""

    def phrases(self) -> tuple[str, ...]:
        """Return phrases that become terms."""
        ...

    def needs_texts(self, language: str | None = None) -> bool:
        """Whether `build` needs the texts, of a language if it is known."""
        ...

    def build(
        self,
        vocabulary: Vocabulary,
        texts: AnalyzedTexts | TextStream | None = None,
        *,
        analyzer: Analyzer | None = None,
        language: str | None = None,
        report: Report | None = None,
    ) -> BuiltSimilarity:
        """Make S; see `SimilarityRecipe.build`."""
        ...


@dataclass(frozen=True, slots=True)
class Space:
    """S, and where it came from.

    Attributes
    ----------
    S : TermSimilarityMatrix
    source : TermSimilaritySource or None
    part : str or None
        Where it is on disk; None if it is not yet.
    note : str
        Of a source that was learned just now; else empty.
    rescaled : bool
        Whether similarities of terms that were there before have changed.
    untaught : bool
        Whether the first commit is still to make S.
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
    """Return S over more terms, whose first are those that it has.

    Parameters
    ----------
    space : Space
    vocabulary : Vocabulary
    analyzer : Analyzer
        What a person has listed or decided about a word holds for all forms of its term.
    antonyms : "english" or None
        Kept apart by a source that has no guard yet.
    plain : bool
        Whether S stays I.
    definite : bool
        Whether an S that was made positive semidefinite is to be so again, by which old
        similarities may change; else its new entries may leave it a little indefinite until then.
    progress : callable, optional
        Called with (terms done, terms in all) while the source is asked.
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


def _rules(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the rules that an S of no terms was made by; balanced where it does not say."""
    if settings.get("made") != "source":
        return {"balanced": True}
    names = ("max_neighbors", "min_similarity", "strategy", "order")
    rules = {name: settings[name] for name in names if name in settings}
    if rules.get("order") == "weights":  # those of terms that there were none of
        del rules["order"]
    return {**rules, "balanced": bool(settings.get("balanced", False))}
