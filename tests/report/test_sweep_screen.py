"""A sweep on one screen: its jobs, the figures that decided, and the rest counted."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from evalflow.report.part import BELOW
from evalflow.report.sweep_screen import print_sweep_screen
from tests.report.test_sweep import arm, delta, failed, figure, job, not_run, report, summary


def judged(values: Mapping[str, Any], reads: Sequence[str] = ("quality/exact",), **changes: Any) -> dict[str, Any]:
    """A report of arms with figures, under a gate on every arm for each figure that it reads."""
    arms = {name: arm(figures) for name, figures in values.items()}
    for one in arms.values():
        one["conditions"]["control"] = False
        one["breakdown"] = {}
    gates = {
        name: {
            "figure": name,
            "outcome": "pass",
            "report_only": False,
            "arm": None,
            "comparison": None,
            "value": 0.5,
            "bound": "value",
        }
        for name in reads
    }
    sides = {name: {"reference": "short", "candidate": "long"} for name in changes.get("comparisons", ())}
    asked = {"gates": {name: {"where": {}} for name in gates}, "comparisons": sides}
    return report(arms, gates=gates, asked=asked, **changes)


def printed(told: Mapping[str, Any], reports: Sequence[Any], width: int = 100, height: int = 24) -> list[str]:
    out = io.StringIO()
    print_sweep_screen(told, reports, Console(file=out, width=width, height=height, highlight=False, markup=False))
    lines = out.getvalue().splitlines()
    assert all(cell_len(line) <= width for line in lines)
    return lines


def grid(n_seeds: int = 3, levels: Sequence[str] = ("1", "6")) -> tuple[dict[str, Any], list[Any]]:
    """Jobs over seeds and concurrency, of two arms with four figures, of which three are read."""
    jobs, reports = [], []
    for seed in range(n_seeds):
        for level in levels:
            jobs.append(job(len(jobs), {"seed": str(seed), "concurrency": level}))
            value = 0.5 + seed / 10
            times = {"lat/ttft_s/p50": figure(0.0123 * (1 + seed), unit="s"), "n/coverage": figure(1.0)}
            own = {"quality/exact": figure(value), "mem/bytes": figure(1.0), **times}
            arms = {"short": own, "long": {**own, "quality/exact": figure(value + 0.1)}, "other": own}
            read = ("quality/exact", "lat/ttft_s/p50", "n/coverage")
            gain = {"gain": {"quality/exact": delta(0.1)}}
            reports.append(judged(arms, read, comparisons=gain))
    return summary(jobs, reports), reports


@pytest.mark.parametrize("width", [80, 100, 160])
def test_three_seeds_by_two_levels_fit_a_screen(width: int) -> None:
    """Jobs, figures and deltas on 24 lines with what comes below."""
    lines = printed(*grid(), width=width)
    assert len(lines) + BELOW <= 24  # with what comes below it, the shell's own line too
    assert lines[0] == "four · sweep 20261130-101500-ab12cd · 6 jobs over seed (3), concurrency (2)"
    assert sum(line.split()[0].isdecimal() for line in lines if line) == 6
    assert any(line.startswith("quality/exact") for line in lines)
    assert "mem/bytes" not in "".join(lines)


def test_places_stand_abreast_where_there_is_room() -> None:
    """A column for each level with its interval, and how many jobs a mean is of; arms that are alike share a line."""
    lines = printed(*grid(), width=120, height=40)
    (heads,) = [line for line in lines if "concurrency=1 " in line and "concurrency=6" in line]
    assert heads.startswith("means of 3 jobs")
    (row,) = [line for line in lines if line.startswith("quality/exact") and "long" in line]
    assert row.split()[:3] == ["quality/exact", "long", "0.700"]
    assert row.count("0.700  [0.452, 0.948]") == 2  # 0.7 +/- 4.302653 * 0.1 / sqrt 3
    (whole,) = [line for line in lines if line.startswith("n/coverage")]
    assert whole.split()[:3] == ["n/coverage", "every", "arm"]


def test_places_that_are_alike_share_a_line_where_there_is_none() -> None:
    """On a narrow screen a line per figure and arm; its level is named only where levels differ."""
    jobs = [job(n, {"concurrency": level}) for n, level in enumerate("168")]
    reports = [
        judged(
            {"long": {"quality/exact": figure(0.5), "lat/ttft_s/p50": figure(n + 1.0, unit="s")}},
            ("quality/exact", "lat/ttft_s/p50"),
        )
        for n in range(3)
    ]
    lines = printed(summary(jobs, reports), reports, width=55)
    assert [line.split()[-1] for line in lines if "quality/exact" in line] == ["long"]
    told = " ".join(" ".join(lines).split())
    assert "1.00 s 1 long, concurrency=1" in told and "3.00 s 1 long, concurrency=8" in told


def test_why_a_mean_has_no_value_or_interval_is_told_once() -> None:
    """Undefined in some jobs or all of them, by reason."""
    jobs = [job(n, {"seed": str(n)}) for n in range(3)]
    reports = [
        judged(
            {"long": {"quality/exact": figure(value), "stability/sd": figure(None)}}, ("quality/exact", "stability/sd")
        )
        for value in (0.5, None, 0.7)
    ]
    told = " ".join(" ".join(printed(summary(jobs, reports), reports, height=40)).split())
    assert "undefined in 1 of 3 jobs, one seed: quality/exact of long" in told
    assert "undefined, one seed: stability/sd of long" in told


def test_of_very_many_jobs_the_worst_are_shown_and_the_rest_counted() -> None:
    """A hundred jobs, of which one failed and one could not run: both are there."""
    jobs = [job(n, {"seed": str(n)}) for n in range(98)]
    jobs.append(job(98, {"seed": "98"}, verdict="fail", exit_code=1))
    jobs.append(failed(99, {"seed": "99"}, exit_code=64, said="no such file"))
    reports = [judged({"long": {"quality/exact": figure(0.5)}}) for _ in range(99)]
    lines = printed(summary(jobs, reports), reports)
    assert len(lines) + BELOW <= 24  # with what comes below it, the shell's own line too
    assert any(line.split()[:3] == ["98", "98", "fail"] for line in lines)
    assert any(line.split()[:5] == ["99", "99", "could", "not", "run"] and "no such file" in line for line in lines)
    assert lines[-1].startswith("Left out: ") and lines[-1].endswith(" jobs: on the page")


def test_a_sweep_of_which_nothing_ran_says_so() -> None:
    """No grid; the jobs and the note."""
    lines = printed(summary([not_run(0, {"seed": "0"}), not_run(1, {"seed": "1"})]), [])
    assert sum("not run" in line for line in lines) >= 2
    assert "note: no job has a report" in lines


def test_nothing_in_it_drives_the_terminal() -> None:
    """A swept value, a reason or an arm's name only prints."""
    evil = "x\x1b[2J\u202e\ud800\nSweep: pass (exit code 0)"
    jobs = [failed(0, {"stop": evil}, said=evil), job(1, {"stop": "[red]y[/]"})]
    reports = {1: judged({evil: {"quality/exact": figure(0.5)}})}
    out = printed(summary(jobs, reports), list(reports.values()), width=80)
    assert not set("".join(out)) & set("\x1b\u202e\ud800")
    assert not [line for line in out if line.startswith("Sweep")]
    assert "[red]y[/]" in "".join(out)
