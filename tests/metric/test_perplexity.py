"""NLL, perplexity and bits per byte of texts whose numbers are given."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalflow.columns import Columns
from evalflow.metric.perplexity import BitsPerByte, Nll, Perplexity, exponential
from evalflow.metric.protocol import Metric
from evalflow.numeric.interval import Interval
from evalflow.numeric.undefined import Undefined
from tests.metric.by_hand import answer, stacked, text

LN2 = math.log(2)
CLUSTERS = np.array(["a", "b", "c"], dtype=object)


def test_perplexity_is_over_all_tokens() -> None:
    """Eight tokens at ln 2 and two at ln 32: exp((8 ln 2 + 2 ln 32) / 10) = 2^1.8, not the mean of 2 and 32."""
    texts = text(nll=[LN2] * 8), text(nll=[5 * LN2] * 2)
    assert Nll().value(stacked(Nll(), *texts)) == pytest.approx(1.8 * LN2, rel=1e-14)
    assert Perplexity().value(stacked(Perplexity(), *texts)) == pytest.approx(2**1.8, rel=1e-14)


@settings(deadline=None)
@given(
    st.lists(st.lists(st.floats(0, 30), min_size=1, max_size=5), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
)
def test_how_texts_are_cut_and_ordered_moves_nothing(values: list[list[float]], random: object) -> None:
    """One long text, many short ones, or those in another order have one mean, to the last digit."""
    metric = Nll()
    whole = metric.value(stacked(metric, text(nll=[x for part in values for x in part])))
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    cut = metric.value(stacked(metric, *(text(nll=part) for part in values)))
    assert cut == pytest.approx(whole, rel=1e-12, abs=1e-300)
    assert metric.value(stacked(metric, *(text(nll=part) for part in shuffled))) == cut


def test_a_perplexity_beyond_a_float_is_undefined_and_its_nll_is_not() -> None:
    """exp(1000) is no number, and 1000 is one."""
    texts = text(nll=[900.0, 1000.0]), text(nll=[1100.0])
    assert Nll().value(stacked(Nll(), *texts)) == 1000.0
    with pytest.raises(Undefined) as undefined:
        Perplexity().value(stacked(Perplexity(), *texts))
    assert undefined.value.reason == "beyond a float (the mean NLL is not)"


def test_its_interval_is_that_of_the_mean() -> None:
    """Its ends are exponentials; there is none where one of them is beyond a float."""
    texts = text(nll=[1.0, 2.0]), text(nll=[2.0, 4.0]), text(nll=[1.5])
    stack = stacked(Nll(), *texts)
    mean, perplexity = (metric.interval(stack, CLUSTERS, 0.95) for metric in (Nll(), Perplexity()))
    assert mean is not None and perplexity is not None
    assert (perplexity.low, perplexity.high) == pytest.approx((math.exp(mean.low), math.exp(mean.high)))
    assert (perplexity.level, perplexity.method) == (0.95, "clustered t")
    wide = stacked(Nll(), text(nll=[1.0]), text(nll=[900.0]), text(nll=[1.5]))
    assert Perplexity().interval(wide, CLUSTERS, 0.95) is None
    assert exponential(None) is None
    assert exponential(Interval(-1000.0, 0.0, 0.9, "m")) == Interval(0.0, 1.0, 0.9, "m")


def test_a_text_of_one_nll_has_an_exact_interval() -> None:
    """However few texts there are."""
    stack = stacked(Nll(), text(nll=[2.0, 2.0]))
    found = Perplexity().interval(stack, CLUSTERS[:1], 0.95)
    assert found is not None and (found.low, found.high) == (math.exp(2.0), math.exp(2.0))


def test_bits_per_byte_by_hand() -> None:
    """a é € 😀, the first scored by nobody: 2 + 3 + 4 bytes, so 9 bits of NLL are 1 bit per byte.

    Per character it would be 3, per token too; with the first letter's byte it would be 0.9.
    """
    metric = BitsPerByte()
    one = text("aé€😀", nll=[4 * LN2, 3 * LN2, 2 * LN2])
    stack = stacked(metric, one)
    assert stack[0, -1] == 9
    assert metric.value(stack) == pytest.approx(1.0, rel=1e-14)
    assert metric.point(tuple(stack[0].tolist())) == pytest.approx(1.0, rel=1e-14)


def test_bytes_of_tokens_of_several_characters() -> None:
    """Where tokens are words, what counts are the bytes from the first scored one on; all of them after a BOS."""
    metric = BitsPerByte()
    words = text("Grüße an alle", nll=[LN2, LN2], starts=[5, 8])
    begun = text("Grüße an alle", nll=[LN2, LN2, LN2], starts=[0, 5, 8])
    assert stacked(metric, words)[0, -1] == len(" an alle")
    assert stacked(metric, begun)[0, -1] == len("Grüße an alle".encode())


def test_texts_pool_their_bytes() -> None:
    """30 bits over 10 bytes and 10 bits over 30: 1 bit per byte together."""
    metric = BitsPerByte()
    texts = text("x" * 11, nll=[3 * LN2] * 10), text("x" * 31, nll=[LN2 / 3] * 30)
    assert metric.value(stacked(metric, *texts)) == pytest.approx(1.0, rel=1e-14)


def test_of_ascii_characters_bits_per_byte_are_nats_per_token_over_ln_2() -> None:
    """Its interval too."""
    texts = text(nll=[1.0, 2.0]), text(nll=[2.0, 4.0]), text(nll=[1.5])
    prompts = [text("x" * 3, nll=[1.0, 2.0]), text("x" * 3, nll=[2.0, 4.0]), text("xx", nll=[1.5])]
    wanted = Nll().interval(stacked(Nll(), *texts), CLUSTERS, 0.95)
    found = BitsPerByte().interval(stacked(BitsPerByte(), *prompts), CLUSTERS, 0.95)
    assert wanted is not None and found is not None
    assert (found.low, found.high) == pytest.approx((wanted.low / LN2, wanted.high / LN2))


def test_bits_per_byte_of_what_counts() -> None:
    """Context is in neither sum nor bytes."""
    metric = BitsPerByte()
    one = text("ééab", 2, nll=[50.0, LN2, 3 * LN2])
    stack = stacked(metric, one)
    assert (stack[0, 1], stack[0, -1]) == (2, 2)
    assert metric.value(stack) == pytest.approx(2.0, rel=1e-14)


def test_half_a_character_has_bytes_too() -> None:
    """A lone surrogate is three bytes, as some tokenisers' own files have it."""
    assert stacked(BitsPerByte(), text("a\ud83d", nll=[LN2]))[0, -1] == 3


