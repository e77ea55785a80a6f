"""Rows of scored texts, written as lines and read back with nothing taken on trust."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from evalflow.columns import Columns
from evalflow.errors import StoredRunError
from evalflow.record import Row, to_json
from evalflow.stored_record import row_from_json
from tests.metric.by_hand import row

NLL = np.array([0.1, np.nan, np.inf, 3.0])
ARGMAX = np.array([3, -1, 0, 58], dtype=np.int32)
FACTS = {"free_run_tokens": 16, "free_run_shared": 0.25, "free_run_parted": None}


def scored() -> Row:
    return row("", columns=Columns.of({"nll": NLL, "argmax": ARGMAX}, FACTS), tokens_in=5, finish_reason="stop")


def with_columns(**changes: Any) -> str:
    """A row's line with parts of its columns replaced."""
    told = json.loads(to_json(scored()))
    return json.dumps({**told, "columns": {**told["columns"], **changes}})


def test_a_scored_row_comes_back_as_it_was() -> None:
    """To the bit, NaN among it, and its facts, of which one is nothing."""
    back = row_from_json(to_json(scored()), "here")
    assert back == scored()
    assert back.columns is not None
    assert (back.columns.n, back.columns.facts) == (4, FACTS)
    assert back.columns["nll"].tobytes() == NLL.tobytes()
    assert back.columns["argmax"].tobytes() == ARGMAX.tobytes()


def test_its_line_is_plain_json() -> None:
    """ASCII, and no NaN outside the packed columns."""
    line = to_json(scored())
    assert line.isascii()
    told = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} in a line"))
    assert set(told["columns"]) == {"n", "packed", "facts"}


def test_a_row_without_columns_has_none() -> None:
    """Also one that was written before there were any."""
    assert row_from_json(to_json(row("x", finish_reason="stop")), "here").columns is None
    older = json.loads(to_json(row("x", finish_reason="stop")))
    del older["columns"]
    assert row_from_json(json.dumps(older), "here").columns is None


def test_a_fact_that_is_not_finite_is_not_written() -> None:
    """As no number of a record is."""
    odd = row("", columns=Columns.of({"nll": NLL}, {"shared": float("nan")}))
    with pytest.raises(ValueError, match="Out of range float values"):
        to_json(odd)


@pytest.mark.parametrize(
    "changes",
    [
        {"n": "4"},
        {"n": True},
        {"n": 4.0},
        {"n": None},
        {"packed": ["<f8:"]},
        {"packed": {"nll": 3}},
        {"packed": None},
        {"facts": {"shared": "half"}},
        {"facts": {"shared": True}},
        {"facts": None},
        {"more": 1},
    ],
)
def test_columns_of_another_shape_are_no_row(changes: dict[str, Any]) -> None:
    """Of another type, or with a part that nobody knows: one line that says where."""
    with pytest.raises(StoredRunError, match=r"^rows\.jsonl:3: not a row of schema 1 \(.*\); restore the file$"):
        row_from_json(with_columns(**changes), "rows.jsonl:3")


@pytest.mark.parametrize("columns", ["<f8:AAAA", 3, [], {}, {"n": 1}])
def test_what_is_no_columns_is_no_row(columns: Any) -> None:
    """Nor is one whose columns lack a part."""
    told = {**json.loads(to_json(scored())), "columns": columns}
    with pytest.raises(StoredRunError, match=r"^here: not a row of schema 1"):
        row_from_json(json.dumps(told), "here")
