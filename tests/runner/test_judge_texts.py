"""Gates and comparisons of scored texts: which arms they are held against, what noise there is, what cannot compare."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evalflow.record import Row
from evalflow.runner.judge import Judgement, judge
from evalflow.runner.score import score
from tests.conftest import ITEMS
from tests.metric.by_hand import columns
from tests.runner.scored_texts import metrics, text_plan, walked
from tests.runner.test_score import ended, row, trace

pytestmark = pytest.mark.usefixtures("home")
THREE = {"ref": {}, "one": {"reference": "ref"}, "two": {"reference": "ref"}}
KL = {"figure": "parity/kl_nats", "ceiling": 0.25}


def judged(rows: list[Row], facts: dict[str, Any] | None = None, n: int = 1, **parts: Any) -> Judgement:
    """What comes of rows on the first `n` items, whose arms have these facts."""
    plan = text_plan(ITEMS[:n], **parts)
    traces = {name: (trace(facts=(facts or {}).get(name, {})),) for name in plan.arms}
    return judge(score(plan, rows, (), {**ended(plan), **traces}))


def of(arm: str, *kl: float, item: str = "a", **fields: Any) -> Row:
    return walked(item, kl, arm=arm, **fields)


def test_a_gate_on_two_arms_figures_passes_over_those_without_a_reference() -> None:
    """The reference has no divergence from itself; a figure of its own is held against it too."""
    rows = [of("ref", 1.0), of("one", 0.1), of("two", 0.2)]
    gates = {"kl": KL, "nll": {"figure": "quality/nll", "ceiling": 5.0}}
    found = judged(rows, arms=THREE, gates=gates).gates
    assert (found["kl"].outcome, found["kl"].value, found["kl"].arm) == ("pass", 0.2, None)
    assert (found["nll"].outcome, found["nll"].arm, found["nll"].value) == ("fail", "ref", 10.0)


def test_a_control_is_passed_over_there_too() -> None:
    """Where controls alone have a reference, no arm has the figure, and that is said."""
    control = {"ref": {}, "one": {"reference": "ref", "control": True}}
    rows = [of("ref", 1.0), of("one", 9.0)]
    found = judged(rows, arms=control, gates={"kl": KL}).gates["kl"]
    assert (found.outcome, found.reason) == ("unreadable", "no arm but controls has this figure")
    alone = judged([of("ref", 1.0)], arms={"ref": {}}, gates={"kl": KL}).gates["kl"]
    assert (alone.outcome, alone.reason) == ("unreadable", "no arm but controls has this figure")


def test_a_gate_that_names_an_arm_without_a_reference_cannot_be_read() -> None:
    """It asks for what is not there."""
    rows = [of("ref", 1.0), of("one", 0.1)]
    found = judged(rows, gates={"kl": {**KL, "arm": "ref"}}).gates["kl"]
    assert (found.outcome, found.reason) == ("unreadable", "the arm has no reference")


def test_a_failed_gate_names_positions() -> None:
    """The worst first, of the arm that decided."""
    rows = [of("ref", 1.0, 1.0), of("one", 0.1, 0.2), of("two", 0.9, 0.3)]
    found = judged(rows, arms=THREE, gates={"kl": KL}).gates["kl"]
    assert (found.arm, found.rows) == ("two", ("a at 1 (0.9): q⟦u⟧estion a", "a at 2 (0.3): qu⟦estion a⟧"))


def test_of_several_arms_between_two_bounds_the_nearest_is_told() -> None:
    """Whichever bound it is near to: 0.05 lies 0.05 from the lower one, 0.38 lies 0.02 from the upper."""
    rows = [of("ref", 1.0), of("one", 0.05), of("two", 0.38)]
    gate = {"figure": "parity/kl_nats", "between": [0.0, 0.4]}
    assert judged(rows, arms=THREE, gates={"g": gate}).gates["g"].value == 0.38
    gate = {"figure": "parity/kl_nats", "between": [0.04, 0.5]}
    assert judged(rows, arms=THREE, gates={"g": gate}).gates["g"].value == 0.05
    outside = {"figure": "parity/kl_nats", "between": [0.1, 0.2]}
    found = judged(rows, arms=THREE, gates={"g": outside}).gates["g"]
    assert (found.outcome, found.arm, found.value) == ("fail", "two", 0.38)


def test_one_position_that_is_not_finite_keeps_every_gate_from_passing() -> None:
    """The count fails, and nothing else of the arm is read."""
    rows = [of("ref", 1.0, 1.0), of("one", 0.1, math.nan)]
    gates = {
        "kl": KL,
        "finite": {"figure": "parity/nonfinite", "ceiling": 0.0},
        "p50": {**KL, "figure": "parity/kl_nats/p50"},
    }
    found = judged(rows, gates=gates).gates
    assert {name: gate.outcome for name, gate in found.items()} == {
        "kl": "unreadable",
        "finite": "fail",
        "p50": "unreadable",
    }
    assert found["kl"].reason == "1 of 2 were not scored"


ALLOWED = {"figure": "parity/gap_disagree_nats", "ceiling": 0.01, "allow_reason": "no disagreement"}


def test_arms_that_choose_alike_pass_where_that_is_allowed() -> None:
    """And not where it is not; where they differ the gap is held against the threshold."""
    alike, apart = [of("ref", 1.0), of("one", 0.1)], [of("ref", 1.0), walked("a", [0.2], [0])]
    strict = {key: value for key, value in ALLOWED.items() if key != "allow_reason"}
    assert judged(alike, gates={"g": ALLOWED}).gates["g"].outcome == "pass"
    assert judged(alike, gates={"g": strict}).gates["g"].outcome == "unreadable"
    found = judged(apart, gates={"g": ALLOWED}).gates["g"]
    assert (found.outcome, found.value) == ("fail", pytest.approx(0.02))


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        ([of("one", 0.1)], {"kind": "zzz"}),
        ([], {}),
        ([row("a", None)], {}),
        ([row("a", "")], {}),
        ([of("one", math.nan)], {}),
        ([of("one", 0.1, math.nan)], {}),
    ],
)
def test_nothing_scored_is_no_agreement(rows: list[Row], where: dict[str, Any]) -> None:
    """No text that matches, no row, an error, a row without columns, a lost position: none of them passes."""
    found = judged(rows, gates={"g": {**ALLOWED, "where": where, "arm": "one"}}).gates["g"]
    assert found.outcome == "unreadable", found


AA = {"ref": {}, "again": {"reference": "ref"}, "one": {"reference": "ref", "model": {"dtype": "float32"}}}


def test_the_noise_floor_is_what_the_reference_gives_against_itself() -> None:
    """The same figure of the A/A arm, beside the gate on another arm of the same reference."""
    rows = [of("ref", 1.0), of("again", 0.001), of("one", 0.1)]
    gates = {
        "one": {**KL, "arm": "one"},
        "again": {**KL, "arm": "again"},
        "nll": {"figure": "quality/nll", "floor": 0.0},
    }
    found = judged(rows, arms=AA, gates=gates).gates
    assert found["one"].noise_floor == pytest.approx(0.001)
    assert found["again"].noise_floor is None, "it is no noise of its own"
    assert found["nll"].noise_floor is None, "a figure of one arm has none"


def test_of_several_the_noisiest_counts() -> None:
    """By its size, whatever its sign; one that is undefined tells nothing."""
    arms = {**AA, "more": {"reference": "ref", "scoring": {"path": "tokens"}}, "lost": {"reference": "ref"}}
    rows = [of("ref", 1.0), of("again", 0.101), of("more", 0.08), of("one", 0.15), of("lost", math.nan)]
    gate = {"figure": "parity/dnll_nats", "arm": "one", "ceiling": 1.0}
    assert judged(rows, arms=arms, gates={"g": gate}).gates["g"].noise_floor == pytest.approx(-0.2)  # 0.8 - 1


def test_an_arm_of_another_reference_or_model_is_no_noise_floor() -> None:
    """float32 against float64 is a difference, and A/A of float32 says nothing of float64."""
    arms = {
        "ref": {},
        "low": {"model": {"dtype": "float32"}},
        "one": {"reference": "ref", "model": {"dtype": "float32"}},
        "two": {"reference": "ref", "model": {"dtype": "int8"}},
        "again": {"reference": "low", "model": {"dtype": "float32"}},
    }
    rows = [of(name, 0.1) for name in arms]
    found = judged(rows, arms=arms, gates={name: {**KL, "arm": name} for name in ("one", "two", "again")}).gates
    assert {name: gate.noise_floor for name, gate in found.items()} == {"one": None, "two": None, "again": None}


PAIR = {"ref": {}, "other": {"model": {"dtype": "float32"}}}
COMPARED = {"c": {"reference": "ref", "candidate": "other", "figures": ["quality/nll", "quality/bpb"]}}
ALONE = metrics("nll", "bpb")


def told(*tokenizers: str | None) -> dict[str, Any]:
    """Facts of the two arms, that of an arm which gives no tokeniser being what a seat tells."""
    return {
        name: {"scorer": {"gives": "log-probabilities"} if one is None else {"tokenizer": one}}
        for name, one in zip(PAIR, tokenizers, strict=True)
    }


def test_figures_per_token_of_other_tokenisers_are_not_compared() -> None:
    """The reason says what to compare, which is compared; a gate on the figure per token cannot be read."""
    rows = [of("ref", 0.2, 0.4), of("other", 0.1, 0.3)]
    gates = {"g": {"figure": "quality/nll", "comparison": "c", "ceiling": 0.0}}
    found = judged(rows, told("x", "y"), arms=PAIR, metrics=ALONE, comparisons=COMPARED, gates=gates)
    nll, bpb = found.comparisons["c"]["quality/nll"], found.comparisons["c"]["quality/bpb"]
    said = "the arms' tokenisers differ, so figures per token do not compare; compare bits_per_byte"
    assert (nll.delta, nll.reason) == (None, said)
    assert bpb.delta == pytest.approx((4.0 - 6.0) / math.log(2) / 2)  # two tokens of a byte each
    assert (found.gates["g"].outcome, found.gates["g"].reason) == ("unreadable", said)


def test_figures_per_token_of_one_tokeniser_are_compared() -> None:
    """Whatever else of the two models differs."""
    rows = [of("ref", 0.2, 0.4), of("other", 0.1, 0.3)]
    found = judged(rows, told("x", "x"), arms=PAIR, metrics=ALONE, comparisons=COMPARED)
    assert found.comparisons["c"]["quality/nll"].delta == pytest.approx(-1.0)


@pytest.mark.parametrize("tokenizers", [(None, "x"), ("x", None), (None, None)])
def test_where_a_tokeniser_is_not_told_its_tokens_are_compared(tokenizers: tuple[str | None, str | None]) -> None:
    """A seat names none: its figures per token stand where it cut every text alike, and nowhere else."""
    ref = of("ref", 0.2, 0.4)
    alike, unknown, fewer = ([1, 2], [-1, -1], [1])
    for starts, compares in ((alike, True), (unknown, False), (fewer, False)):
        other = row("a", "", arm="other", columns=columns(starts=starts, nll=[1.0] * len(starts)))
        found = judged([ref, other], told(*tokenizers), arms=PAIR, metrics=ALONE, comparisons=COMPARED)
        delta = found.comparisons["c"]["quality/nll"]
        assert (delta.delta is not None) == compares, delta.reason
        assert compares or str(delta.reason).startswith("the arms are not known to read texts as the same tokens, so ")


def test_tokens_without_a_place_are_told_by_their_ids() -> None:
    """As those of recorded logits, which are of no text."""
    for token, compares in (([7, 9], True), ([7, 8], False), ([-1, -1], False)):
        rows = [
            row("a", "", arm=arm, columns=columns(starts=[-1, -1], nll=[1.0, 2.0], token=ids))
            for arm, ids in (("ref", [7, 9] if max(token) > 0 else token), ("other", token))
        ]
        found = judged(rows, told(None, None), arms=PAIR, metrics=ALONE, comparisons=COMPARED)
        assert (found.comparisons["c"]["quality/nll"].delta == 0.0) == compares


def test_a_text_that_lost_a_position_is_unpaired() -> None:
    """Named, counted, and in the way of the gate; it is not taken for a text at 0 nats."""
    rows = [of("ref", 0.2, item="a"), of("ref", 0.2, item="b")]
    rows += [of("other", 0.2, item="a"), of("other", math.nan, item="b")]
    gates = {"g": {"figure": "quality/nll", "comparison": "c", "ceiling": 0.0}}
    found = judged(rows, told("x", "x"), n=2, arms=PAIR, metrics=ALONE, comparisons=COMPARED, gates=gates)
    delta = found.comparisons["c"]["quality/nll"]
    assert (delta.unpaired, delta.n_pairs, delta.wins, delta.delta) == (("b",), 1, 0, 0.0)
    assert (found.gates["g"].outcome, found.gates["g"].reason) == ("unreadable", "1 of 2 items are unpaired")


def test_a_comparison_is_over_all_positions_of_all_texts() -> None:
    """Longer texts weigh more, as in the figures that it compares."""
    rows = [of("ref", 0.1, 0.1, 0.1, item="a"), of("ref", 0.5, item="b")]
    rows += [of("other", 0.2, 0.2, 0.2, item="a"), of("other", 0.5, item="b")]
    found = judged(rows, told("x", "x"), n=2, arms=PAIR, metrics=ALONE, comparisons=COMPARED)
    delta = found.comparisons["c"]["quality/nll"]
    assert (delta.reference_value, delta.candidate_value) == (pytest.approx(2.0), pytest.approx(2.75))
    assert (delta.wins, delta.losses, delta.ties) in ((1, 0, 1), (0, 1, 1))
