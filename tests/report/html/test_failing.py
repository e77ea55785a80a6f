"""Failing rows: which they are, in which order, and that a page holds a bounded part of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.record import Row
from evalflow.report.html.failing import MOST_BYTES, MOST_ROWS, Failing, failing_of
from tests.report.by_hand import ARMS, COMPARISONS, GATES, made


def found(folder: Path, private: bool = False, **parts: Any) -> Failing:
    report, scores = made(folder, **parts)
    return failing_of(report, scores.rows, {item.id: item for item in scores.plan.items}, private)


def keys(told: Failing) -> list[tuple[str, str, str]]:
    return [(row.arm, row.seed, row.item) for row in told.rows]


def test_errors_come_first_then_what_loses(tmp_path: Path):
    """The row in error, then those that a gate or the comparison reads and that are wrong; no row that is right."""
    told = found(tmp_path)
    assert keys(told) == [("base", "0", "d"), ("base", "0", "b"), ("base", "0", "c"), ("new", "1", "c")]
    assert (told.n, told.n_error, told.n_left_out, told.is_read) == (4, 1, 0, True)
    error, wrong = told.rows[:2]
    assert (error.status, error.error, error.lost) == ("error", "ModelError: no answer", ())
    assert [(one.metric, one.point) for one in wrong.lost] == [("exact", "0")]
    assert told.errors == ("base: 1 × ModelError: no answer",)


def test_a_control_that_has_to_fail_is_not_listed(tmp_path: Path):
    """Its gate expects that; where a gate that has to pass reads it, its rows come last, marked."""
    gates = {**GATES, "strict": {"figure": "quality/exact", "arm": "bad", "floor": 0.1}}
    assert "bad" not in found(tmp_path).arms
    told = found(tmp_path, gates=gates)
    assert [row.arm for row in told.rows] == ["base", "base", "base", "new", "bad", "bad", "bad", "bad"]
    assert [row.control for row in told.rows] == 4 * [False] + 4 * [True]
    report, scores = made(tmp_path, gates=gates)
    items = {item.id: item for item in scores.plan.items}
    assert [row.control for row in failing_of(report, scores.rows[::-1], items, False).rows] == 4 * [False] + 4 * [True]


def test_a_gate_reads_the_rows_that_it_names(tmp_path: Path):
    """Of a kind, of a cluster, or of either of two."""
    gate = {"figure": "quality/exact", "arm": "base", "floor": 0.5, "coverage": 0.5}
    parts: dict[str, Any] = {"comparisons": {}}
    assert keys(found(tmp_path, gates={"g": {**gate, "where": {"kind": "x"}}}, **parts))[1:] == [("base", "0", "c")]
    assert keys(found(tmp_path, gates={"g": {**gate, "where": {"cluster": ["w1"]}}}, **parts))[1:] == [
        ("base", "0", "b")
    ]


def test_a_skipped_gate_reads_nothing(tmp_path: Path):
    """Its condition was not met."""
    gates = {"skipped": GATES["alone"], "base": {**GATES["base_floor"], "where": {"kind": "x"}}}
    assert keys(found(tmp_path, gates=gates, comparisons={}))[1:] == [("base", "0", "c")]


def test_where_nothing_reads_quality_every_metric_judges(tmp_path: Path):
    """All arms' wrong rows, those of the control last."""
    told = found(tmp_path, gates={}, comparisons={})
    assert (told.is_read, told.n) == (False, 8)
    assert [row.arm for row in told.rows[-4:]] == 4 * ["bad"]


def test_lower_may_be_better(tmp_path: Path):
    """Of a rate that is better low, a row loses with 1."""
    report, scores = made(tmp_path, gates={}, comparisons={})
    report["asked"]["metrics"]["exact"]["higher_is_better"] = False
    told = failing_of(report, scores.rows, {item.id: item for item in scores.plan.items}, False)
    assert ("new", "0", "a") in keys(told) and ("base", "0", "b") not in keys(told)


def test_what_is_no_rate_loses_to_the_arms_best_row(tmp_path: Path):
    """Of edits over units, the row with the most per unit comes first; a row as good as the best is none of them."""
    report, scores = made(tmp_path, gates={}, comparisons={})
    cer = {"figure": "quality/cer", "grain": "row", "unit": "", "higher_is_better": False, "is_rate": False}
    report["asked"]["metrics"] = {"cer": cer}
    edits = {"a": (1.0, 10.0), "b": (4.0, 10.0), "c": (2.0, 4.0), "d": None}
    rows = [
        replace(row, stats={"cer": edits[row.item_id]}, status="ok", error=None)
        for row in scores.rows
        if row.arm == "base"
    ]
    told = failing_of(report, rows, {item.id: item for item in scores.plan.items}, False)
    assert [(row.item, row.lost[0].point) for row in told.rows] == [("c", "0.500"), ("b", "0.400")]


