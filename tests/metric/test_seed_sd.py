"""The spread over seeds, by hand."""

import statistics

import numpy as np
import pytest

from evalflow.metric.protocol import Repeats, figure_names
from evalflow.metric.seed_sd import SeedSd
from evalflow.numeric.undefined import Undefined
from evalflow.record import Item
from tests.metric.by_hand import row

SD = SeedSd(of="exact")


def repeats(*scores, **changes):
    return Repeats(Item("i", "p"), tuple(row(stats={"exact": score}, **changes) for score in scores))


def test_an_item_gives_one_score_per_seed():
    """The first statistic of each seed's row, in the seeds' order."""
    assert SD.stats(repeats((1.0,), (0.0, 5.0), (1.0,))) == (1.0, 0.0, 1.0)


def test_an_item_that_lacks_a_seed_is_excluded():
    """A row that is not there, one that the metric excluded and one never scored by it all exclude the item."""
    full = repeats((1.0,), (0.0,))
    assert SD.stats(Repeats(full.item, (full.rows[0], None))) is None
    assert SD.stats(repeats((1.0,), None)) is None
    assert SeedSd(of="other").stats(full) is None


def test_the_spread_is_that_of_the_seeds_scores():
    """Scores of 1, 1/2 and 0 over three seeds spread by 0.5; of 3/4, 1/4, 1/2, 1/2 as statistics.stdev says."""
    assert SD.value(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])) == pytest.approx(0.5, rel=1e-15)
    four = np.array([[1, 1, 1, 0], [1, 0, 0, 1], [1, 0, 1, 0], [0, 0, 0, 1]], dtype=float)
    assert SD.value(four) == pytest.approx(statistics.stdev([0.75, 0.25, 0.5, 0.5]), rel=1e-15)


def test_all_right_is_saturated():
    """Where every answer under every seed is right no spread could show: undefined, not 0."""
    with pytest.raises(Undefined, match=r"^saturated$"):
        SD.value(np.ones((60, 3)))


def test_equal_scores_with_answers_wrong_are_a_real_0():
    """Seeds that change nothing, or trade one right answer for another, have a spread of 0."""
    assert SD.value(np.array([[1.0, 1.0], [0.0, 0.0]])) == 0.0
    assert SD.value(np.array([[1.0, 0.0], [0.0, 1.0]])) == 0.0
    assert SD.value(np.zeros((5, 3))) == 0.0


def test_one_seed_has_no_spread():
    """One seed is undefined, even where all is right."""
    with pytest.raises(Undefined, match=r"^one seed$"):
        SD.value(np.ones((4, 1)))


def test_it_has_a_fixed_name_and_no_interval():
    """The figure is stability/seed_sd over items, less is better, and no interval is claimed."""
    assert figure_names("s", SD) == ("stability/seed_sd",)
    assert (SD.grain, SD.higher_is_better) == ("item", False)
    assert SD.interval(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array(["a", "b"], dtype=object), 0.95) is None
