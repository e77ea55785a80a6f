"""Cases of logits, perplexity and windows; their cpu and accel are reference and candidate."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from evalflow.numeric.logits import PairedRows, paired_rows
from evalflow.numeric.parity import ParityTotals
from evalflow.numeric.perplexity import corpus_nll, text_nll
from evalflow.numeric.ratio_report import ratio_report
from evalflow.numeric.undefined import Undefined
from evalflow.numeric.value import Value
from evalflow.numeric.windows import strided_plan
from tests.numeric.kinds.figures import answered, shown
from tests.numeric.kinds.numbers import plain

Inputs = Mapping[str, Any]
SUMMARY = [
    "n",
    "n_nonfinite",
    "n_inf",
    "n_disagree",
    "disagree_rate",
    "nll_ref_mean",
    "nll_cand_mean",
    "ppl_ref",
    "ppl_cand",
    "ppl_ratio",
    "dnll_mean",
    "kl_mean",
    "gap_mean",
    "gap_mean_disagree",
    "dnll_sd",
    "t",
]
FLOATS = ("nll_ref", "nll_cand", "kl", "gap", "margin")
INDICES = ("argmax_ref", "argmax_cand")


def parity_rows(inputs: Inputs) -> dict[str, Any]:
    """Every row's figures, and the summary of all as one document."""
    given = plain(inputs)
    rows = paired_rows(given["cpu"], given["accel"], given["next"])
    totals = ParityTotals()
    totals.add("rows", rows)
    summary = totals.summary()
    return {
        "summary": {case_name(name): shown(getattr(summary, name)) for name in SUMMARY},
        "rows": [row_of(rows, place) for place in range(len(rows))],
    }


def row_of(rows: PairedRows, place: int) -> dict[str, Any]:
    if not rows.ok[place]:
        return {"undefined": "non-finite row"}
    floats = {case_name(name): number(float(getattr(rows, name)[place])) for name in FLOATS}
    return {**floats, **{case_name(name): int(getattr(rows, name)[place]) for name in INDICES}}


def perplexity(inputs: Inputs) -> dict[str, Any]:
    """One text, masked or not."""
    given = plain(inputs)
    text = text_nll(given["token_nll"], given.get("mask"))
    return answered(
        {
            "nll_mean": text.nll_mean,
            "ppl": text.ppl,
            "bits_per_byte": lambda: text.bits_per_byte(given.get("utf8_bytes")),
        }
    )


def perplexity_corpus(inputs: Inputs) -> dict[str, Any]:
    """Micro and macro."""
    corpus = corpus_nll(plain(inputs)["docs"])
    return answered(
        {"ppl": corpus.whole.ppl, "per_document_ppl_mean": corpus.per_document_ppl_mean}, n_tokens=corpus.whole.n_tokens
    )


def strided(inputs: Inputs) -> dict[str, Any]:
    """Which positions are scored, and with how much context."""
    plan = strided_plan(inputs["n_tokens"], inputs["window"], inputs["stride"], inputs.get("bos", "none"))
    scored = [list(pair) for part in plan for pair in part.contexts()]
    return {"n_scored": len(scored), "position_and_context": scored}


def ratio(inputs: Inputs) -> dict[str, Any]:
    """llama.cpp's report."""
    given = plain(inputs)
    report = ratio_report(given["nll"], given["nll_base"], given["same_top"])
    names = [field.name for field in dataclasses.fields(report) if field.name != "same_top_interval"]
    return answered({name: partial(had, getattr(report, name)) for name in names})


def case_name(name: str) -> str:
    """The cases' names of the arms."""
    return name.replace("_ref", "_cpu").replace("_cand", "_accel")


def had(value: Value) -> float:
    """A value; it raises the reason where there is none."""
    if isinstance(value, Undefined):
        raise value
    return value


def number(value: float) -> Any:
    """A column's entry: NaN is one that a row has not, as the margin of one candidate."""
    return {"undefined": "no such number"} if math.isnan(value) else value


KINDS: dict[str, Callable[[Inputs], dict[str, Any]]] = {
    "parity_rows": parity_rows,
    "perplexity": perplexity,
    "perplexity_corpus": perplexity_corpus,
    "strided_plan": strided,
    "ppl_ratio_report": ratio,
}
