"""What ``softcosine index`` does, from documents to an index on disk.

Documents whose texts fit in memory are indexed together: their words are analysed once, and some
options need to see all of them. Others are added one after the other to an index that grows aside,
and takes its name when it is whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.cli.matrix_index import SavedMatrix
    from softcosine.cli.progress import Reporter
    from softcosine.files import Document
    from softcosine.index.language import AnalyzedInLanguage
    from softcosine.sources.constraints.decision_list import Decisions
    from softcosine.text.analyzer import Analyzer

__all__ = ["IndexPlan", "make_index"]

# Texts of so many characters as this part of the memory are indexed together.
_SHARE = 64


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """What was asked for on the command line; see `softcosine.cli.indexing.index`.

    Attributes
    ----------
    memory : int
        Bytes.
    limited : bool
        Whether `memory` was asked for, so that it is an error if an option needs more.
    language : str
        ``"auto"`` for that of the texts.
    analyzer : Analyzer or None
        None where the language decides.
    fields : dict of names to weights, or None
        Spaces of their own.
    """

    output: Path
    overwrite: bool
    sources: tuple[str, ...]
    join: str
    decisions: Decisions | None
    matrix: SavedMatrix | None
    plain: bool
    language: str
    analyzer: Analyzer | None
    ranking: str | None
    max_neighbors: int | None
    min_df: int | float | None
    memory: int
    limited: bool
    fields: dict[str, float] | None
    positions: bool
    texts: bool

    @property
    def growing(self) -> bool:
        """Whether something is asked for that only an index has which grows."""
        return self.fields is not None or self.positions or not self.texts

    @property
    def needing_all(self) -> str:
        """The options that need to see all texts at once."""
        from softcosine.cli.sources import learn_from_texts

        needing = {
            "--min-df": self.min_df is not None,
            "--decisions": self.decisions is not None,
            "--source of texts": learn_from_texts(self.sources),
            "--max-neighbors": self.max_neighbors is not None and not self.sources,
        }
        return " and ".join(name for name, given in needing.items() if given)


def make_index(plan: IndexPlan, documents: Iterator[Document], report: Reporter) -> str:
    """Index documents, and write the index whole or not at all.

    Returns
    -------
    str
        Where the similarities come from.

    Raises
    ------
    InvalidInputError
        If options exclude each other, or need more memory than there is to be.
    """
    if plan.growing and plan.min_df is not None:
        raise InvalidInputError(
            "--min-df leaves out words by counting those of all documents, which an index with "
            "--field, --positions or --no-texts does not; leave one of them out."
        )
    if plan.growing and plan.max_neighbors is not None and not plan.sources:
        raise InvalidInputError(
            "--max-neighbors limits what a source says, which is not known yet; name one by "
            "--source, or leave it out."
        )
    ahead = _read_ahead(plan, documents)
    rest = next(documents, None)
    if not plan.growing and rest is None:
        return _make_whole(plan, ahead, report)
    return _make_growing(plan, ahead, chain([] if rest is None else [rest], documents), report)


def _read_ahead(plan: IndexPlan, documents: Iterator[Document]) -> list[Document]:
    """Read as many documents as may be indexed together, or all where they must be."""
    ahead: list[Document] = []
    needing = plan.needing_all
    room = plan.memory // _SHARE
    if plan.growing and not needing:
        return ahead
    for document in documents:
        ahead.append(document)
        room -= document.n_characters
        if room > 0 or (needing and not plan.limited):
            continue
        if needing:
            raise InvalidInputError(
                f"{needing} must see all texts at once, and these are more than --memory allows; "
                "give more, or leave it out."
            )
        break
    return ahead


def _make_whole(plan: IndexPlan, documents: list[Document], report: Reporter) -> str:
    from softcosine.cli.matrix_index import index_with_matrix
    from softcosine.cli.reading import ReadDocuments
    from softcosine.index.soft_index import SoftIndex

    read = ReadDocuments.of(documents)
    documents.clear()  # or their lists would be held twice
    if plan.matrix is not None:
        made = index_with_matrix(
            plan.matrix, read, analyzer=plan.analyzer, min_df=_least(plan), ranking=plan.ranking,
            report=report,
        )  # fmt: skip
    else:
        options, note = _similarities(plan, read.texts, report)
        if plan.min_df is not None:
            options["min_df"] = plan.min_df
        made = SoftIndex.from_texts(
            read.texts, ids=read.ids, metadata=read.metadata, progress=report, **options
        )
        made = made.with_note(" ".join(filter(None, (note, made.note))))
    report("writing", 0, None)
    made.save(plan.output, overwrite=plan.overwrite)
    return made.note


def _make_growing(
    plan: IndexPlan, ahead: list[Document], rest: Iterator[Document], report: Reporter
) -> str:
    texts = [_joined(one) for one in ahead] if plan.needing_all else []
    options, note = _similarities(plan, texts, report)
    del texts
    options |= {"fields": plan.fields, "positions": plan.positions, "texts": plan.texts}
    documents = chain(_drained(ahead), rest)
    with _replacing(plan) as path:
        return _grown(plan, path, documents, {**options, "note": note}, report) or note


def _grown(
    plan: IndexPlan,
    path: Path,
    documents: Iterator[Document],
    options: dict[str, Any],
    report: Reporter,
) -> str:
    """Write an index, and return where its similarities come from; none of its files stays open."""
    from softcosine.index.soft_index import SoftIndex

    if plan.matrix is not None:
        # The matrix is brought to the words of the documents when they are known.
        known = {} if plan.matrix.analyzer is None else {"analyzer": plan.matrix.analyzer}
        options = {**options, **known, "plain": True}
    index = SoftIndex.create(path, **options)
    with index.writer(memory=plan.memory) as writer:
        for document in documents:
            writer.add(document.id, document.text, document.metadata)
        report("finding similar terms", 0, None)
        writer.commit()
        if plan.matrix is None:
            return index.note
        S, note = plan.matrix.over(index.vocabulary, report)
        writer.set_similarity(S, source=plan.matrix.source)
        report("computing lengths", 0, None)
    return note


def _drained(documents: list[Document]) -> Iterator[Document]:
    """Give documents, and forget each."""
    documents.reverse()
    while documents:
        yield documents.pop()


def _similarities(
    plan: IndexPlan, texts: Sequence[str], report: Reporter
) -> tuple[dict[str, Any], str]:
    """Return what both ways of making an index take, and where similarities come from, if known.

    The texts are analysed here only if they are needed before they are indexed.
    """
    from softcosine.cli.sources import learn_from_texts

    options: dict[str, Any] = {"plain": True} if plan.plain else {}
    if plan.ranking is not None:
        options["ranking"] = plan.ranking
    if plan.max_neighbors is not None:
        options["max_neighbors"] = plan.max_neighbors
    if plan.analyzer is not None:
        options["analyzer"] = plan.analyzer
    if plan.language != "auto":
        options["language"] = plan.language
    if not plan.sources and plan.decisions is None:
        return options, ""
    found = None
    if plan.decisions is not None or learn_from_texts(plan.sources):
        from softcosine.cli.vocabularies import analyzed_texts

        found = analyzed_texts(
            texts, plan.language, plan.analyzer, min_df=_least(plan), report=report
        )
        options["analyzer"], options["language"] = found.analyzer, found.language
    options["source"], note = _source(plan, found, report)
    return options, note


def _source(plan: IndexPlan, found: AnalyzedInLanguage | None, report: Reporter) -> tuple[Any, str]:
    """Return the sources that were named, or the default ones, decided about, and a note."""
    from softcosine.cli.sources import SourceSettings, finished_source, joined_source
    from softcosine.index.defaults import default_source

    analyzed = None if found is None else found.texts
    if plan.sources:
        settings = SourceSettings(None, None, texts=analyzed, words=None, report=report)
        source, note = joined_source(plan.sources, plan.join, settings)
        names = ", ".join(plan.sources)
        told = names if len(plan.sources) == 1 else f"{names}, joined by {plan.join}"
        note = f"Similarities come from {told}." + (f" {note}" if note else "")
    else:
        assert found is not None  # there are decisions
        chosen = default_source(
            found.texts,
            language=found.language,
            progress=lambda done, total: report("learning from the texts", done, total),
        )
        source, note = chosen.source, chosen.note
    if found is not None:
        source = finished_source(
            source, plan.decisions, found.texts.vocabulary, analyzer=found.analyzer,
            language=found.language,
        )  # fmt: skip
    if plan.decisions is not None:
        n = len(plan.decisions)
        told = "One decision of a person comes" if n == 1 else f"{n} decisions of a person come"
        note += f" {told} before them."
    return source, note if found is None else " ".join(filter(None, (note, found.note)))


def _least(plan: IndexPlan) -> int | float:
    return 1 if plan.min_df is None else plan.min_df


def _joined(document: Document) -> str:
    """Return all of a document's text."""
    text = document.text
    return text if isinstance(text, str) else "\n".join(text.values())


@contextmanager
def _replacing(plan: IndexPlan) -> Iterator[Path]:
    """Give a path for an index, which takes the place of the output unless an exception is raised.

    Raises
    ------
    AlreadyExistsError
    IndexLockedError
        If a writer has the index open that is to be replaced.
    """
    import os

    from softcosine.index.lock import WriteLock
    from softcosine.storage import replacing

    lock = WriteLock(plan.output) if plan.output.exists() else None
    try:
        with replacing(plan.output, "index", overwrite=plan.overwrite) as work:
            yield work / "index"
            for child in list((work / "index").iterdir()):
                child.rename(work / child.name)
            (work / "index").rmdir()
            if lock is not None and os.name == "nt":
                lock.release()  # a folder with an open file cannot be renamed there
    finally:
        if lock is not None:
            lock.release()
