"""Figures: what is one, and when two are the same."""

import pytest

from evalflow.grounding.figures import figures_not_in, figures_of
from tests.grounding.mill import MILL, VISITORS


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("It cost £12,400 in 1786.", ("12,400", "1786")),
        ("up 38%, then 4.5 %", ("38%", "4.5")),
        ("on 2026-11-30, 10:00-16:30, 3/4", ("2026-11-30", "10:00-16:30", "3/4")),
        ("v1.2.3: -5 and (7).", ("1.2.3", "5", "7")),
        ("the A380 and the 1960s", ("380", "1960")),
        ("no figure, one hundred", ()),
        ("9§ {#a-1}8", ("9", "8")),
    ],
)
def test_a_figure_is_a_maximal_run_of_digits(text: str, figures: tuple[str, ...]):
    """Inner `. , - / :` belong to it, and a trailing percent sign; punctuation after it does not."""
    assert figures_of(text) == figures


def test_the_digits_of_a_cited_id_are_no_figure():
    """An id full of numbers inside a citation yields none; written without its § it is prose and yields them."""
    assert figures_of(f"It is free. § {{#{VISITORS}}}") == ()
    assert figures_of(f"It is free. §{{#{VISITORS}}}") == ()
    assert figures_of(f"It is free. {{#{VISITORS}}}") == ("2-2826", "56", "38-49")


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("12,400 and 12400", ()),
        ("1,786", ()),
        ("38", ("38",)),
        ("5.5 m and 5,5 m", ("5,5",)),
        ("1768, 1768 and 99", ("1768", "99")),
        ("5", ()),
        ("78", ("78",)),
        ("56", ("56",)),
    ],
)
def test_a_figure_is_looked_up_whole(text: str, unknown: tuple[str, ...]):
    """As written, or with thousands separators removed; a part of another figure, or of a heading's id, is none."""
    assert figures_not_in(text, MILL.prose) == unknown
