"""From a pilot to a size."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2
from statsmodels.stats.power import TTestPower

from evalflow.comparison import Measure, Paired, conclude
from evalflow.numeric.rate_power import items_to_bound
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.pilot_cost import arm_cost
from evalflow.runner.size import FigureSize, Wanted, size_of
from tests.runner.pilots import UP_6_DOWN_2, items, pilot_run

SD = math.sqrt(7.2 / 19)
SAMPLED: dict[str, Any] = {"decoding": {"temperature": 1.0}, "seeds": [0, 1]}


def sized(run: ComparedRun, **wanted: float) -> FigureSize:
    costs = {name: arm_cost(run, name) for name in run.plan.arms}
    return size_of(run, "pair", "quality/exact", Wanted(**wanted), costs)


def by_statsmodels(sd: float, delta: float, alpha: float = 0.05, power: float = 0.8) -> int:
    return math.ceil(TTestPower().solve_power(delta / sd, alpha=alpha, power=power))


def test_the_report_and_the_plan_name_one_mde(tmp_path: Path) -> None:
    """Of the same comparison at its own level and power; at another power it is another one."""
    run = pilot_run(tmp_path)
    told = run.report["comparisons"]["pair"]["quality/exact"]["mde"]
    assert sized(run).shows == told
    assert sized(run, power=0.9).shows != told
    assert told == pytest.approx(TTestPower().solve_power(None, 20, 0.05, 0.8) * SD, rel=1e-6)


def test_a_t_test_takes_what_statsmodels_says(tmp_path: Path) -> None:
    """A difference of 0.1 by a paired t-test, with the pilot's sd and with its upper end."""
    one = sized(pilot_run(tmp_path, comparison={"test": "t"}), difference=0.1)
    (size,) = one.sizes
    upper = SD * math.sqrt(19 / chi2.ppf(0.2, 19))
    assert one.sd_upper == pytest.approx(upper)
    assert (size.items, size.by_t, size.asked) == (by_statsmodels(SD, 0.1),) * 3
    assert size.asked_upper == by_statsmodels(upper, 0.1)
    assert size.cost is not None and (size.cost.rows, size.cost.requests) == (2 * size.asked, 2 * size.asked)


def test_an_exact_sign_test_takes_more(tmp_path: Path) -> None:
    """It decides by default; the t-test that the MDE goes by would take fewer. A Wilcoxon test of differences of one
    size is told by the signs too, of others at most 1 / 0.864 of the t-test's."""
    (size,) = sized(pilot_run(tmp_path), difference=0.1).sizes
    assert size.by_t == by_statsmodels(SD, 0.1)
    assert size.items is not None and size.by_t is not None and size.by_t < size.items < 1.2 * size.by_t
    (ranks,) = sized(pilot_run(tmp_path, comparison={"test": "wilcoxon"}), difference=0.1).sizes
    assert ranks.items == size.items
    said = {("old", 0): "wrwwwr", ("old", 1): "wrwrrr", ("new", 0): "rrrwrr", ("new", 1): "wrrwrr"}
    run = pilot_run(tmp_path, said, arms={"old": SAMPLED, "new": SAMPLED}, comparison={"test": "wilcoxon"})
    (mixed,) = sized(run, difference=0.1).sizes
    assert mixed.by_t is not None and mixed.items == math.ceil(mixed.by_t / 0.864)


def test_clusters_and_items(tmp_path: Path) -> None:
    """Clusters are what is counted; each is two items."""
    (size,) = sized(pilot_run(tmp_path, per_cluster=2, comparison={"test": "t"}), difference=0.2).sizes
    assert size.clusters == by_statsmodels(math.sqrt(0.4), 0.2)
    assert size.items == 2 * size.clusters


def test_what_is_lost_is_asked_for_as_well(tmp_path: Path) -> None:
    """With two of twenty items unpaired, ten ninths of the pairs are asked."""
    said = {("old", 0): "ee" + UP_6_DOWN_2["old", 0][2:], ("new", 0): UP_6_DOWN_2["new", 0]}
    (size,) = sized(pilot_run(tmp_path, said), difference=0.1).sizes
    assert size.items is not None and size.asked == math.ceil(size.items * 20 / 18)


def test_margins_of_gates_and_of_the_asking(tmp_path: Path) -> None:
    """A gate's own margin is beside the differences; one that is asked for is taken both ways, one-sided at alpha."""
    gate = {"comparison": "pair", "figure": "quality/exact", "verdict": "non_inferior", "margin": 0.15}
    run = pilot_run(tmp_path, gates={"safe": gate})
    last = sized(run).sizes[-1]
    assert (last.target.kind, last.target.value, last.target.why) == ("non-inferior", 0.15, "gate safe")
    assert last.items == math.ceil(TTestPower().solve_power(0.15 / SD, None, 0.05, 0.8, alternative="larger"))
    kinds = [size.target.kind for size in sized(run, margin=0.1).sizes]
    assert kinds == ["non-inferior", "equivalent"]
    assert [size.target.kind for size in sized(run, margin=0.1, difference=-0.2).sizes] == ["difference", *kinds]


def test_without_a_difference_there_are_several(tmp_path: Path) -> None:
    """Twice the MDE down to a quarter, and what was seen; each half takes about four times the items."""
    one = sized(pilot_run(tmp_path, comparison={"test": "t"}))
    values = [size.target.value for size in one.sizes]
    assert one.shows is not None and values == sorted(values, reverse=True)
    assert values == pytest.approx(sorted([*(one.shows * times for times in (2, 1, 0.5, 0.25)), 0.2], reverse=True))
    taken = {size.target.why: size.items or 0 for size in one.sizes}
    assert taken["the MDE"] == 20
    assert taken["a quarter of it"] / taken["half the MDE"] == pytest.approx(4, rel=0.03)


