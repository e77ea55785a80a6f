"""The published cases of tests, intervals, resampling and power, and what they leave out: their edges."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.numeric.cases import answer
from tests.numeric.kinds.statistics import KINDS

DATA = Path(__file__).parent / "data"
CASES = [
    case
    for case in json.loads((DATA / "numerics_public.json").read_text(encoding="utf-8"))["cases"]
    if case["metric"] in KINDS
]


def agrees(got: Any, want: Any, slack: Any, rel: float) -> bool:
    """Within abs + rel |want|, number by number; undefined as it is, whatever the words."""
    if isinstance(want, list):
        slacks = slack if isinstance(slack, list) else [slack] * len(want)
        return len(got) == len(want) and all(agrees(*row, rel) for row in zip(got, want, slacks, strict=True))
    if isinstance(want, dict):
        return isinstance(got, dict) and got.keys() >= want.keys()
    return isinstance(got, type(want) | int | float) and abs(got - want) <= slack + rel * abs(want)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_published_case(case):
    """Each published figure comes out within the tolerance that is published with it."""
    got, tolerance = answer(case["metric"], case["input"]), case["tolerance"]
    for key, want in case["expected"].items():
        if key.startswith("not_this_"):
            assert key not in got
            continue
        slack = tolerance.get("abs_by_key", {}).get(key, tolerance["abs"])
        assert agrees(got[key], want, slack, tolerance["rel"]), (key, got[key], want)


def test_every_kind_is_among_them():
    """None of the kinds is without a published case."""
    assert {case["metric"] for case in CASES} == set(KINDS)


@pytest.mark.parametrize(("seed", "n", "n_resamples"), [(42, 10, 5000), (7, 25, 999), (2**40, 12, 2000)])
def test_a_recipe_is_followed_draw_by_draw(seed, n, n_resamples):
    """Of differences that are all different, numpy's own lines give the same ends to the last digits."""
    baseline, treatment = np.random.default_rng(n).random((2, n))
    drawn = np.random.default_rng(seed).choice(treatment - baseline, (n_resamples, n))
    recipe = f"numpy.random.default_rng({seed}).choice(differences, ({n_resamples}, {n}))"
    got = answer(
        "paired_bootstrap_seeded", {"baseline": baseline.tolist(), "treatment": treatment.tolist(), "rng": recipe}
    )
    assert got["percentile"] == pytest.approx(np.quantile(drawn.mean(axis=1), [0.025, 0.975]), abs=1e-14)


PAIRED = {"margin": 0.1, "alpha": 0.05}
BOOT = {"statistic": "mean(treatment - baseline)", "confidence": 0.95, "n_resamples": 500}
POWER = {"sd_of_differences": 0.5, "n": 200, "delta": 0.1, "alpha": 0.05, "power": 0.8}
NO_SPREAD = {"undefined": "zero variance"}
ONE = {"undefined": "n < 2"}
NAN = {"undefined": "non-finite value"}
EMPTY = {"undefined": "no rows"}

