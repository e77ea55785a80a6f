"""Records: what is written comes back, and what is damaged is named."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.dataset.jsonl import Jsonl
from evalflow.errors import DataError, StoredRunError
from evalflow.record import (
    Decoding,
    Delta,
    Figure,
    Item,
    Probe,
    Row,
    RowError,
    Times,
    Token,
    digest,
    fingerprints,
    to_json,
)
from evalflow.stored_record import check_schema, item_from_json, probe_from_json, row_from_json
from evalflow.text_lines import read_lines

HOSTILE = (
    "half pair \ud835 end",
    "nul \x00 inside",
    "emoji \U0001f600 ok",
    'quotes " and \\ and \r\n\t\x1b[31m',
    "separators \u2028\u2029\x85",
    "",
)
FULL = Row(
    run_id="20261129-101112-abcdef",
    session="s1",
    arm="warm",
    seed=3,
    item_id="q1",
    status="truncated",
    draft="cut",
    served="cut",
    prefix_group="page",
    cluster="word",
    kind="on-page",
    error=RowError("TimeoutError", "no answer", 2),
    finish_reason="length",
    tokens_in=12,
    tokens_out=0,
    tokens_source="usage",
    cached_tokens=0,
    cached_source="usage",
    times=Times(scheduled=0.1, sent=0.2, end=1 / 3),
    gaps=(0.01, 1e-9),
    chunk_tokens=(1, 0, 7),
    reasoning_tokens=0,
    tokens=(Token("a", -0.5, 1.25), Token("\ud83d", -1e-9)),
    given={"acc": 0.0, "acc_norm": 1 / 3},
    seed_sent=2**31 - 1,
    attempts=2,
    stats={"exact": (1.0,), "none": None},
    detail={"exact": {"expected": ["a", {"b": None}]}},
)


def test_a_full_row_comes_back_equal():
    """Every field of a row survives the file, tuples and absent statistics included."""
    back = row_from_json(to_json(FULL), "rows.jsonl:1")
    assert back == FULL
    assert isinstance(back.gaps, tuple)
    assert isinstance(back.chunk_tokens, tuple)
    assert back.tokens is not None and isinstance(back.tokens[1], Token)
    assert (back.tokens[1].margin, back.reasoning_tokens) == (None, 0)
    assert back.stats["none"] is None
    assert back.cached_tokens == 0


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_string_survives_as_one_line_of_utf_8(text: str, tmp_path: Path):
    """Lone surrogates, NUL, emoji and line breaks come back from the file as they were, byte for byte."""
    tokens = (Token(text, -1.0),)
    row = replace(FULL, draft=text, served=text, item_id=text, detail={text: {text: text}}, tokens=tokens)
    line = to_json(row)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(line.encode("utf-8", "strict") + b"\n")
    ((where, read),) = read_lines(path)
    back = row_from_json(read, where)
    assert back == row
    assert back.draft == text
    assert to_json(back) == line
    assert json.loads(path.read_bytes().decode("utf-8", "strict"))["draft"] == text


def test_items_and_probes_come_back_equal():
    """An item with nested fields and a probe survive the file too."""
    item = Item("i\ud800", "p {x}", None, "k", "c", "g", {"choices": ["x", "y"], "n": {"z": 1.5}})
    probe = Probe("arm", "memory", {"param_bytes": 12.0})
    assert item_from_json(to_json(item), "items.jsonl:1") == item
    assert probe_from_json(to_json(probe), "probes.jsonl:1") == probe


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(number: float):
    """No NaN and no infinity gets into a file or a digest."""
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json(replace(FULL, times=Times(end=number)))
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json(Probe("arm", "memory", {"x": number}))
    with pytest.raises(ValueError, match="JSON compliant"):
        digest({"x": [number]})


@pytest.mark.parametrize("read", [row_from_json, probe_from_json])
@pytest.mark.parametrize("version", [2, 0, "1", None])
def test_an_unknown_schema_version_is_named(read: Callable[[str, str], object], version: object):
    """A row or probe of another version is refused with its version and its line, whatever else it holds."""
    line = json.dumps({**asdict(FULL), "schema": version, "new": 1})
    with pytest.raises(StoredRunError) as refused:
        read(line, "out/rows.jsonl:7")
    assert str(refused.value).startswith(f"out/rows.jsonl:7: schema version {version!r} is unknown here")
    assert "reads 1" in str(refused.value)


def test_a_line_without_a_version_is_refused():
    """A row that states no version is not taken for one of ours."""
    data = asdict(FULL)
    del data["schema"]
    with pytest.raises(StoredRunError, match="schema version None is unknown"):
        row_from_json(json.dumps(data), "rows.jsonl:1")


def test_our_own_version_is_read():
    """Version 1 passes the check and 2 does not."""
    check_schema(1, "run.json")
    with pytest.raises(StoredRunError, match=r"run\.json: schema version 2"):
        check_schema(2, "run.json")


def _changed(**changes: Any) -> str:
    return json.dumps({**asdict(FULL), **changes})


def _without(name: str) -> str:
    return json.dumps({key: value for key, value in asdict(FULL).items() if key != name})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (to_json(FULL)[:-9], "not JSON"),
        ("[1, 2]", "not a JSON object"),
        ("null", "not a JSON object"),
        (_changed(surprise=1), "not a row of schema 1"),
        (_without("item_id"), "not a row of schema 1"),
        (_without("times"), "not a row of schema 1"),
        (_changed(times={"when": 1.0}), "not a row of schema 1"),
        (_changed(times=None), "not a row of schema 1"),
        (_changed(error={"kind": "x"}), "not a row of schema 1"),
        (_changed(stats=[1.0]), "not a row of schema 1"),
        (_changed(stats={"exact": 1.0}), "not a row of schema 1"),
    ],
)
def test_a_damaged_row_is_named_with_its_line(line: str, said: str):
    """A line that is no row of ours is refused with file, line and what to do."""
    with pytest.raises(StoredRunError) as refused:
        row_from_json(line, "rows.jsonl:12")
    message = str(refused.value)
    assert message.startswith(f"rows.jsonl:12: {said}")
    assert "restore the file" in message
    assert "\n" not in message


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "a"}', '{"id": "a", "prompt": "p", "colour": 1}'])
def test_a_damaged_item_is_named_with_its_line(line: str):
    """A line that is no item is refused with its place."""
    with pytest.raises(StoredRunError, match=r"^items\.jsonl:3: not an item"):
        item_from_json(line, "items.jsonl:3")


@pytest.mark.parametrize("line", ['{"schema": 1}', '{"schema": 1, "arm": "a", "name": "n", "values": {}, "more": 1}'])
def test_a_damaged_probe_is_named_with_its_line(line: str):
    """A line that is no probe is refused with its place."""
    with pytest.raises(StoredRunError, match=r"^probes\.jsonl:3: not a probe of schema 1"):
        probe_from_json(line, "probes.jsonl:3")


def test_lines_keep_their_numbers_over_blank_ones(tmp_path: Path):
    """Blank lines are passed over and still counted; only a line feed ends a line."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n\n   \r\ntwo \xe2\x80\xa8 still two \xc2\x85 and still\r\nthree")
    assert list(read_lines(path)) == [
        (f"{path}:1", "one\n"),
        (f"{path}:4", "two \u2028 still two \x85 and still\r\n"),
        (f"{path}:5", "three"),
    ]


