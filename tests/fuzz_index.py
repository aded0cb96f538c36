"""A fuzzer of index folders: whatever stands in one, the process that opens it lives.

Each case copies a small index, changes it at random (`mutations`), signs it anew, and does with it
all that can be done with an index, in a forked process with a limit of time and memory. Allowed are
answers and the errors of `softcosine.errors`. Everything else is a finding: a signal, a hang, a
MemoryError, an error of NumPy, SQLite or Python itself, a score that is no number.

    python tests/fuzz_index.py --seconds 3600 --seed 7
    python tests/fuzz_index.py --seed 7 --case 1234     # one case again

A case is decided by its seed and number alone. Findings keep their folder, as it was before
anything opened it. Needs a system with fork.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import fcntl
import json
import math
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from mutations import mutate
from softcosine import MergePolicy, SoftIndex
from softcosine.errors import SoftCosineError, SoftCosineWarning
from softcosine.index.directory.backup import back_up
from softcosine.index.directory.check import check_index
from softcosine.index.directory.store import Store
from softcosine.index.segment import segment
from softcosine.index.segment import stored_fields as stored_documents
from softcosine.lab.regression.source import RegressionSimilarity
from softcosine.matrix import stored, term_similarity_matrix
from softcosine.similarity.combine.combined import noisy_or
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.pairs import PairSimilarity
from softcosine.similarity.thesaurus.concepts import concepts_of_groups
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.storage import folder as folders
from softcosine.text import vocabulary as contents
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from softcosine.text.weighting import Weighting
from toy_encoder import ToyEncoder, toy_space
from written import writing

__all__ = ["Finding", "Report", "fuzz", "made_bases"]

MEMORY = 1 << 30  # bytes that a case may take beside what the process has
_SCRATCH = "softcosine-fuzz-"
SECONDS = 60.0  # that a case may take; the slowest took 2

WORDS = ("tyre", "tire", "bike", "tea", "coffee", "disk", "space", "green", "flat", "old", "kettle")
TEXTS = (
    "a flat tyre on my old bike", "tea and coffee", "the tire of a bike", "green tea, no coffee",
    "my old bike", "disk space and old disks", "", "kettle kettle kettle tea",
)  # fmt: skip
RANKINGS = ("soft_bm25", "soft_tf_bm25", "soft_cosine", "inner_product", "expanded_cosine")
QUERIES = (
    "tire tea", "tyre", "bicycle +bike", '"flat tyre"', 'old -"green tea"', '"tea" -coffee',
    "tea^3", "nothing known", "",
    "a flat tyre on my old bike tea and coffee disk space", "+disk +space",
    '"my old bike" kettle',
)  # fmt: skip
FILTERS = (
    {"lang": "en"}, {"n": {">=": 2}}, {"any": [{"lang": "de"}, {"tags": {"contains": "a"}}]},
    {"not": {"n": {"<": 3}}}, {"deep.x": {"in": [1, "b"]}},
)  # fmt: skip

SORTS = ("lang", "-n", ["-lang", "n"], "deep.x")

Say = Callable[[str, str], None]


def _metadata(number: int) -> dict[str, object]:
    return {"lang": ("en", "de")[number % 2], "n": number, "tags": ["a", "b"], "deep": {"x": "b"}}


def _fill(index: SoftIndex, documents: list[object], *, at_once: int, ids: str = "") -> None:
    for first in range(0, len(documents), at_once):
        with index.writer(merge=None) as writer:
            for number, text in enumerate(documents[first : first + at_once], first):
                writer.add(f"{ids}{number}", text, _metadata(number) if number % 3 else None)


def _plain(path: Path) -> None:
    SoftIndex.from_texts(list(TEXTS), plain=True).save(path)


def _pairs(path: Path) -> None:
    """Several segments with deletions and changed metadata, similarities of pairs."""
    source = PairSimilarity(
        [("tyre", "tire", 0.8), ("tea", "coffee", 0.5), ("tyre", "bicycle", 0.4)]
    )
    index = SoftIndex.create(path, source=source, ranking="soft_cosine", analyzer=Analyzer())
    _fill(index, list(TEXTS), at_once=3)
    with index.writer(merge=None) as writer:
        writer.delete("1")
        writer.delete("6")
        writer.update_metadata("2", {"lang": "fr", "n": -1})
        writer.update_metadata("3", {"deep": {"x": 1}}, replace=True)


def _fields(path: Path) -> None:
    """Two fields, with the places of words, synonyms, and a deletion."""
    groups = [(["tyre", "tire"], 1.0), (["tea", "coffee", "kettle"], 0.5)]
    index = SoftIndex.create(
        path, source=ThesaurusSimilarity(concepts_of_groups(groups), name="groups"),
        fields={"title": 2, "body": 1}, positions=True, analyzer=Analyzer("english"),
    )  # fmt: skip
    documents = [{"title": text, "body": TEXTS[-number]} for number, text in enumerate(TEXTS)]
    _fill(index, [*documents], at_once=5)
    with index.writer(merge=None) as writer:
        writer.delete("2")


def _ngrams(path: Path) -> None:
    """Several words as one term, vectors of words, another weighting."""
    vectors = np.random.default_rng(3).normal(size=(len(WORDS), 4)).astype(np.float32)
    index = SoftIndex.create(
        path, source=EmbeddingSimilarity(list(WORDS), vectors), analyzer=Analyzer(max_ngram=3),
        weighting=Weighting(tf="log", idf="smooth"), ranking="inner_product",
    )  # fmt: skip
    _fill(index, list(TEXTS), at_once=8)


def _spilled(path: Path) -> None:
    """More frequencies than entries have room for; no texts."""
    many = [f"w{n}" for n in range(1, 270) for _ in range(n)]
    index = SoftIndex.create(path, plain=True, keep_texts=False, ranking="soft_cosine")
    _fill(index, [many, ["tea", "w269"], ["bike", "tea", "tea"]], at_once=2)


def _learned(path: Path) -> None:
    """Similarities that texts taught, joined with others, and positions."""
    taught = RegressionSimilarity.fit(analyze(TEXTS), min_count=1, threshold=0)
    source = noisy_or(taught, PairSimilarity([("tyre", "tire", 0.8)]))
    index = SoftIndex.create(path, source=source, positions=True)
    _fill(index, [f"{text} {TEXTS[n % 3]}" for n, text in enumerate(TEXTS * 4)], at_once=32)


def _meaning(path: Path) -> None:
    """Coordinates of documents, and a query table."""
    space = toy_space(list(WORDS))
    index = SoftIndex.create(path, encoder=ToyEncoder(), meaning_space=space, plain=True)
    _fill(index, list(TEXTS), at_once=3)
    with index.writer(merge=None) as writer:
        writer.delete("1")


BASES: Mapping[str, Callable[[Path], None]] = {
    "plain": _plain, "pairs": _pairs, "fields": _fields, "ngrams": _ngrams, "spilled": _spilled,
    "learned": _learned, "meaning": _meaning,
}  # fmt: skip


def made_bases(folder: Path) -> dict[str, Path]:
    """Write the indexes that cases start from, with the same names of parts in every run."""
    names = Random(0)

    def named() -> uuid.UUID:
        return uuid.UUID(int=names.getrandbits(128), version=4)

    # Of parts alone: Numba too draws names, for each kernel that is not in its cache yet.
    with patch("softcosine.index.directory.store_writer.uuid", SimpleNamespace(uuid4=named)):
        for name, make in BASES.items():
            make(folder / name)
    return {name: folder / name for name in BASES}


class _Deeds:
    """What is done with an index folder, each a method that may raise errors of ours.

    Parameters
    ----------
    folder : Path
    random : Random
        Chooses questions and options.
    scratch : Path
        An empty folder for what is written.
    """

    def __init__(self, folder: Path, random: Random, scratch: Path) -> None:
        self.folder, self.random, self.scratch = folder, random, scratch
        self.index: SoftIndex | None = None

    def reading(self) -> list[Callable[[SoftIndex], object]]:
        """What needs an opened index."""
        return [
            self.search, self.search, self.search, self.batch, self.similar, self.explain,
            self.explain_similar, self.neighbors, self.pairs, self.nearest, self.dedupe,
            self.documents, self.listing, self.inspect, self.save, self.other_weights, self.refresh,
        ]  # fmt: skip

    def handling(self) -> list[Callable[[], object]]:
        """What needs the folder alone; the last change it."""
        return [self.verify, self.backup, self.write, self.merge]

    def open(self) -> None:
        self.index = SoftIndex.open(self.folder, verify=self.random.random() < 0.1)

    def _options(self) -> dict[str, object]:
        choose = self.random.choice
        order: dict[str, object] = choose(({}, {}, {"mmr": 0.5}, {"sort": choose(SORTS)}))
        return order | {
            "k": choose((1, 3, 10, 100)), "offset": choose((0, 0, 1)), "ranking": choose(RANKINGS),
            "where": choose((None, None, *FILTERS)), "fill": choose((False, True)),
            "correct": choose((False, True)),
            "facets": choose(((), (), ("lang", "tags", "deep.x"))),
            "expand": choose((True, True, False)), "max_terms": choose((512, 2, 1, None)),
        }  # fmt: skip

    def _id(self) -> str:
        return self.random.choice(("0", "1", "2", "3", "5", "7", "none"))

    def search(self, index: SoftIndex) -> None:
        query = self.random.choice((*QUERIES, ["tea", "bike"]))
        hits = index.search(query, **self._options())
        for hit in hits:
            _number(hit.score)
            assert isinstance(hit.id, str)
            assert isinstance(hit.snippet.text, str)

    def batch(self, index: SoftIndex) -> None:
        for hits in index.search_batch(QUERIES, threads=1, **self._options()):
            for hit in hits:
                _number(hit.score)

    def similar(self, index: SoftIndex) -> None:
        for hit in index.similar(self._id(), ranking=self.random.choice(RANKINGS)):
            _number(hit.score)

    def explain(self, index: SoftIndex) -> None:
        query, ranking = self.random.choice(QUERIES), self.random.choice(RANKINGS)
        _number(index.explain(query, self._id(), ranking=ranking).score)

    def explain_similar(self, index: SoftIndex) -> None:
        _number(index.explain_similar(self._id(), self._id()).score)

    def neighbors(self, index: SoftIndex) -> None:
        for _, similarity in index.neighbors(self.random.choice((*WORDS, "bicycle", "none"))):
            _number(similarity)

    def pairs(self, index: SoftIndex) -> None:
        ranking = self.random.choice(("soft_cosine", "inner_product"))
        for pair in index.pairs(min_similarity=0.1, ranking=ranking, threads=1):
            _number(pair.score)

    def nearest(self, index: SoftIndex) -> None:
        for pair in index.pairs(k=2, threads=1):
            _number(pair.score)

    def dedupe(self, index: SoftIndex) -> None:
        method = self.random.choice(("components", "leaders"))
        index.dedupe(min_similarity=0.5, method=method, threads=1)

    def documents(self, index: SoftIndex) -> None:
        for part in index.snapshot.segments:
            for number in range(min(part.n_docs, 70_000)):
                part.documents.id(number), part.documents.text(number)
                part.documents.metadata(number)
        for id in ("0", "1", "none"):
            id in index  # noqa: B015  # it may raise
        len(index)

    def listing(self, index: SoftIndex) -> None:
        choose = self.random.choice
        where = choose((None, *FILTERS))
        facets = choose(((), ("lang", "n", "tags")))
        found = index.filter(where, k=None, sort=choose((None, *SORTS)), facets=facets)
        assert len(found) == index.count(where)
        index.get(list(index))

    def inspect(self, index: SoftIndex) -> None:
        index.S.statistics(eigenvalue=False)
        list(index.vocabulary)
        index.S.to_scipy()

    def save(self, index: SoftIndex) -> None:
        index.save(self.scratch / "saved")
        SoftIndex.open(self.scratch / "saved")

    def other_weights(self, index: SoftIndex) -> None:
        changed = index.with_weighting(Weighting(tf="raw", idf="bm25"), ranking="soft_cosine")
        for hit in changed.search("tea tire"):
            _number(hit.score)

    def refresh(self, index: SoftIndex) -> None:
        index.refresh()

    def verify(self) -> None:
        check_index(Store.open(self.folder))

    def backup(self) -> None:
        links, verify = self.random.random() < 0.5, self.random.random() < 0.8
        store, to = Store.open(self.folder), self.scratch / "copy"
        back_up(store, to, links=links, verify=verify, overwrite=False)
        SoftIndex.open(to).search("tea")

    def write(self) -> None:
        policy = self.random.choice((None, MergePolicy(factor=2, min_docs=1)))
        with writing(Store.open(self.folder), merge=policy, memory=1 << 20) as writer:
            several = self._has_fields()
            for number in (0, 90, 91):
                text = f"new {TEXTS[number % 7]} brandnew{number}"
                writer.add(str(number), {"title": text} if several else text, _metadata(number))
            writer.delete("2", missing_ok=True)
            writer.update_metadata(self.random.choice(("0", "90")), {"lang": "fr"})
            if self.random.random() < 0.3:
                writer.delete(where=self.random.choice(FILTERS))
            if self.random.random() < 0.3:
                writer.set_weighting(Weighting(tf="log", idf="bm25"), ranking="soft_cosine")
            writer.commit(self.random.choice((None, True, False)))
        SoftIndex.open(self.folder).search("tea brandnew90")

    def merge(self) -> None:
        with writing(Store.open(self.folder), memory=1 << 20) as writer:
            writer.merge()
        SoftIndex.open(self.folder).search("tea", ranking="soft_cosine")

    def _has_fields(self) -> bool:
        return self.index is not None and len(self.index.fields) > 1


def _number(score: float) -> None:
    if not math.isfinite(score):
        raise ArithmeticError(f"a score is {score}")


def _large(random: Random) -> None:
    """Let arrays count as large now and then: they are then mapped, and checked at first use."""
    if random.random() < 0.4:
        segment._CHECKED_AT_ONCE = term_similarity_matrix._CHECKED_AT_ONCE = -1
        stored._WORDS_AT_ONCE = contents._CHECKED_AT_ONCE = -1
    if random.random() < 0.4:
        folders._MAPPED_BYTES = stored_documents._OPENED_BYTES = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """What should not have happened.

    Attributes
    ----------
    case : int
    base : str
    changes : list of str
    doing : str
        What was done with the index then.
    what : str
        Signal, or the error's last line.
    trace : str
    folder : str
        The index, as it was before anything opened it.
    """

    case: int
    base: str
    changes: list[str]
    doing: str
    what: str
    trace: str = ""
    folder: str = ""

    def __str__(self) -> str:
        changes = "".join(f"\n    {change}" for change in self.changes)
        kept = f"\n  kept: {self.folder}" if self.folder else ""
        return (
            f"case {self.case} of {self.base}, {self.doing}: {self.what}\n  changed:{changes}{kept}"
            f"\n{self.trace}"
        )


@dataclass(slots=True)
class Report:
    """What a run came to.

    Attributes
    ----------
    n_cases : int
    outcomes : Counter
        How often opening and each deed ended as "answered", or by the name of an error of ours.
    findings : list of Finding
    slowest : (float, int)
        Seconds of the slowest case, and its number.
    """

    n_cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)

    def __str__(self) -> str:
        opened, others = (
            sum(n for name, n in self.outcomes.items() if name.startswith("open ") == is_open)
            for is_open in (True, False)
        )
        lines = [
            f"{self.n_cases} mutations, {len(self.findings)} findings; {opened} openings, {others} "
            f"other deeds; slowest: {self.slowest[0]:.1f} s (case {self.slowest[1]})"
        ]
        lines += [f"  {n:8} {name}" for name, n in sorted(self.outcomes.items())]
        return "\n".join(lines)


def _chosen(seed: int, case: int, bases: Mapping[str, Path]) -> tuple[Random, str]:
    random = Random(f"{seed}/{case}")
    return random, random.choice(list(bases))


def _mutated(
    seed: int, case: int, bases: Mapping[str, Path], folder: Path
) -> tuple[Random, list[str]]:
    """Write the folder of a case; the random source as it is then, and what was changed."""
    random, base = _chosen(seed, case, bases)
    shutil.copytree(bases[base], folder)
    return random, mutate(folder, random, list(bases.values()))


def _do_all(deeds: _Deeds, say: Say, *, everything: bool = False) -> None:
    """Open an index and do some of what can be done with it, or everything."""
    warnings.simplefilter("ignore", SoftCosineWarning)  # documents without coordinates

    def attempt(name: str, deed: Callable[[], object]) -> None:
        say("doing", name)
        try:
            deed()
        except SoftCosineError as error:
            say("ended", type(error).__name__)
        except Exception as error:  # the findings
            say(
                "found",
                json.dumps([f"{type(error).__name__}: {error}"[:300], traceback.format_exc()]),
            )
        else:
            say("ended", "answered")

    attempt("open", deeds.open)
    index = deeds.index
    if index is not None:
        reading = deeds.reading()
        chosen = reading if everything else deeds.random.sample(reading, 5)
        for read in chosen:
            attempt(read.__name__, lambda read=read: read(index))
    handling = deeds.handling()
    kept = deeds.random.sample(range(len(handling)), 1 if index is not None else 2)
    for number, handle in enumerate(handling):
        if everything or number in kept:
            attempt(handle.__name__, handle)


def _case(seed: int, case: int, bases: Mapping[str, Path], place: Path, say: Say) -> None:
    """Run a case in this process."""
    random, _ = _mutated(seed, case, bases, place / "index")
    (place / "scratch").mkdir()
    _large(random)
    _do_all(_Deeds(place / "index", random, place / "scratch"), say)


def _forked(run: Callable[[Say], None], seconds: float) -> tuple[list[list[str]], int]:
    """Run something in a forked process under the limits; what it said, and how it ended."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            faulthandler.disable()  # else the handlers stay those that Ray may have put in place
            faulthandler.enable(writing)
            faulthandler.register(signal.SIGALRM, writing, chain=True)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            _limit_memory()
            os.fsync = lambda _: None  # nobody asks here what survives a power failure
            warnings.simplefilter("ignore")
            run(lambda kind, text: _write(writing, json.dumps([kind, text]) + "\n"))
            code = 0
        except BaseException:
            _write(writing, json.dumps(["broken", traceback.format_exc()]) + "\n")
        finally:
            os._exit(code)
    os.close(writing)
    said: list[list[str]] = []
    with os.fdopen(reading, encoding="utf-8") as lines:
        for line in lines:
            try:
                said.append(json.loads(line))
            except ValueError:  # where the process was when it died
                said.append(["died", line])
    return said, os.waitpid(pid, 0)[1]