def test_two_rates_differ_by_one_at_most(tmp_path: Path) -> None:
    """A pilot of three items could show a difference of more than that: nothing beyond is planned."""
    one = sized(pilot_run(tmp_path, {("old", 0): "rww", ("new", 0): "wrr"}))
    assert one.shows is None
    assert one.sizes and max(size.target.value for size in one.sizes) <= 1


def test_seeds_are_weighed_against_items(tmp_path: Path) -> None:
    """Two sampled arms: Var = between + within / k, and of as many arms the fewest requests are at one seed; beside a
    greedy arm two can be the cheapest."""
    said = {("old", 0): "wrww", ("old", 1): "wrwr", ("new", 0): "rrrw", ("new", 1): "wrrw"}
    one = sized(pilot_run(tmp_path, said, arms={"old": SAMPLED, "new": SAMPLED}), difference=0.2)
    between, within = 5 / 12 - 0.125, 0.25
    assert [choice.seeds for choice in one.seeds] == [1, 2, 3, 5, 10]
    assert [choice.sd for choice in one.seeds] == pytest.approx(
        [math.sqrt(between + within / k) for k in (1, 2, 3, 5, 10)]
    )
    assert [choice.cost.rows for choice in one.seeds] == [2 * choice.seeds * choice.asked for choice in one.seeds]
    assert [choice.seeds for choice in one.seeds if choice.cheapest] == [1]
    assert one.seeds[1].asked == one.sizes[0].asked  # the pilot's own two seeds
    run = pilot_run(tmp_path, {**said, ("old", 0): "wwww"}, arms={"old": {}, "new": SAMPLED})
    assert [choice.cost.rows for choice in sized(run).seeds] == [
        (1 + choice.seeds) * choice.asked for choice in sized(run).seeds
    ]


def test_a_pilot_without_a_size_says_why(tmp_path: Path) -> None:
    """And has no sizes, rather than small ones."""
    one = sized(pilot_run(tmp_path, {("old", 0): "www", ("new", 0): "rrr"}), difference=0.1)
    assert (one.pilot, one.sizes, one.seeds) == (None, (), ())
    assert one.reason is not None and one.reason.startswith("zero variance")


def test_a_few_clusters_do_not_carry_a_rates_interval(tmp_path: Path) -> None:
    """Eight clusters that gained 1, 2/3 or 1/3 would need three by a t-test. But the report widens the interval of two
    rates by exact bounds, and from 1, the commonest, a loss of half of what there is to lose is excluded by no fewer
    than six that lose nothing (0.5^6 < 0.025); here some do lose."""
    said = {("old", 0): "w" * 24, ("new", 0): "rrr" * 5 + "rrw" * 2 + "rww"}
    run = pilot_run(tmp_path, said, per_cluster=3)
    size = next(size for size in sized(run).sizes if size.target.why == "seen in the pilot")
    assert size.clusters is not None and size.by_t is not None
    assert size.by_t <= 12 and 6 < size.clusters <= 14


def test_a_margin_may_be_kept_by_an_exact_bound(tmp_path: Path) -> None:
    """Three in sixty differ: with so little variance a t-test would take 33 items, and its interval is not believed; an
    exact bound of a loss of 0.025 keeps a margin of 0.1 from 76 on."""
    said = {("old", 0): "ww" + "r" + "w" * 57, ("new", 0): "rw" + "w" + "r" + "w" * 56}
    (size, _) = sized(pilot_run(tmp_path, said), margin=0.1).sizes
    assert size.by_t is not None and size.items is not None
    assert 30 <= size.by_t <= 36 and size.items == items_to_bound(1.5 / 60, 0.1)


def test_large_clusters_weigh_more(tmp_path: Path) -> None:
    """One cluster of twelve beside eight single items: the mean's interval takes more than the means' spread says."""
    questions = tuple({**one, "cluster": "big" if place < 12 else f"c{place}"} for place, one in enumerate(items(20)))
    (size,) = sized(pilot_run(tmp_path, items=questions, comparison={"test": "t"}), difference=0.2).sizes
    assert size.items is not None and size.by_t is not None and size.items > 1.5 * size.by_t


MEASURE = Measure(lambda stack: float(stack[:, 0].mean()), lambda stats: stats[0], True, True, True)


def shown(up: float, down: float, n: int, seed: int) -> bool:
    """Whether one run of so many items says `better`, by the comparison's own words."""
    drawn = np.random.default_rng(seed).choice([1, -1, 0], size=n, p=[up, down, 1 - up - down])
    names = [f"i{place}" for place in range(n)]
    reference = {name: (0.0 if one >= 0 else 1.0,) for name, one in zip(names, drawn, strict=True)}
    candidate = {name: (1.0 if one > 0 else 0.0,) for name, one in zip(names, drawn, strict=True)}
    comparison = Paired("old", "new", ("f",), resamples=1000)
    delta = comparison.compare(MEASURE, reference, candidate, {name: name for name in names}, seed)
    return conclude({("pair", "f"): (comparison, delta)})["pair", "f"].conclusion == "better"


@pytest.mark.slow
def test_a_run_of_the_planned_size_has_the_planned_power(tmp_path: Path) -> None:
    """Of 600 runs of the size that a pilot with the true shares plans, four in five say `better`, by 2.5 errors."""
    said = {("old", 0): "w" * 12 + "r" * 6 + "w" * 42, ("new", 0): "r" * 12 + "w" * 6 + "w" * 42}
    (size,) = sized(pilot_run(tmp_path, said), difference=0.1).sizes
    assert size.asked is not None
    found = sum(shown(0.2, 0.1, size.asked, seed) for seed in range(600))
    assert found / 600 == pytest.approx(0.8, abs=0.041)
