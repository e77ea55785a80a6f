"""Runs held against a reference: what pairs, what is refused, and the family over which p-values are corrected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from evalflow.report.build import build_report
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.judge import judge
from evalflow.runner.run_pair import Asked, Finding, RunPair, pair_runs
from evalflow.runner.score import score
from evalflow.runner.stored_run import StoredRun
from tests.metric.by_hand import columns
from tests.report.by_hand import ARMS, RUN_ID, SAID, SESSIONS, trace
from tests.runner.compared import EXACT, ITEMS, compared, one
from tests.runner.scored_texts import metrics, text_plan
from tests.runner.test_score import row

RIGHT = "r" * 12
STATE: dict[str, Any] = {
    "run_id": RUN_ID,
    "started": SESSIONS[0]["started"],
    "finished": SESSIONS[1]["finished"],
    "sessions": SESSIONS,
    "shared": False,
    "calibration": None,
}
CONTAINS = {"_target_": "evalflow.metric.contains.Contains"}


def paired(reference: ComparedRun, *candidates: ComparedRun, **asked: Any) -> list[RunPair]:
    return pair_runs(reference, candidates, Asked(**asked))


def exact(pair: RunPair, arm: str = "base") -> Finding:
    (finding,) = [one for one in pair.findings if one.figure == "quality/exact" and one.arms[0] == arm]
    return finding


def test_a_run_against_its_like_is_identical(tmp_path: Path) -> None:
    """Twelve equal answers: no difference, p 1, nothing unpaired, and no field to name."""
    (pair,) = paired(one(tmp_path, "A", RIGHT), one(tmp_path, "B", RIGHT))
    assert pair.differences == ()
    delta = exact(pair).delta
    assert delta is not None
    assert (delta.delta, delta.p, delta.p_adjusted, delta.conclusion) == (0.0, 1.0, 1.0, "identical")
    assert (delta.n_pairs, delta.ties, delta.unpaired) == (12, 12, ())
    assert delta.words.startswith("base of B and base of A gave the same score on every pair on quality/exact")


@pytest.mark.parametrize(("before", "after", "conclusion"), [(10, 0, "worse"), (0, 10, "better"), (0, 3, "not shown")])
def test_what_is_shown(tmp_path: Path, before: int, after: int, conclusion: str) -> None:
    """Ten of twelve lost or won, or three won: the sign test's exact p, candidate minus reference."""
    said = [f"{'r' * n}{'w' * (12 - n)}" for n in (before, after)]
    (pair,) = paired(one(tmp_path, "A", said[0]), one(tmp_path, "B", said[1]))
    delta = exact(pair).delta
    assert delta is not None
    gained = after - before
    assert delta.delta == pytest.approx(gained / 12)
    assert delta.p == pytest.approx(binomtest(max(gained, 0), abs(gained)).pvalue)
    assert (delta.wins, delta.losses, delta.conclusion) == (max(gained, 0), max(-gained, 0), conclusion)


def test_the_family_is_all_that_was_compared(tmp_path: Path) -> None:
    """Two candidates and two figures are four tests, corrected together; counts of rows are none of them."""
    parts = {"metrics": {"exact": EXACT, "contains": CONTAINS}}
    runs = [
        one(tmp_path, label, said, **parts)
        for label, said in zip("ABC", (RIGHT, "ww" * 5 + "rr", "w" * 6 + "r" * 6), strict=True)
    ]
    pairs = paired(*runs)
    deltas = [found.delta for pair in pairs for found in pair.compared if found.delta is not None]
    assert [delta.p for delta in deltas] == pytest.approx([2 * 0.5**10] * 2 + [2 * 0.5**6] * 2)
    expected = multipletests([delta.p for delta in deltas], method="holm")[1]
    assert [delta.p_adjusted for delta in deltas] == pytest.approx(list(expected))
    assert [delta.conclusion for delta in deltas] == ["worse", "worse", "not shown", "not shown"]
    counts = [found for found in pairs[0].findings if found.figure.startswith("n/")]
    assert len(counts) == 3 and all(found.beside is not None for found in counts)


def test_items_are_paired_whatever_their_order(tmp_path: Path) -> None:
    """The same answers to the same questions, in another order: every pair is level."""
    said = "rwrrwrrrwrrr"
    back = one(tmp_path, "B", said[::-1], items=tuple(reversed(ITEMS)))
    (pair,) = paired(one(tmp_path, "A", said), back)
    assert pair.items.reordered
    delta = exact(pair).delta
    assert delta is not None and (delta.conclusion, delta.n_pairs, delta.ties) == ("identical", 12, 12)


