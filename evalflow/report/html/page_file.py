"""The page in the run's folder. It shows what a run has answered and has no part in the answer: it may fail alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalflow.record import Item, Row
from evalflow.whole_file import replace_text

PAGE = "report.html"


def write_page(folder: Path, report: Mapping[str, Any], rows: Sequence[Row], items: Iterable[Item]) -> str | None:
    """Write report.html beside report.json; why it is not there, in a line, where it cannot be made or written."""
    path = folder / PAGE
    try:
        # imported here: what a page is made with may be what is broken, and a run that is not told needs none of it
        from evalflow.report.html.page import page
        from evalflow.report.review import reviewed

        replace_text(path, page(report, rows, items, review=reviewed(folder)))
    except Exception as fault:  # noqa: BLE001 - whatever it is, the verdict stands
        return f"no page: {in_words(fault)}; evalflow report {folder} tries again"
    return None


def private_page(report: Mapping[str, Any], rows: Sequence[Row], items: Iterable[Item]) -> str | None:
    """The page without anybody's texts; None where it cannot be made, which the run's own page has told of."""
    try:
        from evalflow.report.html.page import page

        return page(report, rows, items, private=True)
    except Exception:  # noqa: BLE001 - whatever it is, what else is logged goes on
        return None


def drop_page(folder: Path) -> None:
    """Remove the page before what it shows is written anew: one of an earlier scoring would show another answer."""
    with contextlib.suppress(OSError):
        (folder / PAGE).unlink(missing_ok=True)


def in_words(fault: Exception) -> str:
    """Why a page is not there."""
    if isinstance(fault, OSError) and fault.strerror:
        return f"it cannot be written ({fault.strerror})"
    return f"{type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
