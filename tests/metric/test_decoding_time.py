"""Time per token and gaps between chunks: what is divided by what, and when there is nothing to divide."""

import pytest

from evalflow.metric.decoding_time import ChunkGapMax, ChunkGapMean, OutputTps, Tpot
from evalflow.metric.protocol import figure_names
from evalflow.record import Times
from tests.metric.by_hand import answer

CHUNKS_OF_FOUR = {
    "times": Times(sent=0.0, first_token=1.0, last_token=1.024, end=1.03),
    "gaps": (0.006, 0.008, 0.010),
    "chunk_tokens": (4, 4, 4, 4),
    "tokens_out": 16,
}
"""16 tokens in 4 chunks over 24 ms: 12 tokens came after the first chunk."""


def test_the_tokens_of_the_first_chunk_took_no_time():
    """24 ms are shared by the 12 tokens after the first chunk, neither by 15 nor by 16."""
    assert Tpot().stats(answer(**CHUNKS_OF_FOUR)) == pytest.approx((0.002,))
    assert OutputTps().stats(answer(**CHUNKS_OF_FOUR)) == pytest.approx((500.0,))


def test_a_gap_is_between_chunks():
    """Gaps of 6, 8 and 10 ms have a mean of 8 and a longest of 10, however many tokens each chunk held."""
    assert ChunkGapMean().stats(answer(**CHUNKS_OF_FOUR)) == pytest.approx((0.008,))
    assert ChunkGapMax().stats(answer(**CHUNKS_OF_FOUR)) == (0.010,)


@pytest.mark.parametrize(
    "changes",
    [
        {"chunk_tokens": None},
        {"chunk_tokens": (16,), "gaps": ()},
        {"chunk_tokens": (16, 0)},
        {"times": Times(sent=0.0, first_token=1.0)},
        {"times": Times(sent=0.0, last_token=1.0)},
        {"times": Times(sent=0.0, first_token=2.0, last_token=1.0)},
    ],
)
def test_what_is_not_known_is_no_time_per_token(changes):
    """Unknown tokens per chunk, one chunk alone, no token after it, or a stamp that lacks: undefined, never 0."""
    assert Tpot().stats(answer(**{**CHUNKS_OF_FOUR, **changes})) is None
    assert OutputTps().stats(answer(**{**CHUNKS_OF_FOUR, **changes})) is None


def test_tokens_in_no_time_have_no_rate():
    """Chunks that were read at one moment took 0 s per token, and no number of tokens per second."""
    at_once = {**CHUNKS_OF_FOUR, "times": Times(sent=0.0, first_token=1.0, last_token=1.0)}
    assert Tpot().stats(answer(**at_once)) == (0.0,)
    assert OutputTps().stats(answer(**at_once)) is None


@pytest.mark.parametrize("metric", [ChunkGapMean(), ChunkGapMax()], ids=["mean", "max"])
@pytest.mark.parametrize("gaps", [None, ()])
def test_one_chunk_has_no_gap(metric, gaps):
    """Without a second chunk, or where the model cannot say, there is no gap."""
    assert metric.stats(answer(gaps=gaps)) is None


@pytest.mark.parametrize("metric", [Tpot(), OutputTps(), ChunkGapMean(), ChunkGapMax()])
def test_an_error_has_none(metric):
    """What came before a stream broke is no answer's speed."""
    assert metric.stats(answer(None, **CHUNKS_OF_FOUR)) is None


def test_names_and_units():
    """Times are named with their unit, a mean and a longest gap by what they are; more tokens per second is better."""
    assert figure_names("x", Tpot()) == ("lat/tpot_s/p50", "lat/tpot_s/p95")
    assert figure_names("x", OutputTps()) == ("tps/output/p50", "tps/output/p5")
    assert figure_names("x", ChunkGapMean(percentiles=(99.0,))) == ("lat/chunk_gap_mean_s/p99",)
    assert figure_names("x", ChunkGapMax(percentiles=(99.0,))) == ("lat/chunk_gap_max_s/p99",)
    assert OutputTps.higher_is_better and not Tpot.higher_is_better
    assert (Tpot.measured_in, OutputTps.measured_in) == ("s", "tokens/s")
    assert all(kind.timed for kind in (Tpot, OutputTps, ChunkGapMean, ChunkGapMax))
    with pytest.raises(ValueError, match="give numbers between 0 and 100"):
        OutputTps(percentiles=())
