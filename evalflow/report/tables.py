"""A run's rows, figures, comparisons and gates as flat tables: records, data frames and CSV.

A table is a list of records that share one column order, which the `*_COLUMNS` below document. Undefined is None in a
record, missing in a frame and an empty cell in a file, and the reason stands in its own column.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalflow.errors import OutputError
from evalflow.metric.latency import E2e, Ttft
from evalflow.metric.protocol import Answer
from evalflow.record import Item, Row
from evalflow.whole_file import replace_text

if TYPE_CHECKING:
    import pandas

Record = dict[str, Any]
Kind = Literal["text", "whole", "number", "flag", "names"]
Columns = Mapping[str, Kind]

ROW_COLUMNS: Columns = {
    "arm": "text",
    "seed": "whole",
    "item_id": "text",
    "kind": "text",
    "cluster": "text",
    "prefix_group": "text",
    "status": "text",
    "prompt": "text",
    "target": "text",
    "draft": "text",
    "served": "text",
    "error_kind": "text",
    "error_message": "text",
    "finish_reason": "text",
    "tokens_in": "whole",
    "tokens_out": "whole",
    "cached_tokens": "whole",
    "ttft_s": "number",
    "e2e_s": "number",
    "session": "text",
    "attempts": "whole",
}
"""A record per answer or error; after these, `metric.<key>` is the first statistic of each metric that reads rows."""
FIGURE_COLUMNS: Columns = {
    "arm": "text",
    "breakdown": "text",
    "figure": "text",
    "value": "number",
    "low": "number",
    "high": "number",
    "level": "number",
    "method": "text",
    "unit": "text",
    "n_total": "whole",
    "n_scored": "whole",
    "n_excluded": "whole",
    "n_error": "whole",
    "n_sessions": "whole",
    "reason": "text",
}
"""A record per figure of an arm: over all its rows (`breakdown` is empty), of one kind (`kind=x`), of one `seed=0`."""
COMPARISON_COLUMNS: Columns = {
    "comparison": "text",
    "figure": "text",
    "delta": "number",
    "low": "number",
    "high": "number",
    "level": "number",
    "method": "text",
    "reference_value": "number",
    "candidate_value": "number",
    "bound_low": "number",
    "bound_high": "number",
    "bootstrap_low": "number",
    "bootstrap_high": "number",
    "bca_low": "number",
    "bca_high": "number",
    "p": "number",
    "p_adjusted": "number",
    "p_items": "number",
    "p_mid": "number",
    "test": "text",
    "wins": "whole",
    "losses": "whole",
    "ties": "whole",
    "n_pairs": "whole",
    "n_clusters": "whole",
    "n_sessions": "whole",
    "mde": "number",
    "higher_is_better": "flag",
    "conclusion": "text",
    "words": "text",
    "reason": "text",
    "unpaired": "names",
}
"""A record per comparison and figure: candidate minus reference."""
GATE_COLUMNS: Columns = {
    "gate": "text",
    "outcome": "text",
    "expected": "text",
    "report_only": "flag",
    "figure": "text",
    "arm": "text",
    "comparison": "text",
    "value": "number",
    "bound": "text",
    "threshold": "text",
    "denominator": "whole",
    "reason": "text",
    "on_fail": "text",
    "rows": "names",
    "n_rows": "whole",
    "noise_floor": "number",
}
"""A record per gate; `rows` are those that decided it, worst first."""


def row_records(rows: Sequence[Row], items: Iterable[Item]) -> list[Record]:
    """The scored rows of a run beside the items that they answer.

    Times (s) are measured as the figures `lat/ttft_s` and `lat/e2e_s` are; None where they are not known.
    """
    known = {item.id: item for item in items}
    metrics = _metric_columns(rows)
    return [{**_row(row, known[row.item_id]), **_statistics(row, metrics)} for row in rows]


def row_columns(rows: Sequence[Row]) -> Columns:
    """The columns of `row_records`."""
    return {**ROW_COLUMNS, **dict.fromkeys(_metric_columns(rows), "number")}


def figure_records(report: Mapping[str, Any]) -> list[Record]:
    """Every figure of a report."""
    found = []
    for name, arm in report["arms"].items():
        parts = {"": arm["figures"], **arm["breakdown"], **{f"seed={s}": f for s, f in arm["by_seed"].items()}}
        for breakdown, figures in parts.items():
            for figure, told in figures.items():
                found.append(_record(FIGURE_COLUMNS, told, arm=name, breakdown=breakdown, figure=figure))
    return found


def comparison_records(report: Mapping[str, Any]) -> list[Record]:
    """Every difference of a report."""
    return [
        _record(COMPARISON_COLUMNS, delta, comparison=name, figure=figure)
        for name, deltas in report["comparisons"].items()
        for figure, delta in deltas.items()
    ]


def gate_records(report: Mapping[str, Any]) -> list[Record]:
    """Every gate of a report."""
    return [_record(GATE_COLUMNS, gate, gate=name) for name, gate in report["gates"].items()]


def frame(records: Sequence[Record], columns: Columns) -> pandas.DataFrame:
    """The records as a data frame that has all columns, also where there are no records.

    Numbers are float64 (NaN where undefined) or Int64, texts objects (None where there is none), names lists.
    """
    import pandas

    dtypes = {"whole": "Int64", "number": "float64", "flag": "bool", "text": "object", "names": "object"}
    made = {}
    for column, kind in columns.items():
        values = [record[column] for record in records]
        try:
            made[column] = pandas.Series(values, dtype=dtypes[kind])
        except OverflowError:  # a whole number of any size is one in Python and in JSON
            made[column] = pandas.Series(values, dtype="object")
    return pandas.DataFrame(made)


def csv_text(records: Sequence[Record], columns: Columns) -> str:
    """The records as CSV with a header (RFC 4180), which UTF-8 can hold: half a surrogate pair is written `\\udc80`.

    Texts are as they are: a spreadsheet may take one that begins with `=` for a formula.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)  # rows end in \r\n: a writer with another end leaves a lone \r unquoted
    writer.writerow(columns)
    writer.writerows([_cell(record[column]) for column in columns] for record in records)
    return out.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")


