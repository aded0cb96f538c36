"""WordNet: measures against their definitions on random graphs, and readers line by line."""

from __future__ import annotations

import gzip
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.lab.wordnet import files as wordnet_files
from softcosine.lab.wordnet import wordnet_similarity
from softcosine.lab.wordnet.files import find_wordnet, read_wordnet
from softcosine.lab.wordnet.graph import WordNet, by_paths, concepts_of_wordnet
from softcosine.lab.wordnet.similarity import weighing
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.text.vocabulary import Vocabulary
from test_sources_contract import as_lists, brute_force

LEMMAS = ("a", "b", "c", "d", "e", "f")


@st.composite
def wordnets(draw: st.DrawFn) -> WordNet:
    """Small graphs of two parts of speech, with several parents, several roots, loners."""
    n = draw(st.integers(1, 9))
    letters = draw(st.lists(st.sampled_from("nv"), min_size=n, max_size=n))
    words = draw(
        st.lists(
            st.lists(st.sampled_from(LEMMAS), min_size=1, max_size=2, unique=True).map(tuple),
            min_size=n,
            max_size=n,
        )
    )
    up = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=12))
    # The parent is the earlier one, so there are no cycles.
    up = [(max(p), min(p)) for p in up if p[0] != p[1] and letters[p[0]] == letters[p[1]]]
    side = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=3))
    hypernyms, similar = (np.array(pairs, np.int32).reshape(-1, 2) for pairs in (up, side))
    synsets = tuple(f"{i:08d}-{letter}" for i, letter in enumerate(letters))
    return WordNet(Path("x"), synsets, tuple(words), hypernyms, similar)


class Oracle:
    """The definitions, with sets and dictionaries."""

    def __init__(self, net: WordNet) -> None:
        self.net = net
        self.parents: dict[str, set[str]] = {s: set() for s in net.synsets}
        for child, parent in net.hypernyms.tolist():
            self.parents[net.synsets[child]].add(net.synsets[parent])
        for letter in "nv":
            own = [s for s in net.synsets if s.endswith(letter)]
            roots = [s for s in own if not self.parents[s]]
            if len(roots) > 1 and len(roots) < len(own):
                for root in roots:
                    self.parents[root] = {f"root-{letter}"}
                self.parents[f"root-{letter}"] = set()

    def up(self, synset: str) -> dict[str, int]:
        """Fewest steps to everything above."""
        steps = {synset: 0}
        queue = [synset]
        for here in queue:
            for parent in self.parents[here]:
                if parent not in steps:
                    steps[parent] = steps[here] + 1
                    queue.append(parent)
        return steps

    def depth(self, synset: str) -> int:
        return 1 + max((self.depth(p) for p in self.parents[synset]), default=0)

    def information(self, synset: str, counts: dict[str, float]) -> float:
        n_senses = {w: sum(w in words for words in self.net.words) for w in LEMMAS}

        def own(s: str) -> float:
            words = self.net.words[self.net.synsets.index(s)]
            return 1.0 + sum(counts.get(w, 0.0) / n_senses[w] for w in words)

        same = [s for s in self.net.synsets if s[-1] == synset[-1]]
        below = sum(own(s) for s in same if synset in self.up(s))
        return -math.log(below / sum(map(own, same)))

    def synset_similarity(
        self, measure: str, left: str, right: str, counts: dict[str, float]
    ) -> float:
        if left == right:
            return 1.0
        up_left, up_right = self.up(left), self.up(right)
        best = 0.0
        for c in up_left.keys() & up_right.keys():
            steps = up_left[c] + up_right[c]
            if measure == "path":
                value = 1.0 / (1.0 + steps)
            elif measure == "wu_palmer":
                value = 2 * self.depth(c) / (steps + 2 * self.depth(c))
            else:
                both = self.information(left, counts) + self.information(right, counts)
                value = 2 * self.information(c, counts) / both if both > 0 else 0.0
            best = max(best, value)
        return best

    def synsets(self, word: str) -> list[str]:
        return [
            s for s, words in zip(self.net.synsets, self.net.words, strict=True) if word in words
        ]

    def similarity(self, measure: str, left: str, right: str, counts: dict[str, float]) -> float:
        return max(
            self.synset_similarity(measure, a, b, counts)
            for a in self.synsets(left)
            for b in self.synsets(right)
        )


