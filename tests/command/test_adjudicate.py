"""`evalflow adjudicate`: where the annotators of a stored run part."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.conftest import Cli, Lab

HEADS = ["document", "offset", "left", "annotator A", "annotator B", "right", "arm good", "arm fair", "arm poor"]


def run(cli: Cli) -> str:
    ran = cli("experiment=agreement", "tracking=none")
    assert ran.code == 0 and ran.folder is not None
    return ran.folder.name


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_the_list_is_printed_or_written(cli: Cli, home: Path) -> None:
    """The same either way; written, its path is printed. The places are those of the shipped texts."""
    named = run(cli)
    printed = cli("adjudicate", named)
    assert (printed.code, printed.err) == (0, "")
    written = cli("adjudicate", named, "--out", "lists/für mich.csv")
    assert (written.code, written.out) == (0, "lists/für mich.csv\n")
    text = (home / "lists" / "für mich.csv").read_bytes().decode("utf-8")
    assert printed.out.splitlines() == text.splitlines()
    assert cli("--quiet", "adjudicate", named, "--out", "again.csv").out == ""
    first = rows(text)[0]
    assert list(first) == [*HEADS, "decision"]
    assert (first["document"], first["annotator A"], first["annotator B"]) == ("almanac", "v", "u")
    assert first["left"].endswith("plough ") and first["right"].startswith("pon the")
    hyphen = next(row for row in rows(text) if row["left"].endswith("luke"))
    assert (hyphen["annotator A"], hyphen["annotator B"]) == ("'-", "")


def test_the_confusions_are_printed(cli: Cli) -> None:
    """Of the annotators and of every arm, in the unit and profile that the run was scored by."""
    named = run(cli)
    told = cli("adjudicate", named, "--confusions")
    assert told.code == 0
    lines = told.out.splitlines()
    assert lines[:3] == [
        "in graphemes, brought to NFC, hyphenation, line_breaks, whitespace, strip",
        "annotators A | B: 83 edits, 49 kinds",
        "     8  ſ | s",
    ]
    assert [line.split(":")[0] for line in lines if line.startswith("reference")] == [
        f"reference each | arm {arm}" for arm in ("good", "fair", "poor")
    ]
    words = cli("adjudicate", named, "--confusions", "--metric", "wer")
    assert words.out.startswith("in words, brought to NFC")
    assert "     2  haue | have" in words.out


def test_labels_are_adjudicated_too(lab: Lab, cli: Cli) -> None:
    """Of any dataset whose items have annotators; arms have no error rate there, and none is printed."""
    items = [
        {"id": "a", "input": "?", "target": "yes", "annotators": {"Ann": "yes", "Bob": "no"}},
        {"id": "b", "input": "?", "target": "no", "annotators": {"Ann": "no", "Bob": "no"}},
    ]
    kappa = {"_target_": "evalflow.metric.kappa.Kappa", "unit": "label"}
    ran = lab(
        items, metrics={"kappa": kappa}, model={"_target_": "evalflow.model.scripted.Scripted", "otherwise": "yes"}
    )
    assert ran.folder is not None
    (row,) = rows(cli("adjudicate", str(ran.folder)).out)
    assert [row[key] for key in ("document", "annotator Ann", "annotator Bob", "arm one")] == ["a", "yes", "no", "yes"]
    assert cli("adjudicate", str(ran.folder), "--confusions").out.splitlines() == [
        "in labels, brought to NFC",
        "annotators Ann | Bob: 1 edit, 1 kind",
        "     1  yes | no",
    ]


def test_an_arm_without_an_answer_says_so(cli: Cli, home: Path) -> None:
    """A system that left a document out is no system that reads nothing there."""
    named = run(cli)
    folder = home / "outputs" / "agreement" / named
    kept = [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    left = [row for row in kept if (row["arm"], row["item_id"]) != ("good", "almanac")]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in left), encoding="utf-8")
    told = rows(cli("adjudicate", named).out)
    assert {row["arm good"] for row in told if row["document"] == "almanac"} == {"(no answer)"}
    assert all(row["arm good"] != "(no answer)" for row in told if row["document"] != "almanac")


def test_a_run_without_annotators_is_refused(lab: Lab, cli: Cli) -> None:
    """Or without a metric that compares texts: there is nothing to list."""
    cer = {"_target_": "evalflow.metric.error_rate.ErrorRate"}
    first, second = lab(metrics={"cer": cer}), lab()
    refused = cli("adjudicate", str(first.folder))
    assert (refused.code, refused.out) == (64, "")
    assert refused.faults[0].endswith("no item of it was read by two annotators; name a run whose dataset has them")
    assert "no metric of the run compares texts; add one" in cli("adjudicate", str(second.folder)).faults[0]
    assert cli("adjudicate", "20261130-000000-abcdef").code == 64


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--metric", "ce"], "--metric ce: it is none that compares texts; did you mean cer?"),
        (["--context", "-1"], "context is -1; it takes one run"),
        (["--context", "x"], "invalid int value"),
        (["b"], "unrecognized arguments: b; it takes one run"),
        (["--out", "."], ".: cannot be written (Is a directory); give another file"),
    ],
)
def test_words_that_it_does_not_take_are_refused(cli: Cli, words: list[str], said: str) -> None:
    """With what it takes, and exit code 64."""
    refused = cli("adjudicate", run(cli), *words)
    assert (refused.code, len(refused.faults)) == (64, 1)
    assert said in refused.faults[0]
