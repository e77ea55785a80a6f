"""The page of a sweep: in the order in which a reader asks, and whatever a name or a reason holds is text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from evalflow.report.html.sweep_page import MOST_JOBS, MOST_TROUBLES, curve_sets, sweep_page
from tests.report.html.reading import Element, lines_of, read
from tests.report.html.swept import figure, job, jobs, report, steps, summary
from tests.report.html.test_hostile import HOSTILE, shape


def page(
    told: Mapping[str, Any], reports: Mapping[int, Any], links: Mapping[int, str] | None = None, **more: Any
) -> str:
    return sweep_page(told, reports, curve_sets(told, reports), links or {}, **more)


def four(**broken: Any) -> tuple[list[dict[str, Any]], dict[int, Any]]:
    """Two seeds by two levels; the last job could not run."""
    told = jobs(concurrency=["1", "6"], seed=["0", "1"])
    told[3].update(state="failed", verdict=None, exit_code=64, run_id=None, folder=None, said="no such\nfile", **broken)
    one = {"quality/exact": figure(0.5, 0.1), "tps/system": figure(9.0, unit="tokens/s")}
    gates = {"floor": {"figure": "quality/exact", "outcome": "fail", "report_only": False}}
    told[1].update(verdict="fail", exit_code=1)
    return told, {0: report(one), 1: report(one, gates=gates), 2: report(one)}


def test_the_verdict_comes_first_with_what_kept_jobs_from_passing() -> None:
    """The worst first, each with its jobs; then curves, the grid, every job."""
    told, reports = four()
    found = read(page(summary(told, reports), reports))
    assert found.one("h1").text == "… Incomplete exit code 64"
    header = found.one("header")
    assert "Of 4 jobs: 1 could not run, 1 fail, 2 pass" in header.text
    reasons = [line.text for line in found.one("ul", kind="reasons").every("li")]
    assert reasons == [
        "could not run no such file job 3 (concurrency=6 seed=1)",
        "fail failed: floor job 1 (concurrency=1 seed=1)",
    ]
    sections = [section.attributes["id"] for section in found.every("section")]
    assert sections == ["curves", "grid", "jobs", "limits"]
    assert [link.attributes["href"] for link in found.one("nav").every("a")] == [f"#{name}" for name in sections]
    facts = found.one("dl", kind="facts").text
    assert "took 1 min 0 s" in facts and "concurrency 1, 6" in facts and "jobs 4, one after another" in facts


def test_every_job_is_there_and_leads_to_its_page() -> None:
    """Where its page lies; one that has none is a number."""
    told, reports = four()
    found = read(page(summary(told, reports), reports, {0: "../../four/a%20b/report.html"}))
    table = found.one("section", id="jobs").one("table")
    assert lines_of(table)["3"] == ["6", "1", "… could not run", "64", "no such file", "2.0 s", ""]
    (link,) = table.every("a")
    assert (link.text, link.attributes["href"]) == ("0", "../../four/a%20b/report.html")


def test_jobs_for_one_reason_are_told_together() -> None:
    """Of sixty that miss one gate, eight are named and the rest counted."""
    gates = {"floor": {"figure": "quality/exact", "outcome": "fail", "report_only": False}}
    told = [{**one, "verdict": "fail", "exit_code": 1} for one in jobs(seed=[str(n) for n in range(60)])]
    reports = {n: report({"quality/exact": figure(0.5)}, gates=gates) for n in range(60)}
    found = read(page(summary(told, reports), reports))
    (line,) = found.one("ul", kind="reasons").every("li")
    assert line.text.startswith("fail failed: floor job 0 (seed=0); job 1 (seed=1);")
    assert line.text.endswith("job 7 (seed=7) and 52 more")
    assert "All 60 jobs: fail" in found.one("header").text
    assert len(found.one("section", id="jobs").every("tr")) == 61


def test_reasons_and_jobs_that_are_too_many_are_counted() -> None:
    """The head of the page stays short, and so does the page."""
    told = [
        job(n, {"seed": str(n)}, state="failed", verdict=None, exit_code=64, said=f"reason {n}")
        for n in range(MOST_JOBS + 5)
    ]
    found = read(page(summary(told, {}), {}))
    lines = found.one("ul", kind="reasons").every("li")
    assert len(lines) == MOST_TROUBLES + 1
    assert lines[-1].text == f"{MOST_JOBS + 5 - MOST_TROUBLES} more reasons"
    assert "5 more jobs are in summary.json" in found.one("section", id="jobs").text
    assert [section.attributes["id"] for section in found.every("section")] == ["jobs", "notes"]


def test_an_interrupted_sweep_says_so() -> None:
    """Its jobs that were not run are told as such."""
    told = jobs(seed=["0", "1"])
    told[1].update(state="not run", verdict=None, exit_code=None, run_id=None, folder=None, seconds=None)
    reports = {0: report({"quality/exact": figure(0.5)})}
    found = read(page(summary(told, reports, finished=None, interrupted=True), reports))
    assert "ended interrupted" in found.one("dl", kind="facts").text
    assert "Of 2 jobs: 1 pass, 1 not run" in found.one("header").text
    assert "not run: 1 of 2 jobs" in found.one("section", id="notes").text


def test_a_curve_over_steps_says_what_picking_does() -> None:
    """The ring is explained where there is one, and the page of another sweep does not mention it."""
    told, reports = steps({"150": 0.25, "1500": 0.75})
    text = read(page(summary(told, reports), reports)).one("section", id="curves").text
    assert "Over step" in text
    assert "long: best at step 1,500, 0.750 [0.650, 0.850], picked from 2" in text
    assert "looks better than it is, and its interval is optimistic" in text
    told, reports = four()
    assert "optimistic" not in page(summary(told, reports), reports)


def test_a_figure_that_no_job_can_read_is_named() -> None:
    """A driver that was saturated throughout: no plot, the reason, and no word on how to read one."""
    told = jobs(concurrency=["1", "2"])
    reports = {n: report({"tps/system": figure(None, unit="tokens/s")}) for n in (0, 1)}
    curves = read(page(summary(told, reports), reports)).one("section", id="curves")
    assert "tps/system is not drawn: the driver was saturated" in curves.text
    assert curves.every("svg") == [] and "The line joins" not in curves.text


def test_a_report_that_is_gone_or_was_scored_again_is_told() -> None:
    """The grid stays the sweep's."""
    told, reports = four()
    whole = summary(told, reports)
    gone = read(page(whole, {0: reports[0]})).one("section", id="notes").text
    assert "the reports of these jobs cannot be read any more: 1, 2" in gone
    again = {**reports, 0: report({"quality/exact": figure(0.9)})}
    assert "another grid now than when the sweep ended" in read(page(whole, again)).one("section", id="notes").text


