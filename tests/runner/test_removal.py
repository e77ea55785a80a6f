"""Which runs go, and that each goes whole or not at all, and nothing beside them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import BusyError, OutputError
from evalflow.runner.inventory import Entry, inventory
from evalflow.runner.lock import hold
from evalflow.runner.removal import choose, removals, remove
from tests.runner.kept_run import kept, read, write
from tests.runner.test_lock import holder

IDS = [f"20261130-10000{n}-00000{n}" for n in range(6)]
NOBODY = 65534


def entry(number: int, verdict: str | None = "fail", state: Any = "finished", **more: Any) -> Entry:
    return Entry(
        Path("outputs") / more.pop("experiment", "case") / IDS[number], state, {"sweep_id": None}, verdict, **more
    )


def chosen(entries: list[Entry], keep: int) -> list[int]:
    return [IDS.index(one.run_id) for one in choose(entries, keep)]


def test_the_last_runs_of_each_experiment_stay() -> None:
    """Newest first, as many as are kept; another experiment's are counted apart."""
    runs = [entry(n) for n in (5, 4, 3, 2)]
    others = [entry(n, experiment="other") for n in (1, 0)]
    assert chosen(runs, 2) == [3, 2]
    assert chosen([*runs, *others], 2) == [3, 2]
    assert chosen([*runs, *others], 1) == [4, 3, 2, 0]
    assert chosen(runs, 9) == []
    assert chosen([], 0) == []


def test_the_last_one_that_passed_stays() -> None:
    """However old it is; the passes before it do not."""
    runs = [entry(5), entry(4), entry(3, "pass"), entry(2), entry(1, "pass"), entry(0, None)]
    assert chosen(runs, 1) == [4, 2, 1, 0]
    assert chosen(runs, 0) == [5, 4, 2, 1, 0]
    assert chosen(runs, 3) == [2, 1, 0]


def test_one_that_people_review_stays(tmp_path: Path) -> None:
    """From the moment that a sheet of it is out: neither its key nor what was said could be had again."""
    for number, name in enumerate(("review/key.json", "ratings.csv", "choices.csv", "report.json")):
        path = tmp_path / "case" / IDS[number] / name
        path.parent.mkdir(parents=True)
        path.touch()
    runs = [replace(entry(n), folder=tmp_path / "case" / IDS[n]) for n in (4, 3, 2, 1, 0)]
    assert chosen(runs, 1) == [3]


def test_one_at_work_stays() -> None:
    """It counts among the last runs, and stays where it is older than they are."""
    runs = [entry(5, state="at work"), entry(4), entry(3, state="at work"), entry(2, state="unfinished"), entry(1)]
    assert chosen(runs, 1) == [4, 2, 1]
    assert chosen(runs, 0) == [4, 2, 1]


def test_what_is_no_run_of_ours_stays_and_counts_for_nothing() -> None:
    """A damaged folder and a link are left alone, and take no place of a run that is kept, nor that of the pass."""
    runs = [entry(5, state="damaged"), entry(4, "pass", linked=True), entry(3), entry(2, "pass"), entry(1)]
    assert chosen(runs, 1) == [1]


def gone(outputs: Path, keep: int = 1, experiment: str | None = None) -> list[str]:
    """What would go, as paths under the outputs."""
    return sorted(str(one.folder.relative_to(outputs)) for one in removals(outputs, keep, experiment))


def test_a_removal_knows_its_size(tmp_path: Path) -> None:
    """The bytes of every file in it, however deep; where a link leads is not its own."""
    for run_id in IDS[:2]:
        kept(tmp_path, run_id)
    folder = tmp_path / "case" / IDS[0]
    (folder / "deep").mkdir()
    (folder / "deep" / "more").write_bytes(b"x" * 1000)
    (tmp_path / "large").write_bytes(b"x" * 100_000)
    (folder / "link").symlink_to(tmp_path / "large")
    (one,) = removals(tmp_path, 0)
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    link = len(str(tmp_path / "large").encode())
    assert (one.kind, one.folder, one.size) == ("run", folder, sum(path.stat().st_size for path in files) + link)