EDGES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # one pair, no spread, nothing, NaN
    (
        "paired_t",
        {"baseline": [1.0], "treatment": [1.5], **PAIRED},
        {"n": 1, "mean_diff": 0.5, "sd": ONE, "p_tost": ONE},
    ),
    (
        "paired_t",
        {"baseline": [0.1, 0.2, 0.3], "treatment": [0.15, 0.25, 0.35], **PAIRED},
        {"n": 3, "sd": 0.0, "t": NO_SPREAD, "p_two_sided": NO_SPREAD, "p_tost": NO_SPREAD, "ci_low": NO_SPREAD}
        | {"equivalent": True, "noninferior": True},
    ),
    (
        "paired_t",
        {"baseline": [1, 2], "treatment": [1, 2], **PAIRED},
        {"mean_diff": 0.0, "t": NO_SPREAD, "equivalent": True},
    ),
    ("paired_t", {"baseline": [1, 2], "treatment": [0, 1], **PAIRED}, {"mean_diff": -1.0, "noninferior": False}),
    ("paired_t", {"baseline": [], "treatment": [], **PAIRED}, {"n": 0, "mean_diff": EMPTY, **EMPTY}),
    (
        "paired_t",
        {"baseline": [1, "nan"], "treatment": [1, 2], **PAIRED},
        {"mean_diff": NAN, "p_two_sided": NAN, **NAN},
    ),
    ("paired_t", {"baseline": [1, 2], "treatment": [1, 2, 3], **PAIRED}, {"error": "give pairs"}),
    ("paired_t", {"baseline": [1, 2], "treatment": [1, 3], "margin": -0.1, "alpha": 0.05}, {"error": "margin is -0.1"}),
    ("paired_t", {"baseline": [1, 2], "treatment": [1, 3], "margin": 0.1, "alpha": 5}, {"error": "alpha is 5"}),
    (
        "paired_t",
        {"baseline": [1, 2], "treatment": [1, 4], "margin": 0, "alpha": 0.1},
        {"t": 1.0, "p_two_sided": 0.5, "p_noninferior": 0.25, "p_tost": 0.75},
    ),
    ("sign_test", {"a": [1, 0], "b": [1, 0]}, {"only_a": 0, "only_b": 0, "ties": 2, "p": 1.0}),
    ("sign_test", {"a": [0.5, 2], "b": [1, 1]}, {"only_a": 1, "only_b": 1, "ties": 0, "p": 1.0}),
    ("sign_test", {"a": [], "b": []}, {"p": EMPTY, **EMPTY}),
    ("sign_test", {"a": ["nan"], "b": [1]}, {"p": NAN, **NAN}),
    ("sign_test", {"a": [1], "b": []}, {"error": "give pairs"}),
    ("sign_test", {"a": ["1"], "b": ["0"]}, {"error": "values hold text"}),
    ("sign_test", {"a": [1]}, {"error": "the inputs have no 'b'"}),
    ("sign_test", {"a": [10**400], "b": [1]}, {"error": "beyond a float"}),
    # no discordant pair, equal ones, no counts
    (
        "mcnemar",
        {"only_a": 0, "only_b": 0},
        {"p_exact": 1.0, "p_midp": 1.0, "chi2_cc": {"undefined": ""}, "p_chi2_cc": {"undefined": ""}},
    ),
    ("mcnemar", {"only_a": 0, "only_b": 5}, {"p_exact": 0.0625, "p_midp": 0.03125, "chi2_cc": 3.2}),
    ("mcnemar", {"only_a": 4, "only_b": 4}, {"p_exact": 1.0, "p_midp": 1.0, "chi2_cc": 0.125}),
    ("mcnemar", {"only_a": -1, "only_b": 5}, {"error": "a count is -1"}),
    ("mcnemar", {"only_a": 1.5, "only_b": 5}, {"error": "integer"}),
    # the edges of a proportion; 1 - 0.025^(1/10) and 1 - 0.05^(1/10) by hand
    (
        "proportion_ci",
        {"k": 0, "n": 10, "confidence": 0.95},
        {
            "p": 0.0,
            "clopper_pearson": [0.0, 0.3084971078187608],
            "one_sided_95_bound_exact": 0.2588655509,
            "rule_of_three": 0.3,
        }
        | {"se": {"undefined": ""}, "normal": [0.0, 0.0], "normal_degenerate": True},
    ),
    (
        "proportion_ci",
        {"k": 5, "n": 10, "confidence": 0.95},
        {"p": 0.5, "rule_of_three": {"undefined": ""}, "normal_degenerate": False},
    ),
    (
        "proportion_ci",
        {"k": 1, "n": 1, "confidence": 0.9},
        {"p": 1.0, "clopper_pearson": [0.05, 1.0], "rule_of_three": 3.0},
    ),
    (
        "proportion_ci",
        {"k": 0, "n": 0, "confidence": 0.95},
        {"p": EMPTY, "wilson": EMPTY, "clopper_pearson": EMPTY, **EMPTY},
    ),
    ("proportion_ci", {"k": 3, "n": 2, "confidence": 0.95}, {"error": "3 successes of 2"}),
    ("proportion_ci", {"k": -1, "n": 2, "confidence": 0.95}, {"error": "-1 successes of 2"}),
    ("proportion_ci", {"k": 1, "n": 0, "confidence": 0.95}, {"error": "1 successes of 0"}),
    ("proportion_ci", {"k": 1, "n": 2, "confidence": 95}, {"error": "level is 95"}),
    # resampling
    ("paired_bootstrap", {"baseline": [1.0], "treatment": [1.5], **BOOT}, {"mean": 0.5, "percentile": ONE, "bca": ONE}),
    (
        "paired_bootstrap",
        {"baseline": [0.1, 0.2, 0.3], "treatment": [0.2, 0.3, 0.4], **BOOT},
        {
            "mean": 0.1,
            "percentile": [0.1, 0.1],
            "bca": NO_SPREAD,
            "bca_acceleration": NO_SPREAD,
            "bca_z0_exact": NO_SPREAD,
        },
    ),
    ("paired_bootstrap", {"baseline": [], "treatment": [], **BOOT}, {"mean": EMPTY, "percentile": EMPTY, **EMPTY}),
    ("paired_bootstrap", {"baseline": [1, "inf"], "treatment": [1, 2], **BOOT}, {"percentile": NAN, "bca": NAN, **NAN}),
    ("paired_bootstrap", {"baseline": [1], "treatment": [1, 2], **BOOT}, {"error": "give pairs"}),
    (
        "paired_bootstrap",
        {"baseline": [1, 2], "treatment": [1, 3], **BOOT, "n_resamples": 0},
        {"error": "n_resamples is 0"},
    ),
    (
        "paired_bootstrap",
        {"baseline": [1, 2], "treatment": [1, 3], **BOOT, "statistic": "median"},
        {"error": "statistic is median"},
    ),
    (
        "bootstrap_given_indices",
        {"differences": [2, 2], "resample_indices": [[0, 1], [1, 1]], "confidence": 0.9},
        {"percentile": [2, 2]},
    ),
    (
        "bootstrap_given_indices",
        {"differences": [0, 1], "resample_indices": [[0, 0], [1, 1]], "confidence": 0.5},
        {"percentile": [0.25, 0.75]},
    ),
    (
        "bootstrap_given_indices",
        {"differences": [2], "resample_indices": [[0], [0]], "confidence": 0.9},
        {"percentile": ONE, **ONE},
    ),
    (
        "bootstrap_given_indices",
        {"differences": [2, "nan"], "resample_indices": [[0, 1]], "confidence": 0.9},
        {"percentile": NAN, **NAN},
    ),
    (
        "bootstrap_given_indices",
        {"differences": [2, 3], "resample_indices": [[0, 2]], "confidence": 0.9},
        {"error": "indices run"},
    ),
    (
        "paired_bootstrap_seeded",
        {"baseline": [0, 1], "treatment": [1, 2], "rng": "numpy.random.default_rng(1).choice(differences, (100, 2))"},
        {"delta": 1.0, "percentile": [1.0, 1.0]},
    ),
    # clusters
    (
        "cluster_se",
        {"values": [1, 0, 1], "clusters": ["a"] * 3},
        {
            "mean": 2 / 3,
            "se_naive": 1 / 3,
            "se_cluster_cr0": {"undefined": ""},
            "se_cluster_cr1": {"undefined": ""},
            "n_clusters": 1,
        },
    ),
    (
        "cluster_se",
        {"values": [1], "clusters": ["a"]},
        {"mean": 1.0, "se_naive": ONE, "se_cluster_cr1": {"undefined": ""}, "n_clusters": 1},
    ),
    (
        "cluster_se",
        {"values": [1, 3], "clusters": ["a", "b"]},
        {"se_naive": 1.0, "se_cluster_cr1": 1.0, "se_cluster_cr0": 0.5**0.5, "n_clusters": 2},
    ),
    (
        "cluster_se",
        {"values": [0.1] * 3, "clusters": [1, 2, 2]},
        {"mean": 0.1, "se_naive": 0.0, "se_cluster_cr1": 0.0, "n_clusters": 2},
    ),
    ("cluster_se", {"values": [], "clusters": []}, {"mean": EMPTY, "se_cluster_cr1": EMPTY, "n_clusters": 0, **EMPTY}),
    ("cluster_se", {"values": [1, "nan"], "clusters": ["nan", "b"]}, {"mean": NAN, "n_clusters": 2, **NAN}),
    ("cluster_se", {"values": [1, 1], "clusters": ["a"]}, {"error": "1 clusters for 2 values"}),
    # families
    ("multiplicity", {"p": [], "alpha": 0.05}, {"holm": [], "bh": [], "reject_holm": [], "reject_bh": []}),
    (
        "multiplicity",
        {"p": [0.04], "alpha": 0.05},
        {"holm": [0.04], "bh": [0.04], "reject_holm": [True], "reject_bh": [True]},
    ),
    (
        "multiplicity",
        {"p": [0.02, 0.02], "alpha": 0.03},
        {"holm": [0.04, 0.04], "bh": [0.02, 0.02], "reject_holm": [False] * 2, "reject_bh": [True] * 2},
    ),
    ("multiplicity", {"p": [0.01, "nan"], "alpha": 0.05}, {"error": "a p-value is nan"}),
    ("multiplicity", {"p": [1.2], "alpha": 0.05}, {"error": "a p-value is 1.2"}),
    ("multiplicity", {"p": [0.2], "alpha": 0}, {"error": "alpha is 0"}),
    # power
    (
        "power_paired_mean",
        {**POWER, "sd_of_differences": 0},
        {"mde_t": {"undefined": ""}, "n_needed_t": {"undefined": ""}, "undefined": ""},
    ),
    (
        "power_paired_mean",
        {**POWER, "delta": 0},
        {"mde_normal": 0.09905099528998, "n_needed_normal": {"undefined": ""}, "n_needed_t": {"undefined": ""}},
    ),
    (
        "power_paired_mean",
        {**POWER, "n": 1},
        {"mde_t": ONE, "mde_normal": ONE, "n_needed_normal": 197, "n_needed_t": 199},
    ),
    ("power_paired_mean", {**POWER, "delta": -0.1}, {"n_needed_normal": 197, "n_needed_t": 199}),
    ("power_paired_mean", {**POWER, "sd_of_differences": "nan"}, {"mde_t": NAN, "undefined": ""}),
    ("power_paired_mean", {**POWER, "power": 1.8}, {"error": "power is 1.8"}),
    # quantiles
    ("quantile", {"values": [], "q": [0.5]}, {"linear_type7": EMPTY, **EMPTY}),
    ("quantile", {"values": [7], "q": [0, 0.5, 1]}, {"linear_type7": [7, 7, 7]}),
    ("quantile", {"values": [2, 1, 2, 2], "q": [0.5, 0.95]}, {"linear_type7": [2, 2]}),
    ("quantile", {"values": [1, "nan"], "q": [0.5]}, {"error": "value 1 is nan"}),
    ("quantile", {"values": [1, 2], "q": [1.5]}, {"error": "q is 1.5"}),
]


@pytest.mark.parametrize(("metric", "inputs", "want"), EDGES)
def test_edges(metric, inputs, want):
    """Undefined figures say so beside those that have a value; refused inputs say why and nothing else."""
    got = answer(metric, inputs)
    if "error" in want:
        assert got.keys() == {"error"}
        assert want["error"] in got["error"]
        return
    for key, value in want.items():
        if isinstance(value, str):
            assert value in got[key]
        else:
            assert agrees(got[key], value, 1e-9, 0), (key, got[key])
        if isinstance(value, dict):
            assert value["undefined"] in got[key]["undefined"]
    if "undefined" not in want:
        assert "undefined" not in got
