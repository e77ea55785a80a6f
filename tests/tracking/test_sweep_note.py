"""The description of a sweep's run: what comes first, what it holds, and that it fits."""

from __future__ import annotations

from typing import Any

from evalflow.tracking.note import LONGEST_NOTE
from evalflow.tracking.sweep_note import sweep_note
from tests.tracking.written_sweep import cell, job, line, summary


def note(**changes: Any) -> list[str]:
    return plain(sweep_note(summary(**changes))).splitlines()


def plain(text: str) -> str:
    """Without what keeps MLflow's columns apart."""
    return text.replace("&nbsp;", "")


def test_the_first_line_says_the_verdict_and_counts_the_jobs_worst_first() -> None:
    """The first line has the verdict, the exit code and how many jobs came out in which way."""
    assert note()[0] == "**Verdict: incomplete** (exit code 3): of 4 jobs 1 incomplete, 1 failed, 2 passed"


def test_the_jobs_follow_at_once_worst_first() -> None:
    """The job table has the swept values, verdict, missed gates and why, and begins with what could not complete."""
    assert note()[2:8] == [
        "| job | seed | concurrency | verdict | gates missed | why | run |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| 3 | 1 | 6 | **incomplete** (could not complete) |  | model long: its answer was: zebra | – |",
        "| 1 | 0 | 6 | **fail** | failed: floor; unreadable: p95 |  | 20261129-100001-000001 |",
        "| 0 | 0 | 1 | pass |  |  | 20261129-100000-000000 |",
        "| 2 | 1 | 1 | pass (finished before) |  |  | 20261129-100002-000002 |",
    ]


def test_a_column_without_a_word_is_left_out() -> None:
    """Where every job passed there is no column of missed gates and none of reasons."""
    lines = note(jobs=[job(0, "0", "1"), job(1, "0", "6")], verdict="pass", exit_code=0)
    assert lines[0] == "**Verdict: pass** (exit code 0): of 2 jobs 2 passed"
    assert lines[2] == "| job | seed | concurrency | verdict | run |"


def test_of_many_missed_gates_three_are_named() -> None:
    """Five unreadable gates are three names and a count."""
    gates = {"failed": [], "unreadable": ["a", "b", "c", "d", "e"]}
    assert "unreadable: a, b, c and 2 more" in note(jobs=[job(0, "0", "1", "unreadable", gates=gates)])[4]


def test_the_grid_has_a_column_per_place_and_quality_first() -> None:
    """A mean has its interval and how many jobs it is of, an undefined one its reason, and a remark is kept."""
    lines, lacking, none = note(), "undefined", "(0 of 2 jobs)"
    begins = lines.index("**Over the jobs**") + 2
    assert lines[begins : begins + 6] == [
        "| of | figure | concurrency=1 | concurrency=6 |",
        "| --- | --- | --- | --- |",
        "| long | quality/exact | 0.6667 (1 of 2 jobs) | 1 (2 jobs) no variation |",
        "| long_vs_short | delta quality/exact | -0.1 (2 jobs) | 0 (2 jobs) |",
        "| long | lat/ttft_s/p50 (s) | 0.5 (0.25 to 0.75) (2 jobs) | undefined: taken in 2 sessions (0 of 2 jobs) |",
        f"| long | stability/seed_sd | {lacking}: one seed {none} | {lacking}: the job has no report {none} |",
    ]


def test_many_places_are_lines() -> None:
    """A grid of seven places has a line for each of them instead of a column."""
    cells = [cell(place / 10, str(place)) for place in range(7)]
    lines = note(grid=[line("long", "quality/exact", *cells)])
    begins = lines.index("**Over the jobs**") + 2
    assert lines[begins] == "| of | figure | at | mean over jobs |"
    assert lines[begins + 8] == "| long | quality/exact | concurrency=6 | 0.6 (2 jobs) |"


def test_notes_and_what_was_asked_for_come_last() -> None:
    """Notes that the job table has not follow the grid, and then the overrides with how and when the jobs ran."""
    lines = note()
    begins = lines.index("**Notes**") + 2
    assert lines[begins : begins + 2] == ["- jobs took a part of their dataset", ""]
    asked = "experiment=word_tasks seed=0,1 concurrency=1,6"
    began = "2026-11-29T10:00:00+00:00"
    assert lines[-1] == f"{asked} (one after another, from {began} to 2026-11-29T10:00:08+00:00)"
    assert note(finished=None, parallel=True)[-1] == f"{asked} (side by side, from {began} to an interruption)"


def test_a_hundred_jobs_fit_and_leave_room_for_what_they_measured() -> None:
    """Of too many jobs the worst stay, the rest is counted, and the grid is still there."""
    jobs = [job(n, str(n), "1") for n in range(200)] + [job(200, "200", "1", "fail")]
    text = sweep_note(summary(jobs=jobs))
    assert len(text) <= LONGEST_NOTE
    assert "| 200 | 200 | 1 | **fail** |" in plain(text)
    assert "more lines: see summary.json" in text
    assert "| long | quality/exact | 0.6667" in plain(text)


def test_a_note_too_long_for_a_tag_ends_at_a_line_and_says_so() -> None:
    """A grid of hundreds of lines is cut at a line, within what MLflow keeps of a tag."""
    grid = [line(f"arm{n}", "quality/exact", cell(0.5, "1"), cell(0.5, "6")) for n in range(300)]
    text = sweep_note(summary(grid=grid))
    assert len(text) <= LONGEST_NOTE
    assert text.endswith("more lines: see summary.json")
