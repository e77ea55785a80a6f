"""What other harnesses got wrong in their statistics, as public issues tell it, and what is said here."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from evalflow.numeric.bootstrap import bootstrap_mean, bootstrap_se
from evalflow.numeric.mcnemar import mcnemar
from evalflow.numeric.moments import mean, standard_error
from evalflow.numeric.paired import differences, paired_t
from evalflow.numeric.proportion import normal_interval, proportion_se, wilson
from evalflow.numeric.undefined import Undefined

HARNESS = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent / "data" / "harness_public.json").read_text(encoding="utf-8"))
}


def test_hc01_all_or_none_right_is_no_certainty():
    """At 0 and at n the interval keeps a width that shrinks with n, and no standard error of 0 is given."""
    case = HARNESS["hc01"]
    assert case["input"]["method"] == "wilson"
    for run, want in zip(case["input"]["runs"], case["expected"]["intervals"], strict=True):
        k, n = run["successes"], run["n"]
        interval = wilson(k, n, case["input"]["level"])
        assert [interval.low, interval.high] == pytest.approx(want, abs=case["expected"]["atol"])
        assert interval.high > interval.low
        assert not interval.degenerate
        if k in (0, n):
            answers = [1.0] * k + [0.0] * (n - k)
            for error in (lambda k=k, n=n: proportion_se(k, n), lambda answers=answers: bootstrap_se(answers, 0, 200)):
                with pytest.raises(Undefined):
                    error()
            assert normal_interval(k, n).degenerate
            assert bootstrap_mean(answers, 0, 200).degenerate


def test_hc12_arms_on_the_same_items_are_paired():
    """60 items, 12 that one arm alone has right and 3 the other: pairing shows what the unpaired z-test misses."""
    given, expected = HARNESS["hc12"]["input"], HARNESS["hc12"]["expected"]
    counts = [given[key] for key in ("both_right", "a_right_b_wrong", "a_wrong_b_right", "both_wrong")]
    a, b = np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)
    column = differences(b, a)
    interval = paired_t(column).interval
    test = mcnemar(given["a_right_b_wrong"], given["a_wrong_b_right"])
    got = {
        "acc_a": mean(a),
        "acc_b": mean(b),
        "diff": mean(column),
        "paired_se": standard_error(column),
        "mcnemar_exact_p": test.p,
        "mcnemar_mid_p": test.p_mid,
    }
    for key, value in got.items():
        assert value == pytest.approx(expected[key], abs=expected["atol"]), key
    assert [interval.low, interval.high] == pytest.approx(expected["paired_t_ci95"], abs=expected["atol"])
    # the test that is wrong here, by hand: variances added as if other items had been asked
    z = 0.15 / (0.7 * 0.3 / 59 + 0.55 * 0.45 / 59) ** 0.5
    assert expected["unpaired_z_p_that_is_wrong_here"] == pytest.approx(2 * norm.sf(z), abs=expected["atol"])
    assert test.p < 0.05 < expected["unpaired_z_p_that_is_wrong_here"]


def test_hc14_more_resamples_make_no_smaller_error():
    """The bootstrap standard error is the sd of the replicates at any number of them, and undefined for one score."""
    case = HARNESS["hc14"]
    scores, seed, expected = [0, 1] * 50, case["input"]["seed"], case["expected"]
    for n_resamples in case["input"]["resamples"]:
        se = bootstrap_se(scores, seed, n_resamples)
        assert se == pytest.approx(expected["se_close_to"], rel=expected["rtol"])
        assert se == bootstrap_se(scores, seed, n_resamples)
    with pytest.raises(Undefined) as caught:
        bootstrap_se(case["input"]["also"]["scores"], seed)
    assert caught.value.reason == "n < 2"
