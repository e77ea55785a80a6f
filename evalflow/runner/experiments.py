"""The config folders and the experiments in them, read without composing anything."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def shipped_folder() -> Path:
    """The `conf/` that came with this evalflow: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / "conf"
    return packaged if packaged.is_dir() else package.parent / "conf"


def experiments(folders: Iterable[Path]) -> list[tuple[str, str]]:
    """`(name, one line)` of every experiment: the line is the file's first comment after its header."""
    found = []
    for folder in folders:
        for path in sorted((folder / "experiment").glob("*.yaml")):
            lines = path.read_text(encoding="utf-8").splitlines()
            said = [line[1:].strip() for line in lines if line.startswith("#") and "@package" not in line]
            found.append((path.stem, said[0] if said else ""))
    return found