@pytest.mark.parametrize("starts", [[-1, -1], [1, -1]])
def test_where_tokens_lie_nowhere_there_are_no_bytes(starts: list[int]) -> None:
    """The text is excluded and not given all of its bytes; its NLL stands."""
    one = text("abc", nll=[1.0, 2.0], starts=starts)
    assert BitsPerByte().stats(one) is None
    assert Nll().stats(one) is not None


def test_a_text_of_which_nothing_counts_is_excluded() -> None:
    """It has a share of no figure, and is counted as excluded."""
    assert BitsPerByte().stats(text("abc", 3, nll=[1.0, 2.0])) is None


def test_bytes_are_those_of_scored_tokens() -> None:
    """Of a walk that leaves out the middle of a text, the bytes of what it scored: `bc` and `é`, four of them."""
    one = text("abcdeé", nll=[1.0, 2.0, 3.0], starts=[1, 2, 5])
    ends = np.array([2, 3, 6], dtype=np.int32)
    packed = {**one.row.columns.packed, **Columns.of({"end": ends}).packed}
    walked = replace(one, row=replace(one.row, columns=replace(one.row.columns, packed=packed)))
    assert BitsPerByte().stats(walked)[-1] == 4.0
    assert BitsPerByte().value(stacked(BitsPerByte(), walked)) == pytest.approx(6.0 / math.log(2) / 4)


@pytest.mark.parametrize("metric", [Nll(), Perplexity(), BitsPerByte()])
def test_what_all_three_have_in_common(metric: Metric) -> None:
    """Less is better, texts are their documents, and an answer is none of them."""
    assert (metric.grain, metric.higher_is_better, metric.lockstep) == ("document", False, False)
    assert metric.stats(answer("x")) is None
    assert metric.badness(text(nll=[1.0, 3.0])).tolist() == [1.0, 3.0]  # type: ignore[attr-defined]


def test_figures_per_token_and_per_byte() -> None:
    """Only those per token need one tokeniser."""
    assert [metric.per_token for metric in (Nll(), Perplexity(), BitsPerByte())] == [True, True, False]


def test_tokens_without_a_byte_are_no_text() -> None:
    """Scored tokens that stand for no character have no bits per byte, and are excluded."""
    assert BitsPerByte().stats(text("ab", nll=[1.0], starts=[2])) is None
