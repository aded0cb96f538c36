"""What the SemEval study ranks: pairs of an asked question and a known one, and their features."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import softcosine as sc
from softcosine.evaluate.datasets import load
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.measures import measured
from softcosine.evaluate.runs import run_of
from softcosine.evaluate.systems.system import FittedSystem
from softcosine.lab.text_pairs.taught_vectors import TaughtVectors

__all__ = ["KNOWN", "Questions", "Space", "taught_by"]

Values = NDArray[np.float64]
Numbers = NDArray[np.int64]
Encode = Callable[[Sequence[str]], Values]

# Fields of the known question, from which a text is put together.
KNOWN: dict[str, tuple[str, ...]] = {
    "subject": ("subject",),
    "body": ("body",),
    "whole": ("subject", "body"),
    "subject twice": ("subject", "subject", "body"),
}
_COMPONENTS = 1
_LEAST_WORDS = 4  # a post of fewer says nothing worth teaching


@dataclass(frozen=True, slots=True)
class Questions:
    """All pairs, in the order of the questions and of the search engine.

    Attributes
    ----------
    dataset : RankingSet
    forum : tuple of str
        Posts of the same forum, without those that ask the questions of the data set.
    asked, known : ndarray of shape (n_pairs,), int64
        Numbers of a pair's two questions among the set's queries and documents.
    relevant : ndarray of shape (n_pairs,), bool
    rank : ndarray of shape (n_pairs,), float64
        That the search engine gave the known question, from 1.
    """

    dataset: RankingSet
    forum: tuple[str, ...]
    asked: Numbers
    known: Numbers
    relevant: NDArray[np.bool_]
    rank: Values

    @classmethod
    def read(cls, folder: Path, *, only: Sequence[str] = ()) -> Questions:
        """Read the folder ``semeval``; of a few parts alone, where they are named."""
        dataset = load(folder / "question_pairs.jsonl.gz")
        assert isinstance(dataset, RankingSet)
        if only:
            dataset = dataset.part(*only)
        # As the file of posts writes a question.
        queries = dataset.queries.fields
        asking = {
            f"{subject}. {body}"
            for subject, body in zip(queries["subject"], queries["body"], strict=True)
        }
        with gzip.open(folder / "forum_text.txt.gz", "rt", encoding="utf-8") as lines:
            posts = [line.rstrip("\n") for line in lines]
        forum = tuple(post for post in posts if post not in asking)
        candidates = dataset.candidate_numbers(dataset.queries)
        asked = np.repeat(np.arange(len(candidates)), [len(own) for own in candidates])
        known = np.concatenate(candidates)
        ids, names = dataset.documents.ids, dataset.queries.ids
        gains = [dataset.qrels[names[i]][ids[j]] for i, j in zip(asked, known, strict=True)]
        # Q12_R7 is what the engine found seventh.
        ranks = [float(ids[j].rpartition("_R")[2]) for j in known]
        return cls(dataset, forum, asked, known, np.array(gains) > 0, np.array(ranks))

    @property
    def splits(self) -> NDArray[np.str_]:
        """The part of every question."""
        parts = self.dataset.splits or {}
        return np.array([parts[id] for id in self.dataset.queries.ids])

    def asked_texts(self, *fields: str) -> list[str]:
        """Return the asked question of every pair, of some of its fields."""
        return _joined(self.dataset.queries, fields, self.asked)

    def known_texts(self, *fields: str) -> list[str]:
        """Return the known question of every pair, of some of its fields."""
        return _joined(self.dataset.documents, fields, self.known)

    def precisions(self, scores: Values) -> Values:
        """Return the average precision of every question, 0 where nothing is relevant."""
        run = run_of(self.dataset, _Given(self, scores))  # type: ignore[arg-type]
        return measured(self.dataset, run, ["map"]).per_unit["map"]

    def scores_of(self, fitted: FittedSystem) -> Values:
        """Return the score of every pair by a system that knows the set's documents."""
        queries = self.dataset.queries
        return np.concatenate(fitted.scored(queries, self.dataset.candidate_numbers(queries)))

    def among_rivals(self, values: Values) -> Values:
        """Return values less their mean over the question's candidates, over their deviation."""
        counts = np.bincount(self.asked)
        mean = np.bincount(self.asked, values) / counts
        centered = values - mean[self.asked]
        deviation = np.sqrt(np.bincount(self.asked, centered**2) / counts)[self.asked]
        return np.divide(centered, deviation, out=np.zeros_like(values), where=deviation > 0)


@dataclass(frozen=True, slots=True)
class _Given:
    """A system whose scores are there already."""

    questions: Questions
    values: Values

    def scored(self, queries: Documents, candidates: Sequence[Numbers]) -> list[Values]:
        """Return the scores of every question's candidates."""
        ends = np.cumsum([len(own) for own in candidates])
        return np.split(self.values, ends[:-1])


@dataclass(frozen=True, slots=True)
class Space:
    """A soft vector space: weights of terms, and which are similar.

    Attributes
    ----------
    S : TermSimilarityMatrix
    weighting : Weighting
    frequencies : ndarray of shape (n_terms,)
        In how many posts each term stands.
    n_posts : int
    weights : ndarray of shape (n_terms,)
        Factors beside the weighting.
    """

    S: sc.TermSimilarityMatrix
    weighting: sc.Weighting
    frequencies: Numbers
    n_posts: int
    weights: Values

    def rows(self, texts: Sequence[str]) -> csr_array:
        """Return the weighted terms of texts."""
        analyzed = sc.analyze(list(texts))
        places = self.S.vocabulary.indices(analyzed.vocabulary.terms)
        assert (places >= 0).all()  # the vocabulary is that of all questions
        counts = csr_array(analyzed.counts())
        counts = csr_array(
            (counts.data, places[counts.indices], counts.indptr), (len(texts), len(self.S))
        )
        counts.sort_indices()
        X = self.weighting.transform(
            counts, document_frequencies=self.frequencies, n_docs=self.n_posts
        )
        X.data *= self.weights[X.indices]
        return X

    def cosines(self, left: Sequence[str], right: Sequence[str]) -> Values:
        """Return the soft cosine of every text and its partner."""
        return sc.paired_soft_cosine_similarity(self.rows(left), self.rows(right), self.S)


def taught_by(
    questions: Questions, vocabulary: sc.Vocabulary, encode: Encode, *, penalty: float
) -> TaughtVectors:
    """Return the vectors of a vocabulary that the encoder teaches by known questions and posts.

    No asked question is encoded: what is learned is learned before anybody asks. Only the words
    that nobody has used before are encoded when they are.
    """
    documents = questions.dataset.documents
    texts = [*dict.fromkeys([*documents.fields["subject"], *documents.fields["body"]])]
    texts += [post for post in questions.forum if len(post.split()) >= _LEAST_WORDS]
    corpus = sc.analyze(texts)
    taught = TaughtVectors.fit(
        corpus,
        encode(texts),
        term_encodings=encode(list(corpus.vocabulary.terms)),
        penalty=penalty,
        remove_components=_COMPONENTS,
    )
    return taught.extended(vocabulary, encode(list(vocabulary.terms)))


def _joined(documents: Documents, fields: Sequence[str], numbers: Numbers) -> list[str]:
    columns = [documents.fields[name] for name in fields]
    texts = ["\n".join(parts) for parts in zip(*columns, strict=True)]
    return [texts[number] for number in numbers]
