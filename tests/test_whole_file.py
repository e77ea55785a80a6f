"""A file that is there whole or not at all."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalflow.whole_file import replace_text


def full(*_: object, **__: object) -> Any:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("of", "at"), [(os, "fsync"), (Path, "replace"), (Path, "open")])
def test_a_write_that_breaks_off_leaves_the_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: Any, at: str
) -> None:
    """Wherever it breaks, the file is the old one, and the next write is none the worse."""
    path = tmp_path / "a.json"
    assert replace_text(path, "old") == path
    with monkeypatch.context() as broken, pytest.raises(OSError, match="No space left"):
        broken.setattr(of, at, full)
        replace_text(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    replace_text(path, "newer \u00e4")
    assert path.read_bytes() == "newer \u00e4".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_takes_its_name_when_it_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its content is forced to the disk before the earlier file goes."""
    path = tmp_path / "a.json"
    replace_text(path, "old")
    seen: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.append(path.read_text(encoding="utf-8")))
    replace_text(path, "new")
    assert (seen, path.read_text(encoding="utf-8")) == (["old"], "new")


def test_what_is_there_and_is_no_file_is_written_into(tmp_path: Path) -> None:
    """A device and a pipe stay what they are: the one swallows the text, the other hands it on."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert replace_text(pipe, "told") == pipe
        assert os.read(reader, 100) == b"told"
    finally:
        os.close(reader)
    device = tmp_path / "null"
    device.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        replace_text(device, "told", named=True)
    assert pipe.is_fifo() and device.is_symlink() and Path("/dev/full").is_char_device()
    assert sorted(tmp_path.iterdir()) == [device, pipe]


def test_standard_output_is_written_on_where_it_stands(tmp_path: Path) -> None:
    """By whichever name, what was printed before and after stays, also where it goes into a file."""
    script = "from evalflow.whole_file import replace_text as r; from pathlib import Path; import sys\n"
    script += "print('before'); r(Path(sys.argv[1]), 'text\\n', named=True); print('after')"
    out = tmp_path / "out.txt"
    for name in ("/dev/stdout", str(out)):
        with out.open("w", encoding="utf-8") as handle:
            subprocess.run([sys.executable, "-c", script, name], stdout=handle, check=True)
        assert out.read_text(encoding="utf-8") == "before\ntext\nafter\n"
    piped = subprocess.run([sys.executable, "-c", script, "/dev/stdout"], capture_output=True, text=True, check=True)
    assert piped.stdout == "before\ntext\nafter\n"


def test_a_link_under_a_name_of_ours_is_replaced_itself(tmp_path: Path) -> None:
    """What it leads to is somebody else's, and stays."""
    (tmp_path / "theirs").write_text("kept", encoding="utf-8")
    link = tmp_path / "link"
    for target in ("theirs", "/dev/full"):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        replace_text(link, "text")
        assert not link.is_symlink() and link.read_text(encoding="utf-8") == "text"
    assert (tmp_path / "theirs").read_text(encoding="utf-8") == "kept"


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(tmp_path: Path) -> None:
    """Also one that is not there yet, in its own folder; a ring of links is refused."""
    (tmp_path / "far").mkdir()
    link, ring = tmp_path / "link", tmp_path / "ring"
    link.symlink_to("far/file")
    for text in ("new", "newer"):
        assert replace_text(link, text, named=True) == link
        assert link.is_symlink() and (tmp_path / "far" / "file").read_text(encoding="utf-8") == text
    ring.symlink_to("ring")
    with pytest.raises(OSError, match="symbolic links"):
        replace_text(ring, "text", named=True)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["far", "file", "link", "ring"]


@pytest.mark.parametrize("name", ["", ".", "/", "..", "folder"])
def test_a_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """By whichever name; nothing is written."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_text(Path(name), "text")
    assert list(tmp_path.rglob("*")) == [tmp_path / "folder"]


def test_nobody_can_lay_a_link_under_the_unfinished_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name cannot be foreseen, and were it there, it would not be followed."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: "0" * 8)
    victim, laid = tmp_path / "victim", tmp_path / f".a.{os.getpid()}-00000000.part"
    victim.write_text("kept", encoding="utf-8")
    laid.symlink_to(victim)
    with pytest.raises(FileExistsError):
        replace_text(tmp_path / "a", "text")
    assert (victim.read_text(encoding="utf-8"), laid.is_symlink()) == ("kept", True)


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """That of a process that is still there, of another file and what somebody else named so stays."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    kept = [f".a.{os.getpid()}-12345678.part", f".b.{dead.pid}-12345678.part", ".a.part"]
    for name in [f".a.{dead.pid}-12345678.part", *kept]:
        (tmp_path / name).touch()
    replace_text(tmp_path / "a", "text")
    assert {path.name for path in tmp_path.iterdir()} == {"a", *kept}


def test_a_text_that_is_no_unicode_leaves_nothing_behind(tmp_path: Path) -> None:
    """Half a surrogate pair cannot be written as UTF-8; the earlier file is as it was."""
    replace_text(tmp_path / "a", "old")
    with pytest.raises(UnicodeEncodeError):
        replace_text(tmp_path / "a", "\udc80")
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["old"]
