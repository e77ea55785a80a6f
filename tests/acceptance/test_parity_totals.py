"""What an experiment reports is what the totals of the same logits say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalflow.dataset.string_texts import StringTexts
from evalflow.model.scorer import Window
from evalflow.model.tiny_gpt.model import TinyGPT
from evalflow.numeric.logits import paired_rows
from evalflow.numeric.parity import ParityTotals
from tests.conftest import Cli

ONE_ARM = ("~arms.again", "~arms.float32", "~arms.cached", "~arms.int8", "~gates.float32_kl", "~gates.cached_kl")


async def _totals() -> ParityTotals:
    """The same walk by hand: each text whole, float64 and bfloat16; a word's three texts are one document."""
    reference, candidate = TinyGPT(dtype="float64"), TinyGPT(dtype="bfloat16")
    totals = ParityTotals()
    await reference.start()
    await candidate.start()
    for item in StringTexts(n=8).items():
        tokens = (await reference.encode(item.prompt, item.id)).tokens
        window = Window(item.id, tokens, 1, 1)
        (ref,), (cand,) = await reference.logits([window], None), await candidate.logits([window], None)
        totals.add(item.cluster, paired_rows(ref, cand, window.targets))
    await reference.close()
    await candidate.close()
    return totals


def test_the_report_says_what_the_totals_say(cli: Cli) -> None:
    """Every figure of a walk is that of `ParityTotals` over the same logits, the clustered intervals too."""
    ran = cli("experiment=parity", "tracking=none", "dataset.n=8", *ONE_ARM)
    figures: dict[str, Any] = ran.report["arms"]["bfloat16"]["figures"]
    said = asyncio.run(_totals()).summary()
    for name, value in {
        "parity/ppl_ratio": said.ppl_ratio,
        "parity/dnll_nats": said.dnll_mean,
        "parity/dnll_nats/sd": said.dnll_sd,
        "parity/dnll_nats/naive_t": said.t,
        "parity/kl_nats": said.kl_mean,
        "parity/kl_nats/p99": said.kl_percentiles["p99"],
        "parity/kl_nats/max": said.kl_percentiles["max"],
        "parity/dnll_abs_nats/p90": said.dnll_abs_percentiles["p90"],
        "parity/disagree_rate": said.disagree_rate,
        "parity/gap_nats": said.gap_mean,
        "parity/gap_disagree_nats": said.gap_mean_disagree,
        "parity/margin_disagree_nats": said.margin_disagree_mean,
        "parity/dp": said.dp_mean,
        "parity/dp/rms": said.dp_rms,
        "parity/nll_correlation": said.correlation,
        "quality/ppl": said.ppl_cand,
    }.items():
        assert figures[name]["value"] == pytest.approx(value, rel=1e-9), name
    for name, interval in {"parity/dnll_nats": said.dnll_interval, "parity/kl_nats": said.kl_interval}.items():
        assert (figures[name]["low"], figures[name]["high"]) == pytest.approx((interval.low, interval.high), rel=1e-9)
    worst = ran.report["arms"]["bfloat16"]["worst_positions"]["kl"][0]
    assert worst["value"] == pytest.approx(said.worst[0].kl, rel=1e-9)
