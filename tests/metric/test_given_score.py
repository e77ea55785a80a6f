import numpy as np
import pytest

from evalflow.metric.given_score import GivenLoss, GivenNumber, GivenScore
from tests.metric.by_hand import answer, stacked

CLUSTERS = np.array(list("abcd"), dtype=object)


def test_a_row_that_came_without_the_score_is_excluded() -> None:
    """It is not wrong: nobody said so. What came with it stands in the detail."""
    metric = GivenScore("acc")
    unscored, other = answer(), answer(given={"acc_norm": 1.0})
    assert (metric.stats(unscored), metric.stats(other)) == (None, None)
    assert metric.stats(answer(given={"acc": 0.0, "acc_norm": 1.0})) == (0.0,)
    assert metric.detail(other) == {"expected": "answer", "given": {"acc_norm": 1.0}}


def test_right_and_wrong_have_wilsons_interval() -> None:
    """Three of four: 0.75, from 0.3006 to 0.9544 by Wilson's formula at 95 %."""
    metric = GivenScore("acc")
    stack = stacked(metric, *(answer(given={"acc": score}) for score in (1.0, 1.0, 0.0, 1.0)))
    interval = metric.interval(stack, CLUSTERS, 0.95)
    assert (metric.value(stack), metric.measured_in) == (0.75, "share")
    assert interval is not None and interval.method == "wilson"
    assert (interval.low, interval.high) == (pytest.approx(0.3006, abs=5e-5), pytest.approx(0.9544, abs=5e-5))


@pytest.mark.parametrize("beyond", [3.5, -0.25])
def test_a_score_beyond_a_share_is_refused(beyond: float) -> None:
    """The message names what reads it."""
    with pytest.raises(ValueError, match=f"score f1 is {beyond:g}, beyond 0 and 1; read it by given_number"):
        GivenScore("f1").stats(answer(given={"f1": beyond}))


def test_a_number_of_any_size_has_a_t_interval() -> None:
    """1, 2, 3, 6: mean 3, sd 2.1602, t(3) 3.1824: 3 -/+ 3.4374."""
    metric = GivenNumber("bleu")
    stack = stacked(metric, *(answer(given={"bleu": score}) for score in (1.0, 2.0, 3.0, 6.0)))
    interval = metric.interval(stack, CLUSTERS, 0.95)
    assert metric.value(stack) == 3.0
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(-0.4374, abs=5e-5), pytest.approx(6.4374, abs=5e-5))


def test_of_a_loss_less_is_better() -> None:
    """It is a number in all else."""
    assert (GivenNumber("x").higher_is_better, GivenLoss("x").higher_is_better) == (True, False)
    assert GivenLoss("x").stats(answer(given={"x": -3.0})) == (-3.0,)
