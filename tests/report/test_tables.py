"""Tables of a run: every column in its place, and nothing undefined as a number."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import OutputError
from evalflow.record import Delta, Figure, GateResult, Item, Row, RowError, Times
from evalflow.report.tables import (
    COMPARISON_COLUMNS,
    FIGURE_COLUMNS,
    GATE_COLUMNS,
    ROW_COLUMNS,
    comparison_records,
    csv_text,
    figure_records,
    frame,
    gate_records,
    row_columns,
    row_records,
    write_csv,
)
from tests.report.by_hand import made

ITEM = Item("a", "question a", "right", "x", "w1", "p1")
ROW = Row(
    run_id="20261130-100000-abcdef",
    session="s1",
    arm="one",
    seed=3,
    item_id="a",
    status="ok",
    draft="wrong",
    served="right",
    prefix_group="p1",
    cluster="w1",
    kind="x",
    finish_reason="stop",
    tokens_in=5,
    tokens_out=2,
    cached_tokens=0,
    times=Times(scheduled=10.0, sent=10.5, first_token=11.0, end=12.25),
    attempts=2,
    stats={"exact": (1.0,), "wer": (2.0, 7.0), "unfit": None},
)
FAILED = replace(
    ROW,
    item_id="a",
    seed=4,
    status="error",
    draft=None,
    served=None,
    error=RowError("timeout", "no answer in 5 s", 2),
    tokens_in=None,
    tokens_out=None,
    cached_tokens=None,
    stats={"exact": None, "failed": (1.0,)},
)


def parsed(text: str) -> list[dict[str, str]]:
    """CSV as another reader takes it."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_row_stands_beside_its_item() -> None:
    """Its groupings, what was asked and said, its times from the intended send time, each metric's first statistic."""
    told = {
        "arm": "one",
        "seed": 3,
        "item_id": "a",
        "kind": "x",
        "cluster": "w1",
        "prefix_group": "p1",
        "status": "ok",
        "prompt": "question a",
        "target": "right",
        "draft": "wrong",
        "served": "right",
        "error_kind": None,
        "error_message": None,
        "finish_reason": "stop",
        "tokens_in": 5,
        "tokens_out": 2,
        "cached_tokens": 0,
        "ttft_s": 1.0,
        "e2e_s": 2.25,
        "session": "s1",
        "attempts": 2,
        "metric.exact": 1.0,
        "metric.wer": 2.0,
        "metric.unfit": None,
    }
    (record,) = row_records([ROW], [ITEM])
    assert record == told
    assert [*record] == [*told] == [*row_columns([ROW])]


def test_an_error_row_has_its_reason_and_no_number() -> None:
    """No time, no tokens and no statistic stands for an answer that never came; every row has every metric's column."""
    answered, failed = row_records([ROW, FAILED], [ITEM])
    assert [*answered] == [*failed]
    assert (failed["error_kind"], failed["error_message"]) == ("timeout", "no answer in 5 s")
    for column in ("draft", "served", "tokens_in", "cached_tokens", "ttft_s", "e2e_s", "metric.exact", "metric.wer"):
        assert failed[column] is None
    assert (failed["metric.failed"], answered["metric.failed"]) == (1.0, None)


def test_times_that_nobody_knows_are_none() -> None:
    """Nor is a stamp before the start a time."""
    unknown, odd = (replace(ROW, times=times) for times in (Times(), Times(sent=5.0, first_token=4.0, end=6.0)))
    records = row_records([unknown, odd], [ITEM])
    assert [(record["ttft_s"], record["e2e_s"]) for record in records] == [(None, None), (None, 1.0)]


