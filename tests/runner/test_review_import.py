"""Filled sheets, as people and spreadsheets send them back."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from evalflow.errors import DataError, OutputError
from evalflow.ratings import Choice, Rating
from evalflow.runner.review_import import Said, merge_filled, read_filled, read_said, write_said
from evalflow.runner.review_sheet import Sheet
from tests.runner.reviewed import answers, sheet, stored

RUN = stored(["q0", "q1", "q2"])
PAIRS, SINGLE = sheet(RUN), sheet(RUN, answers(RUN, old_q0="same", new_q0="same"), kind="single")
SAME = hashlib.sha256(b"same").hexdigest()[:16]
SHEETS = {one.sheet: one for one in (PAIRS, SINGLE)}


def filled(drawn: Sheet, ratings: Mapping[str, str], rater: str = "ann", comments: Mapping[str, str] = {}) -> str:
    """The sheet's CSV with these ratings, by ticket."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["sheet", "ticket", "rating", "comment", "rater"])
    for one in drawn.tickets:
        ticket = one.ticket
        writer.writerow([drawn.sheet, ticket, ratings.get(ticket, ""), comments.get(ticket, ""), rater])
    return out.getvalue()


def written(folder: Path, text: str, name: str = "back.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def choice(drawn: Sheet, place: int, liked: str, rater: str = "ann", comment: str = "") -> Choice:
    ticket = drawn.tickets[place]
    left, right = ticket.answers
    return Choice(rater, ticket.item_id, left, right, liked, comment, drawn.sheet, ticket.texts)  # type: ignore[arg-type]


def test_choices_are_unblinded(tmp_path: Path) -> None:
    """What was on the left is whose it was; a blank is missing, and a comment beside it is counted."""
    first, second, third = (one.ticket for one in PAIRS.tickets)
    text = filled(PAIRS, {first: "left", second: " Tie "}, comments={first: "'=so", third: "what?"})
    (part,) = read_filled(written(tmp_path, text), SHEETS)
    assert part.said == ((choice(PAIRS, 0, "left", comment="=so"),), (choice(PAIRS, 1, "tie"),))
    assert (part.rater, part.n_blank, part.n_comments_alone) == ("ann", 1, 1)


def test_a_number_is_of_every_arm_that_gave_the_text(tmp_path: Path) -> None:
    """One ticket, two ratings; a spreadsheet may have made 4 into 4.0."""
    ratings = {one.ticket: "4.0" if len(one.answers) == 2 else "" for one in SINGLE.tickets}
    (part,) = read_filled(written(tmp_path, filled(SINGLE, ratings)), SHEETS)
    assert part.said == (tuple(Rating("ann", "q0", arm, 0, 4.0, "", SINGLE.sheet, SAME) for arm in ("old", "new")),)
    assert part.n_blank == 4


def test_an_answer_that_changed_is_refused(tmp_path: Path) -> None:
    """What was shown is not what the run has now; a key of before texts were noted cannot tell, and is read."""
    path = written(tmp_path, filled(SINGLE, {SINGLE.tickets[0].ticket: "4"}))
    shown = {
        (arm, seed, one.item_id): text
        for one in SINGLE.tickets
        for (arm, seed), text in zip(one.answers, one.texts * len(one.answers), strict=False)
    }
    assert read_filled(path, SHEETS, texts=shown) == read_filled(path, SHEETS)
    ticket = SINGLE.tickets[0]
    changed = {**shown, (*ticket.answers[0], ticket.item_id): "0" * 16}
    with pytest.raises(DataError, match=rf"csv:2: item '{ticket.item_id}' of arm .* is another answer than was shown"):
        read_filled(path, SHEETS, texts=changed)
    old = replace(SINGLE, tickets=tuple(replace(one, texts=()) for one in SINGLE.tickets))
    ((rating, *_),) = read_filled(path, {old.sheet: old}, texts=changed)[0].said
    assert isinstance(rating, Rating)
    assert rating.answer == ""


def test_any_spreadsheet_may_have_saved_it(tmp_path: Path) -> None:
    """Semicolons, a byte order mark, capitals, columns of its own, answers over several lines, letters for words."""
    left, right, _ = (one.ticket for one in PAIRS.tickets)
    lines = [
        "\ufeffNote;Sheet;Ticket;prompt;Rating;Comment;left;right",
        f'x;{PAIRS.sheet.upper()};{left};"a;\nb";L;"c\nd";;',
        "",
        f"y;{PAIRS.sheet}; {right} ;;r;;;",
    ]
    (part,) = read_filled(written(tmp_path, "\n".join(lines)), SHEETS, "bob")
    said = (choice(PAIRS, 0, "left", "bob", "c\nd"), choice(PAIRS, 1, "right", "bob"))
    assert part.said == tuple((one,) for one in said)


def test_a_file_may_hold_several_raters_and_sheets(tmp_path: Path) -> None:
    """Each line says whose it is, and of which sheet."""
    pairs = filled(PAIRS, {PAIRS.tickets[0].ticket: "right"})
    single = filled(SINGLE, {SINGLE.tickets[0].ticket: "1"}, "Bob B.")
    path = written(tmp_path, pairs + single.partition("\n")[2])
    ann, bob = read_filled(path, SHEETS)
    assert (ann.rater, len(ann.said), ann.n_blank) == ("ann", 1, 2)
    assert (bob.rater, len(bob.said), bob.n_blank) == ("Bob B.", 1, 4)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nosuchsheet,{ticket},left,,ann", "sheet 'nosuchsheet' is none of this run's"),
        (",{ticket},left,,ann", "sheet '' is none of this run's"),
        ("{sheet},nosuchticket,left,,ann", "ticket 'nosuchticket' is not on sheet {sheet}"),
        ("{sheet},{single},left,,ann", "ticket '{single}' is not on sheet {sheet}"),
        ("{sheet},{ticket},middle,,ann", "rating is 'middle'; give left, right or tie, or leave it blank"),
        ("{sheet},{ticket},5,,ann", "rating is '5'; give left, right or tie"),
        ("{other},{single},6,,ann", "rating is '6'; give a whole number from 1 to 5, or leave it blank"),
        ("{other},{single},0,,ann", "rating is '0'; give a whole number from 1 to 5"),
        ("{other},{single},2.5,,ann", "rating is '2.5'; give a whole number from 1 to 5"),
        ("{other},{single},nan,,ann", "rating is 'nan'; give a whole number from 1 to 5"),
        ("{other},{single},left,,ann", "rating is 'left'; give a whole number from 1 to 5"),
        ("{sheet},{ticket},left,, ", "it says of no rater whose it is; fill in the column, or give --rater NAME"),
    ],
)
def test_a_line_that_cannot_be_meant_is_named(tmp_path: Path, line: str, said: str) -> None:
    """By file and line, with what to do."""
    names = {
        "sheet": PAIRS.sheet,
        "ticket": PAIRS.tickets[0].ticket,
        "other": SINGLE.sheet,
        "single": SINGLE.tickets[0].ticket,
    }
    path = written(tmp_path, f"sheet,ticket,rating,comment,rater\n{line.format(**names)}\n")
    with pytest.raises(DataError) as refused:
        read_filled(path, SHEETS)
    assert str(refused.value).startswith(f"{path}:2: {said.format(**names)}")


