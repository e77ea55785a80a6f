"""A sweep's page in its folder: of this start or not there, never at the cost of the sweep, leading to its jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalflow.report.html import sweep_page as page_module
from evalflow.report.html.sweep_page_file import SWEEP_PAGE, SweepPage
from tests.conftest import Cli
from tests.report.html.reading import read
from tests.report.html.swept import figure, jobs, report, summary

Experiment = Callable[..., list[str]]
ITEMS = [{"id": f"q{i:02}", "input": f"question {i}", "target": "right"} for i in range(6)]
GATES = {"floor": {"figure": "quality/exact", "floor": 0.9}}


def breaks(*given: Any, **named: Any) -> str:
    raise RuntimeError("no page\ntoday")


def in_folder(folder: Path, experiment: str = "four") -> SweepPage:
    """A sweep of two jobs, the page of the first of which lies beside it."""
    told = jobs(seed=["0", "1"])
    for one in told:
        one["folder"] = f"outputs/{experiment}/{one['run_id']}"
    reports = {n: report({"quality/exact": figure(0.5 + n / 10)}) for n in (0, 1)}
    for one in told:
        own = folder / "outputs" / experiment / one["run_id"]
        own.mkdir(parents=True)
        (own / "report.json").write_text(json.dumps(reports[one["job"]]), encoding="utf-8")
    (folder / "outputs" / experiment / told[0]["run_id"] / "report.html").touch()
    sweep = folder / "outputs" / ".sweeps" / "20261130-101112-abcdef"
    sweep.mkdir(parents=True)
    return SweepPage(sweep, summary(told, reports), reports)


def links(page: SweepPage, at: Path) -> list[str]:
    return [link.attributes["href"] for link in read(page.text(at)).one("section", id="jobs").every("a")]


@pytest.mark.parametrize("experiment", ["four", "fünf #1?&%20 \"x\" 'y'", "a b"])
def test_it_leads_to_the_pages_of_its_jobs(tmp_path: Path, experiment: str) -> None:
    """A job whose page is not there has no link; a name of any kind is a part of a path and no more."""
    from urllib.parse import unquote, urljoin, urlsplit

    page = in_folder(tmp_path, experiment)
    assert page.write() is None
    (link,) = links(page, page.folder / SWEEP_PAGE)
    whole = urlsplit(urljoin((page.folder / SWEEP_PAGE).as_uri(), link))
    assert (whole.scheme, whole.query, whole.fragment) == ("file", "", "")
    assert Path(unquote(whole.path)) == tmp_path / "outputs" / experiment / "20261130-101500-aaaaaa" / "report.html"
    assert link.startswith("../../")


def test_from_elsewhere_the_way_is_another_and_in_a_store_there_is_none(tmp_path: Path) -> None:
    """`--to` a file elsewhere leads there all the same; what is logged to a store leads nowhere."""
    page = in_folder(tmp_path)
    assert links(page, tmp_path / "sent" / "page.html") == ["../outputs/four/20261130-101500-aaaaaa/report.html"]
    stored = page.elsewhere(False)
    assert stored is not None
    assert read(stored).one("section", id="jobs").every("a") == []


def test_a_run_outside_the_outputs_has_no_link(tmp_path: Path) -> None:
    """A link may lead out of the folder that is sent around."""
    page = in_folder(tmp_path)
    own = tmp_path / "outputs" / "four" / "20261130-101500-aaaaaa"
    own.rename(tmp_path / own.name)
    own.symlink_to(tmp_path / own.name)
    assert links(page, page.folder / SWEEP_PAGE) == []


def test_a_sweep_leaves_its_page_and_says_where(cli: Cli, home: Path, experiment: Experiment) -> None:
    """Under its folder's line; the page is of this sweep, and leads to both jobs."""
    ran = cli("-m", *experiment(ITEMS, gates=GATES, tracking=None), "seed=0,1")
    assert (ran.code, ran.err) == (0, "")
    (path,) = home.glob("outputs/.sweeps/*/sweep.html")
    lines = ran.out.splitlines()
    assert lines[lines.index(f"Folder: {path.parent.relative_to(home)}") - 1] == f"Page: {path.relative_to(home)}"
    found = read(path.read_text(encoding="utf-8"))
    assert found.one("title").text == f"pass: case sweep {path.parent.name}"
    pages = [link.attributes["href"] for link in found.one("section", id="jobs").every("a")]
    assert len(pages) == 2
    assert all((path.parent / page).resolve().is_file() for page in pages)


def test_a_page_that_cannot_be_made_costs_no_sweep(
    cli: Cli, home: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep ends with its verdict and summary; one line says that the page is missing, and what to do."""
    monkeypatch.setattr(page_module, "rendered", breaks)
    ran = cli("-m", *experiment(ITEMS, gates=GATES, tracking=None), "seed=0,1")
    assert ran.code == 0
    (summary_path,) = home.glob("outputs/.sweeps/*/summary.json")
    assert not (summary_path.parent / SWEEP_PAGE).exists()
    (line,) = ran.faults
    folder = summary_path.parent.relative_to(home)
    assert line == f"evalflow: no page: RuntimeError: no page today; evalflow report {folder} tries again"
    assert "Page:" not in ran.out


def test_a_page_that_fails_leaves_none_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would show another answer; a store gets none."""
    page = in_folder(tmp_path)
    assert page.write() is None
    monkeypatch.setattr(page_module, "rendered", breaks)
    assert page.write() == f"no page: RuntimeError: no page today; evalflow report {page.folder} tries again"
    assert not (page.folder / SWEEP_PAGE).exists()
    assert page.elsewhere(False) is None
