"""`tune`: choice of settings on judged queries, with an unbiased estimate of the gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_choice, check_whole
from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.measures import check_measures, default_measures, measured
from softcosine.evaluate.runs import DEPTH, run_of
from softcosine.evaluate.significance import Interval, paired_bootstrap
from softcosine.evaluate.tuning.kept import KeptFigures, fingerprint
from softcosine.evaluate.tuning.parts import folds_of, parted
from softcosine.evaluate.tuning.search import RULES, Searched, search
from softcosine.evaluate.tuning.settings import COSINES, Settings
from softcosine.evaluate.tuning.space import Space, space_for
from softcosine.evaluate.tuning.tuned import FoldChoice, TestScore, Trial, Tuned
from softcosine.evaluate.tuning.workbench import Workbench
from softcosine.index.defaults import ENCODER
from softcosine.index.encoding import automatic_encoder
from softcosine.index.requests import Ask
from softcosine.matrix.recipe import SimilarityRecipe, source_name
from softcosine.similarity.source import TermSimilaritySource
from softcosine.space.meaning import STATIC

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.encoders.encoder import Encoder
    from softcosine.space.meaning import MeaningSpace


class Figures:
    """Measures settings on the judged queries of a data set, with a cache.

    Parameters
    ----------
    dataset : RankingSet
    measure : str
    workbench : Workbench
        Workbench with the documents.
    kept : KeptFigures
        The cache.
    """

    def __init__(
        self, dataset: RankingSet, measure: str, workbench: Workbench, *, kept: KeptFigures
    ) -> None:
        self.dataset = dataset
        self.measure = measure
        self._workbench = workbench
        self._kept = kept
        _, _, cutoff = measure.partition("@")
        self._depth = int(cutoff) if cutoff.isdecimal() else DEPTH

    def __call__(self, settings: Settings) -> NDArray[np.float64]:
        """Return the value of every judged query, shape (n_queries,)."""
        found = self._kept.get(settings)
        if found is None:
            fitted = self._workbench.fitted(settings)
            run = run_of(self.dataset, fitted, depth=max(self._depth, 1))
            found = measured(self.dataset, run, [self.measure]).per_unit[self.measure]
            self._kept.put(settings, found)
        return found


_DEFAULT = "default"
_BM25 = {"ranking": "soft_bm25", "k1": 1.2, "b": 0.75, "fields": None}
# Default sources of `softcosine index`.
SOURCES = ("english", "character-ngrams")


def tune(
    dataset: RankingSet,
    *,
    measure: str | None = None,
    space: Mapping[str, Sequence[Any]] | None = None,
    sources: Sequence[str | TermSimilaritySource] = SOURCES,
    folds: int = 5,
    budget: int = 200,
    rule: str = "one_se",
    test_split: str | Sequence[str] | None = None,
    test_share: float | None = None,
    score_test: bool = False,
    random_state: int = 0,
    language: str | None = None,
    stemmer: str | None = None,
    encoder: str | Encoder | None = ENCODER,
    encoder_cache: str | Path | None = "auto",
    meaning_space: MeaningSpace | str | Path | None = None,
    ask: Ask | None = None,
    kept: str | Path | None = None,
    threads: int | None = None,
    progress: Report | None = None,
) -> Tuned:
    """Choose settings on judged queries, and estimate their gain on unseen queries.

    A search on all training queries chooses the settings. To estimate the gain, the same search
    runs without each fold of the queries, and its choice is compared with the default on that fold
    (nested cross-validation). The interval is that of the paired bootstrap over these differences.
    If it is not above 0, the default is kept.

    Parameters
    ----------
    dataset : RankingSet
    measure : str, optional
        Default: ``ndcg@10``, or ``map`` for a data set with candidates; see
        `softcosine.evaluate.measures`.
    space : mapping of str to sequence, optional
        Other values for some settings, such as ``{"exponent": [2, 4]}``; a single value fixes the
        setting. See `softcosine.evaluate.tuning.space`.
    sources : sequence of str or TermSimilaritySource
        Sources of term similarity: names or files as for ``softcosine index --source``, or objects
        of distinct classes. The search tries none, each one, pairs and all of them. Exponent and
        threshold are of sources given by name.
    folds : int
    budget : int
        Maximum number of settings per search.
    rule : {"one_se", "mean"}
        The settings closest to the default within one standard error of the best mean, or the best
        mean.
    test_split, test_share
        See `softcosine.evaluate.tuning.parts.parted`. The search does not use the judgements of
        test queries.
    score_test : bool
        Whether to score the chosen settings and the default on the test queries at the end.
    random_state : int
        Seed of the folds, the test share and the bootstrap.
    language : str, optional
        A language, or ``"none"``; default: that of the documents.
    stemmer : str, optional
        A language, or ``"none"``; default: that of the language.
    encoder : str, object with ``encode``, or None
        Encoder of the documents; ``"auto"`` and ``"static"`` as for an index, None for words alone.
        Unless words alone rank, the search also chooses the weight of meaning; a text is encoded
        once, whatever is tried.
    encoder_cache : path, or "auto", optional
        File of encoded texts; ``"auto"`` for one in the user's data folder, None for none.
    meaning_space : MeaningSpace or path, optional
        Projection and query table of the encoder; see `SoftIndex.create`.
    ask : {"static", "encoder"}, optional
        How queries are encoded; see `SoftIndex.search`.
    kept : path of a file, optional
        Checkpoint of all figures; the same call resumes from it.
    threads : int, optional
        The results do not depend on it.
    progress : callable, optional
        Called with the step, the number done, and the total or None.

    Returns
    -------
    Tuned
        After Ctrl-C, the best settings so far, once the default is measured.

    Raises
    ------
    InvalidInputError
        If there are too few judged queries, or an argument is not valid.

    Notes
    -----
    There is one search for all queries and one per fold; settings that several searches try are
    measured once. Each join, exponent and threshold needs a new S, which takes most of the time on
    large vocabularies.
    """
    check_choice("rule", rule, RULES)
    check_whole("budget", budget)
    _check_sources(sources)
    encoder = None if encoder == "none" else encoder
    if encoder == ENCODER:
        texts = dataset.documents.rows(background=dataset.background)
        known = Settings(language=language or "auto").in_language_of(texts).language
        given = meaning_space is not None or language == "none"
        chosen = None if given else automatic_encoder(texts, len(texts), known)
        encoder = STATIC if chosen is None else chosen.of_queries.name
    encoder_name = _name_of(encoder)
    if encoder_name is None and meaning_space is not None:
        raise InvalidInputError("meaning_space is of an encoder; add one, or leave it out.")
    parts = parted(dataset, test_split=test_split, test_share=test_share, random_state=random_state)
    test = parts.test(dataset) if score_test else None  # raises before the search
    rows = folds_of(len(parts.tuned.judged), folds, random_state)
    name = _measure(dataset, measure)
    options: dict[str, Any] = {
        "encoder": encoder, "encoder_cache": encoder_cache, "meaning_space": meaning_space,
        "threads": threads, "report": progress,
    }  # fmt: skip
    bench = _bench(parts.tuned, options)
    around = space_for(
        bench.texts, sources, parts.tuned.documents.names, language=language, stemmer=stemmer,
        encoder=encoder_name, ask=ask, given=space,
    )  # fmt: skip
    limit = around.default.similarity.max_neighbors or 0
    bench.longest = max((limit, *around.values["max_neighbors"]))
    facts = [_facts(one) for one in (*sources, meaning_space)]
    stored = KeptFigures(
        None if kept is None else Path(kept), fingerprint(parts.tuned, name, *facts)
    )
    figures = Figures(parts.tuned, name, bench, kept=stored)
    figures(around.default)
    run = _Run(around, figures, rows, budget, rule, random_state, progress)
    found = run.outcome(dataset.name, parts.told)
    if test is None or not found.complete:
        return found
    unseen = Figures(test, name, _bench(test, options), kept=KeptFigures(None, ""))
    try:
        return replace(found, test=_tested(found, unseen, random_state))
    except KeyboardInterrupt:  # the choice does not depend on it
        return replace(found, complete=False)


@dataclass
class _Run:
    """A search on all queries, and one without each fold."""

    space: Space
    figures: Figures
    folds: list[NDArray[np.int64]]
    budget: int
    rule: str
    random_state: int
    progress: Report | None

    def outcome(self, dataset: str, parts: str) -> Tuned:
        """Return the result, or the result so far after an interruption."""
        everything = np.sort(np.concatenate(self.folds))
        seen: list[Settings] = [self.space.default]
        choices: list[FoldChoice] = []
        gains: dict[str, NDArray[np.float64]] = {}
        complete, exhausted = True, False
        whole: Searched | None = None
        try:
            whole = self._searched("trying settings", everything, seen)
            exhausted = not whole.complete
            for number, fold in enumerate(self.folds):
                rest = np.setdiff1d(everything, fold)
                without = self._searched(
                    f"trying settings without fold {number + 1} of {len(self.folds)}", rest, []
                )
                exhausted |= not without.complete
                settings = without.chosen(self.figures, rest, self.rule)
                others = {_DEFAULT: self.space.default, **self._others(settings)}
                own = self.figures(settings)[fold]
                for name, other in others.items():
                    differences = gains.setdefault(name, np.zeros(len(everything)))
                    differences[fold] = own - self.figures(other)[fold]
                default = self.figures(self.space.default)[fold]
                choices.append(
                    FoldChoice(settings, float(default.mean()), float(own.mean()), len(fold))
                )
        except KeyboardInterrupt:
            complete = False
        searched = whole or Searched(tuple(seen), complete=False)
        # An incomplete search uses the best mean instead of the rule.
        chosen = searched.chosen(self.figures, everything, self.rule if whole else "mean")
        against: dict[str, Interval] = {}
        if complete:
            against = {
                name: paired_bootstrap(own, np.zeros_like(own), random_state=self.random_state)
                for name, own in gains.items()
            }
        gain = against.pop(_DEFAULT, None)
        trials = sorted(map(self._trial, searched.tried), key=lambda trial: -trial.mean)
        return Tuned(
            dataset=dataset, measure=self.figures.measure, n_queries=len(everything),
            parts=parts, rule=self.rule, budget=self.budget,
            random_state=self.random_state, default=self._trial(self.space.default),
            chosen=self._trial(chosen), trials=tuple(trials), by_fold=tuple(choices), gain=gain,
            complete=complete, exhausted=exhausted, against=against,
        )  # fmt: skip

    def _others(self, settings: Settings) -> dict[str, Settings]:
        """Return what else settings are compared with, by name."""
        default = self.space.default
        plain: dict[str, Any] = {"sources": (), **dict.fromkeys(COSINES), **_BM25}
        if default.encoder is None:
            return {"BM25": self.space.simplest(default.changed(**plain))}
        return {
            "BM25": self.space.simplest(default.changed(meaning=0.0, **plain)),
            "the same settings without meaning": settings.changed(meaning=0.0),
        }

    def _searched(self, what: str, rows: NDArray[np.int64], seen: list[Settings]) -> Searched:
        """Search on some queries, and report progress."""
        n_tried: dict[str, None] = {}

        def told(settings: Settings) -> NDArray[np.float64]:
            found = self.figures(settings)
            if settings.key() not in n_tried:
                n_tried[settings.key()] = None
                if settings not in seen:
                    seen.append(settings)
                if self.progress is not None:
                    self.progress(what, len(n_tried), self.budget)
            return found

        return search(self.space, told, rows, budget=self.budget)

    def _trial(self, settings: Settings) -> Trial:
        found = self.figures(settings)
        return Trial(
            settings, float(found.mean()), tuple(float(found[fold].mean()) for fold in self.folds)
        )


def _tested(tuned: Tuned, figures: Figures, random_state: int) -> TestScore:
    """Return the scores of the settings to use and of the default on the test queries."""
    default, own = figures(tuned.default.settings), figures(tuned.settings)
    gain = paired_bootstrap(own, default, random_state=random_state)
    return TestScore(len(own), float(default.mean()), float(own.mean()), gain)


def _bench(dataset: RankingSet, options: Mapping[str, Any]) -> Workbench:
    return Workbench(
        dataset.documents, background=dataset.background, queries=dataset.queries.texts, **options
    )


def _check_sources(sources: Sequence[str | TermSimilaritySource]) -> None:
    """Check sources before anything is read; each needs a name of its own in the results."""
    SimilarityRecipe(sources=sources)  # raises for unknown names
    names = [source_name(one) for one in sources]
    if len(set(names)) < len(names):
        raise InvalidInputError(
            f"the sources are {', '.join(names)}; each needs a name of its own: join two of one "
            "class, or give files."
        )


def _name_of(encoder: str | Encoder | None) -> str | None:
    """Return the name of an encoder in settings."""
    if encoder is None or isinstance(encoder, str):
        return encoder
    name = getattr(encoder, "name", None)
    if not isinstance(name, str):
        raise InvalidInputError("the encoder has no name; give it an attribute name.")
    return name


def _measure(dataset: RankingSet, given: str | None) -> str:
    """Return the name of the measure, checked for rankings."""
    asked = default_measures(dataset)[0] if given is None else given
    (name,) = check_measures(dataset, [asked])
    return name


def _facts(source: object) -> Any:
    """Return facts that distinguish what has one name: the size and time of a file."""
    if not isinstance(source, str | Path):
        return repr(source)
    place = Path(str(source).partition(":")[2] or source)
    if not place.is_file():
        return str(source)
    state = place.stat()
    return str(source), state.st_size, state.st_mtime_ns
