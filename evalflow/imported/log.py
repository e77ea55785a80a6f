"""Which tool wrote a log, and the log itself."""

from __future__ import annotations

import hashlib
import zipfile
from itertools import islice
from pathlib import Path

from evalflow.errors import DataError
from evalflow.imported.inspect_log import head_of, is_inspect, read_inspect
from evalflow.imported.json_text import object_of
from evalflow.imported.lm_eval import is_lm_eval, lm_eval_files, read_lm_eval
from evalflow.imported.sample import Choice, Log
from evalflow.record import digest
from evalflow.text_lines import read_lines

_GIVE = "give samples_*.jsonl of lm-evaluation-harness (--log_samples), or a log of Inspect"


NAMES = ("*.eval", "*.json", "samples_*.jsonl", "*/samples_*.jsonl", "*/results_*.json")
"""What the tools call their files, seen from the folder that is given."""
ANY = Choice()
"""A log that holds one thing."""


def log_files(path: str) -> list[Path]:
    """The files that may have a part in the log at a path, by their names: in a folder and in those within it.

    What else lies there is not looked at, however much it is.
    """
    place = Path(path)
    if not place.is_dir():
        return [place]
    return sorted(found for name in NAMES for found in place.glob(name) if found.is_file())


def open_log(path: str, choice: Choice = ANY) -> Log:
    """The log at a path: a file, or a folder that holds one model's.

    An Inspect log has neither filters nor two texts of an answer.

    Raises:
        DataError: there is none, it is of no known tool, or a folder holds more than one model's.
    """
    place = Path(path)
    if not place.exists():
        raise DataError(f"{place}: there is no such file or folder; {_GIVE}")
    if place.is_dir():
        files = lm_eval_files(place)
        if files:
            return read_lm_eval(files, choice)
        logs = sorted(found for found in place.iterdir() if found.suffix in (".json", ".eval") and found.is_file())
        if len(logs) != 1:
            said = f"it holds {len(logs)} logs of Inspect" if logs else "it holds no log"
            raise DataError(f"{place}: {said}; {'name one of them' if logs else _GIVE}")
        place = logs[0]
    if not place.is_file():
        raise DataError(f"{place}: it is no file but a device or a pipe; {_GIVE}")
    if zipfile.is_zipfile(place):
        return read_inspect(place, choice.task)
    first = next(islice(read_lines(place), 1), None)
    if first is None:
        raise DataError(f"{place}: it is empty; {_GIVE}")
    if place.suffix == ".jsonl":
        head = object_of(first[1], first[0], _GIVE)
        if not is_lm_eval(head):
            raise DataError(f"{first[0]}: no sample of lm-evaluation-harness; {_GIVE}")
        return read_lm_eval([place], choice)
    return _of_content(place, first[1], choice)


def _of_content(place: Path, first: str, choice: Choice) -> Log:
    """A file whose name says nothing: its first line is a sample, or the whole is a log."""
    try:
        if is_lm_eval(object_of(first, "", "")):
            return read_lm_eval([place], choice)
    except DataError:
        pass  # an object that goes on over many lines
    head = head_of(place)
    if is_inspect(head):
        return read_inspect(place, choice.task)
    told = "a table of results, without the answers" if "configs" in head else "of no known tool"
    raise DataError(f"{place}: {told}; {_GIVE}")


def log_digest(log: Log) -> str:
    """SHA-256 over the content of a log's files, in order, whatever they are called."""
    found = []
    for path in log.files:
        try:
            with path.open("rb") as file:
                found.append(hashlib.file_digest(file, "sha256").hexdigest())
        except OSError as fault:
            raise DataError(f"{path}: cannot be read ({fault.strerror}); give a readable file") from None
    return found[0] if len(found) == 1 else digest(found)
