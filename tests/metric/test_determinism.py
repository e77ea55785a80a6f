"""Whether two arms wrote the same text, where they part, and how close the choice was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from evalflow.metric.determinism import FirstDifference, IdenticalText, MarginAtDifference
from evalflow.metric.protocol import Metric, RowPair, figure_names
from evalflow.record import Item, Row, Token
from tests.conftest import Lab, config, faults_of, plan_of
from tests.metric.by_hand import row

ITEM = Item("i", "p")
KINDS = (IdenticalText, FirstDifference, MarginAtDifference)
TOKENS: dict[str, list[str]] = {
    "before": ["It", " is", " Paris", "."],
    "after": ["It", " is", " in", " Paris", "."],
}


def said(words: Sequence[str], margins: Sequence[float | None] | None = None) -> Row:
    """A row whose model told its tokens, and by how much it preferred each (nats)."""
    known = margins or [1.0] * len(words)
    tokens = tuple(Token(word, -0.1, margin) for word, margin in zip(words, known, strict=True))
    return row("".join(words), tokens=tokens)


def pair(reference: Row, candidate: Row) -> RowPair:
    return RowPair(ITEM, reference, candidate)


def parted(metric: Metric, reference: Row, candidate: Row) -> tuple[float, ...] | None:
    return metric.stats(pair(reference, candidate))


def test_a_text_is_identical_to_the_letter() -> None:
    """Case, blanks and a dot more are differences; where they begin is told in characters."""
    metric = IdenticalText(reference="a")
    told = ["Paris.", "paris.", "Paris. ", "Paris", "Parma."]
    pairs = [pair(row("Paris."), row(text)) for text in told]
    assert [metric.stats(one) for one in pairs] == [(1.0,), (0.0,), (0.0,), (0.0,), (0.0,)]
    assert [metric.detail(one)["first_difference"] for one in pairs] == [None, 0, 6, 5, 3]


def test_an_empty_text_is_identical_to_an_empty_one_only() -> None:
    """It parts from any other at once."""
    metric = IdenticalText(reference="a")
    empty, full = row("", status="empty"), row("a")
    assert [metric.stats(pair(empty, other)) for other in (empty, full)] == [(1.0,), (0.0,)]
    assert metric.detail(pair(empty, full)) == {"first_difference": 0}


def test_tokens_in_common_are_counted_up_to_the_first_that_differs() -> None:
    """`It is Paris.` and `It is in Paris.` have two; what agrees again after them does not count."""
    before, after = said(TOKENS["before"]), said(TOKENS["after"])
    metric = FirstDifference(reference="a")
    assert parted(metric, before, after) == parted(metric, after, before) == (2.0,)
    assert parted(metric, said(["No"]), after) == (0.0,)


def test_a_beginning_of_the_other_parts_where_it_ends() -> None:
    """One of three tokens against the same three and more has three in common; no token of its own stands there."""
    short, long = said(TOKENS["before"][:3]), said(TOKENS["before"])
    assert parted(FirstDifference(reference="a"), short, long) == (3.0,)
    margin = MarginAtDifference(reference="a")
    assert parted(margin, short, long) is None
    assert parted(margin, long, short) == (1.0,)


def test_the_margin_is_the_references_own_at_the_first_difference() -> None:
    """Neither the candidate's margin there nor any other of the reference's is read (nats)."""
    before = said(TOKENS["before"], [5.0, 4.0, 0.25, 3.0])
    after = said(TOKENS["after"], [5.0, 4.0, 0.75, 2.0, 1.0])
    metric = MarginAtDifference(reference="a")
    assert parted(metric, before, after) == (0.25,)
    assert parted(metric, after, before) == (0.75,)


def test_a_margin_of_zero_is_a_margin_and_an_unknown_one_is_none() -> None:
    """Two tokens may be equally likely; a model that told no second one leaves the row out."""
    after = said(TOKENS["after"])
    metric = MarginAtDifference(reference="a")
    assert parted(metric, said(TOKENS["before"], [1.0, 1.0, 0.0, 1.0]), after) == (0.0,)
    assert parted(metric, said(TOKENS["before"], [1.0, 1.0, None, 1.0]), after) is None
    assert parted(FirstDifference(reference="a"), said(TOKENS["before"], [None] * 4), after) == (2.0,)


@pytest.mark.parametrize("kind", [FirstDifference, MarginAtDifference])
def test_texts_that_are_the_same_part_nowhere(kind: Any) -> None:
    """They are left out and not counted as 0 tokens, however the same text was cut into tokens."""
    metric = kind(reference="a")
    whole, cut = said(["It", " is"]), said(["I", "t", " is"])
    assert parted(metric, whole, whole) is None
    assert parted(metric, whole, cut) is None


@pytest.mark.parametrize("kind", [FirstDifference, MarginAtDifference])
def test_unknown_tokens_part_nowhere(kind: Any) -> None:
    """A row of either arm without its tokens is left out although the texts differ."""
    metric = kind(reference="a")
    known, unknown = said(TOKENS["before"]), row("another text")
    assert parted(metric, known, unknown) is None
    assert parted(metric, unknown, known) is None


def test_names_and_units() -> None:
    """A share, tokens, and nats; the last is better low, and one median each is the default."""
    names = [name for kind in KINDS for name in figure_names("any", kind(reference="a"))]
    assert names == [
        "stability/identical_text",
        "stability/tokens_until_difference/p50",
        "stability/margin_at_difference/p50",
    ]
    assert [kind.measured_in for kind in KINDS] == ["share", "tokens", "nats"]
    assert [kind.higher_is_better for kind in KINDS] == [True, True, False]


@pytest.mark.parametrize("kind", [FirstDifference, MarginAtDifference])
def test_percentiles_that_are_none_are_refused(kind: Any) -> None:
    """A percentile lies between 0 and 100, and there is at least one."""
    for percentiles in ((), (0.0,), (100.0,)):
        with pytest.raises(ValueError, match="give numbers between 0 and 100"):
            kind(reference="a", percentiles=percentiles)


METRIC = {"_target_": "evalflow.metric.determinism.IdenticalText", "reference": "one"}
GATE = {"figure": "stability/identical_text", "arm": "two", "floor": 0.5}


def test_the_share_is_over_pairs_and_the_reference_has_none(lab: Lab) -> None:
    """Two of six texts of `two` are another: 4 / 6; `one` is held against nothing, and that is said."""
    two = {"model": {"answers": {"b": "other", "e": "Right"}}}
    report = lab(arms={"one": {}, "two": two}, metrics={"same": METRIC}, gates={"same": GATE}).report
    share = report["arms"]["two"]["figures"]["stability/identical_text"]
    assert (share["value"], share["n_scored"]) == (pytest.approx(4 / 6), 6)
    own = report["arms"]["one"]["figures"]["stability/identical_text"]
    assert (own["value"], own["reason"]) == (None, "the others are held against this arm")
    assert report["gates"]["same"]["outcome"] == "pass"


def test_a_model_without_tokens_leaves_the_place_unread(lab: Lab) -> None:
    """Texts that differ and tokens that nobody told: no figure, and a gate on it is unreadable."""
    metric = {**METRIC, "_target_": "evalflow.metric.determinism.FirstDifference"}
    gate = {**GATE, "figure": "stability/tokens_until_difference/p50"}
    two = {"model": {"answers": {"b": "other"}}}
    ran = lab(arms={"one": {}, "two": two}, metrics={"parting": metric}, gates={"late": gate})
    figure = ran.report["arms"]["two"]["figures"]["stability/tokens_until_difference/p50"]
    assert (figure["value"], figure["reason"]) == (None, "nothing scored (0 errors, 6 excluded)")
    assert (ran.code, ran.report["gates"]["late"]["outcome"]) == (2, "unreadable")


def test_an_error_is_no_pair(lab: Lab) -> None:
    """A question that the reference did not answer counts as failed, and not as another text."""
    arms = {"one": {"model": {"answers": dict.fromkeys("abcde", "right"), "otherwise": None}}, "two": {}}
    share = lab(arms=arms, metrics={"same": METRIC}).report["arms"]["two"]["figures"]["stability/identical_text"]
    assert (share["value"], share["n_scored"], share["n_total"], share["n_error"]) == (1.0, 5, 6, 1)


def test_a_reference_that_is_no_arm_is_named(home: object) -> None:
    """Before anything runs, with the metric that asks for it."""
    faults = faults_of(config(metrics={"same": {**METRIC, "reference": "on"}}))
    assert len(faults) == 1 and "metrics.same" in faults[0] and "one" in faults[0]
    assert plan_of(metrics={"same": METRIC}).metrics["same"] == IdenticalText(reference="one")
