"""Files that come with evalflow, named `package:NAME` where a path is asked for."""

from __future__ import annotations

from pathlib import Path

PREFIX = "package:"
_FOLDER = Path(__file__).parent / "dataset" / "data"


def resolved(path: str) -> Path:
    """The file or folder that a setting names: `package:NAME` is a shipped one, anything else a path of the user's.

    Raises:
        ValueError: `NAME` leads out of what is shipped.
    """
    if not path.startswith(PREFIX):
        return Path(path)
    name = Path(path.removeprefix(PREFIX))
    if name.is_absolute() or ".." in name.parts:
        raise ValueError(f"path is {path!r}; name a file that evalflow ships, such as {PREFIX}grounded.json")
    return _FOLDER / name
