"""Surface forms of terms, from the words of texts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from softcosine.text import forms
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from softcosine.text.forms import counted_forms


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_WORDS", 5)


def test_forms_are_those_of_a_corpus() -> None:
    random = np.random.default_rng(0)
    words = [f"w{a}{b}lk{end}" for a in "ae" for b in "bcdf" for end in ("", "s", "ing")]
    texts = [" ".join(random.choice(words, 20)) for _ in range(60)]
    analyzer = Analyzer("english", max_ngram=2)
    expected = analyze(texts, analyzer).vocabulary
    counts = Counter(word for text in texts for word in text.split())
    assert tuple(map(tuple, counted_forms(expected.terms, counts.items(), analyzer))) == tuple(
        map(tuple, expected.forms)
    )


def test_tokens_that_hold_spaces_are_forms_of_their_ngrams() -> None:
    documents = [["new york", "cities"], ["in", "new york", "city"], ["york", "cities"]] * 4
    analyzer = Analyzer("english", max_ngram=3)
    expected = analyze(documents, analyzer)
    found = counted_forms(expected.vocabulary.terms, expected.words.items(), analyzer)
    assert tuple(map(tuple, found)) == tuple(map(tuple, expected.vocabulary.forms))