def test_a_run_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    """The folder is off the disk; what its links lead to, and every other run, is as it was."""
    for run_id in IDS[:2]:
        kept(tmp_path / "outputs", run_id)
    keepsake = tmp_path / "keepsake"
    keepsake.mkdir()
    (keepsake / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "outputs" / "case" / IDS[0] / "link").symlink_to(keepsake)
    for one in removals(tmp_path / "outputs", 1):
        remove(one)
    assert [path.name for path in (tmp_path / "outputs" / "case").iterdir()] == [IDS[1]]
    assert (keepsake / "file").read_text(encoding="utf-8") == "mine"


def test_links_are_never_followed(tmp_path: Path) -> None:
    """A linked run, a linked experiment, a linked folder of sweeps and a linked left-over are not there to go."""
    elsewhere = tmp_path / "elsewhere"
    for run_id in IDS:
        kept(elsewhere, run_id, "fail")
    write(elsewhere / "sweeps" / IDS[0] / "sweep.json", {"sweep_id": IDS[0]})
    outputs = tmp_path / "outputs"
    (outputs / "case").mkdir(parents=True)
    for run_id in IDS:
        (outputs / "case" / run_id).symlink_to(elsewhere / "case" / run_id)
    (outputs / "case" / f".gone-{IDS[0]}").symlink_to(elsewhere / "case" / IDS[0])
    (outputs / "whole").symlink_to(elsewhere / "case")
    (outputs / ".sweeps").symlink_to(elsewhere / "sweeps")
    os.utime(elsewhere / "sweeps" / IDS[0], (0, 0))
    assert gone(outputs, 0) == []
    assert gone(outputs, 0, "whole") == []


def test_a_folder_that_became_a_link_is_refused(tmp_path: Path) -> None:
    """Between the choice and the removal somebody may have put a link in its place."""
    kept(tmp_path, IDS[0], "fail")
    (one,) = removals(tmp_path, 0)
    one.folder.rename(tmp_path / "moved")
    with pytest.raises(OutputError, match="it is no folder any more; clean again"):
        remove(one)
    one.folder.symlink_to(tmp_path / "moved")
    with pytest.raises(OutputError, match="it is no folder any more; clean again"):
        remove(one)
    assert (tmp_path / "moved" / "run.json").is_file()


def test_what_is_not_known_to_be_a_run_is_not_touched(tmp_path: Path) -> None:
    """A damaged run.json, one of another run or version, a folder of another name, and files stay."""
    kept(tmp_path, IDS[0]).joinpath("run.json").write_text("{", encoding="utf-8")
    kept(tmp_path, IDS[1], schema_version=9)
    kept(tmp_path, IDS[2]).rename(tmp_path / "case" / IDS[3])
    kept(tmp_path, IDS[4]).rename(tmp_path / "case" / "copy of a run")
    (tmp_path / "case" / IDS[5]).write_text("a file", encoding="utf-8")
    (tmp_path / "case" / ".git").mkdir()
    (tmp_path / "mlflow.db").touch()
    assert gone(tmp_path, 0) == []


def test_a_run_that_somebody_took_up_since_is_left(tmp_path: Path) -> None:
    """It is held, or it has changed: either way it stays, and it is said which."""
    kept(tmp_path, IDS[0], "fail")
    (one,) = removals(tmp_path, 0)
    with holder(one.folder), pytest.raises(BusyError, match="another process works on this run"):
        remove(one)
    run = read(one.folder / "run.json")
    write(one.folder / "run.json", {**run, "state": "interrupted"})
    with pytest.raises(OutputError, match="it has changed since it was chosen; clean again"):
        remove(one)
    assert [entry.run_id for entry in inventory(tmp_path)] == [IDS[0]]
    hold(one.folder).release()


def test_a_run_at_work_is_not_chosen(tmp_path: Path) -> None:
    """The lock of a process that lives keeps its run."""
    for run_id in IDS[:3]:
        kept(tmp_path, run_id, None, "running")
    with holder(tmp_path / "case" / IDS[0]):
        assert gone(tmp_path) == [f"case/{IDS[1]}"]
    assert gone(tmp_path) == [f"case/{IDS[0]}", f"case/{IDS[1]}"]


