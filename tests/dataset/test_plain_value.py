"""Values as JSON knows them: what is kept, what is written as text, what is refused."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalflow.dataset.plain_value import plain_entry, plain_value
from evalflow.errors import DataError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
@settings(deadline=None)
def test_what_json_knows_stays(value: Any) -> None:
    """Whatever came out of JSON is given back, and goes into it again."""
    assert plain_value(value) == value
    assert json.loads(json.dumps(plain_value(value), allow_nan=False)) == value


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (datetime.date(1901, 2, 3), "1901-02-03"),
        (datetime.datetime(1901, 2, 3, 4, 5, 6), "1901-02-03T04:05:06"),
        (datetime.datetime(1901, 2, 3, tzinfo=datetime.UTC), "1901-02-03T00:00:00+00:00"),
        (datetime.time(4, 5), "04:05:00"),
        (Decimal("1.50"), "1.50"),
        ((1, ("a",)), [1, ["a"]]),
        (True, True),
    ],
)
def test_what_json_does_not_know_is_written_as_a_text_or_list(value: Any, plain: Any) -> None:
    """Times by ISO 8601, decimals by their digits, tuples as lists; true is not 1."""
    found = plain_value([value])[0]
    assert (type(found), found) == (type(plain), plain)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")])
def test_what_is_not_finite_is_refused_or_null(value: Any) -> None:
    """NaN passes nowhere in silence: null only where that was said, however deep it lies."""
    with pytest.raises(ValueError, match="give a number or null"):
        plain_value({"a": [value]})
    with pytest.raises(ValueError, match="set nan_is_null"):
        plain_value({"a": [value]}, nan_is_null=False)
    assert plain_value({"a": [value]}, nan_is_null=True) == {"a": [None]}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"x", "holds bytes"),
        ([{"a": b"x"}], "holds bytes"),
        (object(), "holds a object"),
        ({1: 2}, "holds a mapping with a key that is no text"),
        (datetime.timedelta(1), "holds a timedelta"),
    ],
)
def test_anything_else_is_refused(value: Any, said: str) -> None:
    """What it is is said, with where and under which key."""
    with pytest.raises(DataError, match=f"^f: row 3: 'k' {said}.*; "):
        plain_entry({"ok": 1, "k": value}, "f: row 3")


def test_what_is_nested_too_deep_is_refused() -> None:
    """Depth ends in a message, not in Python's recursion."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DataError, match="'k' is nested too deep"):
        plain_entry({"k": deep}, "f")