def _write(descriptor: int, line: str) -> None:
    rest = line.encode()
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _limit_memory() -> None:
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _judged(
    seed: int,
    case: int,
    bases: Mapping[str, Path],
    said: list[list[str]],
    status: int,
    report: Report,
) -> Iterator[Finding]:
    """Count what a case did, and give its findings."""
    _, base = _chosen(seed, case, bases)
    doing, died = "changing the folder", ""
    for kind, text in said:
        if kind == "doing":
            doing = text
        elif kind == "ended":
            report.outcomes[f"{doing} {text}"] += 1
        elif kind == "found":
            what, trace = json.loads(text)
            yield Finding(case, base, [], doing, what, trace)
        elif kind == "died":
            died += text
        else:
            yield Finding(case, base, [], doing, "the fuzzer itself failed", text)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        what = "it hung" if number == signal.SIGALRM else f"{signal.Signals(number).name}"
        yield Finding(case, base, [], doing, what, died)


def _kept(finding: Finding, seed: int, bases: Mapping[str, Path], keep: Path) -> Finding:
    """Write the folder of a finding again, and keep it."""
    folder = keep / f"seed{seed}-case{finding.case}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _, changes = _mutated(seed, finding.case, bases, folder)
    return Finding(
        finding.case, finding.base, changes, finding.doing, finding.what, finding.trace, str(folder)
    )


