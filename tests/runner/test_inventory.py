"""What lies under an outputs folder, read without a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalflow.errors import StoredRunError
from evalflow.runner.inventory import entry_of, inventory
from evalflow.runner.lock import hold
from tests.runner.kept_run import kept, read, write
from tests.runner.test_lock import holder

OLD, NEW = "20261129-235959-ffffff", "20261130-000001-000000"


def test_runs_come_newest_first_whatever_their_experiment(tmp_path: Path) -> None:
    """The time in the id orders them; one experiment's alone can be asked for; other folders are no runs."""
    kept(tmp_path, OLD, experiment="zebra")
    kept(tmp_path, NEW, experiment="ape")
    kept(tmp_path, OLD, experiment="ape")
    (tmp_path / "ape" / "notes").mkdir()
    (tmp_path / "ape" / f".new-{NEW}").mkdir()
    kept(tmp_path, NEW, experiment=".sweeps")
    (tmp_path / "mlflow.db").touch()
    found = [(entry.experiment, entry.run_id) for entry in inventory(tmp_path)]
    assert found == [("ape", NEW), ("zebra", OLD), ("ape", OLD)]
    assert [entry.run_id for entry in inventory(tmp_path, "ape")] == [NEW, OLD]


def test_an_experiment_may_be_named_like_a_pattern(tmp_path: Path) -> None:
    """`a*` means that folder alone, and blanks and letters of any script are names too."""
    for name in ("a*", "ab", "die Prüfung 试"):
        kept(tmp_path, OLD, experiment=name)
    assert [entry.experiment for entry in inventory(tmp_path, "a*")] == ["a*"]
    assert [entry.experiment for entry in inventory(tmp_path, "die Prüfung 试")] == ["die Prüfung 试"]
    assert len(inventory(tmp_path)) == 3


@pytest.mark.parametrize(
    ("state", "told"), [("finished", "finished"), ("interrupted", "interrupted"), ("running", "unfinished")]
)
def test_how_far_a_run_came(tmp_path: Path, state: str, told: str) -> None:
    """Its rows are counted against two items under two seeds of one arm and one of the other."""
    entry = entry_of(kept(tmp_path, OLD, "incomplete", state, n_rows=5, sweep_id="s", part="smoke run: limit 2"))
    assert (entry.state, entry.n_rows, entry.n_planned) == (told, 5, 6)
    assert (entry.verdict, entry.exit_code, entry.damage) == ("incomplete", 3, None)
    assert (entry.sweep_id, entry.experiment) == ("s", "case")


def test_a_row_that_is_being_written_is_none_yet(tmp_path: Path) -> None:
    """What follows the last line break was cut off."""
    folder = kept(tmp_path, OLD)
    (folder / "rows.jsonl").write_bytes(b"{}\n{}\n{")
    assert entry_of(folder).n_rows == 2


@pytest.mark.parametrize("state", ["running", "finished"])
def test_a_run_that_somebody_holds_is_at_work(tmp_path: Path, state: str) -> None:
    """Whatever its file says: a finished one is being scored or tracked."""
    folder = kept(tmp_path, OLD, None, state)
    with holder(folder):
        assert entry_of(folder).state == "at work"
    assert entry_of(folder).state != "at work"


def test_an_answer_of_an_earlier_session_is_none(tmp_path: Path) -> None:
    """A run that went on since its report has no verdict, nor has one whose report is of another run or unreadable."""
    folder = kept(tmp_path, OLD, "fail")
    report = read(folder / "report.json")
    assert (entry_of(folder).verdict, entry_of(folder).exit_code) == ("fail", 1)
    run = read(folder / "run.json")
    write(folder / "run.json", {**run, "sessions": [*run["sessions"], {**run["sessions"][0], "session": "later"}]})
    assert entry_of(folder).verdict is None
    write(folder / "run.json", run)
    for wrong in ({**report, "run_id": NEW}, {**report, "schema_version": 2}, {"verdict": "pass"}, [], {}):
        write(folder / "report.json", wrong)
        assert (entry_of(folder).verdict, entry_of(folder).exit_code) == (None, None)
    (folder / "report.json").write_bytes(b"\xff{")
    assert entry_of(folder).verdict is None
    (folder / "report.json").unlink()
    assert entry_of(folder).verdict is None
    assert entry_of(folder).state == "finished"


