"""What people said of answers, written and read."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalflow.errors import DataError
from evalflow.ratings import Choice, Rating, choices_text, ratings_text, read_choices, read_ratings

RATINGS = (
    Rating("ann", "q1", "new", 0, 4.0, "good; \n'so', =1+1", "S1", "0123456789abcdef"),
    Rating("ann", "q1", "new", 1, 2.5),
    Rating("Bob B.", "=q, 2", "-old", -3, 0.1, "=cmd()"),
)
CHOICES = (
    Choice("ann", "q1", ("new", 0), ("old", 2), "left", "-", "S1", ("0" * 16, "f" * 16)),
    Choice("bob", "q1", ("old", 2), ("new", 0), "tie"),
)


def written(folder: Path, text: str) -> Path:
    path = folder / "said.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Every field of it, whatever is in a comment or a name; none of them is a formula in a spreadsheet."""
    text = ratings_text(RATINGS)
    assert text.splitlines()[0] == "rater,item,arm,seed,rating,comment,sheet,answer"
    assert "ann,q1,new,1,2.5,,,\r\n" in text and ",'=cmd()," in text
    assert read_ratings(written(tmp_path, text)) == RATINGS
    assert read_choices(written(tmp_path, choices_text(CHOICES))) == CHOICES
    assert read_ratings(written(tmp_path, ratings_text([]))) == ()


def test_a_table_written_by_hand_is_read(tmp_path: Path) -> None:
    """Without comments and sheets, in any order of columns, with others beside them."""
    path = written(tmp_path, "item;rating;rater;arm;note;seed\nq1; 4 ;ann ;new;x;0\n")
    assert read_ratings(path) == (Rating("ann", "q1", "new", 0, 4.0),)
    path = written(tmp_path, "rater,item,left_arm,left_seed,right_arm,right_seed,choice\nann,q1,new,0,old,0, Right\n")
    assert read_choices(path) == (Choice("ann", "q1", ("new", 0), ("old", 0), "right"),)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ann,q1,new,0,", "rating is ''; give a finite number"),
        ("ann,q1,new,0,nan", "rating is 'nan'; give a finite number"),
        ("ann,q1,new,0,1e999", "rating is '1e999'; give a finite number"),
        ("ann,q1,new,0,1_0", "rating is '1_0'; give a finite number"),
        ("ann,q1,new,0,good", "rating is 'good'; give a finite number"),
        ("ann,q1,new,0.5,1", "seed is '0.5'; give a whole number"),
        ("ann,q1,new,,1", "seed is ''; give a whole number"),
        (" ,q1,new,0,1", "rater is empty; fill it in"),
        ("ann,,new,0,1", "item is empty; fill it in"),
        ("ann,q1,,0,1", "arm is empty; fill it in"),
        ("ann,q1,new,0,1\nann,q1,new,0,1", "'ann' has said it of this answer to 'q1' before ({path}:2)"),
    ],
)
def test_a_line_that_is_no_rating_is_named(tmp_path: Path, line: str, said: str) -> None:
    """A rating that is missing is a line that is not there, never one without a number."""
    path = written(tmp_path, f"rater,item,arm,seed,rating\n{line}\n")
    with pytest.raises(DataError) as refused:
        read_ratings(path)
    number = 3 if "\n" in line else 2
    assert str(refused.value).startswith(f"{path}:{number}: {said.format(path=path)}")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ann,q1,new,0,old,0,", "choice is ''; give left, right, tie"),
        ("ann,q1,new,0,old,0,new", "choice is 'new'; give left, right, tie"),
        ("ann,q1,new,0,new,0,left", "arm 'new', seed 0, stands on both sides; name two answers"),
        ("ann,q1,new,0,old,x,left", "right_seed is 'x'; give a whole number"),
        ("ann,q1,new,0,old,0,left\nann,q1,old,0,new,0,tie", "'ann' has said it of this answer to 'q1' before"),
    ],
)
def test_a_line_that_is_no_choice_is_named(tmp_path: Path, line: str, said: str) -> None:
    """Two answers are the same two whichever side they stand on."""
    path = written(tmp_path, f"rater,item,left_arm,left_seed,right_arm,right_seed,choice\n{line}\n")
    with pytest.raises(DataError) as refused:
        read_choices(path)
    assert str(refused.value).startswith(f"{path}:{3 if chr(10) in line else 2}: {said}")
