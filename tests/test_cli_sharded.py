"""Commands that read take a sharded index as any other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sharded import documents_of, epoch, in_folders, one_index
from softcosine.cli.opening import one_index as only
from softcosine.cli.opening import open_searchable
from softcosine.cluster import opening
from softcosine.cluster.workers import ThreadWorkers
from softcosine.errors import InvalidInputError


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    documents = documents_of("static", np.random.default_rng(1), 25)
    path = tmp_path_factory.mktemp("cli") / "big.shards"
    in_folders(epoch("static"), path, documents, 3)
    one = one_index(epoch("static"), documents)
    one.save(path.parent / "one.index")
    return str(path), str(path.parent / "one.index")


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "INDEX", "green tea", "--explain", "--facet", "tag", "--sort", "-n"],
        [
            "search",
            "INDEX",
            "+tea -car",
            "--syntax",
            "--where",
            "tag=a",
            "--mmr",
            "0.5",
            "--offset",
            "2",
            "-k2",
        ],
        ["similar", "INDEX", "doc2", "--explain"],
        ["explain", "INDEX", "green tea", "doc3"],
        ["terms", "INDEX", "tea"],
    ],
)
def test_the_answers_are_those_of_one_index(run, both, arguments):
    sharded, one = (
        json.loads(run(*(path if word == "INDEX" else word for word in arguments), "--json"))
        for path in both
    )
    for answer in (sharded, one):
        answer.pop("seconds", None)
    assert sharded == one
    for path in both:
        run(*(path if word == "INDEX" else word for word in arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ["collection", "pairs", "INDEX", "--min", "0.5", "--json"],
        ["collection", "pairs", "INDEX", "--min", "0.4", "--by", "both", "--json"],
        ["collection", "pairs", "INDEX", "-k", "3", "--json"],
    ],
)
def test_similar_pairs_are_those_of_one_index(run, both, arguments):
    """Which document of a pair is named first follows the shards."""
    sharded, one = (
        {
            (frozenset([pair["id"], pair["other"]]), round(pair["score"], 9))
            for pair in map(json.loads, run(*words).splitlines())
        }
        for words in ([path if word == "INDEX" else word for word in arguments] for path in both)
    )
    assert sharded == one
    assert len(sharded) > 2


def test_near_duplicates_are_found_in_all_shards(run, both):
    for path in both:
        assert len(run("dedupe", path, "--min", "0.7", "--json").splitlines()) > 2


def test_notes_say_why_nothing_was_found(run, both):
    shown = run("search", both[0], "tea", "--where", "nothing=1")
    assert "No document has the key 'nothing'." in shown
    shown = run("search", both[0], "tea", "--sort", "nothing", "--facet", "nothing")
    assert "No document has the key 'nothing'; sort ignores it." in " ".join(shown.split())


def test_info_adds_the_shards_up(run, both):
    sharded, one = (json.loads(run("info", path, "--json")) for path in both)
    for name in ("documents", "postings", "terms", "epoch", "meaning", "ranking", "deleted"):
        assert sharded[name] == one[name]
    assert sum(shard["n_docs"] for shard in sharded["shards"]) == 25
    assert "3, of " in run("info", both[0])


def test_shards_that_did_not_answer_are_shown(run, both, monkeypatch):
    scatter = ThreadWorkers.scatter

    def without_the_last(self, method, calls, seconds):
        answers = scatter(self, method, calls, seconds)
        if method == "found":
            answers.pop(2)
        return answers

    monkeypatch.setattr(ThreadWorkers, "scatter", without_the_last)
    shown = run("search", both[0], "green tea")
    assert "Shards that did not answer in time, whose documents are missing: shard-0002." in shown
    answer = json.loads(run("search", both[0], "green tea", "--json"))
    assert answer["missing_shards"] == ["shard-0002"]


def test_what_needs_one_index_is_refused(both, tmp_path):
    with pytest.raises(InvalidInputError, match="need one index, and this one is sharded"):
        only(open_searchable(tmp_path.__class__(both[0])))


GIVEN = ["--engine", "ray", "--replicas", "2", "--shard-timeout", "0.5"]


def test_a_server_searches_shards_where_it_is_told(run, both, monkeypatch):
    settings = []
    monkeypatch.setattr("softcosine.serve.process.serve", lambda *given: settings.append(given[0]))
    for folder in (both[0], str(Path(both[0]).parent)):
        run("serve", folder, *GIVEN)
        assert settings.pop().shards == opening.ShardOptions("ray", 2, 0.5)
    run("serve", both[1])
    assert settings.pop().shards == opening.ShardOptions()
    said = run("serve", both[1], *GIVEN, code=2)
    assert "need a sharded index, as 'shards build' makes it" in " ".join(said.split())
    assert "--engine" in run("serve", both[0], "--engine", "faiss", code=2)