def write_csv(folder: Path, report: Mapping[str, Any], rows: Sequence[Row], items: Iterable[Item]) -> list[Path]:
    """Write rows.csv, figures.csv, comparisons.csv and gates.csv, each there whole or not at all; their paths.

    Raises:
        OutputError: one cannot be written.
    """
    texts = {
        "rows.csv": csv_text(row_records(rows, items), row_columns(rows)),
        "figures.csv": csv_text(figure_records(report), FIGURE_COLUMNS),
        "comparisons.csv": csv_text(comparison_records(report), COMPARISON_COLUMNS),
        "gates.csv": csv_text(gate_records(report), GATE_COLUMNS),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [replace_text(folder / name, text) for name, text in texts.items()]
    except OSError as fault:
        raise OutputError(f"{folder}: cannot be written ({fault.strerror}); give another folder") from None


def _row(row: Row, item: Item) -> Record:
    answer, error = Answer(item, row), row.error
    own = {
        "prompt": item.prompt,
        "target": item.target,
        "error_kind": None if error is None else error.kind,
        "error_message": None if error is None else error.message,
        "ttft_s": _first(Ttft().stats(answer)),
        "e2e_s": _first(E2e().stats(answer)),
    }
    return {column: own[column] if column in own else getattr(row, column) for column in ROW_COLUMNS}


def _statistics(row: Row, columns: Mapping[str, str]) -> Record:
    return {column: _first(row.stats.get(metric)) for column, metric in columns.items()}


def _metric_columns(rows: Sequence[Row]) -> dict[str, str]:
    """`metric.<key>` -> key, of every metric that read a row, in the plan's order."""
    return {f"metric.{key}": key for key in dict.fromkeys(key for row in rows for key in row.stats)}


def _first(stats: tuple[float, ...] | None) -> float | None:
    return stats[0] if stats else None


def _record(columns: Columns, told: Mapping[str, Any], **own: str) -> Record:
    return {column: own[column] if column in own else told[column] for column in columns}


def _cell(value: Any) -> Any:
    """None is an empty cell; a list is JSON, so that any name survives in it."""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value
