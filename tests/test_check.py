"""What verification finds beyond checksums: parts that were never sound, each named."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from crafted import array_names
from softcosine.errors import CorruptIndexError, IndexFormatError
from softcosine.index.directory.check import check_index
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.segment.documents import MemoryDocuments
from softcosine.index.segment.stored_fields import write_documents
from softcosine.similarity.pairs import PairSimilarity
from written import created, writing

TEXTS = {"a": "tire wheel tire", "b": "tea coffee tea", "c": "tyre milk", "d": "milk tea"}
SOURCE = PairSimilarity([("tire", "tyre", 0.875), ("tea", "coffee", 0.25)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An index of two segments, of which one document is deleted."""
    store = created(tmp_path_factory.mktemp("whole") / "x", source=SOURCE, positions=True)
    with writing(store, merge=None) as writer:
        writer.add_many(list(TEXTS), TEXTS.values())
        writer.commit()
        writer.add_many(["e", "b"], ["wheel", "tea"])
    return store


@pytest.fixture
def store(whole, tmp_path):
    shutil.copytree(whole.path, tmp_path / "x")
    return type(whole)(tmp_path / "x")


def part_of(settings, kind):
    first = settings.segments[0]
    return {
        "segment": first.part,
        "deleted": first.deleted,
        "norms": first.norms,
        "space": settings.space,
        "statistics": settings.statistics,
    }[kind]


def rewritten(store, kind, *, arrays=(), settings=(), documents=None):
    """Replace a part by one whose checksums are right and whose contents are not."""
    with store.writing() as writer:
        made = IndexSettings.from_dict(writer.base.settings)
        name = part_of(made, kind)
        old = writer.part(name)
        changed = {name: old.array(name) for name in array_names(old.path)} | dict(arrays)
        files = {}
        if kind == "segment":

            def copy(path):
                if documents is None:
                    shutil.copy(old.file("documents.sqlite"), path)
                else:
                    write_documents(documents, path)

            files = {"documents.sqlite": copy}
        new = writer.write(kind, {**old.settings, **dict(settings)}, changed, files)

        def renamed(part):
            return new if part == name else part

        segments = tuple(
            replace(
                one,
                part=renamed(one.part), deleted=renamed(one.deleted), norms=renamed(one.norms),
            )
            for one in made.segments
        )  # fmt: skip
        made = replace(
            made,
            segments=segments, space=renamed(made.space), statistics=renamed(made.statistics),
        )  # fmt: skip
        writer.commit(made.to_dict(), made.parts)
    return new


def array(store, kind, name):
    generation = store.read()
    return generation.part(part_of(IndexSettings.from_dict(generation.settings), kind)).array(name)


def test_a_sound_index_is_verified_with_progress(store):
    told = []
    generation = check_index(store, lambda *arguments: told.append(arguments))
    assert generation.number == 3
    assert {what for what, _, _ in told} == {"comparing checksums", "checking segments"}
    assert all(0 <= done < total for _, done, total in told)


def first_swapped(values):
    changed = np.array(values)
    changed[[0, 1]] = changed[[1, 0]]
    return changed


def first_set(value):
    def change(values):
        changed = np.array(values)
        changed[0] = value
        return changed

    return change


def another_level(entries):
    changed = np.array(entries)
    changed[0] ^= 1 << 24
    return changed


