"""Systems compared: figures, intervals, reports, pictures and differences."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from softcosine.errors import InvalidInputError
from softcosine.evaluate.charts import evaluation_chart
from softcosine.evaluate.datasets import (
    ClassificationSet,
    PairSet,
    RankingSet,
    Split,
    seeded_splits,
)
from softcosine.evaluate.differences import differences
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.evaluation import evaluate
from softcosine.evaluate.neighbors import Choice
from softcosine.evaluate.runs import Run, run_of
from softcosine.evaluate.significance import paired_bootstrap, randomization_test
from softcosine.evaluate.systems.system import Ranked
from softcosine.sklearn.votes import Voting
from toy_system import Overlap

TEXTS = ["red car", "fast car", "green tea", "hot tea pot", "red tea"]
ASKED = ["red car", "tea", "pot of tea", "unknown"]
QRELS = {
    "q0": {"d0": 1}, "q1": {"d2": 1, "d3": 1, "d0": 0}, "q2": {"d3": 2}, "q3": {"d1": 1},
}  # fmt: skip


@pytest.fixture
def dataset() -> RankingSet:
    return RankingSet(
        "toy",
        Documents.of(TEXTS, [f"d{i}" for i in range(5)]),
        Documents.of(ASKED, [f"q{i}" for i in range(4)]),
        QRELS,
        notes=("a note",),
    )


HEAVY = {"pot": 3.0, "red": 0.5}


@pytest.fixture
def made(dataset):
    systems = [Overlap("cosine"), Overlap("heavy", {"pot": 0.0}), Overlap("pot", HEAVY)]
    return evaluate(dataset, systems, measures=["map", "p@1"], n_resamples=500, keep=("pot",))


def test_the_run_of_a_system_is_in_the_order_of_scores(dataset):
    run = run_of(dataset, Overlap().fit(dataset.documents))
    assert run.rankings == {
        "q0": ("d0", "d1", "d4"), "q1": ("d2", "d3", "d4"), "q2": ("d3", "d2", "d4"), "q3": (),
    }  # fmt: skip
    shallow = run_of(dataset, Overlap().fit(dataset.documents), depth=1)
    assert shallow.rankings["q0"] == ("d0",)
    with pytest.raises(InvalidInputError, match="depth is 0"):
        run_of(dataset, Overlap().fit(dataset.documents), depth=0)


def test_candidates_are_all_ranked_and_equal_ones_keep_the_order_of_documents():
    dataset = RankingSet(
        "toy", Documents.of(TEXTS, "abcde"), Documents.of(["red car"], "q"), {"q": {"a": 1}},
        candidates={"q": ("d", "e", "c", "a")},
    )  # fmt: skip
    run = run_of(dataset, Overlap().fit(dataset.documents))
    assert run.rankings == {"q": ("a", "e", "c", "d")}


def test_scores_that_are_no_numbers_are_refused(dataset):
    class Broken:
        def ranked(self, queries, *, k):
            return Ranked(np.zeros((len(queries), k), np.int64), np.full((len(queries), k), np.nan))

    with pytest.raises(InvalidInputError, match="query 'q0' that are no numbers"):
        run_of(dataset, Broken())


@pytest.mark.smoke
def test_values_are_those_worked_out_by_hand(made):
    assert made.baseline == "cosine"
    assert made.measures == ("map", "p@1")
    assert made.values["cosine"] == pytest.approx({"map": (1 + 1 + 1 + 0) / 4, "p@1": 3 / 4})
    assert made.values["heavy"] == pytest.approx({"map": (1 + 1 + 1 / 2 + 0) / 4, "p@1": 2 / 4})
    assert made.intervals["heavy"]["map"].difference == pytest.approx(-0.125)
    assert set(made.seconds) == {"cosine", "heavy", "pot"}
    assert list(made.fitted) == ["pot"]


def test_intervals_are_those_of_the_paired_bootstrap(made):
    for name in ("heavy", "pot"):
        for measure in made.measures:
            ours, theirs = (made.figures[one].per_unit[measure] for one in (name, "cosine"))
            expected = paired_bootstrap(ours, theirs, n_resamples=500)
            found = made.intervals[name][measure]
            assert found.difference == pytest.approx(expected.difference)
            assert (found.low, found.high, found.p) == pytest.approx(
                (expected.low, expected.high, expected.p), abs=1e-12
            )
            p = randomization_test(ours, theirs, n_resamples=500)
            assert made.p_randomized[name][measure] == p


def test_all_numbers_are_json_and_the_same_again(made, dataset):
    told = made.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["systems"]["cosine"] == made.values["cosine"]
    assert set(told["intervals"]["pot"]["map"]) == {
        "difference",
        "low",
        "high",
        "p",
        "p_randomized",
    }
    assert told["dataset"] == "toy"
    assert told["n_units"] == 4
    assert told["notes"] == ["a note"]
    again = evaluate(
        dataset, [Overlap("pot", HEAVY), Overlap("cosine")], measures=["map"], n_resamples=500
    )
    assert again.to_dict()["intervals"]["pot"]["map"] == told["intervals"]["pot"]["map"]


def test_what_is_shown_of_an_object_is_short(made):
    assert repr(made) == "<Evaluation of cosine, heavy, pot on toy>"
    assert repr(made.dataset) == "<RankingSet toy: 5 documents, 4 judged queries>"
    assert repr(made.dataset.documents) == "<Documents: 5, text>"
    assert repr(made.answers["pot"]) == "<Run: 4 queries>"
    labels = classification(seeded_splits(len(LABELED), n_splits=2))
    assert repr(labels) == "<ClassificationSet labels: 18 documents, 2 classes, 2 splits>"
    assert repr(labels.splits[0]) == "<Split: train 12, test 6>"
    pairs = PairSet("two", ("a", "b"), ("c", "d"), np.array([0.0, 2.0]))
    assert repr(pairs) == "<PairSet two: 2 pairs>"


def test_measures_may_be_named_in_capitals(dataset):
    made = evaluate(dataset, [Overlap("cosine")], measures=["nDCG@3", "MAP"], n_resamples=10)
    assert made.measures == ("ndcg@3", "map")


def test_specs_name_the_systems_and_may_come_in_one_string(dataset):
    made = evaluate(dataset, "cosine,bm25:b=0.4,k1=0.9", measures=["map"], n_resamples=10)
    assert list(made.values) == ["cosine", "bm25:b=0.4,k1=0.9"]
    with pytest.raises(InvalidInputError, match="no system was named"):
        evaluate(dataset, "")


def test_systems_see_texts_and_background_but_no_judgement(dataset):
    system = Overlap("cosine")
    evaluate(dataset, [system], n_resamples=10)
    assert system.seen == [(dataset.documents, ())]


def test_reports_name_the_best_and_the_differences(made):
    text = made.table()
    assert "1.0000" not in text
    assert "0.7500*" in text
    assert "pot - cosine: map" in text
    assert str(made) == text
    markdown = made.to_markdown()
    assert "| cosine | **0.7500** | **0.7500** |" in markdown
    assert "- toy: 5 documents, 4 queries" in markdown
    assert "- a note" in markdown
    assert "<b>0.7500</b>" in made._repr_html_()
    frame = pytest.importorskip("pandas") and made.to_pandas()
    assert frame.shape == (6, 7)
    assert frame.loc[0, "value"] == 0.75


def test_what_a_system_tells_of_itself_stands_in_reports_and_json(dataset):
    pytest.importorskip("sklearn")
    made = evaluate(dataset, ["cosine", "lsi:n_components=2"], measures=["map"], n_resamples=50)
    told = made.told["lsi:n_components=2"]
    assert told.startswith("2 dimensions")
    assert made.to_dict()["told"] == dict(made.told) == {"lsi:n_components=2": told}
    assert told in made.to_markdown()


def test_names_in_reports_are_no_markup(dataset):
    made = evaluate(dataset, [Overlap("<b>&"), Overlap("other")], n_resamples=10)
    assert made.baseline == "<b>&"
    assert "<th style='text-align:left'>&lt;b&gt;&amp;</th>" in made._repr_html_()


def test_a_run_made_elsewhere_is_measured_with_the_others(dataset):
    run = Run({"q0": ("d0",), "q1": ("d2", "d3"), "q2": ("d3",), "q3": ("d1",)})
    made = evaluate(
        dataset, [Overlap("cosine")], runs={"oracle": run}, measures=["map"], n_resamples=50
    )
    assert made.values["oracle"] == {"map": 1.0}
    assert "oracle" not in made.seconds
    with pytest.raises(InvalidInputError, match="answers none of the queries of toy; it has '301'"):
        evaluate(dataset, [], runs={"other": Run({"301": ("d0",)})})


@pytest.mark.parametrize(
    ("systems", "settings", "message"),
    [
        ([], {}, "no system was named"),
        ([Overlap("a"), Overlap("a")], {}, "the system 'a' is named twice"),
        ([Overlap("a")], {"baseline": "b"}, "the baseline 'b' is not among what is compared: a"),
        ([Overlap("a")], {"measures": ["error"]}, "no measure 'error' for toy"),
        (["nothing"], {}, "no system 'nothing'"),
        ([Overlap("a")], {"keep": ["b"]}, "'b' is to be kept and is not compared; there are a"),
        ([Overlap("a")], {"n_resamples": 0}, "n_resamples is 0"),
        ([Overlap("a")], {"confidence": 1.0}, "confidence is 1.0"),
    ],
)
def test_what_cannot_be_compared_is_refused(dataset, systems, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        evaluate(dataset, systems, **settings)


def test_largest_wins_and_losses_show_the_documents_that_moved(dataset):
    systems = [Overlap("cosine", {"pot": 0.0, "of": 0.0}), Overlap("pot", HEAVY)]
    made = evaluate(dataset, systems, measures=["map"], n_resamples=50, keep=("cosine", "pot"))
    found = differences(made, "pot", n=2)
    assert (found.n_better, found.n_worse, found.n_equal) == (1, 0, 3)
    (win,) = found.wins
    assert (win.id, win.text, win.values) == ("q2", "pot of tea", (1.0, 0.5))
    relevant, wrong = win.shown
    assert (relevant.id, relevant.about, relevant.places) == (
        "d3", "relevant", ("rank 1", "rank 2"),
    )  # fmt: skip
    assert (wrong.id, wrong.about, wrong.places) == ("d2", "not relevant", ("rank 2", "rank 1"))
    ours, theirs = relevant.explanations
    assert [(part.query_word, part.contribution) for part in ours.parts] == [("pot", 3), ("tea", 1)]
    assert theirs.score == 1.0
    text = found.to_markdown()
    assert "pot against cosine by map: better 1 times, worse 0, equal 3" in text
    assert "+0.500 (pot 1.000, cosine 0.500)  q2: pot of tea" in text
    assert "pot 4.000: pot = pot 3.000, tea = tea 1.000" in text
    told = found.to_dict()
    assert json.loads(json.dumps(told)) == told
    back = made.differences("cosine", against="pot", n=1)
    assert back.losses[0].change == -win.change
    assert (back.wins, back.losses[0].shown[0].places) == ((), ("rank 2", "rank 1"))


def test_differences_need_two_systems_that_are_there(made):
    for arguments, message in (
        ({"system": "cosine"}, "cannot be compared with itself"),
        ({"system": "x"}, "there is no system 'x'; there are cosine, heavy, pot"),
        ({"system": "pot", "measure": "mrr"}, "measure is 'mrr'; it must be one of map, p@1"),
        ({"system": "pot", "n": 0}, "n is 0"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            differences(made, **arguments)
    # What was not kept fitted explains nothing.
    assert len(differences(made, "heavy").losses) == 1
    for one in differences(made, "heavy").losses:
        assert all(shown.explanations == (None, None) for shown in one.shown)


LABELED = [("a b", "x"), ("a c", "x"), ("d e", "y"), ("d f", "y"), ("a z", "x"), ("z d", "y")] * 3


def classification(splits) -> ClassificationSet:
    texts, labels = zip(*LABELED, strict=True)
    return ClassificationSet("labels", Documents.of(texts), labels, splits)


def test_labels_are_compared_over_the_tested_documents():
    split = Split(np.arange(12), np.arange(12, 18))
    systems = [Overlap("cosine", dict.fromkeys("abcdef", 0.0)), Overlap("better", {"z": 0.1})]
    made = evaluate(classification((split,)), systems, n_resamples=200, keep=("cosine", "better"))
    assert made.measures == ("error", "macro_f1")
    assert made.values["better"]["error"] == 0.0
    assert made.values["cosine"]["error"] > 0.0
    assert len(made.figures["cosine"].units) == 6
    assert made.intervals["better"]["error"].difference < 0.0
    assert "labels: 18 documents, 6 tested" in made.to_markdown()
    assert "**0.0000**" in made.to_markdown()
    choice = made.choices["better"][0]
    assert choice.voting.n_neighbors == 1
    told = "chosen in training for better: k 1, temperature none, hubness 0, balance 0"
    assert told in made.to_markdown()
    assert made.to_dict()["neighbors"]["better"] == [
        {"k": 1, "temperature": None, "hubness": 0.0, "balance": 0.0}
    ]
    others = [Voting(3, 0.2, 0.0, 0.5), Voting(7, 0.1, 0.0, 0.0)]
    choices = (choice, *(Choice(voting, 0.5) for voting in others))
    told = "for better: k 1 to 7, temperature 0.1 to none, hubness 0, balance 0 to 0.5"
    answers = {**made.answers, "better": replace(made.answers["better"], choices=choices)}
    assert told in replace(made, answers=answers).to_markdown()
    win = differences(made, "better").wins[0]
    assert win.change == 1.0
    assert win.shown[0].about.startswith("right is ")
    assert win.shown[0].explanations[0] is not None
    chart = evaluation_chart(made)
    assert chart.changed == "error"
    assert min(chart.changes["better"]) >= 0.0


def test_several_splits_show_their_deviation():
    splits = seeded_splits(len(LABELED), n_splits=3)
    systems = [Overlap("cosine"), Overlap("better", {"z": 0.1})]
    made = evaluate(classification(splits), systems, n_resamples=100)
    assert "±" in made.table()
    told = made.to_dict()
    assert len(told["splits"]["cosine"]["error"]) == 3
    assert told["systems"]["cosine"]["error"] == pytest.approx(
        np.mean(told["splits"]["cosine"]["error"])
    )
    assert not made.p_randomized["better"]
    differences(made, "better")
    assert evaluation_chart(made).changes == {}


def test_pairs_are_compared_by_their_ranks():
    left, right = ["a b c", "a b", "x y", "p q r"], ["a b c", "b c", "x z", "s"]
    dataset = PairSet("pairs", tuple(left), tuple(right), np.array([4.0, 3.0, 1.0, 0.0]))
    systems = [Overlap("cosine", {"x": 5.0}), Overlap("better")]
    made = evaluate(dataset, systems, n_resamples=100, keep=("better",))
    assert made.values["better"]["spearman"] > made.values["cosine"]["spearman"]
    assert systems[1].seen[0][0].texts == [*left, *right]
    win = differences(made, "better").wins[0]
    assert win.text in left
    assert win.shown[0].text == right[left.index(win.text)]
    assert win.shown[0].explanations[0].parts
    assert "pairs: 4 pairs" in made.to_markdown()


def test_the_picture_holds_what_it_draws(made, tmp_path):
    pytest.importorskip("matplotlib")
    chart = made.chart()
    assert chart.systems == ("cosine", "heavy", "pot")
    assert chart.values["map"][0] == made.values["cosine"]["map"]
    assert chart.verdicts["map"][0] == 0
    assert list(chart.changes["heavy"]) == sorted(chart.changes["heavy"], reverse=True)
    assert json.loads(json.dumps(chart.to_dict())) == chart.to_dict()
    chart.save(tmp_path / "chart.png")
    again = evaluation_chart(made)
    again.save(tmp_path / "again.png")
    assert (tmp_path / "chart.png").read_bytes() == (tmp_path / "again.png").read_bytes()


def test_a_picture_of_one_system_is_drawn(dataset, tmp_path):
    pytest.importorskip("matplotlib")
    made = evaluate(dataset, [Overlap("$1")], measures=["map"], n_resamples=10)
    evaluation_chart(made).save(tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").stat().st_size > 0