def test_only_items_of_both_are_paired(tmp_path: Path) -> None:
    """Of twelve against nine, one of them changed and one new: seven pairs, the other five are named as unpaired."""
    after = ({**ITEMS[0], "target": "left"}, *ITEMS[1:8], {**ITEMS[8], "id": "new"})
    (pair,) = paired(one(tmp_path, "A", RIGHT), one(tmp_path, "B", "w" * 9, items=after))
    delta = exact(pair).delta
    assert delta is not None
    assert (delta.n_pairs, delta.losses) == (7, 7)
    assert sorted(delta.unpaired) == ["a", "i", "j", "k", "l"]
    assert pair.items.only_candidate == ("new",)
    refused = {found.figure for found in pair.findings if found.refused}
    assert refused == {"n/coverage", "n/error_share", "n/truncated_share"}


def test_nothing_pairs_where_no_item_is_shared(tmp_path: Path) -> None:
    """Disjoint items refuse every figure, and say why."""
    other = tuple({**item, "id": f"{item['id']}2"} for item in ITEMS)
    (pair,) = paired(one(tmp_path, "A", RIGHT), one(tmp_path, "B", RIGHT, items=other))
    assert pair.compared == []
    assert exact(pair).refused == ("no item is the same in both runs",)


def test_an_item_that_was_lost_is_unpaired(tmp_path: Path) -> None:
    """An error is no score: eleven pairs, and the twelfth is named."""
    (pair,) = paired(one(tmp_path, "A", RIGHT), one(tmp_path, "B", "e" + "r" * 11))
    delta = exact(pair).delta
    assert delta is not None and (delta.n_pairs, delta.unpaired, delta.conclusion) == (11, ("a",), "identical")


def test_what_neither_run_has_a_score_of_is_no_pair(tmp_path: Path) -> None:
    """An item that failed in both is not named; one that failed in one of them is, and lost if the reference had it."""
    (pair,) = paired(one(tmp_path, "A", "eer" + "r" * 9), one(tmp_path, "B", "ere" + "r" * 9))
    found = exact(pair)
    assert found.delta is not None and found.delta.n_pairs == 9
    assert (found.delta.unpaired, found.lost) == (("b", "c"), ("c",))


def test_a_difference_refuses_its_figures_and_no_others(tmp_path: Path) -> None:
    """Under another metric `exact` is refused with the reason, and `contains` is compared."""
    parts = [{"metrics": {"exact": metric, "contains": CONTAINS}} for metric in (EXACT, CONTAINS)]
    (pair,) = paired(one(tmp_path, "A", RIGHT, **parts[0]), one(tmp_path, "B", RIGHT, **parts[1]))
    assert exact(pair).refused == ("the metric reads the same rows another way",)
    assert [found.figure for found in pair.compared] == ["quality/contains"]


def test_a_figure_of_one_run_is_told(tmp_path: Path) -> None:
    """What the candidate lacks is refused; what only it has is no figure of the reference."""
    both = {"exact": EXACT, "contains": CONTAINS}
    more, less = one(tmp_path, "A", RIGHT, metrics=both), one(tmp_path, "B", RIGHT)
    (pair,) = paired(more, less)
    lost = {found.figure: found.refused for found in pair.findings if found.refused}
    assert lost["quality/contains"] == ("only one of the runs has it",)
    (turned,) = paired(less, more)
    assert "quality/contains" not in {found.figure for found in turned.findings}
    assert ("metrics.contains", ("quality/contains",)) in [(one.field, one.figures) for one in turned.differences]


def test_arms_pair_by_name_or_as_told(tmp_path: Path) -> None:
    """Arms of one name pair, the others are named; a map pairs those that it names, and no arm twice."""
    whole = compared(tmp_path, "A")
    fewer = compared(
        tmp_path,
        "B",
        arms={"base": {}, "hot": ARMS["new"]},
        comparisons={},
        gates={},
        later=(),
        said={("base", 0): "rwwe", ("hot", 0): "rrrr", ("hot", 1): "rrwr"},
    )
    (pair,) = paired(whole, fewer)
    assert (pair.arms, pair.only_reference, pair.only_candidate) == ((("base", "base"),), ("new", "bad"), ("hot",))
    (pair,) = paired(whole, fewer, arms={"new": "hot"})
    assert (pair.arms, pair.only_reference, pair.only_candidate) == ((("new", "hot"), ("base", "base")), ("bad",), ())
    delta = exact(pair, "new").delta
    assert delta is not None and delta.conclusion == "identical"
    assert delta.words.startswith("hot of B and new of A gave the same score")
    (pair,) = paired(whole, fewer, arms={"base": "hot"})
    assert (pair.arms, pair.only_reference, pair.only_candidate) == ((("base", "hot"),), ("new", "bad"), ("base",))
    (pair,) = paired(whole, whole, arms={"base": "new"})
    assert pair.arms == (("base", "new"),)
    (pair,) = paired(whole, compared(tmp_path, "C"), arms={"base": "new"})
    assert pair.arms == (("base", "new"), ("bad", "bad"))
    (pair,) = paired(whole, fewer, arms={"base": "hot"})
    delta = exact(pair).delta
    # base: 1 0 0 error; hot over two seeds: 1 1 0.5 1
    assert delta is not None and (delta.n_pairs, delta.unpaired) == (3, ("d",))
    assert delta.delta == pytest.approx(np.mean([0, 1, 0.5]))
    assert (delta.reference_value, delta.candidate_value) == (pytest.approx(1 / 3), pytest.approx(2.5 / 3))