def test_times_and_probes_fail_no_row(tmp_path: Path):
    """Only quality does: a slow row is in the latency section."""
    report, scores = made(
        tmp_path, said={("base", 0): "rrrr", ("new", 0): "rrrr", ("new", 1): "rrrr", ("bad", 0): "rrrr"}
    )
    rows = [replace(row, stats={**row.stats, "ttft": (9.0,)}) for row in scores.rows]
    assert failing_of(report, rows, {item.id: item for item in scores.plan.items}, False).n == 0


def test_a_row_is_told_with_its_texts_and_reasons(tmp_path: Path):
    """Prompt, target, answer, what was served if another text, and the details, those of a lost metric first."""
    report, scores = made(tmp_path)
    rows = [
        replace(
            row,
            served="shorter",
            finish_reason="length",
            detail={
                "serving": {"kept": [], "fired": {}, "source": None, "gates": ["a", "b"]},
                "exact": {"expected": "right"},
            },
        )
        for row in scores.rows
        if (row.arm, row.item_id) == ("base", "b")
    ]
    (told,) = failing_of(report, rows, {item.id: item for item in scores.plan.items}, False).rows
    texts = [clip and clip.preview for clip in (told.prompt, told.target, told.draft, told.served)]
    assert texts == ["?", "right", "wrong", "shorter"]
    assert told.status == "ok, finished by length"
    assert told.reasons == (("exact", "expected", "right"), ("serving", "gates", "a, b"))


def test_what_is_served_as_it_was_written_is_told_once(tmp_path: Path):
    """And what is not there is not told as empty."""
    error, wrong = found(tmp_path).rows[:2]
    assert (wrong.served, error.draft, error.served) == (None, None, None)


def test_private_rows_have_no_texts(tmp_path: Path):
    """What failed, under what and how is told; no text, reason or message."""
    told = found(tmp_path, private=True)
    assert keys(told) == keys(found(tmp_path))
    for row in told.rows:
        assert (row.prompt, row.target, row.draft, row.served, row.reasons) == (None, None, None, None, ())
    assert (told.rows[0].error, told.errors) == ("ModelError", ("base: 1 × ModelError",))


@pytest.mark.parametrize("text", ["x" * 100_000, "\u202e" * 100_000, "<&" * 50_000, "語" * 100_000])
def test_a_page_holds_a_bounded_part(tmp_path: Path, text: str):
    """However long their texts and however these are written out, what is embedded has a bound; the rest is counted."""
    report, scores = made(tmp_path)
    (row,) = [row for row in scores.rows if (row.arm, row.item_id) == ("base", "b")]
    items = {item.id: replace(item, prompt=text) for item in scores.plan.items}
    rows = 5000 * [replace(row, draft=text, served=text[1:])]
    told = failing_of(report, rows, items, False)
    assert (told.n, told.n_left_out) == (5000, 5000 - len(told.rows))
    assert 10 < len(told.rows) <= MOST_ROWS
    assert sum(one.n_bytes for one in told.rows) <= MOST_BYTES


def test_many_short_rows_are_cut_by_their_number(tmp_path: Path):
    """A thousand are shown, the worst ones: the error is among them although it is the last."""
    report, scores = made(tmp_path)
    (wrong,) = [row for row in scores.rows if (row.arm, row.item_id) == ("base", "b")]
    (error,) = [row for row in scores.rows if row.status == "error"]
    rows: list[Row] = [*(5000 * [wrong]), error]
    told = failing_of(report, rows, {item.id: item for item in scores.plan.items}, False)
    assert (len(told.rows), told.n_left_out, told.rows[0].status) == (MOST_ROWS, 5001 - MOST_ROWS, "error")


def test_the_arms_of_a_comparison_are_read(tmp_path: Path):
    """Both sides of it, and no third arm."""
    assert set(COMPARISONS["new_vs_base"]) == {"reference", "candidate", "figures"} and "bad" in ARMS
    assert set(found(tmp_path, gates={}).arms) == {"base", "new"}
