"""Lists of similar words that a person wrote: asked in terms, kept when balanced, and reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softcosine as sc
from sharded import built
from softcosine.errors import InvalidInputError, SoftCosineWarning
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.soft import Soft
from softcosine.evaluate.tuning.settings import Settings, indexed
from softcosine.evaluate.tuning.workbench import Workbench
from softcosine.index.spaces.part import SHORT
from softcosine.matrix.list_use import list_use
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.similarity.combine.combined import first, noisy_or, scaled, strongest
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.in_terms import TermKeys, in_terms
from softcosine.similarity.overrides.antonyms import Antonyms
from softcosine.similarity.overrides.guard import Guarded
from softcosine.similarity.source import TermSimilaritySource
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from toys import ToySource

ENGLISH = sc.Analyzer("english")
TEXTS = ["Report bugs here", "Nothing to see", "The weather is fine today"]


def from_file(text: str, folder: Path, **settings: object) -> sc.ThesaurusSimilarity:
    path = folder / "list.txt"
    path.write_text(text, encoding="utf-8")
    return sc.ThesaurusSimilarity.load(path, **settings)  # type: ignore[arg-type]


def found(index: sc.SoftIndex, query: str) -> list[str]:
    return index.search(query).ids


def pairs(*given: tuple[str, str]) -> sc.PairSimilarity:
    return sc.PairSimilarity([(a, b, 0.8) for a, b in given])


# Where a list may stand. The vectors know its words too, and say nothing of the pair.
TOY = EmbeddingSimilarity(["bug", "bugs", "defect"], np.eye(3))
JOINS: dict[str, Callable[[TermSimilaritySource], TermSimilaritySource]] = {
    "alone": lambda source: source,
    "strongest": lambda source: strongest(TOY, source),
    "first": lambda source: first(source, TOY),
    "noisy or": lambda source: noisy_or(TOY, source),
    "scaled": lambda source: scaled(source, 0.5),
    "guarded": lambda source: Guarded(source, antonyms=None),
    "decided": lambda source: sc.decided(source, sc.Decisions.of(isolated=["weather"])),
    "deep": lambda source: scaled(Guarded(strongest(TOY, first(source, TOY))), 0.9),
}


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("listed", [("defect", "bug"), ("Defects", "bugging")])
def test_a_list_reaches_every_form_of_both_terms_wherever_it_stands(join, listed, tmp_path):
    source = JOINS[join](pairs(listed))
    index = sc.SoftIndex.from_texts(TEXTS, source=source, analyzer=ENGLISH)
    both = sc.SoftIndex.from_texts([*TEXTS, "Defective: no defect"], source=source)
    created = sc.SoftIndex.create(tmp_path / "index", source=source, analyzer=ENGLISH)
    with created.writer() as writer:
        writer.add("later", "Nothing at all")
    with created.writer() as writer:
        writer.add("0", TEXTS[0])
        writer.add("1", "defects")
    opened = sc.SoftIndex.open(tmp_path / "index")
    for query in ("defect", "DEFECTS"):
        assert found(index, query) == ["0"]
        assert set(found(both, query)) == {"0", "3"}
        assert set(found(opened, query)) == {"0", "1"}
    assert set(found(both, "bugged")) == {"0", "3"}
    assert set(found(opened, "bugged")) == {"0", "1"}


def test_pins_reach_query_words_that_no_document_has(tmp_path):
    source = sc.pinned(TOY, {("Defects", "bugging"): 0.8})
    index = sc.SoftIndex.from_texts(TEXTS, source=source, analyzer=ENGLISH)
    index.save(tmp_path / "index")
    for one in (index, sc.SoftIndex.open(tmp_path / "index")):
        assert found(one, "defect") == ["0"]
        assert one.neighbors("defect") == [("bugs", pytest.approx(0.8))]


def test_an_index_takes_a_list_later(tmp_path):
    index = sc.SoftIndex.from_texts(TEXTS, plain=True, analyzer=ENGLISH)
    assert found(index, "defect") == []
    source = pairs(("defect", "bugging"), ("see", "reporting"))
    S = sc.TermSimilarityMatrix.from_source(
        source, index.vocabulary, analyzer=index.analyzer, balanced=True
    )
    assert S.similarity("see", "report") == np.float32(0.8)
    index.save(tmp_path / "index")
    opened = sc.SoftIndex.open(tmp_path / "index")
    for one in (index, opened, sc.SoftIndex.open(tmp_path / "index", source=source)):
        if one.source is None:
            one.set_similarity(S, source=source)
        assert found(one, "defect") == ["0"]
    assert found(sc.SoftIndex.open(tmp_path / "index"), "sees") == ["1", "0"]


def test_without_an_analyzer_a_list_reaches_the_forms_that_the_texts_have():
    vocabulary = sc.analyze(["bugs bug", "defect"], ENGLISH).vocabulary
    listed = sc.TermSimilarityMatrix.from_source(pairs(("bug", "defect")), vocabulary)
    assert listed.similarity("bug", "defect") == np.float32(0.8)
    lacking = pairs(("bug", "defects"))
    S = sc.TermSimilarityMatrix.from_source(lacking, vocabulary)
    assert S.similarity("bug", "defect") == 0.0
    S = sc.TermSimilarityMatrix.from_source(lacking, vocabulary, analyzer=ENGLISH)
    assert S.similarity("bug", "defect") == np.float32(0.8)


FORMS = ["tie", "ties", "tied", "run", "runs", "running", "Ran", "hopping", "hop", "e-ties"]


@given(
    st.lists(st.tuples(*[st.sampled_from(FORMS)] * 2, st.sampled_from([0.25, 0.5, 1.0]))),
    st.lists(st.sampled_from(FORMS), min_size=1),
    st.sampled_from([None, "english"]),
    st.booleans(),
)
def test_s_is_the_greatest_similarity_over_all_forms_of_both_terms(listed, words, stemmer, groups):
    analyzer = sc.Analyzer(stemmer, phrases=FORMS)
    vocabulary = sc.analyze([" ".join(words)], analyzer).vocabulary
    source: TermSimilaritySource = sc.PairSimilarity(listed)
    if groups:
        from softcosine.similarity.thesaurus.concepts import concepts_of_groups

        concepts = concepts_of_groups(([a, b], s) for a, b, s in listed)
        source = sc.ThesaurusSimilarity(concepts, name="groups", listed=True)
    S = sc.TermSimilarityMatrix.from_source(
        source, vocabulary, analyzer=analyzer, guard=False, warn=False
    )

    def term(word: str) -> str:
        return " ".join(analyzer.stem(analyzer.words(word)))

    for a, b in combinations(vocabulary.terms, 2):
        said = [s for x, y, s in listed if {term(x), term(y)} == {a, b}]
        assert S.similarity(a, b) == max(said, default=0.0)


def test_a_person_s_pair_keeps_its_value_when_s_is_balanced(tmp_path):
    texts = ["bug defect", "bug crash", "bug hang", "bug fault", "bug flaw"]
    toy = ToySource({("bug", other): 0.9 for other in ("crash", "hang", "fault", "flaw")})
    kept = pairs(("bugs", "defects"))
    index = sc.SoftIndex.from_texts(texts, source=strongest(toy, kept), analyzer=ENGLISH)
    assert index.S.similarity("bug", "defect") == np.float32(0.8)
    assert index.S.similarity("bug", "crash") < 0.5
    # What the join says of the pair is kept, too.
    index = sc.SoftIndex.from_texts(
        texts, source=strongest(toy, scaled(kept, 0.5)), analyzer=ENGLISH
    )
    assert index.S.similarity("bug", "defect") == np.float32(0.4)
    free = sc.PairSimilarity([("bugs", "defects", 0.8)], pinned=False)
    index = sc.SoftIndex.from_texts(texts, source=strongest(toy, free), analyzer=ENGLISH)
    assert 0.0 < index.S.similarity("bug", "defect") < 0.5
    assert found(index, "defects")[0] == "0"  # in terms all the same
    for format, pinned in (("solr", True), ("csv", True), ("ppdb", False), ("lists", False)):
        text = {"ppdb": "bugs ||| defects\n", "lists": "bugs defects\n"}.get(format, "bugs,defects")
        assert from_file(text, tmp_path, format=format).pinned == pinned
        assert from_file(text, tmp_path, format=format, pinned=True).pinned


def test_a_query_word_outside_has_a_list_s_value_too():
    texts = ["bug", "crash", "hang", "fault"]
    toy = ToySource({("defect", other): 0.9 for other in ("crash", "hang", "fault")})
    source = strongest(toy, pairs(("bugs", "defects")))
    index = sc.SoftIndex.from_texts(texts, source=source, analyzer=ENGLISH)
    assert dict(index.neighbors("defect"))["bug"] == pytest.approx(0.8)
    assert dict(index.neighbors("defect"))["hang"] < 0.6


def test_of_a_part_that_is_not_asked_nothing_is_pinned():
    texts = ["bug defect", "bug crash", "bug hang", "bug fault"]
    toy = ToySource({("bug", other): 0.9 for other in ("crash", "hang", "fault", "defect")})
    index = sc.SoftIndex.from_texts(texts, source=first(toy, pairs(("bug", "defect"))))
    assert index.S.similarity("bug", "defect") < 0.6


def test_other_sources_choose_the_form_that_stands_for_a_term():
    # The toy knows the rarer form; the list, all of them.
    toy = ToySource({("bug", "weather"): 0.5})
    texts = ["bugs bugs bug", "weather defects"]
    source = strongest(sc.PairSimilarity([("bugging", "defect", 0.4)]), toy)
    index = sc.SoftIndex.from_texts(texts, source=source, analyzer=ENGLISH)
    assert index.S.representative(index.vocabulary.index("bug")) == "bug"
    assert index.S.similarity("bug", "weather") == np.float32(0.5)
    assert index.S.similarity("bug", "defect") == np.float32(0.4)


def test_a_list_s_pairs_come_before_a_source_s_many_neighbours():
    others = [f"word{chr(97 + i)}" for i in range(6)]
    toy = ToySource({(a, b): 0.9 for a, b in combinations(["bug", "defect", *others], 2)
                     if {a, b} != {"bug", "defect"}})  # fmt: skip
    texts = [" ".join(["bug", "defect", *others])]
    source = strongest(toy, pairs(("bugs", "defects")))
    index = sc.SoftIndex.from_texts(texts, source=source, analyzer=ENGLISH, max_neighbors=7)
    assert index.S.similarity("bug", "defect") == np.float32(0.8)
    tight = strongest(toy, sc.PairSimilarity([("bugs", "defects", 0.8)], pinned=False))
    index = sc.SoftIndex.from_texts(texts, source=tight, analyzer=ENGLISH, max_neighbors=2)
    assert index.S.similarity("bug", "defect") == 0.0


PHRASES = pairs(("disk space", "storage"), ("e-mail", "mail"), ("disk space", "space station"))
POSTS = [
    "The disks' space is running out", "Storage is full today", "Please send me an e-mail",
    "The mail is late", "A disk in outer space", "Visit the space stations",
]  # fmt: skip


def phrase_indexes(folder: Path) -> dict[str, sc.SoftIndex]:
    created = sc.SoftIndex.create(folder / "created", source=PHRASES, encoder=None, positions=True)
    given = sc.SoftIndex.create(folder / "given", source=PHRASES, encoder=None, analyzer=ENGLISH)
    for index in (created, given):
        with index.writer() as writer:
            for number in (5, 4, 3):
                writer.add(str(number), "something else")
        with index.writer() as writer:
            writer.add_many(map(str, range(6)), POSTS)
    return {
        "texts": sc.SoftIndex.from_texts(POSTS, source=PHRASES, encoder=None),
        "analyzer": sc.SoftIndex.from_texts(POSTS, source=PHRASES, encoder=None, analyzer=ENGLISH),
        "fields": sc.SoftIndex.from_texts(
            [{"title": text, "body": ""} for text in POSTS],
            fields={"title": 1, "body": 1}, source=PHRASES, encoder=None,
        ),
        "created": created,
        "opened": sc.SoftIndex.open(folder / "given"),
    }  # fmt: skip


def test_entries_of_several_words_work_by_themselves(tmp_path):
    for name, index in phrase_indexes(tmp_path).items():
        assert index.analyzer.phrases == ("disk space", "e mail", "space station"), name
        assert found(index, "storage") == ["1", "0"], name
        assert set(found(index, "disk spaces")) == {"0", "1", "4", "5"}, name
        assert found(index, "disk spaces")[0] == "0", name
        assert set(found(index, "disk")) == {"0", "4"}, name
        assert set(found(index, "mail")) == {"2", "3"}, name
        assert set(found(index, "space station")) == {"0", "4", "5"}, name
        assert found(index, '"disk space"') == ["0"], name
        assert index.search("+disk -outer", syntax=True).ids == ["0"], name
        near = {"storage": pytest.approx(0.8), "space stations": pytest.approx(0.8)}
        assert dict(index.neighbors("Disk spaces")) == near, name
        ((near_storage, similarity),) = index.neighbors("storage")
        assert near_storage in ("disk space", "disks space"), name
        assert similarity == pytest.approx(0.8), name
    copy = sc.SoftIndex.open(tmp_path / "created")
    assert copy.analyzer == sc.Analyzer.from_dict(copy.analyzer.to_dict())


def test_a_phrase_that_no_document_has_finds_what_a_list_says_of_it():
    index = sc.SoftIndex.from_texts(["all the storage", "nothing"], source=PHRASES)
    hits = index.search("disks space")
    assert hits.ids == ["0"]
    assert hits.outside == ("disks space",)
    assert hits.unknown == ()  # they are parts of what the list has
    assert index.neighbors("disks space") == [("storage", pytest.approx(0.8))]
    with pytest.raises(InvalidInputError, match="holds 3 terms"):
        index.neighbors("disks and space")


def test_a_term_of_two_words_is_shown_as_its_words(tmp_path):
    for index in phrase_indexes(tmp_path).values():
        (part,) = index.explain("storage", "0").parts
        assert (part.query_word, part.document_word) == ("storage", "disks space")
        (part,) = index.explain("Disk spaces", "1").parts
        assert (part.query_word, part.document_word) == ("disk spaces", "storage")
        near = index.search("storage")[1].snippet.to_html()
        assert near == "The <b>disks</b>&#x27; <b>space</b> is running out"
        exact = index.search("disk space")[0].snippet.to_html()
        assert exact == "The <b>disks</b>&#x27; <b>space</b> is running out"
        total = sum(part.contribution for part in index.explain("disk space", "0").parts)
        assert total == pytest.approx(index.search("disk space")[0].score)


def test_phrases_of_pins_and_of_lists_inside_joins_are_learned_and_others_are_not():
    source = sc.pinned(strongest(TOY, scaled(PHRASES, 0.5)), {("log in", "sign-on"): 0.9})
    index = sc.SoftIndex.from_texts(POSTS, source=source)
    assert index.analyzer.phrases == (
        "disk space", "e mail", "log in", "sign on", "space station"
    )  # fmt: skip
    free = sc.PairSimilarity([("disk space", "storage", 0.8)], pinned=False)
    assert sc.SoftIndex.from_texts(POSTS, source=free).analyzer.phrases == ()


def test_the_entries_that_have_no_effect_are_told_with_the_reason():
    listed = pairs(
        ("defect", "bug"), ("defects", "BUGS"), ("weather", "climates"), ("hot", "cold"),
        ("E1042", "bug"), ("kubernetes", "k-eight"), ("the", "bug"), ("report", "reporting"),
        ("see", "fine"), ("bug", "today"), ("nothing", "weather"),
    )  # fmt: skip
    decisions = sc.Decisions.of(forbidden=[("see", "fine")], pinned={("fine", "sunny"): 0.9})
    toy = ToySource({("weather", other): 0.9 for other in ("climate", "nothing")})
    analyzer = sc.Analyzer("english", stop_words=["the"])
    texts = [*TEXTS, "hot", "cold E1042", "sunny"]
    source = sc.decided(
        Guarded(strongest(toy, listed), antonyms=Antonyms([("hot", "cold")])), decisions
    )
    index = sc.SoftIndex.from_texts(texts, source=source, analyzer=analyzer)
    use = index.list_use
    assert use is not None
    reasons = {(one.left, one.right): one.reason for one in use.unused}
    assert reasons == {
        ("hot", "cold"): "kept apart as antonyms",
        ("kubernetes", "k-eight"): "in no document",
        ("bug", "the"): "only words that are left out",
        ("see", "fine"): "overruled by a decision",
    }  # fmt: skip
    assert (use.n_entries, use.n_used, use.n_in_queries) == (11, 7, 2)
    assert use.reasons["kept apart as antonyms"] == 1
    assert str(use).startswith(
        "7 of 11 pairs of your lists are used (2 by queries alone, as one word is in no document)"
    )
    assert "hot ~ cold (kept apart as antonyms)" in str(use)
    assert sc.SoftIndex.from_texts(TEXTS, plain=True).list_use is None
    assert sc.SoftIndex.from_texts(TEXTS, source=toy).list_use is None


def test_entries_without_words_are_not_counted():
    index = sc.SoftIndex.from_texts(TEXTS, source=pairs(("defect", "bug"), (",", "bug")))
    assert index.list_use.n_entries == 1
    assert not index.list_use.unused


def test_phrases_that_an_index_did_not_learn_and_full_columns_are_told():
    index = sc.SoftIndex.from_texts(POSTS, plain=True, analyzer=ENGLISH)
    S = sc.TermSimilarityMatrix.from_source(PHRASES, index.vocabulary, analyzer=ENGLISH)
    later = index.with_similarity(S, source=PHRASES)
    use = later.list_use
    assert use is not None
    assert use.n_used == 0
    assert dict(use.reasons) == {
        "several words, which are no phrase of this index": 3
    }  # fmt: skip
    vocabulary = sc.Vocabulary(["bug", "defect", "fault", "flaw"])
    full = sc.PairSimilarity(dict.fromkeys(combinations(vocabulary.terms, 2), 0.8))
    S = sc.TermSimilarityMatrix.from_source(full, vocabulary, max_neighbors=1, warn=False)
    use = list_use(S, in_terms(full, TermKeys(vocabulary=vocabulary)))
    assert use is not None
    assert dict(use.reasons) == {"full of closer neighbours": 4}


def test_what_is_told_of_a_list_is_bounded_and_grows_with_the_index(tmp_path):
    words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(300)]
    source = pairs(*zip(words[::2], words[1::2], strict=True))
    index = sc.SoftIndex.create(tmp_path / "index", source=source, analyzer=sc.Analyzer())
    with index.writer() as writer:
        writer.add("0", "something")
    use = index.list_use
    assert use is not None
    assert (use.n_entries, use.n_used, len(use.unused)) == (150, 0, 100)
    assert str(use).endswith("and 145 more.")
    with index.writer() as writer:
        writer.add("1", " ".join(words[:100]))
    use = sc.SoftIndex.open(tmp_path / "index").list_use
    assert use is not None
    assert (use.n_used, use.n_in_queries, use.reasons) == (50, 0, {"in no document": 100})


def test_two_ways_to_write_a_word_are_no_entry(tmp_path):
    source = from_file("e-mail, e mail, mail\nattorney-at-law, lawyer\n", tmp_path)
    index = sc.SoftIndex.from_texts(["an e-mail", "mail the lawyer"], source=source)
    use = index.list_use
    assert use is not None
    assert (use.n_entries, use.n_used, use.n_in_queries) == (2, 2, 1)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    records = [{"id": f"d{i}", "text": text} for i, text in enumerate([*TEXTS, *POSTS, "hot cold"])]
    Path("docs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    Path("list.txt").write_text(
        "defect, bugging\ndisk space, storage\ne-mail, mail\nhot, cold\nhelm, k8s\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--source", "english"),
        ("--positions",),
        ("--source", "texts"),
        ("--source", "english", "--join", "first"),
    ],
)
def test_the_command_line_uses_a_list_and_tells_how_much_of_it(run, folder, options):
    arguments = ("index", "docs.jsonl", "-o", "x", "--source", "list.txt", *options)
    shown = " ".join(run(*arguments).split())
    assert "3 of 5 pairs of your lists are used" in shown
    assert "hot ~ cold (kept apart as antonyms), helm ~ k8s (in no document)" in shown
    record = json.loads(run(*arguments, "--overwrite", "--json"))
    assert record["list_use"]["n_entries"] == 5
    assert "3 of 5 pairs" in " ".join(run("info", "x").split())
    facts = json.loads(run("info", "x", "--json"))
    assert facts["list_use"] == record["list_use"]
    assert facts["list_use"]["unused"][0] == {
        "left": "hot", "right": "cold", "reason": "kept apart as antonyms"
    }  # fmt: skip
    assert facts["analyzer"]["phrases"] == ["disk space", "e mail"]
    index = sc.SoftIndex.open("x")
    assert "d0" in found(index, "defects")
    assert "d3" in found(index, "storage")
    assert "d4" in found(index, "disks space")


def test_an_index_has_the_phrases_and_forms_of_a_list_and_of_decisions(run, folder):
    (folder / "pins.txt").write_text('"outer space" = visiting 0.9\n')
    arguments = (
        "index", "docs.jsonl", "-o", "x", "--source", "only:list.txt", "--decisions", "pins.txt",
        "--encoder", "none",
    )  # fmt: skip
    shown = " ".join(run(*arguments).split())
    assert "4 of 6 pairs of your lists are used" in shown
    index = sc.SoftIndex.open("x")
    assert index.S.similarity("disk space", "storag") == np.float32(0.8)
    assert index.S.similarity("outer space", "visit") == np.float32(0.9)
    neighbors = json.loads(run("terms", "x", "defects", "--json"))["neighbors"]
    assert [one["word"] for one in neighbors] == ["bugs"]
    assert found(index, "defects") == ["d0"]
    assert found(index, "storage") == ["d4", "d3"]


def test_a_thesaurus_file_is_balanced_as_other_sources_are(run, folder):
    words = ["report", "nothing", "see", "weather", "fine"]
    (folder / "large.txt").write_text(f"{', '.join(words)}\n")
    for kind, least in (("synonyms", 0.8), ("thesaurus", 0.2)):
        run("index", "docs.jsonl", "-o", kind, "--source", f"{kind}:large.txt")
        S = sc.SoftIndex.open(kind).S
        assert S.similarity("see", "fine") == pytest.approx(least, abs=0.06)


def test_a_large_file_is_a_thesaurus_unless_it_is_said_to_be_a_person_s_list(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("disk space, storage\n" + "".join(f"x{n}a, y{n}b\n" for n in range(999)))
    assert ThesaurusSimilarity.load(path).pinned
    with path.open("a") as file:
        file.write("one, more\n")
    with pytest.warns(SoftCosineWarning, match=r"1,001 entries, .* --source list:words.txt"):
        source = ThesaurusSimilarity.load(path)
    assert not source.pinned
    assert ThesaurusSimilarity.load(path, pinned=True).pinned
    listed, thesaurus = (
        SimilarityRecipe(sources=[f"{kind}:{path}"]).phrases() for kind in ("list", "thesaurus")
    )
    assert listed == ThesaurusSimilarity.load(path, pinned=True).words
    assert thesaurus == ()


def test_vectors_beside_a_list_give_what_they_gave():
    vectors = EmbeddingSimilarity(["report", "here", "bugs"], [[3, 4], [4, 3], [1, 0.1]])
    alone = sc.TermSimilarityMatrix.from_source(
        vectors, sc.analyze(TEXTS, ENGLISH).vocabulary, warn=False
    )
    joined = sc.TermSimilarityMatrix.from_source(
        strongest(vectors, pairs(("see", "fine"))),
        sc.analyze(TEXTS, ENGLISH).vocabulary,
        warn=False,
    )
    difference = alone.difference(joined)
    assert [(one.left, one.right) for one in difference.changes] in (
        [("fine", "see")],
        [("see", "fine")],
    )


def test_tuning_and_evaluating_learn_the_phrases_of_lists_as_an_index_does(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("disk space, storage\n", encoding="utf-8")
    own = pairs(("send me", "late"))
    documents = Documents.of(POSTS)
    settings = Settings(language="english").changed(
        sources=(str(path), own), combine="first", max_neighbors=100, scaling="balanced"
    )
    without = settings.changed(sources=(own,))
    bench = Workbench(documents)
    for index in (indexed(documents, settings), bench.fitted(settings).index):
        assert index.analyzer.phrases == ("disk space", "send me")
        assert found(index, "storage") == ["1", "0"]
        assert index.list_use is not None
        assert index.list_use.n_used == 2
    assert bench.fitted(without).index.analyzer.phrases == ("send me",)
    assert Soft(sources=(str(path),)).fit(documents).index.analyzer.phrases == ("disk space",)
    assert Soft(source=own).fit(documents).index.analyzer.phrases == ("send me",)
    made = Soft(source=lambda texts: own).fit(documents)  # known too late to cut texts by
    assert made.index.analyzer.phrases == ()


JARGON = {
    "vpn": "Connect to the office from home with the tunnel client",
    "wage": "Where is my wage statement?",
    "ny": "Hotels in New York City near the park",
    "lunch": "The canteen serves fruit and salad at noon",
    "shirt": "A large shirt in blue",
    "desk": "Book a desk for a day",
}
OWN = [("mango", "tunnel client"), ("W-2-form", "wage statement"), ("w2", "wage statement"),
       ("nyc", "new york city"), ("big apple", "new york city")]  # fmt: skip


@pytest.mark.parametrize("form", ["pairs", "file", "csv", "decisions", "guarded in a join"])
def test_what_a_person_lists_is_the_word_itself_in_every_form_and_at_every_door(form, tmp_path):
    texts, ids, english = [*JARGON.values()], [*JARGON], sc.EmbeddingSimilarity.english()
    file, table = tmp_path / "own.txt", tmp_path / "own.csv"
    file.write_text("\n".join(f"{a}, {b}" for a, b in OWN))
    table.write_text("\n".join(f"{a},{b},0.8" for a, b in OWN))
    pins = sc.Decisions.of(pinned=dict.fromkeys(OWN, 0.8))
    recipe = partial(SimilarityRecipe, combine="first")
    options = {
        "pairs": {"source": first(pairs(*OWN), english)},
        "file": {"similarity": recipe(sources=[str(file), "english"])},
        "csv": {"similarity": recipe(sources=[str(table), "english"])},
        "decisions": {"similarity": SimilarityRecipe(overrides=pins)},
        "guarded in a join": {"source": sc.strongest(english, Guarded(pairs(*OWN)))},
    }[form] | {"encoder": "static", "language": "english"}
    index = sc.SoftIndex.from_texts(texts, ids=ids, **options)
    index.save(tmp_path / "saved")
    with sc.SoftIndex.create(tmp_path / "grown", **options).writer() as writer:
        for id, text in JARGON.items():
            writer.add(id, text)
    built(tmp_path / "shards", texts, **options)
    doors = {
        "memory": index, "saved": sc.SoftIndex.open(tmp_path / "saved"),
        "grown": sc.SoftIndex.open(tmp_path / "grown"),
        "shards": sc.ShardedIndex.open(tmp_path / "shards"),
    }  # fmt: skip
    asked = {"mango": "vpn", "W2": "wage", "where is my w2": "wage", "big apple": "ny",
             "Big Apple hotels": "ny", "nyc": "ny"}  # fmt: skip
    for door, opened in doors.items():
        batch = opened.search_batch([*asked], k=3)
        for (query, id), hits in zip(asked.items(), batch, strict=True):
            alone, name = opened.search(query, k=3), f"d{ids.index(id)}"
            assert alone == hits
            assert hits.ids[0] == (name if door == "shards" else id), (door, query, hits)
            assert hits.note == ""
            assert [hit.score for hit in hits] == [
                pytest.approx(hit.score, rel=1e-6) for hit in index.search(query, k=3)
            ]
            assert "exact" in {mark.kind for mark in hits[0].snippet.marks}
            why = opened.explain(query, hits.ids[0])
            assert sum(part.contribution for part in why.parts) == pytest.approx(why.score)
            added = [part.contribution for part in why.parts if part.query_word == SHORT]
            assert added == ([] if query.startswith("where") else [pytest.approx(8.0)])
        assert dict(opened.neighbors("w2")) == {"wage statement": pytest.approx(0.8)}


def test_general_thesauri_are_not_the_word_itself():
    listed = sc.PairSimilarity([("mango", "client", 0.8)], pinned=False)
    index = sc.SoftIndex.from_texts([*JARGON.values()], source=listed, encoder="static")
    assert SHORT not in {part.query_word for part in index.explain("mango", "0").parts}
    assert "exact" not in {mark.kind for mark in index.search("mango")[0].snippet.marks}
    assert index.search("mango").note.startswith("Nothing contains these words")


@pytest.mark.parametrize("query", ["w2", "W-2", "W 2", "wage statement"])
def test_entries_with_digits_are_found_with_other_joints(query):
    texts = ["Your wage statement is sent", "mail", "The W-2 form", "green tea"]
    source = sc.PairSimilarity({("w2", "wage statement"): 1.0})
    index = sc.SoftIndex.from_texts(texts, source=source, language="english")
    assert {hit.id for hit in index.search(query)} == {"0", "2"}
