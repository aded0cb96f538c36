"""The adapter for DSPy."""

from __future__ import annotations

import pytest

import softcosine as sc
from conftest import need_framework
from softcosine.errors import InvalidInputError

need_framework("dspy")

import dspy  # noqa: E402

from softcosine.integrations.dspy import Passage, SoftRetriever  # noqa: E402

TEXTS = ["a flat tyre of the bike", "a bike with a new tyre", "green tea", "a tyre of a car"]


@pytest.fixture
def index():
    return sc.SoftIndex.from_texts(TEXTS, metadata=[{"n": n} for n in range(4)])


def test_passages_are_the_hits_of_the_index(index):
    hits = index.search("flat tyre", k=2, where={"n": {"<": 3}}, expand=False)
    retriever = SoftRetriever(index, k=5, where={"n": {"<": 3}})
    assert retriever("flat tyre", k=2, expand=False) == [
        Passage(hit.text, hit.id, hit.score, hit.metadata) for hit in hits
    ]


def test_a_query_is_text_unless_it_has_syntax(index):
    retriever = SoftRetriever(index, k=9)
    ids = [passage.id for passage in retriever("tyre -car")]
    assert ids == index.search("tyre car").ids
    assert [one.id for one in retriever("tyre -car", syntax=True)] != ids


def test_dspy_retrieves_by_it(index):
    with dspy.context(rm=SoftRetriever(index)):
        assert dspy.Retrieve(k=1)("flat tyre").passages == [TEXTS[0]]


def test_a_program_answers_from_passages(index):
    class Answer(dspy.Module):
        def __init__(self):
            super().__init__()
            self.retrieve = SoftRetriever(index, k=2)
            self.respond = dspy.Predict("context, question -> answer")

        def forward(self, question):
            context = [passage.long_text for passage in self.retrieve(question)]
            return self.respond(context=context, question=question)

    model = dspy.utils.DummyLM([{"answer": "Mend it."}] * 2)
    program = Answer()
    with dspy.context(lm=model):
        assert program("how to mend a flat tyre?").answer == "Mend it."
        copied = program.deepcopy()
        assert copied.retrieve.index is index
        assert copied("a puncture").answer == "Mend it."
    assert TEXTS[0] in str(model.history[0]["messages"])
    program.load_state(program.dump_state())


def test_errors_are_those_of_the_library(index):
    with pytest.raises(InvalidInputError, match="k is -1"):
        SoftRetriever(index, k=-1)("tea")
    with pytest.raises(InvalidInputError, match="operator 'near'"):
        SoftRetriever(index)("tea", where={"n": {"near": 1}})