# What is changed: kind of part, array, how, and what the message says.
CHANGES = {
    "postings in another order": ("segment", "0/documents", np.flip, "does not follow from"),
    "terms in another order": ("segment", "0/entries", first_swapped, "terms of a document do not"),
    "another frequency": ("segment", "0/frequencies", first_set(9.0), "does not follow from"),
    "another length": ("segment", "0/lengths", first_set(2.0), "does not follow from"),
    "another level": ("segment", "0/entries", another_level, "does not follow from"),
    "another running word": ("segment", "0/tokens", first_set(99), "a number in tokens"),
    "a word that is none": ("segment", "0/tokens", first_set(-1), "are not as many"),
    "too few deletions": ("deleted", "deleted", lambda a: np.r_[a, a], "of type uint8 and shape"),
    "bits behind the end": ("deleted", "deleted", lambda a: a | 1, "bits are set behind the last"),
    "another norm": ("norms", "0", first_set(5.0), "norms of .* are not those of S"),
    "a negative norm": ("norms", "0", first_set(-1.0), "a value in norms"),
    "too many documents": ("statistics", "0/document_frequencies", first_set(99), "not between"),
    "another diagonal": ("space", "matrix/data", first_set(0.5), "the diagonal of S is not 1"),
    "a column of S outside": ("space", "matrix/indices", first_set(99), "number in matrix/indices"),
    "columns of S in disorder": ("space", "matrix/indices", first_swapped, "do not ascend"),
    "an impossible entry": ("space", "matrix/data", first_set(np.nan), "value in matrix/data"),
    "a term twice": ("space", "vocabulary/term_order", first_swapped, "order"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_should_never_have_been_written_is_found_and_named(store, change):
    kind, name, alter, message = CHANGES[change]
    values = alter(array(store, kind, name))
    part = rewritten(store, kind, arrays={name: values})
    store.read().verify()  # every checksum is right
    with pytest.raises(CorruptIndexError, match=message) as caught:
        check_index(store)
    assert part in str(caught.value) or change == "another norm"


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("segment", {"n_docs": 3}, "has 3 documents"),
        ("segment", {"fields": 0}, "has 4 documents, but its postings"),
        ("segment", {"positions": False}, None),
        ("deleted", {"n_docs": 5}, "it has 5 documents, not 4"),
        ("norms", {"fields": 0}, "it has not one array a field"),
        ("statistics", {"fields": []}, "it has not one entry a field"),
    ],
)
def test_settings_that_do_not_fit_are_found(store, kind, settings, message):
    part = rewritten(store, kind, settings=settings)
    if message is None:
        check_index(store)
        return
    with pytest.raises(CorruptIndexError, match=message) as caught:
        check_index(store)
    assert part in str(caught.value)


def test_an_s_that_is_not_what_it_says_is_found(store):
    generation = store.read()
    space = generation.part(IndexSettings.from_dict(generation.settings).space)
    similarity = space.settings["similarity"]
    for name in ("symmetric", "non_negative"):
        part = rewritten(store, "space", settings={"similarity": {**similarity, name: False}})
        with pytest.raises(CorruptIndexError, match="of S is wrong") as caught:
            check_index(store)
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "b", "c", "e"], r"the documents number 3 of .* and number 0 of .* same id 'e'"),
        (["a", "x", "c", "d"], None),
    ],
)
def test_two_documents_of_one_id_are_found(store, ids, message):
    rewritten(store, "segment", documents=MemoryDocuments(list(TEXTS.values()), ids=ids))
    if message is None:
        check_index(store)
        return
    with pytest.raises(CorruptIndexError, match=message):
        check_index(store)


def test_parts_that_nobody_speaks_of_are_found(store):
    with store.writing() as writer:
        more = writer.write("segment", {}, {})
        writer.commit(writer.base.settings, [*writer.base.parts, more])
    with pytest.raises(CorruptIndexError, match="does not list the parts that it uses"):
        check_index(store)


def test_every_flipped_byte_and_every_cut_file_is_named(store):
    for file in sorted(path for path in store.path.rglob("*") if path.is_file()):
        if file.name == "write.lock":
            continue
        content = file.read_bytes()
        flipped = bytearray(content)
        flipped[len(content) // 2] ^= 1
        for damaged in (bytes(flipped), content[: len(content) // 2]):
            file.write_bytes(damaged)
            with pytest.raises(IndexFormatError) as caught:
                check_index(store)
            assert str(file.parent) in str(caught.value)
        file.write_bytes(content)
    check_index(store)