@given(
    wordnets(),
    st.sampled_from(["path", "wu_palmer", "lin"]),
    st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.8]),
    st.booleans(),
)
def test_measures_are_those_of_their_definitions(
    net: WordNet, measure: str, threshold: float, counted: bool
) -> None:
    counts = {"a": 7.0, "c": 2.0, "elsewhere": 5.0} if counted and measure == "lin" else {}
    weigh = by_paths if measure == "path" else weighing(measure, net, counts)
    table = concepts_of_wordnet(net, weigh, threshold=threshold)
    source = ThesaurusSimilarity(table, name="x", threshold=threshold)
    oracle = Oracle(net)
    words = [word for word in LEMMAS if oracle.synsets(word)]
    assert source.knows(LEMMAS).tolist() == [word in words for word in LEMMAS]
    for left in words:
        for right in words:
            value = 1.0 if left == right else oracle.similarity(measure, left, right, counts)
            found = source.similarities([left], [right]).item()
            if abs(value - threshold) > 1e-6 or measure != "lin":
                value = value if np.float32(value) >= np.float32(threshold) else 0.0
                assert found == pytest.approx(value, abs=1e-6)
    found = source.neighbors(words, words, max_neighbors=3)
    assert as_lists(found) == brute_force(source, words, words, 3)


