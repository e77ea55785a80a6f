"""Plans that score texts, and rows of scored texts made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalflow.record import Row
from evalflow.runner.plan import Plan
from tests.conftest import ITEMS, config, plan_of
from tests.metric.by_hand import columns
from tests.runner.test_score import row

TINY = {"_target_": "evalflow.model.tiny_gpt.model.TinyGPT", "dtype": "float64"}
SCORING = {"_target_": "evalflow.scoring.Scoring", "window": 96}
ARMS = {"ref": {}, "one": {"reference": "ref"}}
NAMED = {
    "nll": "perplexity.Nll",
    "bpb": "perplexity.BitsPerByte",
    "nonfinite": "parity.NonFinite",
    "dnll": "parity.NllDifference",
    "kl": "parity.Kl",
    "kl_spread": "spread.KlSpread",
    "gap_disagree": "parity.GapAtDisagreement",
    "disagree": "parity.DisagreeRate",
}


def metrics(*names: str) -> dict[str, Any]:
    """The metrics of these names, or all of them."""
    return {name: {"_target_": f"evalflow.metric.{NAMED[name]}"} for name in names or NAMED}


def parts(**changed: Any) -> dict[str, Any]:
    """An experiment of two arms in lockstep; `changed` replaces its keys."""
    return {"model": TINY, "scoring": SCORING, "arms": ARMS, "metrics": metrics(), **changed}


def text_config(items: Sequence[Mapping[str, Any]] = ITEMS, **changed: Any) -> dict[str, Any]:
    """Its config."""
    return config(items, **parts(**changed))


def text_plan(items: Sequence[Mapping[str, Any]] = ITEMS, **changed: Any) -> Plan:
    """Its plan; the items of the tests are questions of ten characters."""
    return plan_of(items, **parts(**changed))


def walked(item: str, kl: Sequence[float], differs: Sequence[int] = (), **fields: Any) -> Row:
    """A row of arm one, whose positions have this divergence, a tenth of it as gap, and ten of it as NLL.

    The reference has an NLL of 1 everywhere; at the places in `differs` the arms choose differently.
    """
    n = len(kl)
    numbers = {
        "nll": [10 * value for value in kl],
        "nll_ref": [1.0] * n,
        "kl": kl,
        "gap": [value / 10 for value in kl],
        "margin_ref": [0.5] * n,
        "dp": [0.0] * n,
        "max_abs": kl,
        "argmax": [place in differs for place in range(n)],
        "argmax_ref": [0] * n,
    }
    return row(item, "", columns=columns(**numbers), **fields)
