"""Marks: how far a run's tracking came, and which runs were left in the middle of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalflow.runner.lock import hold
from evalflow.runner.mark import MARK, Mark, begun_and_left, read_mark, write_mark

AT = "2026-11-29T10:00:00.000+00:00"


def marked(folder: Path, state: str = "logging") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(json.dumps({"state": state, "at": AT, "said": None}))
    return folder


def test_a_mark_is_read_as_it_was_written(tmp_path: Path) -> None:
    """State, time and what was said survive the file."""
    mark = Mark("failed", AT, "the store was away")
    write_mark(tmp_path, mark)
    assert read_mark(tmp_path) == mark


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"state": "odd", "at": "x"}', '{"state": "logged", "at": 3}'])
def test_what_is_no_mark_is_none(tmp_path: Path, text: str | None) -> None:
    """A missing, empty or damaged file, and one with another state, is no mark."""
    if text is not None:
        (tmp_path / MARK).write_text(text)
    assert read_mark(tmp_path) is None


def test_what_was_left_in_the_middle_is_found_with_its_sweeps(tmp_path: Path) -> None:
    """Only what is marked as being logged counts, of this experiment, and held by nobody; its sweeps count too."""
    died = marked(tmp_path / "mine" / "20261129-100001-000001")
    marked(tmp_path / "mine" / "20261129-100002-000002", "logged")
    marked(tmp_path / "other" / "20261129-100003-000003")
    working = marked(tmp_path / "mine" / "20261129-100004-000004")
    sweeps = [marked(tmp_path / ".sweeps" / f"20261129-10000{n}-abcdef") for n in (0, 5, 6)]
    for sweep, name in zip(sweeps, ("mine", "other"), strict=False):
        (sweep / "summary.json").write_text(json.dumps({"experiment": name}))
    lock = hold(working)
    try:
        assert begun_and_left(tmp_path, "mine") == [sweeps[0], died]
    finally:
        lock.release()
    assert begun_and_left(tmp_path, "nothing") == []
