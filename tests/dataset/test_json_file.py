"""Items from a JSON file: which list is read, and how its faults are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalflow.dataset.json_file import JsonFile
from evalflow.dataset.protocol import collect
from evalflow.record import fingerprints
from tests.dataset.sources import refusal

GOOD = {"id": "a", "input": "x"}


def written(folder: Path, content: str | bytes, **settings: str) -> JsonFile:
    path = folder / "items.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return JsonFile(str(path), **settings)


def test_a_list_under_a_key_is_the_same_dataset(tmp_path: Path) -> None:
    """Other keys beside it, a byte order mark and white space are no content."""
    plain = collect(written(tmp_path, json.dumps([GOOD])))
    text = "\ufeff" + json.dumps({"about": [1], "data": [GOOD]}, indent=4)
    assert fingerprints(collect(written(tmp_path, text, key="data"))) == fingerprints(plain)


@pytest.mark.parametrize(
    ("element", "said"),
    [
        ('["b", "x"]', "a list, not an object"),
        ("null", "a NoneType, not an object"),
        ('{"id": "b", "input": "x", "n": NaN}', "'n' holds nan"),
        ('{"id": "b", "input": "x", "n": [{"m": -Infinity}]}', "'n' holds -inf"),
        ('{"id": "b", "input": "x", "n": 1e999}', "'n' holds inf"),
        ('{"id": "b", "input": "x", "n": ' + "9" * 5000 + "}", "'n' holds inf"),
        ('{"id": "b"}', "the element has no 'input', which the prompt asks for"),
        ('{"id": "a", "input": "y"}', "id 'a' is already on"),
        ('{"id": "b", "input": "x", "target": [1]}', "the target is list"),
    ],
)
@pytest.mark.parametrize("key", [None, "rows"])
def test_a_malformed_element_is_named(tmp_path: Path, element: str, said: str, key: str | None) -> None:
    """By the file and its number in the list, from 1."""
    text = f"[{json.dumps(GOOD)}, {element}]"
    dataset = written(tmp_path, text if key is None else f'{{"rows": {text}}}', key=key)
    message = refusal(dataset)
    assert message.startswith(f"{dataset.path}: element 2: ")
    assert said in message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ":1: not JSON (Expecting value at column 1)"),
        ('[{"id": "a"},\n {"id": }]', ":2: not JSON (Expecting value at column 9)"),
        (f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}", ":2: not JSON (Extra data at column 1)"),
        ("[" * 100_000, ": nested too deep to be read"),
        ('[\n"caf\u00e9"]'.encode("latin-1"), ":2: not UTF-8 ("),
        ("3", ": a int, not a list; write a list of objects"),
        ('{"a": 1, "b": [], "c": []}', ": a dict, not a list; set key to one of b, c"),
        ("[]", ": it has no items; give at least one element"),
    ],
)
def test_a_file_that_is_no_list_is_refused(tmp_path: Path, content: str | bytes, said: str) -> None:
    """With the line where one is to blame, and with the lists that there are."""
    dataset = written(tmp_path, content)
    assert refusal(dataset).startswith(f"{dataset.path}{said}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", ": a list, not an object with a key 'rows'; set key to null"),
        ('{"rows": {"a": 1}}', ": it has no list under 'rows'; name the key of one as key"),
        ('{"row": []}', ": it has no list under 'rows'; name the key of one as key"),
        ('{"rows": []}', ": it has no items; give at least one element"),
    ],
)
def test_a_key_that_names_no_list_is_refused(tmp_path: Path, content: str, said: str) -> None:
    """A key is never guessed, nor ignored."""
    dataset = written(tmp_path, content, key="rows")
    assert refusal(dataset) == f"{dataset.path}{said}"
