"""Nats per token, perplexity and bits per byte of texts and of a corpus."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalflow.numeric.perplexity import corpus_nll, text_nll
from evalflow.numeric.undefined import Undefined


def test_a_text_by_hand():
    """Three tokens of ln 2, ln 4 and ln 8 over 4 bytes: mean 2 ln 2, perplexity 4, 6 bits over 4 bytes."""
    text = text_nll(np.log([2.0, 4.0, 8.0]))
    assert text.nll_mean() == pytest.approx(2 * math.log(2), rel=1e-15)
    assert text.ppl() == pytest.approx(4.0, rel=1e-15)
    assert text.bits_per_byte(4) == pytest.approx(1.5, rel=1e-15)


def test_masked_tokens_count_nowhere():
    """Neither in the sum nor in the denominator, whatever stands there."""
    text = text_nll([1.0, 50.0, math.nan, 3.0], [1, 0, 0, 1])
    assert (text.n_tokens, text.n_missing, text.nll_mean()) == (2, 0, 2.0)
    assert text_nll([1.0, 3.0], [True, True]) == text_nll([1.0, 3.0])


def test_a_corpus_weighs_tokens_and_not_texts():
    """Two tokens of 1 and four of 4 have mean 3; the mean of the two perplexities is another figure."""
    corpus = corpus_nll([[1.0, 1.0], [4.0] * 4, []])
    assert corpus.whole.n_tokens == 6
    assert corpus.whole.ppl() == pytest.approx(math.exp(3), rel=1e-15)
    assert corpus.per_document_ppl_mean() == pytest.approx((math.e + math.exp(4)) / 2, rel=1e-15)


def test_a_perplexity_beyond_a_float_is_infinite_and_its_mean_is_not():
    """exp(800) is no float; 800 is."""
    text = text_nll([700.0, 900.0])
    assert (text.nll_mean(), text.ppl()) == (800.0, math.inf)
    corpus = corpus_nll([[800.0], [1.0]])
    assert corpus.per_document_ppl_mean() == math.inf
    assert corpus.whole.nll_mean() == 400.5


def test_a_token_that_is_ruled_out_makes_everything_infinite():
    """A probability of 0 is a real one."""
    text = text_nll([1.0, math.inf])
    assert (text.nll_mean(), text.ppl(), text.bits_per_byte(3)) == (math.inf,) * 3


@pytest.mark.parametrize("missing", [math.nan, -math.inf, None])
def test_a_missing_number_is_not_0(missing):
    """It is counted, and there is no figure, of the corpus neither."""
    text = text_nll([1.0, missing])
    assert (text.n_tokens, text.n_missing) == (1, 1)
    corpus = corpus_nll([[1.0], [missing]])
    for figure in (text.nll_mean, text.ppl, lambda: text.bits_per_byte(3), corpus.per_document_ppl_mean):
        with pytest.raises(Undefined, match="non-finite value"):
            figure()
    with pytest.raises(Undefined, match="non-finite value"):
        corpus.whole.ppl()


def test_nothing_scored_has_no_figure():
    """An empty text, one that is all masked, and a corpus of such."""
    for text in (text_nll([]), text_nll([1.0, 2.0], [0, 0]), corpus_nll([[], []]).whole, corpus_nll([]).whole):
        for figure in (text.nll_mean, text.ppl):
            with pytest.raises(Undefined, match="no token scored"):
                figure()
        with pytest.raises(Undefined, match="no token scored"):
            text.bits_per_byte(0)
    with pytest.raises(Undefined, match="no token scored"):
        corpus_nll([[]]).per_document_ppl_mean()


@pytest.mark.parametrize("count", [0, None])
def test_no_bytes_have_no_bits(count):
    """Nothing is divided by 0, or by what is not known."""
    with pytest.raises(Undefined, match="no bytes"):
        text_nll([1.0]).bits_per_byte(count)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: text_nll([1.0, 2.0], [1]), r"mask has shape \(1,\) for 2 tokens"),
        (lambda: text_nll([1.0, 2.0], [1, -100]), "mask has other numbers than 0 and 1"),
        (lambda: text_nll([[1.0]]), r"token_nll has shape \(1, 1\)"),
        (lambda: text_nll([1.0]).bits_per_byte(-1), "utf8_bytes is -1"),
        (lambda: text_nll([1.0]).bits_per_byte(math.nan), "utf8_bytes is nan"),
        (lambda: text_nll([1.0]).bits_per_byte(math.inf), "utf8_bytes is inf"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    """With what to give instead."""
    with pytest.raises(ValueError, match=message):
        call()


@given(st.lists(st.lists(st.floats(0, 50), max_size=6), max_size=6), st.randoms(use_true_random=False))
def test_texts_in_any_order_and_cut_have_one_perplexity(texts, random):
    """Micro figures depend on the tokens alone, to the last digit where texts are whole."""
    shuffled = list(texts)
    random.shuffle(shuffled)
    one, other = corpus_nll(texts).whole, corpus_nll(shuffled).whole
    assert one == other
    flat = text_nll([token for text in texts for token in text])
    assert flat.n_tokens == one.n_tokens
    assert flat.total == pytest.approx(one.total, rel=1e-14)
