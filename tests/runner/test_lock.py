"""One process at a time works on a run, and a process that is gone works on nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalflow.errors import BusyError, ExitCode
from evalflow.runner.lock import hold, is_held

HOLDER = """
import sys
from pathlib import Path
from evalflow.runner.lock import hold
lock = hold(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the folder until it is told to end, or killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_what_one_holds_another_cannot_have(tmp_path: Path) -> None:
    """A second try is refused at once, with the folder and what to do, until the first lets go."""
    lock = hold(tmp_path)
    assert is_held(tmp_path)
    with pytest.raises(BusyError, match=f"{tmp_path}: another process works on this run; wait") as refused:
        hold(tmp_path)
    assert refused.value.exit_code == ExitCode.USAGE
    lock.release()
    assert not is_held(tmp_path)
    hold(tmp_path).release()


@pytest.mark.parametrize("end", ["told", "killed"])
def test_a_process_that_is_gone_holds_nothing(tmp_path: Path, end: str) -> None:
    """However it ended, the system has let go of what it held; while it lives nobody else may work there."""
    with holder(tmp_path) as process:
        assert is_held(tmp_path)
        with pytest.raises(BusyError):
            hold(tmp_path)
        if end == "killed":
            process.kill()
        process.communicate("\n" if end == "told" else None, timeout=30)
        assert (tmp_path / ".lock").exists()
        assert not is_held(tmp_path)
        hold(tmp_path).release()


def test_asking_whether_it_is_held_changes_nothing(tmp_path: Path) -> None:
    """A folder that was never held gets no lock file, and one that is held stays so."""
    assert not is_held(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert not is_held(tmp_path / "nowhere")
    lock = hold(tmp_path)
    assert [is_held(tmp_path), is_held(tmp_path)] == [True, True]
    lock.release()


def test_a_lock_goes_with_its_folder(tmp_path: Path) -> None:
    """A run is held from before it has its name, and under that name."""
    unborn, born = tmp_path / "unborn", tmp_path / "born"
    unborn.mkdir()
    lock = hold(unborn)
    unborn.rename(born)
    assert is_held(born)
    lock.release()
    assert not is_held(born)


def test_a_folder_that_cannot_be_written_is_held_by_nobody(tmp_path: Path) -> None:
    """That is the system's error, and no word about another process."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OSError, match="file"):
        hold(tmp_path / "file")
    (tmp_path / ".lock").mkdir()  # what stands there is no file to lock
    with pytest.raises(OSError, match="lock"):
        hold(tmp_path)
    assert not is_held(tmp_path)


def test_a_folder_that_is_not_there_is_not_made_for_its_lock(tmp_path: Path) -> None:
    """A run that was removed meanwhile does not come back as an empty folder."""
    with pytest.raises(FileNotFoundError, match="gone"):
        hold(tmp_path / "gone")
    assert list(tmp_path.iterdir()) == []
