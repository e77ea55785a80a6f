"""The page in a sweep's folder, which leads to its jobs' own. It has no part in the answer: it may fail alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from evalflow.report.html.page_file import PAGE, in_words
from evalflow.report.sweep import failures
from evalflow.report.sweep_reports import job_folder
from evalflow.whole_file import replace_text
from evalflow.withheld import private_sweep

if TYPE_CHECKING:
    from evalflow.report.html.sweep_page import CurveSet

SWEEP_PAGE = "sweep.html"


@dataclass(frozen=True)
class SweepPage:
    """The page of the sweep in `folder`, by its summary and its jobs' reports; its plots are drawn once."""

    folder: Path
    summary: Mapping[str, Any]
    reports: Mapping[int, Mapping[str, Any]]

    def write(self) -> str | None:
        """Write sweep.html beside summary.json; why it is not there, in a line, where it cannot be made or written."""
        path = self.folder / SWEEP_PAGE
        try:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)  # one of an earlier start would show another answer
            replace_text(path, self.text(path))
        except Exception as fault:  # noqa: BLE001 - whatever it is, the verdict stands
            return f"no page: {in_words(fault)}; evalflow report {self.folder} tries again"
        return None

    def text(self, path: Path, private: bool = False) -> str:
        """The page as it is to lie at `path`, from where it leads to the pages of its jobs."""
        return self._page(self._links(path), private)

    def elsewhere(self, private: bool) -> str | None:
        """The page for a place without the jobs' own beside it; None where it cannot be made."""
        try:
            return self._page({}, private)
        except Exception:  # noqa: BLE001 - the page in the folder has told of it, and what else is logged goes on
            return None

    def _page(self, links: Mapping[int, str], private: bool) -> str:
        from evalflow.report.html.sweep_page import sweep_page

        told = self._withheld if private else self
        return sweep_page(told.summary, told.reports, told._curves, links, private)

    @cached_property
    def _withheld(self) -> SweepPage:
        """The same without the texts that were swept, and without notes that repeat what a job said."""
        said = set(failures(self.summary["jobs"]))
        notes = [note for note in self.summary["notes"] if note not in said]
        return replace(self, summary={**private_sweep(self.summary), "notes": notes})

    @cached_property
    def _curves(self) -> list[CurveSet]:
        from evalflow.report.html.sweep_page import curve_sets

        return curve_sets(self.summary, self.reports)

    def _links(self, path: Path) -> dict[int, str]:
        """Job -> the way to its page, where that lies under the outputs of the sweep."""
        outputs, found = self.folder.resolve().parent.parent, {}
        for job in self.summary["jobs"]:
            folder = job_folder(job, self.folder)
            page = None if folder is None else folder.resolve() / PAGE
            if page is not None and page.is_relative_to(outputs) and page.is_file():
                way = os.path.relpath(page, path.resolve().parent)
                found[job["job"]] = quote(os.fsencode(way.replace(os.sep, "/")))
        return found
