"""Values held against their types, and JSON that is read as strictly as it is written."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from evalflow.record import Completion, Item, Probe, Row, RowError, Times, digest
from evalflow.strict_json import misfit, parse_json, plain


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (Row("r", "s", "one", 0, "a", "ok", "x", "x", gaps=(0.1,), stats={"m": None, "n": (1.0,)}), None),
        (Item("a", "p"), None),
        (Probe("arm", "memory", {"x": 1}), None),
        (Completion("x", "stop", 1, times=Times(sent=1), gaps=[0.1]), None),
        (Completion("x", "length", True), "tokens_in is True"),
        (Completion("x", "tired"), "finish_reason is 'tired'"),
        (Completion("x", None, times=Times(end=math.nan)), "times is Times("),
        (Completion("x", None, gaps=("y",)), "gaps is ('y',)"),
        (Completion("x", None, gaps=0.1), "gaps is 0.1"),
        (Probe("arm", "memory", {"x": "y"}), "values is {'x': 'y'}"),
        (Probe("arm", "memory", {1: 2.0}), "values is {1: 2.0}"),
        (Probe("arm", "memory", {"x": False}), "values is {'x': False}"),
        (Item("a", None), "prompt is None"),
        (Item("a", "p", fields=()), "fields is ()"),
        (RowError("k", b"m"), "message is b'm'"),
    ],
)
def test_a_record_is_held_against_its_types(record: Any, said: str | None):
    """The first field that is not of its annotated type is named with its value, however deep the fault lies."""
    found = misfit(record)
    assert (found is None) == (said is None)
    assert (found or "").startswith(said or "")
    assert len(found or "") < 90


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "1e999", "{", "[" * 100_000, "1" * 5000])
def test_json_that_could_not_be_written_is_not_read(text: str):
    """Numbers that are not finite, and nesting or digits without end, are faults of the text."""
    with pytest.raises(ValueError):
        parse_json(text)
    assert parse_json('{"x": [1, 2.5, null, true]}') == {"x": [1, 2.5, None, True]}


def test_arrays_and_numpy_numbers_are_digested_as_lists_and_numbers():
    """A setting that is an array has the digest of its list; what JSON cannot know is refused."""
    assert digest({"x": np.array([1.0, 2.0]), "y": np.float32(0.5)}) == digest({"x": [1.0, 2.0], "y": 0.5})
    assert plain(MappingProxyType({"a": 1})) == {"a": 1}
    with pytest.raises(TypeError, match="object is nothing that JSON knows"):
        digest({"x": object()})