def test_a_ticket_twice_is_refused(tmp_path: Path) -> None:
    """Of one rater in one file; with where it stood first. Another rater may have the same ticket."""
    line = f"{PAIRS.sheet},{PAIRS.tickets[0].ticket},left"
    path = written(tmp_path, f"sheet,ticket,rating,rater\n{line},ann\n{line},bob\n")
    assert [part.rater for part in read_filled(path, SHEETS)] == ["ann", "bob"]
    path = written(tmp_path, f"sheet,ticket,rating,rater\n{line},ann\n\n{line},ann\n")
    with pytest.raises(DataError, match=rf":4: ticket {PAIRS.tickets[0].ticket} of 'ann' stands at {path}:2 too"):
        read_filled(path, SHEETS)


def test_a_rater_that_is_named_is_no_other(tmp_path: Path) -> None:
    """The name is for lines that have none; one that has another is refused, not overruled."""
    path = written(tmp_path, filled(PAIRS, {PAIRS.tickets[0].ticket: "left"}))
    assert read_filled(path, SHEETS, "ann")[0].rater == "ann"
    with pytest.raises(DataError, match=":2: its rater is 'ann', not 'bob'; leave out --rater"):
        read_filled(path, SHEETS, "bob")


def test_the_same_file_twice_changes_nothing(tmp_path: Path) -> None:
    """And what a rater says anew replaces what he said, on whichever side the answers stood; a blank takes nothing."""
    tickets = [one.ticket for one in PAIRS.tickets]
    part = read_filled(written(tmp_path, filled(PAIRS, {tickets[0]: "left", tickets[1]: "tie"})), SHEETS)
    said, (told,) = merge_filled(Said(), part)
    assert (told.n_new, told.n_changed, told.n_same, told.n_blank) == (2, 0, 0, 1)
    again, (told,) = merge_filled(said, part)
    assert again == said and (told.n_new, told.n_changed, told.n_same) == (0, 0, 2)
    other = sheet(RUN, seed=7)
    mine = next(one for one in other.tickets if one.item_id == PAIRS.tickets[0].item_id)
    side = "left" if mine.answers[0] == PAIRS.tickets[0].answers[0] else "right"
    for liked, counts in ((side, (0, 0, 1)), ("tie", (0, 1, 0))):
        part = read_filled(written(tmp_path, filled(other, {mine.ticket: liked})), {other.sheet: other})
        later, (told,) = merge_filled(said, part)
        assert (told.n_new, told.n_changed, told.n_same) == counts
        assert len(later.choices) == 2


def test_what_was_said_is_kept(tmp_path: Path) -> None:
    """In two files of the run's folder, each read as it was written; nothing said is no file."""
    assert read_said(tmp_path) == Said() and write_said(tmp_path, Said()) == []
    said = Said((Rating("ann", "q0", "old", 0, 4.0, "", SINGLE.sheet),), (choice(PAIRS, 0, "tie"),))
    assert [path.name for path in write_said(tmp_path, said)] == ["ratings.csv", "choices.csv"]
    assert read_said(tmp_path) == said
    with pytest.raises(OutputError, match="make the run's folder writable"):
        write_said(tmp_path / "gone", said)