def test_the_line_that_is_not_utf_8_is_the_one_named(tmp_path: Path):
    """The bad byte's own line is named, and the lines before it are still read."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntwo\nth\xffree\nfour\n")
    lines = read_lines(path)
    assert [next(lines)[1], next(lines)[1]] == ["one\n", "two\n"]
    with pytest.raises(DataError) as refused:
        next(lines)
    assert str(refused.value).startswith(f"{path}:3: not UTF-8")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    """A missing file and a folder are refused by their path."""
    for path in (tmp_path / "absent.jsonl", tmp_path):
        with pytest.raises(DataError) as refused:
            list(read_lines(path))
        assert str(refused.value).startswith(f"{path}: cannot be read")


def test_the_digest_is_sha_256_of_canonical_json():
    """The digest is that of the sorted, spaceless, ASCII text, which anyone can write by hand."""
    # printf '{"a":1}' | sha256sum
    assert digest({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    by_hand = rb'{"a":[1,2.5,null,true],"b":{"c":"\u00e9\ud835"}}'
    value = {"b": {"c": "é\ud835"}, "a": (1, 2.5, None, True)}
    assert digest(value) == hashlib.sha256(by_hand).hexdigest()


def test_the_digest_tells_apart_what_differs():
    """Order of a list and type of a number count; order of keys does not."""
    assert digest([1, 2]) != digest([2, 1])
    assert digest(1) != digest("1")
    assert digest({"x": 1, "y": 2}) == digest({"y": 2, "x": 1})


def _items(folder: Path, rows: Sequence[Mapping[str, Any]]) -> tuple[Item, ...]:
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return Jsonl(str(path), prompt="{q}").items()


def test_fingerprints_of_the_published_case(tmp_path: Path):
    """A list column counts, key order does not, and item order counts in the ordered one alone (case hc10)."""
    a = _items(tmp_path, [{"q": "a", "choices": ["x", "y"]}, {"q": "b", "choices": ["u", "v"]}])
    b = _items(tmp_path, [{"q": "a", "choices": ["x", "y"]}, {"q": "b", "choices": ["u", "w"]}])
    c = _items(tmp_path, [{"choices": ["x", "y"], "q": "a"}, {"choices": ["u", "v"], "q": "b"}])
    d = _items(tmp_path, [{"q": "b", "choices": ["u", "v"]}, {"q": "a", "choices": ["x", "y"]}])
    fp = {name: fingerprints(items) for name, items in {"a": a, "b": b, "c": c, "d": d}.items()}
    assert fp["a"]["content_fp"] != fp["b"]["content_fp"]
    assert fp["a"] == fp["c"]
    assert fp["a"]["content_fp"] == fp["d"]["content_fp"]
    assert fp["a"]["ordered_fp"] != fp["d"]["ordered_fp"]
    assert [item.id for item in a] == [item.id for item in c] == [item.id for item in d][::-1]


def test_every_row_of_a_long_dataset_counts(tmp_path: Path):
    """The last of 10,001 rows changes the content and the order, as the first does (case hc10)."""
    rows = [{"q": f"q{i}"} for i in range(10_001)]
    whole = fingerprints(_items(tmp_path, rows))
    last = fingerprints(_items(tmp_path, [*rows[:-1], {"q": "changed"}]))
    assert whole["content_fp"] != last["content_fp"]
    assert whole["ordered_fp"] != last["ordered_fp"]
    assert whole["request_fp"] != last["request_fp"]


def test_a_template_moves_the_requests_alone():
    """Another prompt over the same content changes `request_fp` and leaves the content as it was."""
    plain = [Item("a", "q?", "t"), Item("b", "r?", "t")]
    asked = [replace(item, prompt=f"Please: {item.prompt}") for item in plain]
    before, after = fingerprints(plain), fingerprints(asked)
    assert before["request_fp"] != after["request_fp"]
    assert before["content_fp"] == after["content_fp"]
    assert before["ordered_fp"] == after["ordered_fp"]


@pytest.mark.parametrize("change", [{"target": "u"}, {"kind": "k"}, {"cluster": "c"}, {"prefix_group": "g"}])
def test_every_part_of_an_item_is_content(change: Mapping[str, str]):
    """A moved target, kind, cluster or prefix group is another dataset."""
    item = Item("a", "q?", "t")
    changed = replace(item, **change)
    assert fingerprints([item])["content_fp"] != fingerprints([changed])["content_fp"]


@pytest.mark.parametrize("kind", [Figure, Delta])
def test_undefined_has_a_reason_and_only_it(kind: Callable[..., Any]):
    """A figure or delta is a number or a reason, never both and never neither."""
    assert kind(0.0).reason is None
    assert kind(None, reason="empty").reason == "empty"
    with pytest.raises(AssertionError, match="undefined needs a reason"):
        kind(None)
    with pytest.raises(AssertionError, match="undefined needs a reason"):
        kind(0.0, reason="empty")


def test_what_has_no_cluster_depends_on_itself_alone():
    """An item or row without a cluster is its own, even where its id is a cluster's name."""
    assert Item("w", "p").dependence not in ("w", Item("a", "p").dependence)
    assert Item("a", "p", cluster="w").dependence == "w"
    assert replace(FULL, cluster="").dependence == Item("q1", "p").dependence
    assert FULL.dependence == "word"
    assert FULL.key == ("warm", 3, "q1")


@pytest.mark.parametrize(
    "bad",
    [
        {"temperature": -0.1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_p": math.nan},
        {"max_tokens": 0},
    ],
)
def test_decoding_out_of_range_is_refused(bad: Mapping[str, Any]):
    """A decoding that no model could follow is refused by the name of its setting."""
    (name,) = bad
    with pytest.raises(ValueError, match=f"^{name} is .*; give"):
        Decoding(**bad)


def test_temperature_zero_is_greedy():
    """Greedy is temperature 0 and nothing else."""
    assert Decoding().greedy
    assert not Decoding(temperature=1e-9).greedy
