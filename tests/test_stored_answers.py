"""The answers of a finished run, read by whoever asks something about them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evalflow.errors import StoredRunError
from evalflow.record import fingerprints
from evalflow.stored_answers import StoredAnswer, stored_answers
from tests.conftest import ITEMS
from tests.graded import finished, scripted

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def run(home: Path) -> Path:
    """Two arms over six items, one under two seeds, one with an error and an empty answer."""
    models = {"model": scripted(answers={"a": "", "b": "near"}, otherwise=None)}
    return finished(arms={"one": {"seeds": [3, 1]}, "two": models})


def test_items_and_answers_are_those_of_the_run(run: Path) -> None:
    """By its folder or its id; items in their order, answers by seed and item, and why there is none."""
    found = stored_answers(str(run))
    state = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert found == stored_answers(run.name)
    assert (found.run_id, found.part, found.serves) == (run.name, None, False)
    assert fingerprints(found.items) == state["fingerprints"]
    assert list(found.by_id) == list("abcdef")
    assert found.seeds("one") == (1, 3)
    assert found.arms["one"][3, "a"] == StoredAnswer("ok", "right", None)
    assert found.arms["two"][0, "a"] == StoredAnswer("empty", "", None)
    lost = found.arms["two"][0, "c"]
    assert (lost.status, lost.text) == ("error", None)
    assert lost.why is not None
    assert lost.why.startswith("ModelError: scripted: no answer for item 'c'")


def test_a_smoke_run_is_a_part(home: Path) -> None:
    """And says why."""
    assert stored_answers(str(finished(limit=2))).part == "smoke run: limit 2"


def test_a_digest_is_of_questions_and_answers(run: Path) -> None:
    """The same for the same answers of another run, another for another arm, and none of it depends on the order."""
    again = finished(arms={"one": {"seeds": [1, 3]}})
    found = stored_answers(str(run))
    assert found.digest_of("one") == stored_answers(str(again)).digest_of("one") != found.digest_of("two")
    other = finished(ITEMS[:5], arms={"one": {"seeds": [1, 3]}})
    assert stored_answers(str(other)).digest_of("one") != found.digest_of("one")


def test_a_file_that_is_written_anew_is_read_anew(run: Path) -> None:
    """What was read before is not told of a run that has become another."""
    before = stored_answers(str(run))
    rows = (run / "rows.jsonl").read_text(encoding="utf-8")
    (run / "rows.jsonl").write_text(rows.replace('"draft":"near"', '"draft":"nearer"'), encoding="utf-8")
    assert stored_answers(str(run)).arms["two"] != before.arms["two"]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("run.json", ('"state": "finished"', '"state": "running"'), "the run is running; let it finish"),
        ("run.json", ('"schema_version": 1', '"schema_version": 9'), "schema version 9 is unknown here"),
        ("run.json", ('"part": null', '"part": 5'), "part is 5"),
        ("items.jsonl", ("question a", "question z"), "these are not the items that were asked; restore it"),
        ("rows.jsonl", ('"two","seed":0,"item_id":"b"', '"two","seed":0,"item_id":"a"'), "another row than the first"),
        ("rows.jsonl", ('"run_id":"2', '"run_id":"3'), "a row of run '3"),
        ("rows.jsonl", ('"status":"ok"', '"status":"fine"'), "not a row of schema 1"),
        ("config.yaml", ("name: case", "name: [case"), "config.yaml: cannot be read"),
    ],
)
def test_what_is_unfinished_or_damaged_is_refused(run: Path, name: str, change: tuple[str, str], said: str) -> None:
    """By the file, and what to do about it; nothing is taken on trust."""
    text = (run / name).read_text(encoding="utf-8")
    assert change[0] in text
    (run / name).write_text(text.replace(change[0], change[1], 1), encoding="utf-8")
    with pytest.raises(StoredRunError) as refused:
        stored_answers(str(run))
    assert said in str(refused.value)
    assert str(run) in str(refused.value)


def test_a_run_that_is_not_there_is_named(run: Path) -> None:
    """So is a file of it that is gone, and a folder that is no run."""
    (run / "rows.jsonl").unlink()
    with pytest.raises(StoredRunError, match=r"rows\.jsonl: cannot be read \(No such file or directory\); restore it"):
        stored_answers(str(run))
    shutil.rmtree(run)
    with pytest.raises(StoredRunError, match="there is no such run under outputs"):
        stored_answers(run.name)
    with pytest.raises(StoredRunError, match=r"run\.json: cannot be read .*; give the folder of a finished run"):
        stored_answers("outputs")