def test_the_columns_are_those_of_the_records_themselves() -> None:
    """Nothing that a figure, a difference or a gate holds is left out of its table unnoticed."""
    figure = Figure(1.0)
    assert {*FIGURE_COLUMNS} - {"arm", "breakdown", "figure"} == {*asdict(figure)} - {"metric_version"}
    assert {*COMPARISON_COLUMNS} - {"comparison", "figure"} == {*asdict(Delta(1.0))}
    gate = GateResult("pass", "pass", "quality/exact", 1.0, "value", ">= 1", 1)
    assert {*GATE_COLUMNS} - {"gate"} == {*asdict(gate)}
    own = {"prompt", "target", "error_kind", "error_message", "ttft_s", "e2e_s"}
    left_out = {"run_id", "error", "tokens_source", "cached_source", "times", "gaps", "seed_sent", "stats", "detail"}
    left_out |= {"chunk_tokens", "tokens", "reasoning_tokens", "columns", "given", "schema"}
    assert {*ROW_COLUMNS} - own == {*asdict(ROW)} - left_out


def test_figures_are_told_whole_by_kind_and_by_seed(tmp_path: Path) -> None:
    """`base` is right on one of its three answers; each seed of `new` has a figure of its own."""
    report, _ = made(tmp_path)
    records = figure_records(report)
    assert all([*record] == [*FIGURE_COLUMNS] for record in records)
    exact = {(r["arm"], r["breakdown"]): r for r in records if r["figure"] == "quality/exact"}
    assert [*exact] == [
        *[("base", part) for part in ("", "kind=x", "kind=y", "seed=0")],
        *[("new", part) for part in ("", "kind=x", "kind=y", "seed=0", "seed=1")],
        *[("bad", part) for part in ("", "kind=x", "kind=y", "seed=0")],
    ]
    whole = exact["base", ""]
    assert (whole["value"], whole["unit"]) == (pytest.approx(1 / 3), "share")
    assert (whole["n_total"], whole["n_scored"], whole["n_error"], whole["reason"]) == (4, 3, 1, None)
    assert (exact["base", "kind=x"]["value"], exact["base", "kind=y"]["value"]) == (0.5, 0.0)
    assert (exact["new", "seed=0"]["value"], exact["new", "seed=1"]["value"]) == (1.0, 0.75)
    undefined = next(r for r in records if r["figure"] == "lat/ttft_s/p95")
    assert undefined["value"] is None and undefined["reason"]


def test_differences_and_gates_are_told_in_order(tmp_path: Path) -> None:
    """A record each, by the names of the report."""
    report, _ = made(tmp_path)
    (delta,) = comparison_records(report)
    assert [*delta] == [*COMPARISON_COLUMNS]
    assert (delta["comparison"], delta["figure"], delta["n_pairs"]) == ("new_vs_base", "quality/exact", 3)
    assert delta["unpaired"] == ["d"]
    gates = gate_records(report)
    assert all([*gate] == [*GATE_COLUMNS] for gate in gates)
    assert [gate["gate"] for gate in gates] == [*report["gates"]]
    told = {gate["gate"]: (gate["outcome"], gate["expected"], gate["report_only"]) for gate in gates}
    assert told["control"] == ("pass", "fail", False)
    assert told["first_token"][1:] == ("pass", True)
    floor = gates[[*told].index("base_floor")]
    assert (floor["outcome"], floor["reason"]) == ("unreadable", "1 of 4 were not scored")


def test_a_frame_keeps_what_is_undefined_apart_from_nothing(tmp_path: Path) -> None:
    """A missing number is NaN, a missing whole number NA, a missing text None; whole numbers stay whole."""
    table = frame(row_records([ROW, FAILED], [ITEM]), row_columns([ROW, FAILED]))
    dtypes = {column: str(table[column].dtype) for column in ("seed", "tokens_in", "ttft_s", "metric.exact", "draft")}
    assert dtypes == {
        "seed": "Int64",
        "tokens_in": "Int64",
        "ttft_s": "float64",
        "metric.exact": "float64",
        "draft": "object",
    }
    assert table["tokens_in"].isna().tolist() == [False, True]
    assert table["metric.exact"].mean() == 1.0
    assert table["draft"].tolist() == ["wrong", None]
    assert table[table.seed == 4]["error_kind"].tolist() == ["timeout"]
    report, _ = made(tmp_path)
    gates = frame(gate_records(report), GATE_COLUMNS)
    assert str(gates["report_only"].dtype) == "bool"
    assert gates[gates.report_only]["gate"].tolist() == ["first_token"]
    assert gates["value"].isna().tolist() == [gate["value"] is None for gate in report["gates"].values()]


