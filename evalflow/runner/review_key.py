"""The keys of a run's sheets: what is behind each ticket. They stay in the run's folder; raters get the sheet alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalflow.errors import OutputError
from evalflow.ratings import KEYS
from evalflow.runner.review_sheet import Kind, LeftOut, Sheet, Ticket
from evalflow.stored_file import check_fields, object_of, unusable
from evalflow.stored_record import check_schema
from evalflow.whole_file import as_json, replace_text

KEY_SCHEMA_VERSION = 1
_KEY: Mapping[str, Any] = {
    "sheet": str,
    "run_id": str,
    "kind": Kind,
    "scale": tuple[int, ...] | None,
    "arms": tuple[str, ...],
    "seed": int,
    "question": str,
    "item_ids": tuple[str, ...],
    "tickets": tuple[Mapping[str, Any], ...],
    "identical": tuple[Mapping[str, Any], ...],
    "left_out": tuple[Mapping[str, Any], ...],
}
_PLAIN = ("sheet", "run_id", "kind", "scale", "arms", "seed", "question", "item_ids")
_TICKET = {"ticket": str, "item_id": str, "answers": tuple[tuple[str | int, ...], ...]}
_IDENTICAL = {"item_id": str, "answers": tuple[tuple[str | int, ...], ...]}
_LEFT_OUT = {"item_id": str, "arm": str, "seed": int, "why": str}


def write_key(folder: Path, sheet: Sheet) -> Path:
    """Write a sheet's key into its run's folder; one that is there is the same.

    Raises:
        OutputError: it cannot be written.
    """
    told = {
        "schema_version": KEY_SCHEMA_VERSION,
        **{name: getattr(sheet, name) for name in _PLAIN},
        "tickets": [vars(ticket) for ticket in sheet.tickets],
        "identical": [{"item_id": item_id, "answers": answers} for item_id, *answers in sheet.identical],
        "left_out": [vars(one) for one in sheet.left_out],
    }
    path = folder / KEYS / f"{sheet.sheet}.json"
    try:
        path.parent.mkdir(exist_ok=True)
        return replace_text(path, as_json(told))
    except OSError as fault:
        raise OutputError(f"{path}: cannot be written ({fault.strerror}); make the run's folder writable") from None


def read_keys(folder: Path, run_id: str) -> dict[str, Sheet]:
    """Every sheet that was made of a run, by its id.

    Raises:
        StoredRunError: a key is damaged, or another run's.
    """
    sheets = [_read(path, run_id) for path in sorted((folder / KEYS).glob("*.json"))]
    return {sheet.sheet: sheet for sheet in sheets}


def _read(path: Path, run_id: str) -> Sheet:
    told = object_of(path)
    check_schema(told.get("schema_version"), str(path))
    check_fields(told, _KEY, path)
    for name, wanted in (("tickets", _TICKET), ("identical", _IDENTICAL), ("left_out", _LEFT_OUT)):
        for one in told[name]:
            check_fields(one, wanted, path)
    if told["run_id"] != run_id or told["sheet"] != path.stem:
        raise unusable(path, f"it is the key of sheet {told['sheet']!r:.60} of run {told['run_id']!r:.60}")
    try:
        return Sheet(
            sheet=told["sheet"],
            run_id=run_id,
            kind=told["kind"],
            scale=None if told["scale"] is None else (told["scale"][0], told["scale"][1]),
            arms=tuple(told["arms"]),
            seed=told["seed"],
            item_ids=tuple(told["item_ids"]),
            tickets=tuple(_ticket(one) for one in told["tickets"]),
            identical=tuple((one["item_id"], _answers(one)[0], _answers(one)[1]) for one in told["identical"]),
            left_out=tuple(LeftOut(**one) for one in told["left_out"]),
            question=told["question"],
        )
    except (IndexError, ValueError, TypeError) as fault:
        raise unusable(path, f"not what this evalflow wrote ({fault})") from None


def _ticket(told: Mapping[str, Any]) -> Ticket:
    """What is behind a ticket; a key that was written before texts were noted has none."""
    return Ticket(told["ticket"], told["item_id"], _answers(told), tuple(map(str, told.get("texts", ()))))


def _answers(told: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    return tuple((str(arm), int(seed)) for arm, seed in told["answers"])
