"""Cases of texts and agreement: error rates, kappa, alpha, pass@k and stability over runs.

Labels and texts are taken as they stand: "nan" is a label and a text, never a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

from evalflow.numeric.alpha import krippendorff_alpha
from evalflow.numeric.error_rate import Edits, pooled, text_edits
from evalflow.numeric.kappa import agreement_rate, cohen_kappa
from evalflow.numeric.label_distance import Level
from evalflow.numeric.pass_at_k import mean_pass_at_k, pass_at_k
from evalflow.numeric.run_stability import run_stability
from evalflow.numeric.text_profile import NFC, TextProfile, read_profile
from evalflow.numeric.undefined import Undefined
from tests.numeric.kinds.figures import answered, figure

Inputs = Mapping[str, Any]
Answer = dict[str, Any]


def profile(inputs: Inputs) -> TextProfile:
    """The case's normalisation: null for texts as they are, else steps by name; the product's default where unsaid."""
    if "normalization" not in inputs:
        return NFC
    said = inputs["normalization"]
    if isinstance(said, Mapping):
        return TextProfile(**said)
    return TextProfile(form=None) if said is None else read_profile(str(said))


def rate_of(edits: Edits) -> Any:
    """The pair's own rate, if it has one."""
    return figure(lambda: edits.rate)


def cohen_kappa_case(inputs: Inputs) -> Answer:
    """Agreement and the three kappas of two raters."""
    a, b, order = inputs["a"], inputs["b"], inputs.get("order")
    return answered(
        {
            "agreement": lambda: agreement_rate(a, b),
            "kappa": lambda: cohen_kappa(a, b, "none", order),
            "kappa_linear": lambda: cohen_kappa(a, b, "linear", order),
            "kappa_quadratic": lambda: cohen_kappa(a, b, "quadratic", order),
        }
    )


def krippendorff_alpha_case(inputs: Inputs) -> Answer:
    """Alpha at each level; a level that the labels do not suit has no value. `missing` is what stands for no rating."""
    units, missing = inputs["units"], inputs.get("missing")
    if missing is not None:
        units = [[None if rating == missing else rating for rating in unit] for unit in units]

    def at(level: Level) -> float:
        try:
            return krippendorff_alpha(units, level, inputs.get("order")).value
        except ValueError as unsuited:
            if level == "nominal":  # suits all labels: what it refuses is no set of ratings
                raise
            raise Undefined(str(unsuited)) from unsuited

    return answered({level: partial(at, level) for level in get_args(Level)})


def error_rate_case(unit: str) -> Callable[[Inputs], Answer]:
    """Edits and rates per pair and of the corpus, in the case's unit or else `unit`."""

    def case(inputs: Inputs) -> Answer:
        pairs = [
            text_edits(pair["reference"], pair["hypothesis"], inputs.get("unit", unit), profile(inputs))
            for pair in inputs["pairs"]
        ]
        corpus = pooled(pairs)
        return {
            "per_pair": [{"edits": one.total, "ref_length": one.ref_length, "rate": rate_of(one)} for one in pairs],
            "corpus_edits": corpus.total,
            "corpus_ref_length": corpus.ref_length,
            "corpus_rate": figure(lambda: corpus.rate),
        }

    return case


def pass_at_k_case(inputs: Inputs) -> Answer:
    """pass@k per item and its mean."""
    items = [(item["n"], item["correct"]) for item in inputs["items"]]
    return {
        "per_item": [pass_at_k(n, correct, inputs["k"]) for n, correct in items],
        "mean": figure(lambda: mean_pass_at_k(items, inputs["k"])),
    }


def run_stability_case(inputs: Inputs) -> Answer:
    """How much the runs differ from one another, and from the reference if there is one."""
    found = run_stability(inputs["runs"], inputs.get("reference"), inputs.get("unit", "codepoint"), profile(inputs))
    return {
        "n_runs": found.n_runs,
        "pairwise_disagreement_mean": figure(lambda: found.disagreement_mean),
        "pairwise_disagreement_max": figure(lambda: found.disagreement_max),
        "identical_run_rate": figure(lambda: found.identical_pair_rate),
        "n_distinct_outputs": found.n_distinct,
        "cer_per_run": figure(lambda: [rate_of(run) for run in found.against_reference]),
        "cer_mean": figure(lambda: found.error_rate_mean),
        "cer_stdev": figure(lambda: found.error_rate_sd),
        "cer_cv": figure(lambda: found.error_rate_cv),
    }


KINDS: dict[str, Callable[[Inputs], Answer]] = {
    "cohen_kappa": cohen_kappa_case,
    "krippendorff_alpha": krippendorff_alpha_case,
    "cer": error_rate_case("codepoint"),
    "wer": error_rate_case("word"),
    "pass_at_k": pass_at_k_case,
    "run_stability": run_stability_case,
}