def test_left_overs_go_once_nobody_can_want_them(tmp_path: Path) -> None:
    """A run that was never born goes after an hour, unless it is held; one half removed goes at once."""
    case = tmp_path / "case"
    kept(tmp_path, IDS[0])
    for name in (".new-00000001", ".new-00000002", ".new-00000003", ".new-mine", f".gone-{IDS[1]}", ".gone-fishing"):
        (case / name).mkdir()
        (case / name / "rows.jsonl").touch()
    lately, long_ago = time.time() - 3500, time.time() - 3700
    os.utime(case / ".new-00000001", (lately, lately))
    for name in (".new-00000003", ".new-mine", ".gone-fishing"):
        os.utime(case / name, (long_ago, long_ago))
    with holder(case / ".new-00000002"):
        os.utime(case / ".new-00000002", (long_ago, long_ago))
        assert gone(tmp_path) == [f"case/.gone-{IDS[1]}", "case/.new-00000003"]
    assert gone(tmp_path, 1, "other") == []
    for one in removals(tmp_path, 1):
        assert (one.kind, one.entry) == ("left-over", None)
        remove(one)
    left = sorted(path.name for path in case.iterdir())
    assert left == sorted([IDS[0], ".new-00000001", ".new-mine", ".gone-fishing"])


def sweep(outputs: Path, sweep_id: str, *folders: Path | None) -> Path:
    """A sweep's folder with a job for each of the runs' folders."""
    folder = outputs / ".sweeps" / sweep_id
    write(folder / "sweep.json", {"schema_version": 1, "sweep_id": sweep_id, "state": "finished"})
    for number, run in enumerate(folders):
        job = {"job": number, "state": "ended", "start": "s", "started": "2026-11-30T10:00:00+00:00"}
        write(folder / "jobs" / f"{number}.json", {**job, "folder": None if run is None else str(run)})
    return folder


def test_a_sweep_goes_with_the_last_of_its_runs(tmp_path: Path) -> None:
    """One with a run that stays is kept, and so is one with a run that is kept elsewhere."""
    first, second, third, fourth = (kept(tmp_path, run_id, "fail", sweep_id="s") for run_id in IDS[:4])
    elsewhere = kept(tmp_path / "other outputs", IDS[0])
    whole = sweep(tmp_path, "20261130-100000-aaaaaa", first, second, None)
    sweep(tmp_path, "20261130-100000-bbbbbb", second, fourth)
    sweep(tmp_path, "20261130-100000-cccccc", third, elsewhere)
    runs = [f"case/{one.name}" for one in (first, second, third)]
    assert gone(tmp_path) == [f".sweeps/{whole.name}", *runs]
    for one in removals(tmp_path, 1):
        remove(one)
    assert [path.name[-6:] for path in sorted((tmp_path / ".sweeps").iterdir())] == ["bbbbbb", "cccccc"]
    assert [one.run_id for one in inventory(tmp_path)] == [fourth.name]


def test_a_run_that_names_its_sweep_keeps_it(tmp_path: Path) -> None:
    """Also where the job's own record has not come so far as to name the run."""
    sweep_id = "20261130-100000-aaaaaa"
    folder = sweep(tmp_path, sweep_id, None)
    os.utime(folder, (0, 0))
    kept(tmp_path, IDS[0], None, "running", sweep_id=sweep_id)
    assert gone(tmp_path, 1) == []
    assert gone(tmp_path, 0) == [f".sweeps/{sweep_id}", f"case/{IDS[0]}"]


def test_a_sweep_that_has_no_run_yet_is_not_one_that_has_none_left(tmp_path: Path) -> None:
    """It goes after an hour, unless somebody works on it; a folder that says it is another sweep never does."""
    new, old = sweep(tmp_path, "20261130-100000-aaaaaa"), sweep(tmp_path, "20261130-100000-bbbbbb", None)
    (tmp_path / ".sweeps" / "notes").mkdir()
    other = sweep(tmp_path, "20261130-100000-cccccc")
    write(other / "sweep.json", {"sweep_id": "another"})
    with holder(old):
        for folder in (old, other, tmp_path / ".sweeps" / "notes"):
            os.utime(folder, (0, 0))
        assert gone(tmp_path) == []
    assert gone(tmp_path) == [f".sweeps/{old.name}"]
    assert new.is_dir()


