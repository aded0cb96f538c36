"""Whatever comes in, out comes an answer or an error of ours: never NaN, never a crash."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import strategies as own
from expected import RANKINGS
from softcosine import errors
from softcosine.errors import InvalidInputError, SoftCosineError
from softcosine.index.soft_index import SoftIndex
from softcosine.lab.regression.source import RegressionSimilarity
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.overrides.decision_files import read_decisions
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.sklearn.soft_neighbors import SoftNeighbors
from softcosine.space import measures, transforms
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from toys import ToySource, similarity_matrix

WILD = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-300, 5e-324, 1e300, 1.7e308, -1e300, 1e-20, 1e20),
    *(np.nan, np.inf, -np.inf, 2.0**53, 255.0, 256.0, 65536.0),
)


def wild_matrices(n_terms, *, values=WILD):
    row = st.lists(st.sampled_from(values), min_size=n_terms, max_size=n_terms)
    return st.lists(row, max_size=4).map(
        lambda rows: np.array(rows, np.float64).reshape(len(rows), n_terms)
    )


def wild_similarities(n):
    entries = st.sampled_from((0.0, 0.5, 1.0, -1.0, 1e-30, 1e30, 3e38, np.nan, np.inf))
    square = st.lists(entries, min_size=n * n, max_size=n * n)

    def unit_diagonal(flat):
        S = np.array(flat).reshape(n, n)
        np.fill_diagonal(S, 1.0)
        return S

    either = square.map(unit_diagonal)
    return st.one_of(either, either.map(lambda S: np.triu(S) + np.triu(S, 1).T))


def finite(answer):
    values = answer.data if isinstance(answer, csr_array) else np.asarray(answer)
    return bool(np.isfinite(values).all())


@given(
    st.integers(1, 3).flatmap(lambda n: st.tuples(*[wild_matrices(n)] * 2, wild_similarities(n)))
)
def test_wild_numbers_give_finite_answers_or_our_errors(drawn):
    X, Y, S = drawn
    try:
        matrix = TermSimilarityMatrix.from_matrix(S, warn=False)
    except SoftCosineError:
        return
    weights = np.abs(np.nan_to_num(X[0])) if len(X) else None
    n = min(len(X), len(Y))
    asked = [
        lambda: measures.soft_norm(X, matrix),
        lambda: measures.soft_inner_product(X, Y, matrix),
        lambda: measures.soft_cosine_similarity(X, Y, matrix),
        lambda: measures.sparse_soft_cosine_similarity(X, Y, matrix, k=2),
        lambda: measures.paired_soft_inner_product(X[:n], Y[:n], matrix),
        lambda: measures.paired_soft_cosine_similarity(X[:n], Y[:n], matrix),
        lambda: transforms.expand_queries(X, matrix, term_weights=weights, raw_documents=True),
        lambda: transforms.unit_documents(X, matrix, term_weights=weights),
        lambda: transforms.cosine_documents(X, matrix, term_weights=weights),
        lambda: transforms.cosine_queries(X, matrix, term_weights=weights),
        lambda: matrix.shrunk().to_scipy(),
        lambda: [matrix.statistics().mean_similarity],
    ]
    for ranking in RANKINGS:
        neighbors = SoftNeighbors(matrix, ranking=ranking, n_jobs=1)
        asked += [
            lambda neighbors=neighbors: neighbors.fit(Y).search(X).scores,
            lambda neighbors=neighbors: neighbors.fit(np.abs(Y)).search(np.abs(X)).scores,
        ]
    for ask in asked:
        try:
            answer = ask()
        except SoftCosineError:
            continue
        assert finite(answer)


JUNK = [None, True, 5, 2.5, "text", b"bytes", {}, {"a": 1}, [], [[]], [None], ["a", 1], object()]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk).partition(" at ")[0])
def test_junk_in_any_place_is_our_error_or_an_answer(junk, tmp_path):
    S = similarity_matrix(np.eye(2))
    fitted = SoftNeighbors(S).fit([[1, 0], [0, 1]])
    index = SoftIndex.from_texts(["a b", "b c"], plain=True, analyzer=Analyzer())
    for ask in (
        lambda: TermSimilarityMatrix.from_matrix(junk),
        lambda: TermSimilarityMatrix.from_source(junk, index.vocabulary),
        lambda: TermSimilarityMatrix.from_source(
            ToySource({}), index.vocabulary, max_neighbors=junk
        ),
        lambda: TermSimilarityMatrix.from_source(ToySource({}), index.vocabulary, strategy=junk),
        lambda: TermSimilarityMatrix.from_source(ToySource({}), index.vocabulary, order=junk),
        lambda: S.neighbors("0", k=junk),
        lambda: measures.soft_norm(junk, S),
        lambda: measures.soft_norm([[1, 0]], junk),
        lambda: measures.soft_cosine_similarity([[1, 0]], junk, S),
        lambda: measures.sparse_soft_cosine_similarity([[1, 0]], None, S, k=junk),
        lambda: transforms.expand_queries(junk, S),
        lambda: transforms.expand_queries([[1, 0]], S, term_weights=junk),
        lambda: SoftNeighbors(junk).fit([[1, 0]]),
        lambda: SoftNeighbors(S).fit(junk),
        lambda: SoftNeighbors(S, ranking=junk).fit([[1, 0]]),
        lambda: SoftNeighbors(S, n_jobs=junk).fit([[1, 0]]),
        lambda: fitted.search(junk),
        lambda: fitted.search([[1, 0]], k=junk),
        lambda: fitted.kneighbors(junk, n_neighbors=1),
        lambda: SoftIndex.from_texts(junk, plain=True),
        lambda: SoftIndex.from_texts(["a"], ids=junk, plain=True),
        lambda: SoftIndex.from_texts(["a"], metadata=junk, plain=True),
        lambda: SoftIndex.from_texts(["a"], source=junk),
        lambda: SoftIndex.from_texts(["a"], S=junk),
        lambda: SoftIndex.from_texts(["a"], plain=True, ranking=junk),
        lambda: index.search(junk),
        lambda: index.search("a", k=junk),
        lambda: index.search("a", min_score=junk),
        lambda: index.search("a", ranking=junk),
        lambda: index.search_batch(junk),
        lambda: index.search_batch(["a"], threads=junk),
        lambda: index.explain(junk, "0"),
        lambda: index.explain("a", junk),
        lambda: index.similar(junk),
        lambda: index.neighbors("a", k=junk),
        lambda: index.with_similarity(junk),
        lambda: junk in index,
    ):
        with contextlib.suppress(SoftCosineError):
            ask()


def test_every_error_is_also_the_builtin_that_one_would_catch():
    expected = {
        "InvalidInputError": ValueError,
        "VocabularyMismatchError": ValueError,
        "DuplicateIdError": ValueError,
        "MalformedFileError": ValueError,
        "UnknownTermError": KeyError,
        "UnknownDocumentError": KeyError,
        "NotFittedError": AttributeError,
        "IndefiniteMatrixError": ArithmeticError,
        "MissingDependencyError": ImportError,
        "IndexFormatError": OSError,
        "CorruptIndexError": OSError,
        "AlreadyExistsError": FileExistsError,
        "CommitNotFoundError": FileNotFoundError,
        "DeadlineExceededError": TimeoutError,
        "IndexLockedError": TimeoutError,
        "ProblemError": ConnectionError,
        "ServerError": ConnectionError,
    }
    for name, builtin in expected.items():
        error = getattr(errors, name)
        assert issubclass(error, SoftCosineError)
        assert issubclass(error, builtin)
    assert str(errors.UnknownTermError("no 'x'")) == "no 'x'"
    warnings = {"SoftCosineWarning", "IndefiniteMatrixWarning"}
    assert set(errors.__all__) == {*expected, *warnings, "SoftCosineError"}


@given(own.corpora(5), own.sentences())
def test_awkward_texts_are_indexed_searched_and_saved(example_folder, texts, query):
    index = SoftIndex.from_texts(texts, plain=True, ranking="soft_cosine")
    path = example_folder() / "x"
    index.save(path)
    opened = SoftIndex.open(path)
    hits = index.search(query, k=20)
    assert opened.search(query, k=20) == hits
    for hit in hits:
        assert 0 < hit.score <= 1 + 1e-9
        assert hit.text == texts[hit.number]
        assert str(hit.snippet) is not None
        assert index.explain(query, hit.id).score == hit.score


SLIPS = {
    "the analyzer's name": lambda: SoftIndex.from_texts(["a b"], analyzer="english"),
    "the analyzer's name, alone": lambda: analyze(["a b"], "english"),
    "the weighting's name": lambda: SoftIndex.from_texts(["a b"], weighting="bm25"),
    "no weighting": lambda: SoftIndex.from_texts(["a b"], plain=True).with_weighting(None),
    "no such ranking": lambda: SoftIndex.from_texts(["a b"], plain=True).with_weighting(
        Weighting(), ranking="zz"
    ),
    "a weighting of neighbours": lambda: SoftNeighbors(
        similarity_matrix(np.eye(1), Vocabulary(["a"])), weighting="x"
    ).fit([[1]]),
    "progress": lambda: SoftIndex.from_texts(["a b"], progress=3),
    "b": lambda: Weighting(b="x"),
    "k1": lambda: Weighting(k1=None),
    "stop words": lambda: Analyzer(stop_words=3),
    "no terms": lambda: Vocabulary(None),
    "a score beyond all numbers": lambda: SoftIndex.from_texts(["a b"], plain=True).search(
        "a", min_score=10**400
    ),
    "a similarity beyond all numbers": lambda: measures.sparse_soft_cosine_similarity(
        [[1]], None, similarity_matrix(np.eye(1), Vocabulary(["a"])), min_similarity=10**400
    ),
    "a weight beyond all numbers": lambda: measures.soft_norm(
        np.array([[10**400]], object), similarity_matrix(np.eye(1), Vocabulary(["a"]))
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_likely_slips_are_named(slip):
    with pytest.raises(InvalidInputError):
        SLIPS[slip]()


WORDS = ["tyre", "tire"]
FITTED = (CooccurrenceSimilarity, RegressionSimilarity)
TO_BE_WRAPPED = {
    "identity": lambda: TermSimilarityMatrix.identity(WORDS),
    "from_matrix": lambda: TermSimilarityMatrix.from_matrix(np.eye(2), WORDS),
    "from_source": lambda: TermSimilarityMatrix.from_source(ToySource({}), WORDS),
    "restricted": lambda: similarity_matrix(np.eye(2)).restricted(WORDS),
    "extend": lambda: similarity_matrix(np.eye(2)).extend(WORDS, ToySource({})),
}


@pytest.mark.parametrize("place", TO_BE_WRAPPED)
def test_a_list_of_words_is_no_vocabulary_and_the_message_makes_one(place):
    with pytest.raises(InvalidInputError, match=r"of type list; pass Vocabulary\(terms\)"):
        TO_BE_WRAPPED[place]()


@pytest.mark.parametrize("source", FITTED)
@pytest.mark.parametrize("corpus", [["a text", "another"], "a text", None, np.eye(2)], ids=repr)
def test_texts_that_were_not_analyzed_are_named(source, corpus):
    with pytest.raises(InvalidInputError, match=r"call fit\(softcosine\.analyze\(texts\)\)"):
        source.fit(corpus)


@pytest.mark.parametrize("source", FITTED)
@pytest.mark.parametrize("setting", ["min_count", "max_terms", "threshold", "exponent"])
@pytest.mark.parametrize("value", ["x", None, [], 1 + 1j], ids=repr)
def test_settings_that_are_no_numbers_are_named(source, setting, value):
    with pytest.raises(InvalidInputError, match=f"{setting} is "):
        source.fit(analyze(["a b"]), **{setting: value})


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([1], "word 0 is 1, of type int; words are strings"),
        (["a", None], "word 1 is None, of type NoneType; words are strings"),
        ([b"a"], "of type bytes; words are strings"),
        ("ab", "words is a single string"),
        (3, "words is of type int; pass a list"),
    ],
)
def test_words_of_vectors_are_strings(words, problem):
    with pytest.raises(InvalidInputError, match=problem):
        EmbeddingSimilarity(words, np.eye(2)[: len(words) if words != 3 else 1])


PATHS = {
    "SoftIndex.open": SoftIndex.open,
    "SoftIndex.save": lambda path: SoftIndex.from_texts(["a"], plain=True).save(path),
    "TermSimilarityMatrix.load": TermSimilarityMatrix.load,
    "TermSimilarityMatrix.load_source": TermSimilarityMatrix.load_source,
    "TermSimilarityMatrix.save": lambda path: similarity_matrix(np.eye(1)).save(path),
    "EmbeddingSimilarity.load": EmbeddingSimilarity.load,
    "ThesaurusSimilarity.load": ThesaurusSimilarity.load,
    "read_decisions": read_decisions,
}


@pytest.mark.parametrize("place", PATHS)
@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (None, "the path is None, of type NoneType; a string or a Path is needed"),
        (b"x", "of type bytes; a string or a Path is needed"),
        (3, "of type int; a string or a Path is needed"),
        ("", "the path is empty; name a file or a folder"),
        ("a\0b", r"the path 'a\\x00b' holds a NUL character"),
    ],
    ids=repr,
)
def test_what_can_be_no_path_is_named(place, path, problem):
    with pytest.raises(InvalidInputError, match=problem):
        PATHS[place](path)
