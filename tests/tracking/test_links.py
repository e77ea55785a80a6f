"""The links in the descriptions of runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from evalflow.tracking.entry import Entry, entries
from evalflow.tracking.links import linked
from evalflow.tracking.note import NOTE_TAG
from evalflow.tracking.sweep_entry import sweep_entry
from tests.tracking.written_run import MakeRun
from tests.tracking.written_sweep import SWEEP_ID, swept_in

IDS = ["g0", "l0", "l1", "l2", "the-report"]
QUERY = "workflowType=machine_learning"


def links_of(entry: Entry) -> dict[str, str]:
    """The links of a description, which stand in its second line."""
    second = entry.tags[NOTE_TAG].splitlines()[1]
    return {name: unquote(address) for name, address in re.findall(r"\[([^\]]+)\]\(([^)\s]+)\)", second)}


def test_a_report_leads_to_its_page_its_charts_and_the_answers(make_run: MakeRun):
    """The page is an artifact of the run itself; charts and answers are of the arms alone."""
    run = replace(make_run("r"), private_page=lambda: "<p>")
    *arms, report = linked(entries(run, private=False, git=None), "7", IDS)
    own = "tags.`evalflow.run_id` = 'r' AND tags.`evalflow.role` = 'arm'"
    assert links_of(report) == {
        "as a page": f"#/experiments/7/runs/the-report/artifacts/report.html?{QUERY}",
        "its arms in charts": f"#/experiments/7/runs?{QUERY}&compareRunsMode=CHART&searchFilter={own}",
        "their answers side by side": f"#/experiments/7/runs?{QUERY}&compareRunsMode=ARTIFACT&searchFilter={own}",
    }
    assert links_of(arms[2]) == {
        "the report of its run": f"#/experiments/7/runs/the-report?{QUERY}",
        "what it answered": f"#/experiments/7/runs/l1/artifacts/items.json?{QUERY}",
    }
    assert report.tags[NOTE_TAG].splitlines()[0] == "**Verdict: fail** (exit code 1): bad fail, p95 unreadable  "


def test_what_is_not_there_is_not_linked(make_run: MakeRun):
    """A private run speaks of items and not of answers; without a page or a table there is no link to one."""
    run = make_run("r")
    *_, report = linked(entries(run, private=True, git=None), "7", IDS)
    assert list(links_of(report)) == ["its arms in charts", "their items side by side"]
    arm = linked(entries(replace(run, rows=[]), private=False, git=None), "7", IDS)[0]
    assert list(links_of(arm)) == ["the report of its run"]


def test_a_sweep_leads_to_the_arms_and_reports_of_its_jobs(tmp_path: Path):
    """Both are found by the sweep's id."""
    sweep = replace(swept_in(tmp_path), page=lambda private: "<p>")
    [entry] = linked([sweep_entry(sweep, private=False, git=None)], "7", ["s"])
    own = f"searchFilter=tags.`evalflow.sweep_id` = '{SWEEP_ID}' AND tags.`evalflow.role`"
    assert links_of(entry) == {
        "as a page": f"#/experiments/7/runs/s/artifacts/sweep.html?{QUERY}",
        "its arms in charts": f"#/experiments/7/runs?{QUERY}&compareRunsMode=CHART&{own} = 'arm'",
        "the reports of its jobs": f"#/experiments/7/runs?{QUERY}&{own} = 'report'",
    }


def test_the_longest_description_has_room_for_its_links(make_run: MakeRun):
    """MLflow cuts a tag at 8,000 characters, and would cut a link or table in two."""
    run = make_run("20261129-100000-abcdef", limits=["x" * 300] * 100)
    ids = [*IDS[:-1], "0123456789abcdef" * 2]
    *_, report = linked(entries(run, private=False, git=None), "0" * 18, ids)
    assert len(report.tags[NOTE_TAG]) < 8000
    assert report.tags[NOTE_TAG].endswith("more lines: see report.json")
