"""The fast analysis of corpora against `Analyzer.terms`, document by document."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalysisCache, analyze

TROUBLE = (
    "/&\u2010\uff0d"
    "ab\u00e9 A'.+#_-\u2019\u00df\u0130\ufb01\u00bd\u0301\u00ad\u200b\u3042\u6771\u4eac\u0e01\u0e31"
    "\ud55c\x00\n\x1f\u00a0\u3000\ud800\U00020000 \u0939\u093f09s"
)
texts = st.one_of(
    st.text(st.sampled_from(TROUBLE), max_size=25),
    st.text(st.characters(exclude_categories=()), max_size=15),
    st.lists(
        st.sampled_from(
            [
                "ties",
                "tie",
                "tied",
                "The",
                "the",
                "dog's",
                "3.11",
                "C++",
                "e-mail",
                "the/b",
                "A.B.C",
                "6-a",
            ]
        )
    ).map(" ".join),
)
# Tokens with spaces read the same as n-grams of others.
token_lists = st.lists(
    st.sampled_from(["tie", "ties", "tie ties", "the", "", "\ud800x", "a b", "a", "b"])
)
corpora = st.one_of(st.lists(texts, max_size=6), st.lists(token_lists, max_size=6))
analyzers = st.builds(
    Analyzer,
    st.sampled_from([None, "english"]),
    stop_words=st.sampled_from([None, ["the", "b"]]),
    max_ngram=st.integers(1, 3),
    min_length=st.integers(1, 2),
    joints=st.booleans(),
    phrases=st.lists(
        st.sampled_from(
            ["tie ties", "a b", "a b a", "tie tied the tie", "dog's e-mail", "\u6771\u4eac a", "A'"]
        )
    ),
)


def streams(analyzed):
    terms = analyzed.vocabulary.terms
    return [
        [terms[t] for t in analyzed.tokens[a:b] if t >= 0]
        for a, b in zip(analyzed.offsets, analyzed.offsets[1:], strict=False)
    ]


@given(corpora, analyzers)
@settings(max_examples=200)
@example(["\u6771\u4eac x_y", "x\u3000y \u00bd"], Analyzer())
def test_every_document_has_the_terms_of_the_plain_analyzer(corpus, analyzer):
    expected = [analyzer.terms(document) for document in corpus]
    analyzed = analyze(iter(corpus), analyzer)
    assert streams(analyzed) == expected
    terms = analyzed.vocabulary.terms
    assert terms == tuple(sorted({term for document in expected for term in document}))

    counts = analyzed.counts()
    assert counts.shape == (len(corpus), len(terms))
    assert counts.has_sorted_indices
    dense = counts.toarray()
    for row, document in zip(dense, expected, strict=True):
        assert {t: int(n) for t, n in zip(terms, row, strict=True) if n} == Counter(document)
    assert np.array_equal(analyzed.vocabulary.document_frequencies, (dense > 0).sum(axis=0))
    assert analyzed.vocabulary.n_docs == analyzed.n_docs == len(corpus)


chunks = st.text(st.sampled_from("aabsz019.'-/&_+#"), max_size=30) | st.lists(
    st.sampled_from(["a", "s", "x1", "12", "x" * 12, "y" * 64, "z" * 63 + "'s", "c++", "c#"])
    | st.sampled_from(["'s", "1.2", "don't"]),
    max_size=26,
).flatmap(lambda parts: st.sampled_from("-./'").map(lambda joint: joint.join(parts)))


@given(st.lists(chunks, max_size=8).map(" ".join), st.booleans())
@settings(max_examples=300)
@example("s.w.a.t. a-" + "'s'" * 30, True)
@example("-".join("abcdefghijklmnopqrstuvwxyz"), True)
def test_the_kernel_splits_chunks_by_the_rules_of_the_plain_analyzer(text, joints):
    analyzer = Analyzer(joints=joints)
    assert streams(analyze([text, "\u00e9 " + text], analyzer)) == [
        analyzer.terms(text),
        ["\u00e9", *analyzer.terms(text)],
    ]


@given(st.lists(corpora, max_size=5), analyzers, st.sampled_from([0, 5, 1000]))
def test_a_cache_of_earlier_texts_changes_nothing(batches, analyzer, max_chunks):
    cache = AnalysisCache(max_chunks)
    for corpus in batches:
        cached, alone = analyze(corpus, analyzer, cache=cache), analyze(corpus, analyzer)
        assert cached.vocabulary == alone.vocabulary
        assert cached.vocabulary.forms == alone.vocabulary.forms
        assert np.array_equal(cached.tokens, alone.tokens)
        assert np.array_equal(cached.offsets, alone.offsets)


@given(corpora, analyzers, st.sampled_from([0, 1, 2, 0.3, 1.0]), st.sampled_from([1, 2, 0.0, 0.5]))
def test_rare_and_frequent_terms_are_left_out(corpus, analyzer, min_df, max_df):
    whole = analyze(corpus, analyzer)
    pruned = analyze(corpus, analyzer, min_df=min_df, max_df=max_df)
    low = min_df * len(corpus) if isinstance(min_df, float) else min_df
    high = max_df * len(corpus) if isinstance(max_df, float) else max_df
    kept = [
        term
        for term, df in zip(whole.vocabulary, whole.vocabulary.document_frequencies, strict=True)
        if low <= df <= high
    ]
    assert pruned.vocabulary.terms == tuple(kept)
    assert streams(pruned) == [[t for t in doc if t in kept] for doc in streams(whole)]
    assert np.array_equal(pruned.offsets, whole.offsets)


@given(st.one_of(st.lists(texts, max_size=6), st.lists(token_lists, max_size=6)))
def test_forms_go_by_frequency_then_string(corpus):
    analyzer = Analyzer("english")
    seen: dict[str, Counter[str]] = {}
    for document in corpus:
        for stem, word in analyzer.terms_and_words(document):
            seen.setdefault(stem, Counter())[word] += 1
    vocabulary = analyze(corpus, analyzer).vocabulary
    assert dict(zip(vocabulary.terms, vocabulary.forms, strict=True)) == {
        stem: tuple(sorted(forms, key=lambda form: (-forms[form], form)))
        for stem, forms in seen.items()
    }


def test_forms_of_an_ngram_are_made_of_the_most_frequent_forms():
    vocabulary = analyze(
        ["ties hold", "ties held", "tie holds"], Analyzer("english", max_ngram=2)
    ).vocabulary
    assert vocabulary.forms[vocabulary.index("tie hold")] == ("ties hold",)
    assert analyze(["ties"], Analyzer(max_ngram=2)).vocabulary.forms is None


def test_a_phrase_is_a_term_wherever_its_stems_stand_one_after_the_other():
    analyzer = Analyzer(
        "english", stop_words=["the"], phrases=["disk space", "space station", "E-Mail", "the disk"]
    )
    assert analyzer.phrases == ("disk space", "e mail", "space station")
    text = "Disks' spaces: stations e-mailed. The disk, space; disk\u00adspace"
    terms = ["disk", "disk space", "space", "space station", "station", "e", "e mail", "mail"]
    terms += ["\u2060email", "disk", "disk space", "space", "diskspac"]
    assert analyzer.terms(text) == terms
    assert streams(analyze([text, text], analyzer)) == [terms, terms]
    vocabulary = analyze([text, "disks space"], analyzer).vocabulary
    assert vocabulary.forms[vocabulary.index("disk space")] == ("disks space",)


def test_many_pieces_and_very_long_ones_find_room():
    numbers = [f"n{i:x}" for i in range(5000)]
    document = " ".join(numbers) + " " + "y" * 20000 + " " + " ".join(numbers)
    analyzed = analyze([document, "n1 " + "z" * 70])
    assert analyzed.tokens.shape == (10003,)
    assert streams(analyzed)[0] == [*numbers, "y" * 64, *numbers]
    assert streams(analyzed)[1] == ["n1", "z" * 64]


def test_documents_without_terms_keep_their_rows():
    analyzed = analyze(["", "tea", " -- "])
    assert analyzed.counts().toarray().tolist() == [[0], [1], [0]]
    assert analyze([]).counts().shape == (0, 0)
    assert analyze(["", ""]).counts().shape == (2, 0)
    assert analyze([[], ["a b"]]).vocabulary.terms == ("a b",)


def test_arrays_and_tuples_of_tokens_are_token_lists():
    assert streams(analyze([np.array(["b", "a"]), ("a",)])) == [["b", "a"], ["a"]]
    assert all(type(term) is str for term in analyze([np.array(["b", "a"])]).vocabulary)


def test_progress_hears_of_every_document_in_the_end():
    calls: list[int] = []
    analyze((f"text {i}" for i in range(25_000)), progress=calls.append)
    assert calls == sorted(calls)
    assert calls[-1] == 25_000
    assert len(calls) > 1


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ("green tea", "single string; wrap it in a list"),
        (b"green tea", "bytes; decode"),
        ({"a": "tea"}, "of type dict"),
        (None, "texts is None"),
        (["tea", None], "document 1 is None"),
        (["tea", float("nan")], "document 1 is the number nan"),
        (["tea", b"tea"], "document 1 is bytes; decode"),
        ([["tea"], ["tea", 3]], "token 1 of document 1 is of type int"),
        ([["tea", ["nested"]]], "token 1 of document 0 is of type list"),
        ([{"tea"}], "document 0 is of type set"),
        (["tea", ["tea"]], "document 1 is a token list but document 0 is a text"),
    ],
)
def test_errors_name_the_document(corpus, message):
    with pytest.raises(InvalidInputError, match=message):
        analyze(corpus)


@pytest.mark.parametrize(
    "limits", [{"min_df": -1}, {"max_df": 1.5}, {"min_df": True}, {"max_df": "2"}]
)
def test_limits_that_make_no_sense_are_refused(limits):
    with pytest.raises(InvalidInputError, match="proportion"):
        analyze(["tea"], **limits)


def test_numbers_do_not_depend_on_the_hash_seed():
    program = (
        "from softcosine.text.corpus import analyze; from softcosine.text.analyzer import Analyzer;"
        "a = analyze(['ties tie the tied', 'b a c'], Analyzer('english', stop_words=['the']));"
        "print(a.vocabulary.terms, a.vocabulary.forms, a.tokens.tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "NUMBA_DISABLE_JIT": "1"},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


@given(
    st.lists(st.tuples(texts, texts), max_size=5), analyzers, st.sampled_from([0, 1, 2, 0.5]),
    st.sampled_from([1, 2, 1.0]),
)  # fmt: skip
def test_terms_of_several_fields_are_counted_by_document(documents, analyzer, min_df, max_df):
    pieces = [text for document in documents for text in document]
    together = analyze(pieces, analyzer, n_fields=2, min_df=min_df, max_df=max_df)
    counts = Counter(
        term
        for document in documents
        for term in {term for text in document for term in analyzer.terms(text)}
    )
    n = len(documents)
    least = min_df * n if isinstance(min_df, float) else min_df
    most = max_df * n if isinstance(max_df, float) else max_df
    kept = sorted(term for term, df in counts.items() if least <= df <= most)
    assert list(together.vocabulary.terms) == kept
    assert together.vocabulary.document_frequencies.tolist() == [counts[term] for term in kept]
    assert together.vocabulary.n_docs == n
    assert streams(together) == [
        [term for term in analyzer.terms(text) if term in set(kept)] for text in pieces
    ]


def test_fields_that_are_missing_are_named():
    with pytest.raises(InvalidInputError, match="there are 3 texts, which are no documents of 2"):
        analyze(["a", "b", "c"], n_fields=2)
    for n_fields in (0, -1, 1.5, True, None):
        with pytest.raises(InvalidInputError, match="n_fields is"):
            analyze(["a"], n_fields=n_fields)
