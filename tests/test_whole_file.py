"""A file that is there whole or not at all."""

from __future__ import annotations

import os
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
