"""`tune`: choice of settings on judged queries, with an unbiased estimate of the gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_choice, check_list, check_whole
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.measures import check_measures, default_measures
from softcosine.evaluate.significance import paired_bootstrap
from softcosine.evaluate.tuning.figures import Figures
from softcosine.evaluate.tuning.kept import KeptFigures, fingerprint
from softcosine.evaluate.tuning.parts import folds_of, parted
from softcosine.evaluate.tuning.search import RULES, Searched, search
from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.similarities import Sources, check_names
from softcosine.evaluate.tuning.space import Space
from softcosine.evaluate.tuning.spaces import space_for
from softcosine.evaluate.tuning.tuned import FoldChoice, TestScore, Trial, Tuned
from softcosine.evaluate.tuning.workbench import Workbench

if TYPE_CHECKING:
    from softcosine._progress import Report

__all__ = ["SOURCES", "tune"]

# Default sources of `softcosine index`.
SOURCES = ("english", "texts")


def tune(
    dataset: RankingSet,
    *,
    measure: str | None = None,
    space: Mapping[str, Sequence[Any]] | None = None,
    sources: Sequence[str] | Sources = SOURCES,
    folds: int = 5,
    budget: int = 200,
    rule: str = "one_se",
    test_split: str | Sequence[str] | None = None,
    test_share: float | None = None,
    score_test: bool = False,
    random_state: int = 0,
    stemmer: str | None = None,
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
    sources : sequence of str, or mapping of str to TermSimilaritySource or None
        Sources of term similarity: names or files as for ``softcosine index --source``, or ready
        sources with a name of yours. The search tries none, each one, pairs and all of them.
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
    stemmer : str, optional
        A language, or ``"none"``; default: by the language of the documents.
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
    known = _known(sources)
    parts = parted(dataset, test_split=test_split, test_share=test_share, random_state=random_state)
    test = parts.test(dataset) if score_test else None  # raises before the search
    rows = folds_of(len(parts.tuned.judged), folds, random_state)
    name = _measure(dataset, measure)
    bench = Workbench(
        parts.tuned.documents, background=parts.tuned.background,
        queries=parts.tuned.queries.texts, sources=known, threads=threads, report=progress,
    )  # fmt: skip
    around = space_for(bench, known, parts.tuned.documents.names, stemmer=stemmer, given=space)
    bench.longest = max((around.default.max_neighbors, *around.values["max_neighbors"]))
    stored = KeptFigures(
        None if kept is None else Path(kept), fingerprint(parts.tuned, name, *_facts(known))
    )
    figures = Figures(parts.tuned, name, bench, kept=stored)
    figures(around.default)
    run = _Run(around, figures, rows, budget, rule, random_state, progress)
    found = run.outcome(dataset.name, parts.told)
    if test is None or not found.complete:
        return found
    last = Workbench(
        test.documents, background=test.background, queries=test.queries.texts, sources=known,
        threads=threads, report=progress,
    )  # fmt: skip
    unseen = Figures(test, name, last, kept=KeptFigures(None, ""))
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
        gains = np.zeros(len(everything))
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
                default, own = (self.figures(one)[fold] for one in (self.space.default, settings))
                gains[fold] = own - default
                choices.append(
                    FoldChoice(settings, float(default.mean()), float(own.mean()), len(fold))
                )
        except KeyboardInterrupt:
            complete = False
        searched = whole or Searched(tuple(seen), complete=False)
        # An incomplete search uses the best mean instead of the rule.
        chosen = searched.chosen(self.figures, everything, self.rule if whole else "mean")
        gain = None
        if complete:
            gain = paired_bootstrap(gains, np.zeros_like(gains), random_state=self.random_state)
        trials = sorted(map(self._trial, searched.tried), key=lambda trial: -trial.mean)
        return Tuned(
            dataset=dataset, measure=self.figures.measure, n_queries=len(everything),
            parts=parts, rule=self.rule, budget=self.budget,
            random_state=self.random_state, default=self._trial(self.space.default),
            chosen=self._trial(chosen), trials=tuple(trials), by_fold=tuple(choices), gain=gain,
            complete=complete, exhausted=exhausted,
        )  # fmt: skip

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


def _known(sources: Sequence[str] | Sources) -> Sources:
    """Return the sources by name after checking the names."""
    if not isinstance(sources, Mapping):
        check_list("sources", sources, "names")
    known = dict(sources) if isinstance(sources, Mapping) else dict.fromkeys(sources)
    check_names(known, known)
    return known


def _measure(dataset: RankingSet, given: str | None) -> str:
    """Return the name of the measure, checked for rankings."""
    asked = default_measures(dataset)[0] if given is None else given
    (name,) = check_measures(dataset, [asked])
    return name


def _facts(sources: Sources) -> list[Any]:
    """Return facts that distinguish sources of the same name: sizes and times of files."""
    facts: list[Any] = []
    for name, source in sources.items():
        place = Path(name.partition(":")[2] or name)
        told: Any = None if source is None else repr(source)
        if source is None and place.is_file():
            state = place.stat()
            told = (state.st_size, state.st_mtime_ns)
        facts.append((name, told))
    return facts