def warmed(bases: Mapping[str, Path], scratch: Path) -> None:
    """Do everything with the unchanged indexes, so that every kernel is loaded before the forks.

    Raises
    ------
    AssertionError
        If something fails: then this file is wrong, or the library is.
    """
    for name, base in bases.items():
        shutil.copytree(base, scratch / name / "index")
        (scratch / name / "scratch").mkdir()
        for seed in range(4):
            doing = ""

            def say(kind: str, text: str, name: str = name) -> None:
                nonlocal doing
                doing = text if kind == "doing" else doing
                fine = (
                    "answered",
                    "UnknownDocumentError",
                    "InvalidInputError",
                    "AlreadyExistsError",
                )
                assert kind == "doing" or text in fine, f"{name}: {doing}: {text}"

            deeds = _Deeds(scratch / name / "index", Random(seed), scratch / name / "scratch")
            _do_all(deeds, say, everything=True)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """Give a folder of this run's own, and remove those of runs that were killed."""
    place = _in_memory() or tempfile.gettempdir()
    for left in Path(place).glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError), _locked(left):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=place) as name, _locked(Path(name)):
        yield Path(name)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder while the process and its forks live; OSError if another holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _in_memory() -> str | None:
    """Return where temporary files stay in memory, if there is such a place."""
    shared = Path("/dev/shm")
    return str(shared) if os.access(shared, os.W_OK) else None