def test_a_report_in_another_hand_is_read_too(tmp_path: Path) -> None:
    """Only the head of a report is parsed where it can be told apart; one on a single line is parsed whole."""
    folder = kept(tmp_path, OLD, "fail")
    text = (folder / "report.json").read_text(encoding="utf-8")
    (folder / "report.json").write_text(" ".join(text.split()), encoding="utf-8")
    assert entry_of(folder).verdict == "fail"


def test_what_is_damaged_is_named_with_its_damage(tmp_path: Path) -> None:
    """A run.json that is not there, cut, of another version or another run: the folder is listed, and says why."""
    folder = kept(tmp_path, OLD)
    path = folder / "run.json"
    run = read(path)
    for wrong, said in (
        ({**run, "schema_version": 9}, "schema version 9 is unknown here"),
        ({**run, "run_id": NEW}, f"it is of run {NEW}; give the folder its name back"),
        ({**run, "sessions": []}, "it has no sessions"),
        ([], "not a JSON object"),
    ):
        write(path, wrong)
        (entry,) = inventory(tmp_path)
        assert (entry.state, entry.run, entry.n_rows, entry.n_planned) == ("damaged", None, None, None)
        assert entry.damage is not None and said in entry.damage and str(path) in entry.damage
    path.write_bytes(b'{"schema_version": 1, \xff')
    assert "not UTF-8" in (entry_of(folder).damage or "")
    path.unlink()
    assert "not there" in (entry_of(folder).damage or "")


def test_conditions_of_another_shape_leave_the_plan_unknown(tmp_path: Path) -> None:
    """How many rows were planned is then None, never 0; the same for items or rows that are gone."""
    folder = kept(tmp_path, OLD, conditions={})
    assert (entry_of(folder).n_planned, entry_of(folder).n_rows) == (None, 6)
    (folder / "rows.jsonl").unlink()
    assert entry_of(folder).n_rows is None
    gone = kept(tmp_path, NEW)
    (gone / "items.jsonl").unlink()
    assert entry_of(gone).n_planned is None


def test_a_link_is_marked_as_one(tmp_path: Path) -> None:
    """A linked run and a run of a linked experiment are listed; a link to nothing is no folder."""
    elsewhere = kept(tmp_path / "elsewhere", OLD)
    outputs = tmp_path / "outputs"
    (outputs / "case").mkdir(parents=True)
    (outputs / "case" / OLD).symlink_to(elsewhere)
    (outputs / "case" / NEW).symlink_to(tmp_path / "nothing")
    (outputs / "whole").symlink_to(elsewhere.parent)
    assert [(entry.experiment, entry.linked) for entry in inventory(outputs)] == [("whole", True), ("case", True)]
    assert not entry_of(elsewhere).linked


def test_no_outputs_are_no_runs(tmp_path: Path) -> None:
    """A folder that is not there, or is a file, holds none."""
    (tmp_path / "file").touch()
    assert inventory(tmp_path / "none") == inventory(tmp_path / "file") == inventory(tmp_path, "case") == []


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that nobody could see are not told as none."""

    def refuse(self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(StoredRunError, match="cannot be listed \\(Permission denied\\); make it readable"):
        inventory(tmp_path)


def test_looking_leaves_a_run_to_whoever_wants_it(tmp_path: Path) -> None:
    """After a look its lock is free, and nothing was written to the folder."""
    folder = kept(tmp_path, OLD)
    entry_of(folder)
    assert not (folder / ".lock").exists()
    hold(folder).release()
    entry_of(folder)
    hold(folder).release()