@pytest.mark.parametrize("columns", [ROW_COLUMNS, FIGURE_COLUMNS, COMPARISON_COLUMNS, GATE_COLUMNS])
def test_a_table_of_nothing_has_all_its_columns(columns: Any) -> None:
    """So that what reads it need not ask first."""
    table = frame([], columns)
    assert (len(table), [*table.columns]) == (0, [*columns])
    assert csv_text([], columns).splitlines() == [",".join(columns)]


def test_a_number_of_any_size_is_kept() -> None:
    """A model may count more tokens than 64 bits hold: the column then holds Python's own numbers."""
    huge = replace(ROW, tokens_in=10**30)
    table = frame(row_records([huge], [ITEM]), ROW_COLUMNS)
    assert table["tokens_in"].tolist() == [10**30]
    assert parsed(csv_text(row_records([huge], [ITEM]), ROW_COLUMNS))[0]["tokens_in"] == str(10**30)


TEXTS = ["", " ", 'say "no", twice', "a\nb", "a\rb", "a\r\nb", "naïve 試験 🦆", "=1+1", "\t", "a\x00b", "None", "0"]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_survives_a_file(text: str) -> None:
    """Commas, quotes, every kind of line break and any script are read back as they were."""
    row = replace(ROW, draft=text, served=text)
    (read,) = parsed(csv_text(row_records([row], [ITEM]), row_columns([row])))
    assert (read["draft"], read["served"], read["item_id"]) == (text, text, "a")


def test_half_a_surrogate_pair_is_written_as_its_code() -> None:
    """UTF-8 cannot hold it; a frame can."""
    row = replace(ROW, draft="a\udc80b")
    text = csv_text(row_records([row], [ITEM]), row_columns([row]))
    assert parsed(text.encode("utf-8").decode("utf-8"))[0]["draft"] == "a\\udc80b"
    assert frame(row_records([row], [ITEM]), row_columns([row]))["draft"].tolist() == ["a\udc80b"]


def test_undefined_is_an_empty_cell(tmp_path: Path) -> None:
    """Beside it stands the reason; a true zero is a zero, a flag a word, and names are a JSON list."""
    report, _ = made(tmp_path)
    figures = parsed(csv_text(figure_records(report), FIGURE_COLUMNS))
    assert all((figure["value"] == "") == (figure["reason"] != "") for figure in figures)
    bad = next(figure for figure in figures if (figure["arm"], figure["figure"]) == ("bad", "quality/exact"))
    assert (bad["value"], bad["n_scored"]) == ("0.0", "4")
    (delta,) = parsed(csv_text(comparison_records(report), COMPARISON_COLUMNS))
    assert (json.loads(delta["unpaired"]), delta["higher_is_better"]) == (["d"], "true")


def test_the_four_files_are_those_of_the_run(tmp_path: Path) -> None:
    """They replace files of their names, in a folder that is made where there is none."""
    report, scores = made(tmp_path)
    rows, items = scores.rows, scores.plan.items
    folder = tmp_path / "new" / "folder"
    written = write_csv(folder, report, rows, items)
    names = ["rows.csv", "figures.csv", "comparisons.csv", "gates.csv"]
    assert written == [folder / name for name in names]
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    lengths = [len(parsed(path.read_bytes().decode("utf-8"))) for path in written]
    assert lengths == [16, len(figure_records(report)), 1, 6]
    before = [path.read_bytes() for path in written]
    (folder / "gates.csv").write_text("old", encoding="utf-8")
    assert write_csv(folder, report, rows, items) == written
    assert [path.read_bytes() for path in written] == before


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file in its place, or a folder in the place of a table."""
    report, scores = made(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"file: cannot be written \(File exists\); give another folder"):
        write_csv(tmp_path / "file", report, scores.rows, scores.plan.items)
    (tmp_path / "taken" / "gates.csv").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"taken: cannot be written \(Is a directory\); give another folder"):
        write_csv(tmp_path / "taken", report, scores.rows, scores.plan.items)
