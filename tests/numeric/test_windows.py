"""Which tokens each window of a long text scores, and given how many before them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalflow.numeric.windows import StridedWindow, strided_plan


def contexts(*settings):
    return [pair for part in strided_plan(*settings) for pair in part.contexts()]


@st.composite
def settings(draw, overlapping=True):
    window = draw(st.integers(2, 12))
    return draw(st.integers(0, 60)), window, draw(st.integers(1, window - overlapping))


def test_a_plan_by_hand():
    """Ten tokens in windows of 4 that advance by 3: 0-3, 3-6, 6-9, each after the first scoring its last 3."""
    assert strided_plan(10, 4, 3) == [
        StridedWindow(0, 4, 1, False),
        StridedWindow(3, 7, 4, False),
        StridedWindow(6, 10, 7, False),
    ]
    assert contexts(10, 4, 3) == [(1, 1), (2, 2), (3, 3), (4, 1), (5, 2), (6, 3), (7, 1), (8, 2), (9, 3)]


def test_a_short_last_window_adds_only_what_is_new():
    """Of nine tokens the last window is 6-8 and scores 7 and 8."""
    assert strided_plan(9, 4, 3)[-1] == StridedWindow(6, 9, 7, False)


def test_a_text_that_fits_is_one_window():
    """However much longer the window is."""
    assert strided_plan(5, 100, 7) == [StridedWindow(0, 5, 1, False)]
    assert strided_plan(100, 100, 100) == [StridedWindow(0, 100, 1, False)]


def test_nothing_is_scored_of_nothing():
    """No tokens, or one that nothing stands before, make no window; one with a BOS does."""
    assert strided_plan(0, 8, 4) == strided_plan(1, 8, 4) == strided_plan(0, 8, 4, "each") == []
    assert contexts(1, 8, 4, "first") == [(0, 1)]


def test_windows_side_by_side_lose_their_first_tokens_without_a_bos():
    """Of 0-3, 4-7 and 8: 4 and 8 have nothing before them; with a BOS before each window they have it."""
    assert [position for position, _ in contexts(9, 4, 4)] == [1, 2, 3, 5, 6, 7]
    assert [position for position, _ in contexts(9, 4, 4, "first")] == [0, 1, 2, 3, 5, 6, 7]
    assert contexts(9, 4, 4, "each") == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 1), (5, 2), (6, 3), (7, 4), (8, 1)]


def test_a_bos_before_the_first_window_is_seen_there_alone():
    """It is one more token of context, and the text's first token is scored."""
    assert contexts(6, 4, 2, "first") == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 2), (5, 3)]


@given(settings(), st.sampled_from(["none", "first", "each"]))
def test_every_token_is_scored_once(given_, bos):
    """In rising order, each but a first one without a BOS, and with tokens before it."""
    scored = contexts(*given_, bos)
    assert [position for position, _ in scored] == list(range(0 if bos != "none" else 1, given_[0]))
    assert all(context >= 1 for _, context in scored)


@given(settings(), st.sampled_from(["none", "first", "each"]))
def test_contexts_have_a_closed_form(given_, bos):
    """A token beyond the first window lies in the earliest window that reaches it: ceil((p - w + 1) / s) strides in."""
    n, window, stride = given_
    for position, context in contexts(n, window, stride, bos):
        strides = max(0, -(-(position - window + 1) // stride))
        begun = bos == "each" or (bos == "first" and strides == 0)
        assert context == position - strides * stride + begun


@given(settings(overlapping=False))
def test_windows_are_no_longer_than_they_may_be(given_):
    """And together cover the whole text."""
    n, window, stride = given_
    plan = strided_plan(n, window, stride, "each")
    assert all(0 < part.stop - part.start <= window for part in plan)
    assert {position for part in plan for position in range(part.start, part.stop)} == set(range(n))


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ((9, 4, 5), "stride is 5; give 1 to the window's 4 tokens"),
        ((9, 4, 0), "stride is 0"),
        ((9, 1, 1), "window is 1; give at least 2 tokens"),
        ((-1, 4, 2), "n_tokens is -1"),
        ((9, 4, 2, "both"), "bos is 'both'; give one of none, first, each"),
    ],
)
def test_settings_that_lose_tokens_are_refused(given_, message):
    """With what to give instead."""
    with pytest.raises(ValueError, match=message):
        strided_plan(*given_)


def test_counts_are_whole():
    """Half a token is no token."""
    with pytest.raises(TypeError):
        strided_plan(9, 4.5, 2)