# Invented for these tests, in Princeton's format: offset, file, type, words, pointers, gloss.
NOUN = """\
  1 This software and database is being provided to you, the LICENSEE
00000010 03 n 01 thing 0 002 ~ 00000020 n 0000 ~ 00000030 n 0000 | whatever there is
00000020 06 n 02 vehicle 0 conveyance 1 003 @ 00000010 n 0000 ~ 00000040 n 0000 ~i 00000050 n 0000 |
00000030 07 n 01 Colour 0 001 @ 00000010 n 0000 | seen
00000040 06 n 02 car 0 motor_car 0 002 @ 00000020 n 0000 + 00000010 v 0201 | on the road
00000050 06 n 01 Titanic 0 001 @i 00000020 n 0000 | the ship
"""
VERB = """\
00000010 38 v 01 motor 0 002 + 00000040 n 0102 @ 00000030 v 0000 01 + 02 00 | to go by car
00000020 38 v 01 think 0 000 01 + 02 00 | to use the head
00000030 38 v 01 go 0 001 ~ 00000010 v 0000 01 + 02 00 | to move
"""
ADJ = """\
00000010 00 a 01 hot 0 002 ! 00000020 a 0101 & 00000030 a 0000 | of much heat
00000020 00 a 02 cold(p) 0 chilled 0 001 ! 00000010 a 0101 | of little heat
00000030 00 s 01 tropical(a) 0 001 & 00000010 a 0000 | as near the equator
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "dict"
    place.mkdir()
    for name, text in (("noun", NOUN), ("verb", VERB), ("adj", ADJ)):
        (place / f"data.{name}").write_text(text)
    return place


def similarity(source: ThesaurusSimilarity, left: str, right: str) -> float:
    return round(source.similarities([left], [right]).item(), 6)


def test_princetons_files_are_read(folder: Path) -> None:
    net = read_wordnet(folder)
    assert net.synsets[:2] == ("00000010-n", "00000020-n")
    assert net.words[3] == ("car", "motor_car")
    assert net.words[-2:] == (("cold", "chilled"), ("tropical",))
    assert [4, 1] in net.hypernyms.tolist()
    assert [net.synsets[i] for i in net.similar.ravel()] == [
        *("00000010-a", "00000030-a"), *("00000030-a", "00000010-a"),
    ]  # fmt: skip
    source = wordnet_similarity(folder, threshold=0.1)
    assert source.knows(["motor car", "colour", "Colour", "titanic", "ship"]).tolist() == [
        *(True, True, True, True),
        False,
    ]
    assert similarity(source, "car", "motor car") == 1.0
    assert similarity(source, "car", "Titanic") == round(1 / 3, 6)
    assert similarity(source, "car", "colour") == 0.25
    assert similarity(source, "hot", "tropical") == 0.5
    assert similarity(source, "hot", "cold") == 0.0
    assert similarity(source, "car", "motor") == 0.0
    # The verbs have two roots: one is put above them, so think is two and motor three from it.
    assert similarity(source, "motor", "think") == 0.25


def test_wu_palmer_and_lin_on_the_files(folder: Path) -> None:
    source = wordnet_similarity(folder, measure="wu_palmer", threshold=0.1)
    assert similarity(source, "car", "titanic") == round(2 * 2 / (1 + 1 + 2 * 2), 6)
    assert similarity(source, "motor", "think") == 0.4  # depths 3, 2 and 1 with the root put above
    source = wordnet_similarity(folder, measure="lin", threshold=0.1)
    assert similarity(source, "car", "titanic") == round(math.log(5 / 3) / math.log(5), 6)
    counts = {"car": 10, "motor car": 4, "elsewhere": 100}
    source = wordnet_similarity(folder, measure="lin", threshold=0.01, counts=counts)
    total = 5 + 14
    expected = 2 * math.log(total / 17) / (math.log(total / 15) + math.log(total))
    assert similarity(source, "car", "titanic") == round(expected, 6)


def test_counts_of_a_vocabulary_are_its_document_frequencies(folder: Path) -> None:
    vocabulary = Vocabulary(
        ["car", "thing"],
        document_frequencies=[10, 6],
        n_docs=20,
        forms=[("car", "cars"), ("thing", "things")],
    )
    source = wordnet_similarity(folder, measure="lin", counts=vocabulary)
    same = wordnet_similarity(folder, measure="lin", counts={"car": 5, "cars": 5, "thing": 3})
    assert source.state().arrays["costs"].tobytes() == same.state().arrays["costs"].tobytes()
    with pytest.raises(InvalidInputError, match="the vocabulary has no document frequencies"):
        wordnet_similarity(folder, measure="lin", counts=Vocabulary(["car"]))
    with pytest.raises(InvalidInputError, match="count of 'car' is -1"):
        wordnet_similarity(folder, measure="lin", counts={"car": -1})


def test_zip_files_and_tables_hold_the_same(folder: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "wordnet.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"wordnet/{file.name}")
    plain = read_wordnet(folder)
    packed = read_wordnet(tmp_path / "wordnet.zip")
    tables = tmp_path / "tables"
    tables.mkdir()
    synsets = [
        f"{s}\t{'|'.join(w)}\tgloss\n" for s, w in zip(plain.synsets, plain.words, strict=True)
    ]
    (tables / "synsets.tsv").write_text("".join(synsets).replace("30-a", "30-s"))
    rows = [
        f"{plain.synsets[s]}\t{sign}\t{plain.synsets[t]}\t0000\n"
        for sign, pairs in (("@", plain.hypernyms), ("&", plain.similar))
        for s, t in pairs.tolist()
    ]
    (tables / "relations.tsv.gz").write_bytes(gzip.compress("".join(rows).encode()))
    table = read_wordnet(tables)
    for other in (packed, table):
        assert other.synsets == plain.synsets
        assert other.words == plain.words
        assert sorted(other.hypernyms.tolist()) == sorted(plain.hypernyms.tolist())
        assert sorted(other.similar.tolist()) == sorted(plain.similar.tolist())


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "message"),
    [
        (
            "data.noun",
            "@ 00000020 n 0000 +",
            "@ 00000021 n 0000 +",
            5,
            "points to the synset 00000021-n",
        ),
        ("data.noun", "00000050 06", "00000040 06", 6, "the synset 00000040-n is there twice"),
        ("data.noun", "n 01 Colour", "n 02 Colour", 4, "is no synset"),
        ("data.noun", "n 01 Colour 0 001", "n 01 Colour 0 002", 4, "is no synset"),
        ("data.noun", "n 01 Colour", "n zz Colour", 4, "is no synset"),
        ("data.verb", "38 v 01 go 0 001 ~", "38 v 01 go 0 001 ~~", 3, "no pointer sign '~~'"),
    ],
)
def test_malformed_files_are_refused_by_line(
    folder: Path, file: str, old: str, new: str, line: int, message: str
) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    with pytest.raises(MalformedFileError, match=message) as caught:
        read_wordnet(folder)
    assert caught.value.line == line
    assert caught.value.path == folder / file


def test_malformed_tables_and_bytes_are_refused_by_line(folder: Path) -> None:
    (folder / "data.verb").write_bytes(b"\xff\xfe")
    with pytest.raises(MalformedFileError, match=r"data.verb, line 1: cannot be read"):
        read_wordnet(folder)
    tables = folder / "tables"
    tables.mkdir()
    (tables / "synsets.tsv").write_text("00000010-n\tthing\n00000020\tcar\n")
    (tables / "relations.tsv").write_text("00000010-n\t@\n")
    with pytest.raises(MalformedFileError, match=r"synsets.tsv, line 2: .* is no synset"):
        read_wordnet(tables)
    (tables / "synsets.tsv").write_text("00000010-n\tthing\n")
    with pytest.raises(MalformedFileError, match=r"relations.tsv, line 1: .* is no relation"):
        read_wordnet(tables)
    (tables / "relations.tsv").write_text("00000020-n\t@\t00000010-n\n")
    with pytest.raises(MalformedFileError, match="line 1: the synset 00000020-n is not in synsets"):
        read_wordnet(tables)


def test_cycles_are_refused_by_their_synsets(folder: Path) -> None:
    text = (folder / "data.noun").read_text()
    (folder / "data.noun").write_text(text.replace("0 002 ~ 00000020", "0 002 @ 00000040"))
    with pytest.raises(MalformedFileError, match="go round in a circle") as caught:
        wordnet_similarity(folder)
    for name in ("00000010-n (thing)", "00000020-n (vehicle)", "00000040-n (car)"):
        assert name in str(caught.value)
    assert "Titanic" not in str(caught.value)


def test_wrong_settings_are_refused(folder: Path) -> None:
    load = wordnet_similarity
    with pytest.raises(
        InvalidInputError, match="measure is 'jcn'; it must be one of path, wu_palmer, lin"
    ):
        wordnet_similarity(folder, measure="jcn")
    with pytest.raises(InvalidInputError, match="'wu_palmer' needs no counts; take measure='lin'"):
        wordnet_similarity(folder, measure="wu_palmer", counts={"car": 3})
    with pytest.raises(InvalidInputError, match="counts are of type str; pass a mapping"):
        wordnet_similarity(folder, measure="lin", counts="abc")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="the count of 'car' is 'many'"):
        wordnet_similarity(folder, measure="lin", counts={"car": "many"})  # type: ignore[dict-item]
    for threshold in (2.0, "x", math.nan):
        with pytest.raises(InvalidInputError, match=f"threshold is {threshold!r}; it must be a"):
            load(folder, threshold=threshold)  # type: ignore[arg-type]
    # All this is found out before anything is read.
    nowhere = folder / "nowhere"
    with pytest.raises(InvalidInputError):
        load(nowhere, exponent=0.0)
    for wrong in ({"measure": []}, {"measure": "lin", "counts": {"car": -1}},
                  {"measure": "lin", "exponent": 0.0}):  # fmt: skip
        with pytest.raises(InvalidInputError):
            wordnet_similarity(nowhere, **wrong)  # type: ignore[arg-type]


def test_a_wordnet_without_synsets_and_a_damaged_archive_are_refused(
    folder: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "wordnet.zip"
    with zipfile.ZipFile(archive, "w") as packing:
        packing.write(folder / "data.noun", "data.noun")
    content = bytearray(archive.read_bytes())
    place = content.index(b"thing")
    content[place : place + 5] = b"thong"
    archive.write_bytes(content)
    with pytest.raises(MalformedFileError, match=r"data\.noun, line .*: cannot be read: Bad CRC"):
        read_wordnet(archive)
    for found, put in ((b"data.noun", b"date.noun"), (b"PK\x03\x04", b"PK\x03\x05")):
        archive.write_bytes(content.replace(found, put, 1))
        with pytest.raises(MalformedFileError, match=r"wordnet\.zip: the archive cannot be read"):
            read_wordnet(archive)
    for file in folder.iterdir():
        file.write_text("  1 The licence.\n")
    with pytest.raises(MalformedFileError, match="dict: the files hold no synsets"):
        read_wordnet(folder)


def test_wordnet_is_found_in_the_usual_places(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WNSEARCHDIR", "WNHOME", "NLTK_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(wordnet_files, "_folders", lambda: [tmp_path / "nowhere"])
    monkeypatch.setattr(wordnet_files, "_nltk_folders", lambda: [tmp_path / "nltk_data"])
    with pytest.raises(FileNotFoundError, match=r"looked in .*nowhere.*apt-get install"):
        wordnet_similarity()
    inside = tmp_path / "nltk_data" / "corpora"
    inside.mkdir(parents=True)
    folder.rename(inside / "wordnet")
    assert find_wordnet() == inside / "wordnet"
    monkeypatch.undo()
    monkeypatch.setenv("WNSEARCHDIR", str(inside / "wordnet"))
    assert find_wordnet() == inside / "wordnet"
    with pytest.raises(FileNotFoundError, match="there is no WordNet at"):
        read_wordnet(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"no WordNet in .*; needed are data.noun"):
        read_wordnet(tmp_path)


def test_progress_ends_at_the_end(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    read_wordnet(folder, progress=lambda *at: seen.append(at))
    assert seen[-1] == (11, 11)


@pytest.fixture(scope="module")
def real(data: Path) -> WordNet:
    return read_wordnet(data / "wordnet")


@pytest.mark.data
def test_wordnet_3_has_its_published_size_and_similarities(real: WordNet) -> None:
    assert len(real) == 117_659
    assert len(real.senses[0]) == 148_730
    pairs = [("dog", "cat"), ("car", "automobile"), ("boy", "girl"), ("coast", "shore")]
    left, right = zip(*pairs, strict=True)
    # Of synsets with one way to the root, nltk's path_similarity and wup_similarity.
    for measure, values in (("path", [0.2, 1.0]), ("wu_palmer", [0.857143, 1.0])):
        weigh = by_paths if measure == "path" else weighing(measure, real, {})
        table = concepts_of_wordnet(real, weigh, threshold=0.0)
        source = ThesaurusSimilarity(table, name=measure)
        assert source.similarities(left, right).round(6).tolist()[:2] == pytest.approx(values)


@pytest.mark.data
def test_neighbors_in_wordnet_are_those_of_brute_force(real: WordNet) -> None:
    table = concepts_of_wordnet(real, weighing("lin", real, {}), threshold=0.6)
    source = ThesaurusSimilarity(table, name="lin", threshold=0.6, exponent=2.0)
    random = np.random.default_rng(5)
    among = tuple(np.array(source.words)[random.choice(len(source), 4000, replace=False)].tolist())
    asked = [*among[:40], "car", "run", "good", "Paris"]
    found = source.neighbors(asked, among, max_neighbors=20)
    assert as_lists(found) == brute_force(source, asked, among, 20)
    assert len(found.indices) > 100