def fuzz(
    seed: int,
    *,
    n_cases: int | None = None,
    seconds: float = math.inf,
    first: int = 0,
    case_seconds: float = SECONDS,
    keep: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Report:
    """Run cases one after the other until so many are done, or so many seconds over.

    Parameters
    ----------
    seed : int
    n_cases : int, optional
    seconds : float
    first : int
        Number of the first case.
    case_seconds : float
        What hangs longer than that is a finding.
    keep : Path, optional
        Where folders of findings are kept.
    tell : callable
        Called with each finding, and now and then with how far the run is.
    """
    report, begin = Report(), time.monotonic()
    with _scratch() as scratch:
        (scratch / "bases").mkdir()
        bases = made_bases(scratch / "bases")
        warmed(bases, scratch / "warm")
        told = begin = time.monotonic()
        case = first
        while time.monotonic() - begin < seconds and (n_cases is None or case < first + n_cases):
            place = scratch / "case"
            place.mkdir()
            started = time.monotonic()
            said, status = _forked(lambda say: _case(seed, case, bases, place, say), case_seconds)  # noqa: B023
            report.slowest = max(report.slowest, (time.monotonic() - started, case))
            for finding in _judged(seed, case, bases, said, status, report):
                kept = finding if keep is None else _kept(finding, seed, bases, keep)
                report.findings.append(kept)
                tell(str(kept))
            shutil.rmtree(place)
            case += 1
            report.n_cases += 1
            if time.monotonic() - told > 60:
                told = time.monotonic()
                tell(f"{report.n_cases} mutations, {len(report.findings)} findings")
    return report


def main() -> int:
    """Run from the command line; 1 if something was found."""
    parser = argparse.ArgumentParser(description="Fuzz index folders.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to run [60]")
    parser.add_argument("--cases", type=int, help="how many cases to run, in place of --seconds")
    parser.add_argument("--first", type=int, default=0, help="number of the first case [0]")
    parser.add_argument("--case", type=int, help="run this one again, and keep its folder")
    parser.add_argument("--case-seconds", type=float, default=SECONDS, help="what is a hang [60]")
    parser.add_argument(
        "--keep", type=Path, default=Path(tempfile.gettempdir()) / "softcosine-findings",
        help="where folders of findings are kept [softcosine-findings among temporary files]",
    )  # fmt: skip
    asked = parser.parse_args()
    if asked.case is not None:
        asked.first, asked.cases = asked.case, 1
    report = fuzz(
        asked.seed, n_cases=asked.cases, first=asked.first, case_seconds=asked.case_seconds,
        seconds=asked.seconds if asked.cases is None else math.inf, keep=asked.keep,
        tell=lambda text: print(text, flush=True),  # noqa: T201
    )  # fmt: skip
    print(report)  # noqa: T201
    return bool(report.findings)


if __name__ == "__main__":
    sys.exit(main())
