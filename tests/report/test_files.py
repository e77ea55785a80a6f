"""A report's files: there as a whole, or an error that says which."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from evalflow.errors import ExitCode, OutputLostError
from evalflow.report.files import write_report
from tests.report.by_hand import made


def test_three_files_are_written_and_replaced(tmp_path: Path):
    """report.json, scores.jsonl and junit.xml are there, of this scoring, and nothing else is left behind."""
    report, scores = made(tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "report.json").write_text("an older one")
    write_report(folder, report, scores.rows)
    assert sorted(path.name for path in folder.iterdir()) == ["junit.xml", "report.json", "scores.jsonl"]
    assert json.loads((folder / "report.json").read_text()) == report
    assert ElementTree.parse(folder / "junit.xml").getroot().attrib["tests"] == str(len(report["gates"]))
    assert len((folder / "scores.jsonl").read_text().splitlines()) == 16


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path):
    """A folder that is not there is an output error with the file's name, not a traceback."""
    report, scores = made(tmp_path)
    with pytest.raises(OutputLostError, match=r"absent/scores\.jsonl: cannot be written \(No such file") as lost:
        write_report(tmp_path / "absent", report, scores.rows)
    assert lost.value.exit_code == ExitCode.INCOMPLETE  # the run was made: it is no matter of usage
