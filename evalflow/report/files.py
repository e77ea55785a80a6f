"""A report's files in the run's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalflow.errors import OutputLostError
from evalflow.record import Row
from evalflow.report.build import scores_text, to_text
from evalflow.report.junit import junit
from evalflow.whole_file import replace_text


def write_report(folder: Path, report: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Write report.json, scores.jsonl and junit.xml, replacing those of an earlier scoring.

    Raises:
        OutputLostError: the folder cannot be written.
    """
    texts = {"scores.jsonl": scores_text(list(rows)), "junit.xml": junit(report), "report.json": to_text(report)}
    for name, text in texts.items():
        try:
            replace_text(folder / name, text)
        except OSError as fault:
            raise OutputLostError(
                f"{folder / name}: cannot be written ({fault.strerror}); free it and score again"
            ) from None
