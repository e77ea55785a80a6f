"""The key of a sheet, kept in the run's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import OutputError, StoredRunError
from evalflow.ratings import KEYS
from evalflow.runner.review_key import read_keys, write_key
from tests.runner.reviewed import RUN_ID, answers, sheet, stored


def test_a_key_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Of pairs and of single answers, with all that is not on the sheet; twice is once."""
    run = stored(["q0", "q1", "q2", "ä\u202e"])
    texts = answers(run, old_q0="same", new_q0="same", new_q1=None)
    drawn = [sheet(run, texts), sheet(run, texts, kind="single", scale=(0, 9), question="Is it kind?")]
    assert read_keys(tmp_path, RUN_ID) == {}
    for one in [*drawn, *drawn]:
        assert write_key(tmp_path, one) == tmp_path / KEYS / f"{one.sheet}.json"
    assert read_keys(tmp_path, RUN_ID) == {one.sheet: one for one in drawn}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": 2}, "schema version 2 is unknown here"),
        ({"run_id": "20261130-101112-000000"}, "of run '20261130-101112-000000'; restore it"),
        ({"sheet": "bcdfghjkmnpq"}, "it is the key of sheet 'bcdfghjkmnpq'"),
        ({"kind": "both"}, "kind is 'both'"),
        ({"tickets": [{"ticket": "x", "item_id": "q0"}]}, "it has no answers"),
        ({"tickets": [{"ticket": "x", "item_id": "q0", "answers": [["old"]]}]}, "not what this evalflow wrote"),
        ({"left_out": [{"item_id": "q0", "arm": "old", "seed": "0", "why": ""}]}, "seed is '0'"),
        (None, "cannot be read"),
    ],
)
def test_a_damaged_key_is_refused(tmp_path: Path, change: dict[str, Any] | None, said: str) -> None:
    """By its file, and with what to do."""
    path = write_key(tmp_path, sheet(stored(["q0", "q1"])))
    told = path.read_text(encoding="utf-8")
    path.write_text(told[:-30] if change is None else json.dumps({**json.loads(told), **change}), encoding="utf-8")
    with pytest.raises(StoredRunError) as refused:
        read_keys(tmp_path, RUN_ID)
    assert str(refused.value).startswith(f"{path}: ") and said in str(refused.value)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Before any rater gets a sheet that nobody could read back."""
    (tmp_path / KEYS).touch()
    with pytest.raises(OutputError, match="make the run's folder writable"):
        write_key(tmp_path, sheet(stored(["q0", "q1"])))
