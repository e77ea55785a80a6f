"""What a pilot says: differences, their spread, and what of it another seed would change."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import StoredRunError
from evalflow.numeric.undefined import Undefined
from evalflow.runner.pilot import read_pilot
from tests.runner.pilots import UP_6_DOWN_2, pilot_run

SAMPLED: dict[str, Any] = {"decoding": {"temperature": 1.0}}


def test_differences_by_hand(tmp_path: Path) -> None:
    """Six up, two down, twelve level: the sum of squares about 0.2 is 7.2, over 19."""
    pilot = read_pilot(pilot_run(tmp_path), "pair", "quality/exact")
    assert (pilot.n_pairs, pilot.n_clusters, pilot.n_unpaired) == (20, 20, 0)
    assert pilot.sd == pytest.approx(math.sqrt(7.2 / 19))
    assert pilot.design_effect == pytest.approx(1.0)
    assert pilot.unequal == pytest.approx(1.0)


def test_clusters_are_the_units(tmp_path: Path) -> None:
    """Ten clusters of two items have means -1, 1, 1, 1 and six of 0: 3.6 about 0.2, over 9; the design effect is
    CR1's variance, 4 * 3.6 * 10 / 9 / 400, over 7.2 / 19 / 20."""
    pilot = read_pilot(pilot_run(tmp_path, per_cluster=2), "pair", "quality/exact")
    assert (pilot.n_pairs, pilot.n_clusters) == (20, 10)
    assert pilot.sd == pytest.approx(math.sqrt(3.6 / 9))
    assert pilot.design_effect == pytest.approx(0.04 / (7.2 / 19 / 20))


def test_what_lacks_a_partner_is_told(tmp_path: Path) -> None:
    """An error in one arm and a row that never came leave two items unpaired, by name."""
    said = {("old", 0): "e" + UP_6_DOWN_2["old", 0][1:], ("new", 0): UP_6_DOWN_2["new", 0][:-1] + "-"}
    pilot = read_pilot(pilot_run(tmp_path, said), "pair", "quality/exact")
    assert (pilot.n_pairs, pilot.n_unpaired, pilot.told["unpaired"]) == (18, 2, ["q000", "q019"])


def test_two_sampled_arms_under_the_same_seeds(tmp_path: Path) -> None:
    """Differences by item and seed are (1, 0), (0, 0), (1, 1), (0, -1): a pass varies by (1/2 + 0 + 0 + 1/2) / 4,
    the means 1/2, 0, 1, -1/2 by 5/12, of which half a pass's is noise."""
    said = {("old", 0): "wrww", ("old", 1): "wrwr", ("new", 0): "rrrw", ("new", 1): "wrrw"}
    arms = {"old": {**SAMPLED, "seeds": [0, 1]}, "new": {**SAMPLED, "seeds": [0, 1]}}
    split = read_pilot(pilot_run(tmp_path, said, arms=arms), "pair", "quality/exact").split
    assert (split.arms, split.reason) == (("old", "new"), None)
    assert split.parts is not None
    assert split.parts.within == pytest.approx(0.25)
    assert split.parts.between == pytest.approx(5 / 12 - 0.125)


def test_a_greedy_arm_adds_nothing_to_the_other(tmp_path: Path) -> None:
    """Of the sampled one items vary by (1/2, 0, 0, 1/2) a pass; only its seeds are weighed."""
    said = {("old", 0): "wrww", ("new", 0): "rrrw", ("new", 1): "wrrr"}
    split = read_pilot(
        pilot_run(tmp_path, said, arms={"old": {}, "new": {**SAMPLED, "seeds": [0, 1]}}), "pair", "quality/exact"
    ).split
    assert split.arms == ("new",)
    assert split.parts is not None and split.parts.within == pytest.approx(0.25)


def test_other_seeds_are_told_apart_by_arm(tmp_path: Path) -> None:
    """Seeds that differ pair nothing: the arms' own variances, 0.25 and 0.125, add up."""
    said = {("old", 0): "wrww", ("old", 1): "rrww", ("new", 5): "rrrw", ("new", 6): "wrrr"}
    arms = {"old": {**SAMPLED, "seeds": [0, 1]}, "new": {**SAMPLED, "seeds": [5, 6]}}
    split = read_pilot(pilot_run(tmp_path, said, arms=arms), "pair", "quality/exact").split
    assert split.parts is not None and split.parts.within == pytest.approx(0.375)


def test_one_seed_of_a_sampled_arm_tells_nothing(tmp_path: Path) -> None:
    """What seeds add is unknown, not 0, and the cure is named; of greedy arms nothing is missing."""
    run = pilot_run(tmp_path, arms={"old": {}, "new": SAMPLED})
    split = read_pilot(run, "pair", "quality/exact").split
    assert split.parts is None and split.reason is not None
    assert split.reason.startswith("arm new is sampled under one seed") and "arms.new.seeds=[0,1]" in split.reason
    greedy = read_pilot(pilot_run(tmp_path), "pair", "quality/exact").split
    assert greedy.reason == "both arms are greedy, so another seed gives the same answers"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({("old", 0): "wwww", ("new", 0): "rrrr"}, "zero variance"),
        ({("old", 0): "ee", ("new", 0): "rr"}, "no item was scored in both arms"),
        ({("old", 0): "w", ("new", 0): "r"}, "1 of what varies was asked"),
    ],
)
def test_a_pilot_that_shows_no_spread_plans_nothing(
    tmp_path: Path, said: dict[tuple[str, int], str], reason: str
) -> None:
    """Undefined with its reason: never 0 items."""
    with pytest.raises(Undefined, match=reason):
        read_pilot(pilot_run(tmp_path, said), "pair", "quality/exact")


def test_a_percentile_has_no_size(tmp_path: Path) -> None:
    """It is no mean over items."""
    metrics = {
        "e2e": {"_target_": "evalflow.metric.latency.E2e"},
        "exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"},
    }
    run = pilot_run(tmp_path, metrics=metrics, comparison={"figures": ["quality/exact", "lat/e2e_s/p50"]})
    with pytest.raises(Undefined, match="no mean over items"):
        read_pilot(run, "pair", "lat/e2e_s/p50")


def test_a_comparison_that_the_report_does_not_know(tmp_path: Path) -> None:
    """It was added since: the cure is named."""
    run = pilot_run(tmp_path)
    with pytest.raises(StoredRunError, match="evalflow score"):
        read_pilot(replace(run, report={**run.report, "comparisons": {}}), "pair", "quality/exact")
