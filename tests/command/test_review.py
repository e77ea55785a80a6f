"""`evalflow review`: from a run to a sheet, from filled sheets to what they come to."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalflow.ratings import read_choices, read_ratings
from evalflow.report.review import review_schema
from tests.conftest import Cli, Lab, Ran

ITEMS = tuple({"id": f"item-{n:02}", "input": f"question {n}", "target": "right"} for n in range(12))
SCRIPTED = "evalflow.model.scripted.Scripted"
Fill = Callable[[dict[str, str]], str]


def ran(lab: Lab) -> Path:
    """A run of two arms whose answers differ but in the first item; one has none to the last. And a control."""
    good = {item["id"]: f"a good answer to {item['input']}" for item in ITEMS[:-1]}
    poor = {item["id"]: f"no idea, {item['input']}" for item in ITEMS}
    poor[ITEMS[0]["id"]] = good[ITEMS[0]["id"]]
    arms = {
        "arm-plain": {"model": {"answers": poor}},
        "arm-better": {"model": {"answers": good}},
        "bad": {"control": True, "model": {"otherwise": "?"}},
    }
    folder = lab(ITEMS, model={"_target_": SCRIPTED}, arms=arms).folder
    assert folder is not None
    return folder


def fill(path: Path, rate: Fill, rater: str, to: str) -> Path:
    """A filled copy of a sheet's CSV."""
    lines = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(lines[0]))
    writer.writeheader()
    writer.writerows({**line, "rating": rate(line), "rater": rater} for line in lines)
    filled = path.with_name(to)
    filled.write_text(out.getvalue(), encoding="utf-8", newline="")
    return filled


def good_side(line: dict[str, str]) -> str:
    return "left" if "good" in line["left"] else "right"


def document(cli: Cli, folder: Path, *words: str) -> dict[str, Any]:
    told = cli("review", str(folder), *words, "--json")
    assert (told.code, told.err) == (0, "")
    found: dict[str, Any] = json.loads(told.out)
    assert [error.message for error in Draft202012Validator(review_schema()).iter_errors(found)] == []
    return found


def test_a_sheet_goes_out_and_its_key_stays(lab: Lab, cli: Cli, home: Path) -> None:
    """Two files and what is on them; neither tells of an arm, an item or the run; made again they are the same."""
    folder = ran(lab)
    told = cli("review", folder.name, "--to", "for raters")
    assert (told.code, told.err) == (0, "")
    (key,) = (folder / "review").iterdir()
    assert told.out.splitlines() == [
        "for raters/sheet.html",
        "for raters/sheet.csv",
        "the sheet has 10 pairs to judge, from all 12 items; arms arm-plain, arm-better (the first is the reference)",
        "1 pair is one text twice: a tie by design, and not shown",
        "1 of arm-better not shown (error: ModelError): item-11",
        f"the key stays here: outputs/case/{folder.name}/review/{key.name}",
        f"filled sheets come back by: evalflow review {folder.name} --import FILE ...",
    ]
    before = {path.name: path.read_bytes() for path in (home / "for raters").iterdir()}
    assert sorted(before) == ["sheet.csv", "sheet.html"]
    for content in before.values():
        assert b"a good answer to question" in content
        for name in (b"arm-", b"item-0", b"item-1", folder.name.encode(), b"case"):
            assert name not in content
    assert cli("--quiet", "review", folder.name, "--to", "for raters").out == ""
    assert {path.name: path.read_bytes() for path in (home / "for raters").iterdir()} == before
    assert list((folder / "review").iterdir()) == [key]