def test_clusters_are_those_of_the_items(tmp_path: Path) -> None:
    """Four items of two clusters are two units of the test."""
    (pair,) = paired(compared(tmp_path, "A"), compared(tmp_path, "B"), arms={"new": "new"})
    delta = exact(pair, "new").delta
    assert delta is not None and (delta.n_pairs, delta.n_clusters) == (4, 2)


def test_a_control_is_marked(tmp_path: Path) -> None:
    """What is there to fail is compared and told as such."""
    (pair,) = paired(compared(tmp_path, "A"), compared(tmp_path, "B"))
    assert {found.arms[0] for found in pair.findings if found.control} == {"bad"}


def test_what_neither_has_says_why_once(tmp_path: Path) -> None:
    """No time was taken in either run; where one of them saw nothing else, each says its own reason."""
    (pair,) = paired(compared(tmp_path, "A"), compared(tmp_path, "B"))
    undefined = {(found.arms[0], found.figure): found.undefined for found in pair.findings if found.undefined}
    assert undefined["base", "lat/ttft_s/p50"] == "nothing scored (1 errors, 3 excluded)"
    assert undefined["base", "stability/seed_sd"] == "one seed"
    every = {**SAID, ("base", 0): "eeee"}
    (pair,) = paired(compared(tmp_path, "A"), compared(tmp_path, "C", said=every))
    lost = next(found for found in pair.findings if found.figure == "quality/exact" and found.arms[0] == "base")
    assert lost.undefined == "in C: nothing scored (4 errors, 0 excluded)"


def test_figures_can_be_chosen(tmp_path: Path) -> None:
    """Only those named are held against each other, and they alone are the family."""
    parts = {"metrics": {"exact": EXACT, "contains": CONTAINS}}
    runs = [one(tmp_path, label, said, **parts) for label, said in (("A", RIGHT), ("B", "w" * 10 + "rr"))]
    (pair,) = paired(*runs, figures=("quality/contains",))
    (found,) = pair.findings
    assert found.delta is not None and found.delta.p_adjusted == pytest.approx(2 * 0.5**10)


def test_the_same_runs_give_the_same_numbers(tmp_path: Path) -> None:
    """Every draw derives from the reference's seed and the names: nothing depends on what is compared beside."""
    first, second, third = (
        one(tmp_path, label, said) for label, said in (("A", RIGHT), ("B", "wrrrrwrrrrrw"), ("C", RIGHT))
    )
    alone, beside = paired(first, second)[0], paired(first, second, third)[0]
    assert exact(alone).delta is not None and exact(beside).delta is not None
    assert exact(alone).delta.bootstrap_low == exact(beside).delta.bootstrap_low  # type: ignore[union-attr]


def scored_text(tmp_path: Path, label: str, tokenizer: str) -> ComparedRun:
    """A run of one arm that scored one text, as a tokeniser of this name cuts it."""
    text = text_plan(ITEMS[:1], arms={"ref": {}}, metrics=metrics("nll", "bpb"))
    traces = {"ref": (trace("s1", 1, 13, driver={"saturated": False}, facts={"scorer": {"tokenizer": tokenizer}}),)}
    nll = columns(nll=[1.0, 2.0])
    state = {**STATE, "conditions": text.conditions()}
    stored = StoredRun(tmp_path, state, text.items, (row("a", "", columns=nll, arm="ref", session="s1"),), (), traces)
    scores = score(text, stored.rows, (), traces)
    return ComparedRun(label, stored, build_report(stored, scores, judge(scores)), scores)


def test_figures_per_token_need_one_tokeniser(tmp_path: Path, home: Path) -> None:
    """Of two runs whose tokenisers differ bits per byte are compared, and per-token figures are not."""
    runs = [scored_text(tmp_path, label, name) for label, name in (("A", "one"), ("B", "one"), ("C", "two"))]
    same, other = paired(*runs)
    assert {found.figure for found in same.compared} == {"quality/nll", "quality/bpb"}
    assert [found.figure for found in other.compared] == ["quality/bpb"]
    (refused,) = [found for found in other.findings if found.figure == "quality/nll"]
    assert refused.undefined == (
        "the arms' tokenisers differ, so figures per token do not compare; compare bits_per_byte"
    )