def test_the_runs_of_a_sweep_at_work_stay(tmp_path: Path) -> None:
    """Its last job ends with a table over all of them."""
    sweep_id = "20261130-100000-aaaaaa"
    runs = [kept(tmp_path, run_id, "fail", sweep_id=sweep_id) for run_id in IDS[1:4]]
    kept(tmp_path, IDS[0], "fail")
    with holder(sweep(tmp_path, sweep_id, *runs)):
        assert gone(tmp_path, 1) == [f"case/{IDS[0]}"]
    assert gone(tmp_path, 1) == [f"case/{run_id}" for run_id in IDS[:3]]


def test_cleaning_one_experiment_leaves_the_sweeps_of_others(tmp_path: Path) -> None:
    """Of the sweeps, those that lose a run now."""
    mine, other = "20261130-100000-aaaaaa", "20261130-100000-bbbbbb"
    run = kept(tmp_path, IDS[0], "fail", sweep_id=mine)
    sweep(tmp_path, mine, run)
    os.utime(sweep(tmp_path, other, None), (0, 0))
    kept(tmp_path, IDS[0], "fail", experiment="other")
    assert gone(tmp_path, 0, "case") == [f".sweeps/{mine}", f"case/{IDS[0]}"]
    assert gone(tmp_path, 0) == [f".sweeps/{mine}", f".sweeps/{other}", f"case/{IDS[0]}", f"other/{IDS[0]}"]


SLOW = """
import shutil, sys, time
from pathlib import Path
from evalflow.runner import removal

whole = shutil.rmtree
def half(path, *args, **kwargs):
    (Path(path) / "run.json").unlink()
    print("half", flush=True)
    time.sleep(60)
shutil.rmtree = half
(one,) = removal.removals(Path(sys.argv[1]), 0)
removal.remove(one)
"""


def test_a_process_killed_half_way_leaves_no_half_a_run(tmp_path: Path) -> None:
    """What it had begun to remove is no run any more, is listed by nobody, and goes with the next cleaning."""
    kept(tmp_path, IDS[0], "fail")
    words = [sys.executable, "-c", SLOW, str(tmp_path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    try:
        assert process.stdout is not None and process.stdout.readline() == "half\n"
        assert inventory(tmp_path) == []
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    assert gone(tmp_path) == [f"case/.gone-{IDS[0]}"]
    for one in removals(tmp_path, 0):
        remove(one)
    assert list((tmp_path / "case").iterdir()) == []


@contextmanager
def as_somebody_else(folder: Path) -> Iterator[None]:
    """As an account that file permissions hold for: the tests may run as root."""
    if os.geteuid() != 0:
        yield
        return
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)
    opened = []
    for parent in folder.parents:
        if not parent.stat().st_mode & 0o001:
            opened.append((parent, parent.stat().st_mode))
            parent.chmod(parent.stat().st_mode | 0o011)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        for parent, mode in opened:
            parent.chmod(mode)


def test_a_folder_that_cannot_be_written_is_named_and_whole(tmp_path: Path) -> None:
    """Neither the run's own permissions nor its parent's leave half a run."""
    folder = kept(tmp_path, IDS[0], "fail")
    (one,) = removals(tmp_path, 0)
    before = sorted(path.name for path in folder.iterdir())
    with as_somebody_else(tmp_path):
        for closed in (folder, folder.parent):
            closed.chmod(0o555)
            with pytest.raises(OutputError, match=f"{folder}: cannot be removed \\(Permission denied\\); make it"):
                remove(one)
            closed.chmod(0o755)
    assert [name for name in sorted(path.name for path in folder.iterdir()) if name != ".lock"] == before
    remove(one)
    assert not folder.exists()