def test_filled_sheets_come_back(lab: Lab, cli: Cli, home: Path) -> None:
    """Two raters; read twice is read once; somebody who rates anew replaces what he said, and that is said."""
    folder = ran(lab)
    assert cli("review", str(folder), "--to", "out").code == 0
    sheet = home / "out" / "sheet.csv"
    ann = fill(sheet, good_side, "ann", "ann.csv")
    bob = fill(sheet, lambda line: "tie" if line["prompt"].endswith("3") else good_side(line), "", "bob.csv")
    told = cli("review", str(folder), "--import", str(ann))
    assert told.out.splitlines()[0] == f"{ann}: ann: 10 new"
    told = cli("review", str(folder), "--import", str(bob), "--rater", "bob")
    assert told.out.splitlines()[0] == f"{bob}: bob: 10 new"
    assert "arm-better is liked better than arm-plain: arm-better has" in told.out
    kept = (folder / "choices.csv").read_bytes()
    again = cli("review", str(folder), "--import", str(ann))
    assert again.out.splitlines()[0] == f"{ann}: ann: 10 as before"
    assert (folder / "choices.csv").read_bytes() == kept
    found = document(cli, folder)
    (pair,) = found["preferences"]
    assert (pair["reference"], pair["candidate"], pair["conclusion"]) == ("arm-plain", "arm-better", "better")
    assert (pair["choices"], pair["n_identical"]) == ({"won": 19, "lost": 0, "tied": 1}, 1)
    assert json.loads((folder / "review.json").read_text(encoding="utf-8")) == found
    assert {choice.liked for choice in read_choices(folder / "choices.csv")} == {"left", "right", "tie"}
    anew = fill(sheet, lambda line: "" if line["prompt"].endswith("3") else "tie", "ann", "anew.csv")
    changed = cli("review", str(folder), "--import", str(anew))
    assert changed.out.splitlines()[0] == f"{anew}: ann: 9 replaced, 1 blank"
    assert document(cli, folder)["preferences"][0]["choices"] == {"won": 10, "lost": 0, "tied": 10}
    brief = cli("--quiet", "review", str(folder))
    assert "arm-better" in brief.out.splitlines()[0] and "rater" not in brief.out


def test_an_edited_row_is_not_rated(lab: Lab, cli: Cli, home: Path) -> None:
    """Somebody saw another text than the run has now: the file is refused by line, and nothing is taken."""
    folder = ran(lab)
    assert cli("review", str(folder), "--to", "out").code == 0
    ann = fill(home / "out" / "sheet.csv", good_side, "ann", "ann.csv")
    rows = folder / "rows.jsonl"
    kept = rows.read_text(encoding="utf-8")
    rows.write_text(kept.replace("a good answer", "an edited answer"), encoding="utf-8")
    refused = cli("review", str(folder), "--import", str(ann))
    assert (refused.code, refused.out) == (64, "")
    assert f"{ann}:2: item " in refused.err and "is another answer than was shown" in refused.err
    assert not (folder / "choices.csv").exists()
    rows.write_text(kept, encoding="utf-8")
    assert cli("review", str(folder), "--import", str(ann)).code == 0


def test_answers_are_rated_on_a_scale(lab: Lab, cli: Cli, home: Path) -> None:
    """A text that two arms gave is rated once, for both; a second scale is refused."""
    folder = ran(lab)
    words = ("--to", "out", "--scale", "1-7", "--target", "--question", "How  kind is it?")
    assert cli("review", str(folder), *words).code == 0
    page = (home / "out" / "sheet.html").read_text(encoding="utf-8")
    assert "How kind is it?" in page and '"target": "right"' in page
    ann = fill(home / "out" / "sheet.csv", lambda line: "6" if "good" in line["answer"] else "3", "ann", "ann.csv")
    assert len(ann.read_text(encoding="utf-8").splitlines()) == 1 + 22
    found = document(cli, folder, "--import", str(ann))
    assert [(arm["arm"], arm["mean"]["n_scored"]) for arm in found["ratings"]["arms"]] == [
        ("arm-plain", 12),
        ("arm-better", 11),
    ]
    (difference,) = found["ratings"]["differences"]
    assert (difference["delta"]["delta"], difference["delta"]["conclusion"]) == (pytest.approx(30 / 11), "better")
    assert len(read_ratings(folder / "ratings.csv")) == 23
    assert found["sheets"][0]["question"] == "How kind is it?"
    refused = cli("review", str(folder), "--to", "other", "--scale", "1-5")
    assert (refused.code, refused.out) == (64, "") and "has scale 1-7" in refused.faults[0]


def test_items_are_dealt_to_several_raters(lab: Lab, cli: Cli, home: Path) -> None:
    """A sheet each, numbered; together they are added up, and each says how much of its own it is."""
    folder = ran(lab)
    assert cli("review", str(folder), "--to", "out", "--sheets", "3", "--overlap", "2").code == 0
    names = sorted(path.name for path in (home / "out").iterdir())
    assert names == [f"sheet-{n}.{kind}" for n in (1, 2, 3) for kind in ("csv", "html")]
    files = [str(fill(home / "out" / f"sheet-{n}.csv", good_side, f"r{n}", f"filled-{n}.csv")) for n in (1, 2, 3)]
    found = document(cli, folder, "--import", *files)
    assert sum(one["n_rated"] for one in found["raters"]) == 20
    assert all(one["n_rated"] == one["n_shown"] for one in found["raters"])
    (pair,) = found["preferences"]
    assert (pair["share"]["n_scored"], pair["agreement"]["alpha"]["n_scored"]) == (11, 10)


