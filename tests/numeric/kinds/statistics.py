"""Cases of tests, intervals, resampling and power."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from evalflow.numeric.bca import acceleration, bca_mean, bias
from evalflow.numeric.bootstrap import bootstrap_mean, given_replicates, mean_replicates, percentile_interval
from evalflow.numeric.cluster import cluster_se, count_clusters
from evalflow.numeric.interval import Interval
from evalflow.numeric.mcnemar import mcnemar, mcnemar_chi2
from evalflow.numeric.moments import mean, sample_sd, standard_error
from evalflow.numeric.multiplicity import benjamini_hochberg, holm, rejected
from evalflow.numeric.paired import (
    differences,
    equivalence,
    is_equivalent,
    is_non_inferior,
    non_inferiority,
    paired_t,
)
from evalflow.numeric.power import items_needed, items_needed_normal, mde, mde_normal
from evalflow.numeric.proportion import (
    clopper_pearson,
    normal_interval,
    proportion,
    proportion_se,
    rule_of_three,
    wilson,
    zero_event_bound,
)
from evalflow.numeric.quantile import quantiles
from evalflow.numeric.sign import sign_test
from evalflow.numeric.undefined import Undefined
from tests.numeric.kinds.figures import answered
from tests.numeric.kinds.numbers import plain

SEED = 0  # of cases that name none
RECIPE_SEED, RECIPE_SHAPE = re.compile(r"default_rng\((\d+)\)"), re.compile(r"\((\d+), *(\d+)\)")

Given = Mapping[str, Any]
Answer = dict[str, Any]


def paired_t_case(given: Given) -> Answer:
    """Keys baseline, treatment; margin and alpha where there is one."""
    alpha = plain(given.get("alpha", 0.05))
    margin = plain(given.get("margin"))

    def column() -> Any:
        return differences(plain(given["baseline"]), plain(given["treatment"]))

    figures: dict[str, Callable[[], Any]] = {
        "mean_diff": lambda: mean(column()),
        "sd": lambda: sample_sd(column()),
        "t": lambda: paired_t(column(), alpha).t,
        "p_two_sided": lambda: paired_t(column(), alpha).p,
        "ci_low": lambda: paired_t(column(), alpha).interval.low,
        "ci_high": lambda: paired_t(column(), alpha).interval.high,
    }
    if margin is not None:
        figures |= {
            "p_noninferior": lambda: non_inferiority(column(), margin),
            "p_tost": lambda: equivalence(column(), margin, alpha).p,
            "ci90_low": lambda: equivalence(column(), margin, alpha).interval.low,
            "ci90_high": lambda: equivalence(column(), margin, alpha).interval.high,
            "noninferior": lambda: is_non_inferior(column(), margin, alpha),
            "equivalent": lambda: is_equivalent(column(), margin, alpha),
        }
    return answered(figures, n=len(given["baseline"]))


def sign_test_case(given: Given) -> Answer:
    """Keys a, b."""

    def test() -> Any:
        return sign_test(differences(plain(given["b"]), plain(given["a"])))

    return answered(
        {
            "only_a": lambda: test().wins,
            "only_b": lambda: test().losses,
            "ties": lambda: test().ties,
            "p": lambda: test().p,
            "p_midp": lambda: test().p_mid,
        }
    )


def mcnemar_case(given: Given) -> Answer:
    """Keys only_a, only_b: counts."""
    counts = plain(given["only_a"]), plain(given["only_b"])
    return answered(
        {
            "p_exact": lambda: mcnemar(*counts).p,
            "p_midp": lambda: mcnemar(*counts).p_mid,
            "chi2_cc": lambda: mcnemar_chi2(*counts)[0],
            "p_chi2_cc": lambda: mcnemar_chi2(*counts)[1],
        }
    )


def proportion_case(given: Given) -> Answer:
    """Keys k, n, confidence. The one-sided bounds are of what never happened: wrong answers at n, right ones at 0."""
    k, n, level = plain(given["k"]), plain(given["n"]), plain(given.get("confidence", 0.95))

    def one_sided(bound: Callable[[], float]) -> float:
        if k not in (0, n):
            raise Undefined("both outcomes were seen")
        return bound()

    return answered(
        {
            "p": lambda: proportion(k, n),
            "se": lambda: proportion_se(k, n),
            "wilson": lambda: wilson(k, n, level),
            "clopper_pearson": lambda: clopper_pearson(k, n, level),
            "normal": lambda: normal_interval(k, n, level),
            "normal_degenerate": lambda: normal_interval(k, n, level).degenerate,
            "one_sided_95_bound_exact": lambda: one_sided(lambda: zero_event_bound(n, 0.95)),
            "rule_of_three": lambda: one_sided(lambda: rule_of_three(n)),
        }
    )


def paired_bootstrap_case(given: Given) -> Answer:
    """Keys baseline, treatment; statistic, confidence and n_resamples where there is one."""
    statistic = given.get("statistic", "mean(treatment - baseline)")
    if statistic != "mean(treatment - baseline)":
        raise ValueError(f"statistic is {statistic}; give mean(treatment - baseline)")
    level, n_resamples = plain(given.get("confidence", 0.95)), plain(given.get("n_resamples", 10_000))
    seed = given.get("seed", SEED)

    def column() -> Any:
        return differences(plain(given["baseline"]), plain(given["treatment"]))

    def z0() -> float:
        acceleration(column())  # without spread there is nothing to correct
        return bias(mean_replicates(column(), seed, n_resamples), mean(column()))

    return answered(
        {
            "mean": lambda: mean(column()),
            "percentile": lambda: bootstrap_mean(column(), seed, n_resamples, level),
            "bca": lambda: bca_mean(column(), seed, n_resamples, level),
            "bca_acceleration": lambda: acceleration(column()),
            "bca_z0_exact": z0,
        }
    )


def given_indices_case(given: Given) -> Answer:
    """Keys differences, resample_indices, confidence."""
    level = plain(given.get("confidence", 0.95))

    def interval() -> Interval:
        return percentile_interval(given_replicates(plain(given["differences"]), given["resample_indices"]), level)

    return answered({"percentile": interval})


def seeded_bootstrap_case(given: Given) -> Answer:
    """Keys baseline, treatment, rng: numpy's recipe for the units of each resample, which are drawn as it says.

    Of a recipe without `default_rng(seed)` and `(resamples, units)` nothing is read: the product draws by itself.
    """
    recipe = str(given.get("rng", ""))
    seed, shape = RECIPE_SEED.search(recipe), RECIPE_SHAPE.search(recipe)
    level = plain(given.get("confidence", 0.95))

    def column() -> Any:
        return differences(plain(given["baseline"]), plain(given["treatment"]))

    def interval() -> Interval:
        if seed is None or shape is None:
            return bootstrap_mean(column(), SEED, level=level)
        drawn = np.random.default_rng(int(seed[1])).choice(column().size, (int(shape[1]), int(shape[2])))
        return percentile_interval(given_replicates(column(), drawn), level)

    return answered({"delta": lambda: mean(column()), "percentile": interval})


def cluster_se_case(given: Given) -> Answer:
    """Keys values, clusters."""
    values, clusters = plain(given["values"]), given["clusters"]
    return answered(
        {
            "mean": lambda: mean(values),
            "se_naive": lambda: standard_error(values),
            "se_cluster_cr0": lambda: cluster_se(values, clusters, correction=False),
            "se_cluster_cr1": lambda: cluster_se(values, clusters),
        },
        n_clusters=count_clusters(clusters),
    )


def multiplicity_case(given: Given) -> Answer:
    """Keys p, alpha."""
    p, alpha = plain(given["p"]), plain(given.get("alpha", 0.05))
    return {
        "holm": holm(p),
        "bh": benjamini_hochberg(p),
        "reject_holm": rejected(holm(p), alpha),
        "reject_bh": rejected(benjamini_hochberg(p), alpha),
    }


def power_case(given: Given) -> Answer:
    """Keys sd_of_differences, n, delta, alpha, power."""
    sd, n, delta = (plain(given[key]) for key in ("sd_of_differences", "n", "delta"))
    rates = plain(given.get("alpha", 0.05)), plain(given.get("power", 0.8))
    return answered(
        {
            "mde_normal": lambda: mde_normal(sd, n, *rates),
            "mde_t": lambda: mde(sd, n, *rates),
            "n_needed_normal": lambda: items_needed_normal(sd, delta, *rates),
            "n_needed_t": lambda: items_needed(sd, delta, *rates),
        }
    )


def quantile_case(given: Given) -> Answer:
    """Keys values, q: a list."""
    return answered({"linear_type7": lambda: quantiles(plain(given["values"]), plain(given["q"]))})


KINDS: dict[str, Callable[[Given], Answer]] = {
    "paired_t": paired_t_case,
    "sign_test": sign_test_case,
    "mcnemar": mcnemar_case,
    "proportion_ci": proportion_case,
    "paired_bootstrap": paired_bootstrap_case,
    "bootstrap_given_indices": given_indices_case,
    "paired_bootstrap_seeded": seeded_bootstrap_case,
    "cluster_se": cluster_se_case,
    "multiplicity": multiplicity_case,
    "power_paired_mean": power_case,
    "quantile": quantile_case,
}
