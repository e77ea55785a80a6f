"""Records read back from JSON lines, with nothing taken on trust."""

from __future__ import annotations

from typing import Any

from evalflow.columns import Columns
from evalflow.errors import StoredRunError
from evalflow.record import SCHEMA_VERSION, Item, Probe, Row, RowError, Times, Token
from evalflow.strict_json import misfit, parse_json


def row_from_json(line: str, where: str) -> Row:
    """The row written by `to_json`.

    Raises:
        StoredRunError: the schema version is not ours, or a field is unknown, missing or not of its type.
    """
    data = _versioned(line, where)
    try:
        error = data.pop("error")
        times = data.pop("times")
        gaps, chunk_tokens, tokens = data.pop("gaps"), data.pop("chunk_tokens"), data.pop("tokens")
        columns = data.pop("columns", None)
        stats = {name: None if s is None else tuple(s) for name, s in data.pop("stats").items()}
        row = Row(
            **data,
            error=None if error is None else RowError(**error),
            times=Times(**times),
            gaps=None if gaps is None else tuple(gaps),
            chunk_tokens=None if chunk_tokens is None else tuple(chunk_tokens),
            tokens=None if tokens is None else tuple(Token(**token) for token in tokens),
            columns=None if columns is None else Columns(**columns),
            stats=stats,
        )
        _check(row)
        if row.status == "error" and row.error is None:
            raise TypeError("status error without an error")
        if row.draft is None and row.status not in ("error", "unscored"):
            raise TypeError(f"status {row.status} without a draft")
        if row.columns is not None:
            for name in row.columns.packed:
                _ = row.columns[name]  # refused here, where the line is known, if it is damaged
    except (KeyError, TypeError, AttributeError, ValueError) as fault:
        raise StoredRunError(f"{where}: not a row of schema {SCHEMA_VERSION} ({fault}); restore the file") from None
    return row


def probe_from_json(line: str, where: str) -> Probe:
    """The probe written by `to_json`; raises as `row_from_json` does."""
    data = _versioned(line, where)
    try:
        probe = Probe(**data)
        _check(probe)
    except TypeError as fault:
        raise StoredRunError(f"{where}: not a probe of schema {SCHEMA_VERSION} ({fault}); restore the file") from None
    return probe


def item_from_json(line: str, where: str) -> Item:
    """The item written by `to_json`.

    Raises:
        StoredRunError: the line is no item.
    """
    try:
        item = Item(**parse_json(line))
        _check(item)
    except (ValueError, TypeError) as fault:
        raise StoredRunError(f"{where}: not an item ({fault}); restore the file") from None
    return item


def check_schema(version: object, where: str) -> None:
    """Refuse a stored file of a schema version that this evalflow does not read.

    Raises:
        StoredRunError: always, unless `version` is `SCHEMA_VERSION`.
    """
    if type(version) is not int or version != SCHEMA_VERSION:
        raise StoredRunError(
            f"{where}: schema version {version!r} is unknown here (this evalflow reads {SCHEMA_VERSION}); "
            "use the evalflow that wrote it"
        )


def _versioned(line: str, where: str) -> dict[str, Any]:
    try:
        data = parse_json(line)
    except ValueError:
        raise StoredRunError(f"{where}: not JSON; restore the file") from None
    if not isinstance(data, dict):
        raise StoredRunError(f"{where}: not a JSON object; restore the file")
    check_schema(data.get("schema"), where)
    return data


def _check(record: Any) -> None:
    wrong = misfit(record)
    if wrong is not None:
        raise TypeError(wrong)