def test_private_it_has_nothing_that_a_job_said() -> None:
    """An error may quote an answer; gates, figures and verdicts stay."""
    told, reports = four()
    text = page(summary(told, reports), reports, private=True)
    assert "no such" not in text and "Private copy" in text
    assert "failed: floor" in text


@pytest.mark.parametrize("text", HOSTILE)
def test_names_and_reasons_are_text(text: str) -> None:
    """A page with it has the same elements as one with harmless ones."""

    def named(said: str) -> Element:
        told = jobs(**{f"{said}axis": ["1", "2"], "seed": ["0", "1"], f"{said}word": [said]})
        told[3].update(state="failed", verdict=None, exit_code=64, run_id=None, folder=None, said=said)
        gates = {said: {"figure": f"quality/{said}", "outcome": "fail", "report_only": False}}
        told[2].update(verdict="fail", exit_code=1)
        one = {f"quality/{said}": figure(0.5, 0.1), "lat/ttft_s/p50": figure(None, reason=said, unit="s")}
        more: dict[str, Any] = {"experiment": said, "limits": [said]}
        reports = {
            0: report(one, said, **more),
            1: report(one, said, **more),
            2: report(one, said, gates=gates, **more),
        }
        return read(page(summary(told, reports), reports))

    assert shape(named(text)) == shape(named("x"))


def test_the_same_sweep_gives_the_same_page() -> None:
    """Byte for byte, and nothing in it is loaded from elsewhere."""
    told, reports = four()
    made = page(summary(told, reports), reports)
    assert made == page(summary(told, reports), reports)
    assert "default-src 'none'" in made and "http://" not in made.replace("http://www.w3.org", "")
