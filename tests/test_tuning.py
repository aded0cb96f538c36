"""Settings chosen on labelled queries, and what is said of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softcosine as sc
from softcosine.errors import AlreadyExistsError, InvalidInputError
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.tuning import tuning
from softcosine.evaluate.tuning.kept import KeptFigures, fingerprint
from softcosine.evaluate.tuning.parts import folds_of, parted
from softcosine.evaluate.tuning.search import RULES, search
from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.space import DIMENSIONS, space_around
from softcosine.evaluate.tuning.tuning import tune
from toy_judged import TOPICS, judged_set

SMALL = {
    "ranking": ["soft_tf_bm25", "soft_cosine"], "exponent": [1.0, 2.0, 4.0],
    "sources": ["none", "english"], "threshold": [0.3], "max_neighbors": [100],
    "scaling": ["definite"], "stemmer": ["english"],
    "stop_words": [None], "k1": [1.6], "b": [0.75], "tf": ["log"], "idf": ["smooth"],
}  # fmt: skip


def small(dataset, **changes):
    """Tune words alone within a small space and budget."""
    given = {"space": SMALL, "folds": 3, "budget": 12, "rule": "mean", "encoder": None}
    return tune(dataset, **{**given, **changes})


# A world in which the figure of a query is the sum of what each setting is worth to it.
SPACE = space_around(
    Settings(language="english").changed(
        sources=("english",), combine="first", exponent=4.0, threshold=0.3, max_neighbors=100,
        scaling="definite",
    ),
    sources=("english", "texts"), fields=("title", "text"),
)  # fmt: skip


def world(seed, n_queries=30, noise=1.0):
    def measured(settings):
        total = np.zeros(n_queries)
        for name, value in settings.values().items():
            rng = np.random.default_rng([seed, *map(ord, f"{name}={value}")])
            total += rng.normal() + noise * rng.normal(size=n_queries)
        return total

    return measured


@given(st.integers(0, 10_000), st.integers(1, 90))
@settings(max_examples=15)
def test_a_search_keeps_to_its_budget_and_tries_the_default_first(seed, budget):
    measured, rows = world(seed), np.arange(30)
    found = search(SPACE, measured, rows, budget=budget)
    assert 1 <= len(found.tried) <= budget
    assert found.tried[0] == SPACE.default
    assert len({one.key() for one in found.tried}) == len(found.tried)
    assert found.tried == search(SPACE, measured, rows, budget=budget).tried


@given(st.integers(0, 10_000))
@settings(max_examples=10)
def test_where_a_search_ends_no_single_change_of_the_best_is_better(seed):
    measured, rows = world(seed, noise=0.0), np.arange(30)
    found = search(SPACE, measured, rows, budget=2000)
    assert found.complete
    best = found.chosen(measured, rows, "mean")
    value = measured(best).mean()
    for dimension in DIMENSIONS:
        for moved in SPACE.moves(best, dimension, near=True):
            assert measured(moved).mean() <= value + 1e-9


@given(st.integers(0, 10_000), st.sampled_from(sorted(RULES)))
@settings(max_examples=15)
def test_what_is_chosen_does_not_depend_on_the_queries_that_are_left_out(seed, rule):
    measured, rows = world(seed), np.arange(0, 30, 2)
    others = np.setdiff1d(np.arange(30), rows)

    def changed(one):
        figures = measured(one).copy()
        figures[others] = np.random.default_rng([seed, *map(ord, one.key())]).normal(size=15)
        return figures

    found = search(SPACE, measured, rows, budget=60)
    again = search(SPACE, changed, rows, budget=60)
    assert found == again
    assert found.chosen(measured, rows, rule) == again.chosen(changed, rows, rule)


def test_the_rule_of_the_mean_takes_the_best_and_the_other_what_is_hardly_worse():
    default = SPACE.default
    near, far = default.changed(exponent=2.0), default.changed(exponent=2.0, threshold=0.5)
    tried, rows = (default, far, near), np.arange(4)
    figures = {
        default.key(): np.array([0.1, 0.1, 0.1, 0.1]),
        near.key(): np.array([0.5, 0.7, 0.4, 0.6]),
        far.key(): np.array([0.6, 0.5, 0.6, 0.6]),
    }
    measured = lambda one: figures[one.key()]  # noqa: E731
    assert RULES["mean"](tried, measured, rows) == far
    assert RULES["one_se"](tried, measured, rows) == near
    figures[default.key()] = np.array([0.6, 0.4, 0.7, 0.5])
    assert RULES["one_se"](tried, measured, rows) == default


@given(st.integers(4, 60), st.integers(2, 8), st.integers(0, 5))
def test_folds_hold_every_query_once(n_queries, n_folds, seed):
    if n_queries < 2 * n_folds:
        with pytest.raises(InvalidInputError, match="folds need at least"):
            folds_of(n_queries, n_folds, seed)
        return
    folds = folds_of(n_queries, n_folds, seed)
    assert len(folds) == n_folds
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(n_queries))
    assert max(map(len, folds)) - min(map(len, folds)) <= 1


@pytest.mark.parametrize("candidates", [False, True])
@pytest.mark.parametrize("fields", [False, True])
def test_tuning_finds_that_similar_words_help(fields, candidates):
    dataset = judged_set(fields=fields, candidates=candidates)
    found = small(dataset)
    assert found.measure == ("map" if candidates else "ndcg@10")
    assert "english" in found.chosen.settings.similarity.sources
    plain = [trial.mean for trial in found.trials if trial.settings.similarity.plain]
    assert plain
    assert max(plain) < found.chosen.mean
    assert found.chosen.mean == max(trial.mean for trial in found.trials)
    assert found.complete
    assert len(found.by_fold) == 3
    assert sum(one.n_queries for one in found.by_fold) == found.n_queries
    gains = sum((one.chosen - one.default) * one.n_queries for one in found.by_fold)
    assert found.gain.difference == pytest.approx(gains / found.n_queries)


def test_means_of_folds_are_of_the_same_figures():
    found = small(judged_set())
    sizes = [one.n_queries for one in found.by_fold]
    for trial in found.trials:
        assert np.average(trial.folds, weights=sizes) == pytest.approx(trial.mean)
    assert [trial.mean for trial in found.trials] == sorted(
        (trial.mean for trial in found.trials), reverse=True
    )
    assert found.default in found.trials


def test_the_same_call_gives_the_same_bytes():
    first = json.dumps(small(judged_set()).to_dict())
    assert json.dumps(small(judged_set(), threads=1).to_dict()) == first


def test_where_tuning_brings_nothing_certain_the_default_is_kept():
    dataset = judged_set()
    rng = np.random.default_rng(4)
    ids = dataset.documents.ids
    noise = {query: {ids[n]: 1 for n in rng.choice(24, 5)} for query in dataset.qrels}
    found = small(replace(dataset, qrels=noise))
    assert not found.certain
    assert found.settings == found.default.settings
    assert "default" in found.verdict


def test_what_is_certain_is_used():
    found = small(
        judged_set(), space={**SMALL, "stop_words": [None], "sources": ["none", "english"]}
    )
    sure = replace(found, gain=replace(found.gain, low=0.01))
    assert sure.settings == sure.chosen.settings
    unsure = replace(found, gain=replace(found.gain, low=-0.01))
    assert unsure.settings == unsure.default.settings


def disturbed(dataset, queries, seed):
    """Give some queries other judgements."""
    rng = np.random.default_rng(seed)
    ids = dataset.documents.ids
    qrels = dict(dataset.qrels)
    for query in queries:
        n_relevant = int(rng.integers(0, 6))
        if n_relevant == 5:
            del qrels[query]
        else:
            qrels[query] = {ids[n]: 1 for n in rng.choice(len(ids), n_relevant, replace=False)}
    return replace(dataset, qrels=qrels)


@pytest.mark.parametrize("candidates", [False, True])
@pytest.mark.parametrize("splits", [False, True])
def test_judgements_of_the_test_part_change_nothing(tmp_path, splits, candidates):
    dataset = judged_set(splits=splits, candidates=candidates)
    test = parted(dataset).test_queries
    assert len(test) == (6 if splits else 5)
    kept = tmp_path / "first"
    outcome = json.dumps(small(dataset, kept=kept).to_dict())
    report = small(dataset).report()
    for seed in range(3):
        other = disturbed(dataset, test, seed)
        again = tmp_path / f"kept{seed}"
        assert json.dumps(small(other, kept=again).to_dict()) == outcome
        assert small(other, kept=again).report() == report
        assert again.read_bytes() == kept.read_bytes()


def test_the_test_part_is_scored_once_at_the_end_where_that_is_asked_for():
    dataset = judged_set(splits=True)
    plain, tested = small(dataset), small(dataset, score_test=True)
    assert plain.test is None
    assert tested.test.n_queries == 6
    assert replace(tested, test=None) == plain
    again = small(disturbed(dataset, parted(dataset).test_queries, 1), score_test=True)
    assert again.test != tested.test
    assert replace(again, test=None) == plain


def test_a_part_for_the_test_is_named_or_drawn_by_a_seed():
    dataset = judged_set(splits=True)
    assert set(parted(dataset).test_queries) == {f"q{topic}2" for topic in range(6)}
    assert len(parted(dataset, test_split=["dev", "test"]).test_queries) == 12
    assert parted(dataset, test_share=0).test_queries == ()
    drawn = [parted(dataset, test_share=0.5, random_state=seed).test_queries for seed in range(3)]
    assert [len(one) for one in drawn] == [9, 9, 9]
    assert len(set(drawn)) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"test_split": "final"}, "no part 'final': its parts are train, dev, test"),
        ({"test_split": "test", "test_share": 0.5}, "give one of the two"),
        ({"test_share": 1.0}, "of at least 0 and below 1"),
        ({"test_split": ["train", "dev", "test"]}, "no query of toy that is to be chosen on"),
        ({"folds": 7}, "12 labelled queries are left.*7 folds need.*at most 6 folds"),
        ({"folds": 1}, "2 or more"),
        ({"budget": 0}, "1 or more"),
        ({"rule": "best"}, "rule is 'best'"),
        ({"measure": "ndcg10"}, "no measure 'ndcg10'"),
        ({"sources": ["nothing"]}, "'nothing' is not understood"),
        ({"sources": "english"}, "sources is a single string"),
        ({"space": {"exponents": [2]}}, "setting is 'exponents'"),
    ],
)
def test_what_cannot_be_tuned_is_said_before_anything_is_done(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        small(judged_set(splits=True), **arguments)


def test_a_part_without_relevant_documents_is_refused():
    dataset = judged_set(splits=True)
    qrels = {
        query: judged if query.endswith("2") else dict.fromkeys(judged, 0)
        for query, judged in dataset.qrels.items()
    }
    with pytest.raises(
        InvalidInputError, match=r"none of the 12 judged queries.*relevant document"
    ):
        small(replace(dataset, qrels=qrels))


def test_there_is_no_test_to_score_where_nothing_was_left_for_it():
    with pytest.raises(InvalidInputError, match="no queries were left for a test"):
        small(judged_set(), test_share=0, score_test=True)


def test_figures_are_kept_and_a_run_that_was_killed_goes_on(tmp_path, monkeypatch):
    kept = tmp_path / "kept"
    whole = small(judged_set(), kept=kept)
    lines = kept.read_text().splitlines(keepends=True)
    counted = []
    real = KeptFigures.put

    def put(self, settings, figures):
        counted.append(settings)
        real(self, settings, figures)

    monkeypatch.setattr(KeptFigures, "put", put)
    assert small(judged_set(), kept=kept) == whole
    assert counted == []
    kept.write_text("".join(lines[:3]) + lines[3][:40])  # killed in the middle of a line
    assert small(judged_set(), kept=kept) == whole
    assert len(counted) == len(lines) - 3
    assert sorted(kept.read_text().splitlines()) == sorted("".join(lines).splitlines())
    counted.clear()
    other = replace(judged_set(), queries=Documents(judged_set().queries.ids, {"text": ["x"] * 18}))
    small(other, kept=kept)
    assert len(counted) > 0  # figures of other data do not count


def test_two_runs_that_write_to_one_file_take_nothing_from_each_other(tmp_path):
    kept, settings = tmp_path / "kept", Settings()
    ours = KeptFigures(kept, "ours")
    theirs = KeptFigures(kept, "theirs")  # begins the file anew
    ours.put(settings, np.zeros(3))
    assert KeptFigures(kept, "theirs").get(settings) is None
    theirs.put(settings, np.ones(3))
    ours.put(settings.changed(exponent=2.0), np.zeros(3))
    again = KeptFigures(kept, "theirs")
    assert len(again) == 1
    assert again.get(settings).tolist() == [1.0, 1.0, 1.0]
    assert sorted(tmp_path.iterdir()) == [kept]


def test_an_interruption_while_the_test_is_scored_loses_no_choice(monkeypatch):
    from softcosine.evaluate.tuning import tuning

    def interrupted(*given):
        raise KeyboardInterrupt

    whole = small(judged_set())
    monkeypatch.setattr(tuning, "_tested", interrupted)
    found = small(judged_set(), score_test=True)
    assert found == replace(whole, complete=False)


def test_a_file_that_holds_something_else_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine\n")
    with pytest.raises(AlreadyExistsError, match="something other than figures"):
        small(judged_set(), kept=path)
    assert path.read_text() == "mine\n"
    with pytest.raises(AlreadyExistsError, match="is no file"):
        KeptFigures(tmp_path, "")


def test_a_fingerprint_tells_data_apart():
    dataset = judged_set()
    prints = {
        fingerprint(dataset), fingerprint(dataset, "map"), fingerprint(judged_set(fields=True)),
        fingerprint(judged_set(candidates=True)), fingerprint(disturbed(dataset, ["q00"], 0)),
        fingerprint(replace(dataset, background=("more",))),
    }  # fmt: skip
    assert len(prints) == 6
    assert fingerprint(dataset) == fingerprint(judged_set())


@pytest.mark.parametrize("after", [1, 2, 4])
def test_an_interrupted_search_gives_the_best_so_far(monkeypatch, after):
    dataset, n_put = judged_set(), []
    real = KeptFigures.put

    def put(self, settings, figures):
        if len(n_put) == after:
            raise KeyboardInterrupt
        n_put.append(settings)
        real(self, settings, figures)

    monkeypatch.setattr(KeptFigures, "put", put)
    found = small(dataset)
    assert not found.complete
    assert found.gain is None
    assert 1 <= len(found.trials) <= after
    assert found.chosen.mean == max(trial.mean for trial in found.trials)
    assert found.settings == found.chosen.settings
    assert "Interrupted" in found.verdict
    assert json.dumps(found.to_dict())


def test_before_the_default_is_measured_an_interruption_is_one(monkeypatch):
    def put(self, settings, figures):
        raise KeyboardInterrupt

    monkeypatch.setattr(KeptFigures, "put", put)
    with pytest.raises(KeyboardInterrupt):
        small(judged_set())


def test_progress_tells_what_is_done():
    told = []
    small(judged_set(), progress=lambda *state: told.append(state))
    assert ("trying settings", 1, 12) in told
    assert any(what.startswith("trying settings without fold 3 of 3") for what, _, _ in told)
    assert all(total is None or done <= total for _, done, total in told)


def test_sources_of_ones_own_are_tried():
    pairs = sc.PairSimilarity(
        [("automobile", "car", 0.9), ("physician", "doctor", 0.9), ("movie", "film", 0.9),
         ("boat", "ship", 0.9), ("loaf", "bread", 0.9), ("cash", "money", 0.9)]
    )  # fmt: skip
    found = tune(
        judged_set(), sources=[pairs], folds=3, budget=12, rule="mean", stemmer="none",
        space={"ranking": ["soft_bm25"]},
    )  # fmt: skip
    assert any(pairs in trial.settings.similarity.sources for trial in found.trials)


class Topics:
    """Encodes a text by the topics of its words, and remembers what it has read."""

    name = "topics"

    def __init__(self):
        self.texts = []

    def encode(self, texts):
        self.texts += texts
        counts = [
            [sum(word in text for words in topic for word in words) for topic in TOPICS]
            for text in texts
        ]
        return np.array(counts, np.float32) + 0.01


def test_with_an_encoder_the_weight_of_meaning_is_chosen_and_a_text_is_read_once():
    encoder, dataset = Topics(), judged_set()
    found = small(
        dataset, space={**SMALL, "exponent": [4.0]}, encoder=encoder, encoder_cache=None, budget=20
    )
    assert found.default.settings.meaning == 50.0
    assert found.chosen.settings.meaning > 0
    assert found.certain
    weights = {trial.settings.meaning for trial in found.trials}
    assert {0.0, 50.0} < weights
    assert set(found.against) == {"BM25", "the same settings without meaning"}
    assert all(gain.low > 0 for gain in found.against.values())
    assert "over the same settings without meaning" in found.report()
    assert len(encoder.texts) == len(set(encoder.texts))
    assert small(dataset).against.keys() == {"BM25"}
    rows = np.concatenate(
        [np.full(one.n_queries, one.chosen - one.default) for one in found.by_fold]
    )
    assert found.gain.difference == pytest.approx(rows.mean())


def test_by_default_the_search_starts_as_an_index_of_the_language_and_tries_words_alone():
    space = {**SMALL, "ranking": ["soft_tf_bm25"]}
    found = small(judged_set(), space=space, encoder="auto", budget=20)
    default = found.default.settings
    assert (default.ranking, default.encoder, default.meaning) == ("soft_tf_bm25", "static", 10.0)
    assert {0.0, 5.0, 20.0} < {trial.settings.meaning for trial in found.trials}
    assert set(found.against) == {"BM25", "the same settings without meaning"}
    assert "meaning=10" in default.spec()
    assert "encoder=none" in default.changed(encoder=None, meaning=None).spec()
    german = small(judged_set(), encoder="static", language="german", space=None, budget=1)
    assert german.default.settings.encoder is None


def test_the_search_starts_from_the_encoder_that_an_index_would_take(automatic_encoder):
    pytest.importorskip("softcosine_minilm")
    pytest.importorskip("onnxruntime")
    options = {"encoder": "auto", "encoder_cache": None, "budget": 1}
    default = small(judged_set(), **options).default.settings
    assert (default.encoder, default.meaning) == ("all-MiniLM-L6-v2", 50.0)
    german = small(judged_set(), language="german", space=None, **options)
    assert german.default.settings.encoder is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ask": "static"}, "for documents with an encoder"),
        ({"meaning_space": "some.npz", "encoder": None}, "meaning_space is of an encoder"),
        ({"ask": "encoder", "encoder": "static"}, "no encoder"),
        ({"encoder": lambda texts: texts}, "the encoder has no name"),
    ],
)
def test_what_is_about_an_encoder_needs_one_with_a_name(given, message):
    with pytest.raises(InvalidInputError, match=message):
        small(judged_set(), **given)


def test_two_sources_of_one_class_cannot_be_told_apart():
    pairs = [sc.PairSimilarity([("a", other, 0.9)]) for other in "bc"]
    with pytest.raises(InvalidInputError, match="needs a name of its own"):
        small(judged_set(), sources=pairs)


def test_the_effect_of_each_setting_is_told_with_all_else_as_chosen():
    found = small(judged_set(), budget=30)
    effects = found.effects()
    assert set(effects) <= set(DIMENSIONS)
    for values in effects.values():
        means = [mean for _, mean in values]
        assert means == sorted(means, reverse=True)
        assert found.chosen.mean in means


def test_the_outcome_is_shown_as_a_table_a_page_and_html():
    found = small(judged_set(), score_test=True)
    assert len(found.to_pandas()) == len(found.trials)
    page = found.report(["softcosine index a|b"])
    for title in ("# Settings tuned on toy", "## Test", "## Settings chosen without each fold"):
        assert title in page
    assert "    softcosine index a|b" in page
    assert "<table>" in found._repr_html_()


def test_queries_without_judgements_do_not_count():
    dataset = judged_set()
    without = replace(
        dataset, qrels={query: own for query, own in dataset.qrels.items() if query[1] != "0"}
    )
    assert small(without, test_share=0).n_queries == 15
    assert isinstance(without, RankingSet)
    assert tuning.SOURCES == ("english", "character-ngrams")