def test_nothing_of_a_file_with_a_fault_is_kept(lab: Lab, cli: Cli, home: Path) -> None:
    """One line that names it by file and line, exit code 64; a good file beside it is not taken either."""
    folder = ran(lab)
    assert cli("review", str(folder), "--to", "out").code == 0
    sheet = home / "out" / "sheet.csv"
    good, bad = fill(sheet, good_side, "ann", "ann.csv"), fill(sheet, lambda _: "both", "bob", "bob.csv")
    refused = cli("review", str(folder), "--import", str(good), str(bad))
    assert (refused.code, refused.out, len(refused.faults)) == (64, "", 1)
    assert refused.faults[0] == (f"evalflow: {bad}:2: rating is 'both'; give left, right or tie, or leave it blank")
    assert not (folder / "choices.csv").exists() and not (folder / "review.json").exists()
    blank = fill(sheet, lambda _: "", "ann", "blank.csv")
    refused = cli("review", str(folder), "--import", str(blank))
    assert refused.code == 64 and "nobody has rated it; 10 tickets are blank; --to DIR" in refused.faults[0]
    other = ran(lab)
    refused = cli("review", str(other), "--import", str(good))
    assert refused.code == 64 and "is none of this run's" in refused.faults[0]


def test_a_sheet_goes_over_nothing_and_never_beside_its_key(lab: Lab, cli: Cli, home: Path) -> None:
    """A file that may be filled stays; the run's folder, and one that holds it, are refused."""
    folder = ran(lab)
    assert cli("review", str(folder), "--to", "out").code == 0
    sheet = home / "out" / "sheet.csv"
    fill(sheet, good_side, "ann", "sheet.csv")
    refused = cli("review", str(folder), "--to", "out")
    assert refused.code == 64 and "out/sheet.csv: another sheet, or a filled one, is there" in refused.faults[0]
    for to in (str(folder), "outputs", "."):
        refused = cli("review", str(folder), "--to", to)
        assert refused.code == 64 and "the run lies in it, and with it the key" in refused.faults[0]
    (home / "file").touch()
    refused = cli("review", str(folder), "--to", "file")
    assert refused.code == 64 and "give another folder" in refused.faults[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nobody has rated it; --to DIR makes a sheet, --import FILE reads one"),
        (["--arms", "arm-plain,arm-beter", "--to", "out"], "there is no such arm; did you mean arm-better?"),
        (["--arms", "arm-plain", "--to", "out"], "pairs need two different arms"),
        (["--arms", "a"], "--arms is of a sheet, and there is no --to"),
        (["--seed", "0"], "--seed is of a sheet, and there is no --to"),
        (["--target"], "--target is of a sheet, and there is no --to"),
        (["--rater", "ann"], "--rater is of a filled sheet, and there is no --import"),
        (["--to", "out", "--json"], "leave out --import and --json"),
        (["--to", "out", "--kind", "pairs", "--scale", "1-5"], "--scale is of --kind single"),
        (["--to", "out", "--scale", "5"], "invalid _scale value"),
        (["--to", "out", "--scale", "1-50"], "give two digits"),
        (["--to", "out", "--kind", "triples"], "invalid choice"),
        (["--to", "out", "--items", "0"], "items is 0; give at least 1"),
        (["--import", "nowhere.csv"], "nowhere.csv: cannot be read (No such file or directory)"),
    ],
)
def test_words_that_it_does_not_take_are_refused(lab: Lab, cli: Cli, words: list[str], said: str) -> None:
    """One line that says what is wrong, exit code 64, and nothing on standard output."""
    refused: Ran = cli("review", str(ran(lab)), *words)
    assert (refused.code, refused.out, len(refused.faults)) == (64, "", 1)
    assert said in refused.faults[0]


def test_a_run_of_other_kinds_is_refused_with_why(cli: Cli, lab: Lab) -> None:
    """One arm alone has no pairs; a run that is not there is named."""
    alone = lab().folder
    refused = cli("review", str(alone), "--to", "out")
    assert refused.code == 64 and "arms is one; pairs need two different arms" in refused.faults[0]
    assert cli("review", "20261130-000000-abcdef", "--to", "out").code == 64
