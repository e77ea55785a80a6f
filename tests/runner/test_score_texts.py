"""Rows of scored texts become figures over positions: what they count, why they are undefined, and the worst places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from evalflow.metric.corpus import Corpus
from evalflow.metric.protocol import Answer, Stack
from evalflow.record import Figure, Row
from evalflow.runner.plan import Plan
from evalflow.runner.score import Scores, score
from evalflow.runner.units import answers_of
from tests.conftest import ITEMS, plan_of
from tests.runner.scored_texts import metrics, text_plan, walked
from tests.runner.test_score import ended, row, unavailable

pytestmark = pytest.mark.usefixtures("home")
NAN = math.nan


def scored(plan: Plan, rows: list[Row]) -> Scores:
    return score(plan, rows, (), ended(plan))


def counts(figure: Figure) -> tuple[int, int, int, int]:
    return (figure.n_total, figure.n_scored, figure.n_excluded, figure.n_error)


def test_positions_are_what_is_counted() -> None:
    """Five positions of two texts; every one weighs the same, whichever text it is of."""
    figures = scored(text_plan(ITEMS[:2]), [walked("a", [0.1, 0.2, 0.3]), walked("b", [0.4, 1.0])]).figures("one")
    for name in ("quality/nll", "parity/kl_nats", "parity/kl_nats/p50", "parity/kl_nats/max", "parity/nonfinite"):
        assert counts(figures[name]) == (5, 5, 0, 0), name
    assert figures["parity/kl_nats"].value == pytest.approx(0.4)
    assert figures["quality/nll"].value == pytest.approx(4.0)
    assert figures["parity/dnll_nats"].value == pytest.approx(3.0)
    assert figures["parity/kl_nats/p50"].value == 0.3
    assert figures["parity/kl_nats/max"].value == 1.0
    assert figures["parity/kl_nats"].unit == "nats"
    assert figures["parity/nonfinite"].value == 0.0


@pytest.mark.parametrize("name", ["parity/kl_nats", "parity/kl_nats/p50", "quality/nll"])
def test_what_has_no_number_is_counted_beside_what_has(name: str) -> None:
    """A position that is not finite and a text without columns are excluded; an error and a row that never came are
    errors. A text counts as the longest does: nobody knows of how many positions, and it must not count for little."""
    rows = [walked("a", [0.1, NAN, 0.3]), row("b", ""), row("c", None)]
    found = scored(text_plan(ITEMS[:4]), rows).figures("one")[name]
    assert counts(found) == (3 + 3 + 3 + 3, 2, 1 + 3, 3 + 3)
    assert found.value == pytest.approx({"quality/nll": 2.0}.get(name, 0.2))


@pytest.mark.parametrize("name", ["parity/kl_nats", "parity/kl_nats/p50", "parity/kl_nats/max", "parity/disagree_rate"])
def test_figures_that_no_position_is_left_for(name: str) -> None:
    """No value, and why: so many errors, so many excluded."""
    rows = [walked("a", [NAN, NAN]), row("b", ""), row("c", None)]
    found = scored(text_plan(ITEMS[:3]), rows).figures("one")[name]
    assert (found.value, found.reason) == (None, "no position was scored (2 errors, 4 excluded)")


def test_a_percentile_of_few_positions_is_undefined() -> None:
    """By the count of positions, each percentile for itself."""
    figures = scored(text_plan(ITEMS[:2]), [walked("a", [0.1] * 10), walked("b", [0.2] * 9)]).figures("one")
    assert figures["parity/kl_nats/p95"].reason == "p95 needs n >= 20, has 19"
    assert figures["parity/kl_nats/p90"].value == pytest.approx(0.2)


def test_an_arm_without_a_reference_has_no_figure_of_two() -> None:
    """And says so; its own figures stand."""
    plan = text_plan(ITEMS[:1])
    rows = [walked("a", [0.1, 0.2]), walked("a", [0.1, 0.2], arm="ref")]
    figures = scored(plan, rows).figures("ref")
    for name, figure in figures.items():
        if name.startswith("parity/") and name != "parity/nonfinite":
            assert (figure.value, figure.reason) == (None, "the arm has no reference"), name
    assert (figures["quality/nll"].value, figures["parity/nonfinite"].value) == (pytest.approx(1.5), 0.0)


def test_an_arm_that_could_not_run_has_no_figure() -> None:
    """The reason is its own, of positions too."""
    plan = text_plan(ITEMS[:1])
    figures = score(plan, [], (), {**ended(plan), "one": unavailable()}).figures("one")
    assert {figure.reason for figure in figures.values()} == {"arm unavailable: no device"}


@pytest.mark.parametrize("name", ["quality/nll", "parity/gap_disagree_nats", "parity/kl_nats", "parity/kl_nats/p50"])
def test_where_that_matches_no_text_is_said_to(name: str) -> None:
    """No text is no position, and no agreement either."""
    found = scored(text_plan(ITEMS[:1]), [walked("a", [0.1, 0.2])]).figure("one", name, {"kind": "zzz"})
    assert (found.value, found.n_total, found.reason) == (None, 0, "empty: no row is kind zzz")


def test_arms_that_choose_alike_have_no_gap_at_disagreements() -> None:
    """Its reason is the one that a gate may allow, unless something was lost."""
    plan = text_plan(ITEMS[:2])
    found = scored(plan, [walked("a", [0.1, 0.2]), walked("b", [0.3])]).figures("one")["parity/gap_disagree_nats"]
    assert (found.value, found.n_total, found.reason) == (None, 0, "no disagreement")
    lost = scored(plan, [walked("a", [0.1, NAN]), row("b", None)]).figures("one")["parity/gap_disagree_nats"]
    assert (lost.value, lost.reason) == (None, "no disagreement (1 errors, 1 excluded)")


def test_where_chooses_texts() -> None:
    """A figure of some of the texts."""
    items = [{**item, "kind": kind} for item, kind in zip(ITEMS[:3], "xyx", strict=True)]
    scores = scored(text_plan(items), [walked(i["id"], [0.1 * (n + 1)] * 2) for n, i in enumerate(items)])
    assert counts(scores.figure("one", "parity/kl_nats", {"kind": "x"})) == (4, 4, 0, 0)
    assert scores.figure("one", "parity/kl_nats", {"kind": "x"}).value == pytest.approx(0.2)


def test_texts_of_one_cluster_are_one_to_the_interval() -> None:
    """Two clusters of equal size with means 0.15 and 0.35: 0.25 +/- t(1) * 0.1."""
    items = [{**item, "cluster": c} for item, c in zip(ITEMS[:4], "ppqq", strict=True)]
    rows = [walked(name, [kl, kl]) for name, kl in zip("abcd", (0.1, 0.2, 0.3, 0.4), strict=True)]
    found = scored(text_plan(items), rows).figures("one")["parity/kl_nats"]
    assert (found.low, found.high) == pytest.approx((0.25 - 1.27062047, 0.25 + 1.27062047))
    assert (found.method, found.level) == ("clustered t", 0.95)


def test_the_worst_positions_of_all_texts() -> None:
    """Worst first, whatever text they are of; equal ones by text and place; what is not finite before all."""
    rows = [walked("a", [0.5, 0.1, 0.3, 0.2, 0.9]), walked("b", [0.9, NAN, 0.0]), walked("c", [0.0, 0.0])]
    scores = scored(text_plan(ITEMS[:3]), rows)
    assert scores.worst("one", "kl", {}) == (
        "b at 2 (not finite): qu⟦e⟧stion b",
        "a at 5 (0.9): quest⟦ion a⟧",
        "b at 1 (0.9): q⟦u⟧estion b",
        "a at 1 (0.5): q⟦u⟧estion a",
        "a at 3 (0.3): que⟦s⟧tion a",
    )
    assert [place.at for _, place in scores.worst_positions("one", "kl_spread", {"id": "a"})] == [5, 1, 3]
    assert scores.worst("one", "disagree", {"id": "c"}) == ()


def test_rows_keep_what_documents_gave_and_no_positions() -> None:
    """Statistics of a text are as many whatever its length; a spread leaves none."""
    (one,) = scored(text_plan(ITEMS[:1]), [walked("a", [0.1, NAN, 0.3])]).rows
    assert one.stats["kl"] == pytest.approx((2.0, 3.0, 0.4, 0.1, 0.3, 0.02))
    assert "kl_spread" not in one.stats


def test_scoring_again_gives_the_same() -> None:
    """Rows that were scored before are scored afresh, to the same figures."""
    plan = text_plan(ITEMS[:2])
    once = scored(plan, [walked("a", [0.1, 0.2], [1]), walked("b", [0.4])])
    assert scored(plan, once.rows).figures("one") == once.figures("one")


@pytest.mark.parametrize("key", ["nll", "bpb", "kl"])
def test_a_text_that_lost_a_position_has_no_number_of_its_own(key: str) -> None:
    """It is compared with nothing: what is left of it may be its better part, and of nothing left no score is 0."""
    rows = [walked("a", [0.1, 0.2]), walked("b", [0.1, NAN]), walked("c", [NAN, NAN]), row("d", "")]
    found = scored(text_plan(ITEMS[:4]), rows).item_stats("one", key)
    assert set(found) == {"a"}


@dataclass(frozen=True)
class Distinct(Corpus):
    """How many distinct answers there are, over how many: known when all have been read. `odd` ones do not count."""

    figure: ClassVar[str | None] = "quality/distinct"

    def stack(self, units: Sequence[Answer]) -> Stack:
        drafts = [unit.row.draft for unit in units]
        fresh = [draft not in drafts[:place] for place, draft in enumerate(drafts)]
        rows = [(NAN if draft == "odd" else float(new)) for new, draft in zip(fresh, drafts, strict=True)]
        return np.array(rows, dtype=np.float64).reshape(-1, 1)


CORPUS: dict[str, Any] = {"metrics": {"distinct": {"_target_": "tests.runner.test_score_texts.Distinct"}}}


def test_a_metric_over_all_answers_counts_answers() -> None:
    """Those with a number, those left out, and those that failed or never came."""
    rows = [row("a", "x"), row("b", "x"), row("c", "odd"), row("d", None), row("e", "y")]
    scores = scored(plan_of(**CORPUS), rows)
    found = scores.figures("one")["quality/distinct"]
    assert counts(found) == (6, 3, 1, 2)
    assert found.value == pytest.approx(2 / 3)
    assert scores.worst("one", "distinct", {}) == ()
    assert all("distinct" not in one.stats for one in scores.rows)


def test_a_metric_over_all_answers_that_none_is_left_for() -> None:
    """Where all failed, or none matches, there is no value, and each says why."""
    scores = scored(plan_of(ITEMS[:2], **CORPUS), [row("a", None), row("b", "odd")])
    assert scores.figures("one")["quality/distinct"].reason == "nothing scored (1 errors, 1 excluded)"
    assert scores.figure("one", "quality/distinct", {"kind": "z"}).reason == "empty: no row is kind z"


def test_a_metric_over_all_answers_sees_what_where_chooses() -> None:
    """What is counted of one answer depends on the others that were chosen with it."""
    items = [{**item, "kind": kind} for item, kind in zip(ITEMS[:3], "xyx", strict=True)]
    scores = scored(plan_of(items, **CORPUS), [row("a", "q"), row("b", "q"), row("c", "q")])
    assert scores.figures("one")["quality/distinct"].value == pytest.approx(1 / 3)
    assert scores.figure("one", "quality/distinct", {"kind": "x"}).value == 0.5
    assert scores.figure("one", "quality/distinct", {"kind": "y"}).value == 1.0


def test_answers_come_in_the_order_of_their_items_with_what_is_missing_counted() -> None:
    """By id, seed by seed; an error and a row that never came are no answers, and are in the total."""
    plan = plan_of(ITEMS[:3], arms={"one": {"seeds": [1, 0]}})
    rows = [row("c"), row("a", seed=1), row("a"), row("b", None)]
    arm = scored(plan, rows).arms["one"]
    answers, n_total, n_error = answers_of(arm, {}, sorted(arm.planned.arm.seeds))
    assert [(one.item.id, one.row.seed) for one in answers] == [("a", 0), ("a", 1), ("c", 0)]
    assert (n_total, n_error) == (6, 3)
    answers, n_total, n_error = answers_of(arm, {"id": ["b", "c"]}, (0,))
    assert ([one.item.id for one in answers], n_total, n_error) == (["c"], 2, 1)
    assert answers_of(arm, {"status": "ok"}, (0, 1))[1:] == (3, 0), "what never came has no status"


def test_metrics_of_all_grains_stand_side_by_side() -> None:
    """A run of texts may count answers too."""
    plan = text_plan(ITEMS[:2], metrics={**metrics("nll", "kl_spread"), **CORPUS["metrics"]})
    figures = scored(plan, [walked("a", [0.1, 0.2]), walked("b", [0.3])]).figures("one")
    assert (figures["quality/distinct"].n_total, figures["quality/nll"].n_total) == (2, 3)


def test_a_reading_may_have_a_unit_of_its_own() -> None:
    """A t is a plain number, of differences in nats."""
    figures = scored(text_plan(ITEMS[:1]), [walked("a", [0.1, 0.2])]).figures("one")
    assert (figures["parity/dnll_nats/sd"].unit, figures["parity/dnll_nats/naive_t"].unit) == ("nats", "")
