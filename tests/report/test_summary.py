"""A run's load in one line of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalflow.report.summary import summary_lines
from tests.conftest import Cli, Lab
from tests.report.by_hand import RUN_ID, made

KEYS = [
    *("arm", "n", "incomplete", "ttft_p50", "ttft_p95", "itl_p50", "itl_p95", "e2e_p50", "e2e_p95", "rps"),
    *("tokens_per_s", "cpu_ms_per_req", "connections", "verdict", "run"),
]


def figure(value: float | None, n: int = 4) -> dict[str, Any]:
    return {"value": value, "n_total": n, "n_scored": n, "reason": None if value is not None else "nothing scored"}


def report_of(figures: dict[str, Any], errors: dict[str, Any], **arm: Any) -> dict[str, Any]:
    """As much of a report as the summary reads: one arm."""
    one = {"figures": {"n/error_share": errors, **figures}, "driver": {}, "facts": {}, **arm}
    return {"arms": {"load": one}, "verdict": "pass", "run_id": "r"}


def line(figures: dict[str, Any], errors: dict[str, Any] | None = None, **arm: Any) -> dict[str, Any]:
    (told,) = summary_lines(report_of(figures, errors or figure(0.0), **arm))
    return dict(json.loads(told))


def test_times_are_milliseconds() -> None:
    """0.0525 s to the first token are 52.5, 4 ms a token are 4; each under its own name."""
    seconds = {
        "lat/ttft_s/p50": figure(0.0525),
        "lat/ttft_s/p95": figure(0.11),
        "lat/tpot_s/p50": figure(0.004),
        "lat/tpot_s/p95": figure(0.00412345678),
        "lat/e2e_s/p50": figure(1.5),
        "lat/e2e_s/p95": figure(2.25),
    }
    told = line(seconds)
    assert list(told) == KEYS
    assert [told[key] for key in KEYS[3:9]] == [52.5, 110.0, 4.0, 4.1235, 1500.0, 2250.0]


def test_rates_and_costs_are_as_they_are() -> None:
    """Requests and tokens per second, the driver's own CPU (ms a request), and connections: no factor."""
    rates = {"tps/requests": figure(12.5), "tps/system": figure(200.0)}
    told = line(rates, driver={"cpu_ms_per_request": 1.25}, facts={"connections_opened": 6})
    assert [told[key] for key in ("rps", "tokens_per_s", "cpu_ms_per_req", "connections")] == [12.5, 200.0, 1.25, 6]


def test_what_was_not_measured_is_null() -> None:
    """A metric that is not part of the run, and one that has no value: neither is 0."""
    told = line({"lat/ttft_s/p50": figure(None), "tps/requests": figure(None)})
    assert (told["n"], told["incomplete"]) == (4, 0)
    assert {key for key, value in told.items() if value is None} == set(KEYS[3:13])


def test_a_measured_zero_is_zero() -> None:
    """Undefined and 0 are told apart in both directions."""
    told = line({"tps/requests": figure(0.0), "lat/ttft_s/p50": figure(0.0)}, driver={"cpu_ms_per_request": 0.0})
    assert [told[key] for key in ("rps", "ttft_p50", "cpu_ms_per_req")] == [0.0, 0.0, 0.0]


def test_what_has_no_answer_is_incomplete_whether_it_failed_or_is_missing() -> None:
    """Of 10 planned 8 are there and a quarter of those failed: 2 missing and 2 failed make 4."""
    assert line({}, {"value": 0.25, "n_total": 10, "n_scored": 8})["incomplete"] == 4
    assert line({}, {"value": None, "n_total": 10, "n_scored": 0})["incomplete"] == 10


def test_a_line_per_arm_in_the_runs_order(tmp_path: Path) -> None:
    """Of a report built by hand: an error of base's 4 rows, none of new's 8; the scripted model told no times."""
    report, _ = made(tmp_path)
    told = [json.loads(one) for one in summary_lines(report)]
    assert [(one["arm"], one["n"], one["incomplete"]) for one in told] == [("base", 4, 1), ("new", 8, 0), ("bad", 4, 0)]
    assert {one["run"] for one in told} == {RUN_ID}
    assert {one["verdict"] for one in told} == {report["verdict"]}
    assert all(one[key] is None for one in told for key in KEYS[3:11])
    assert all("\n" not in one and "NaN" not in one for one in summary_lines(report))


def test_an_arm_that_could_not_run_has_only_its_count(lab: Lab) -> None:
    """All of its requests are incomplete, and its times are null."""
    missing = {"model": {"_target_": "evalflow.model.seat.seat.Seat", "note": "n", "base_url": "http://127.0.0.1:9/v1"}}
    report = lab(arms={"one": missing}, model=missing["model"], metrics={"ttft": TTFT}).report
    (told,) = (json.loads(one) for one in summary_lines(report))
    assert (told["n"], told["incomplete"], told["verdict"]) == (6, 6, "incomplete")
    assert {told[key] for key in KEYS[3:9]} == {None}


TTFT = {"_target_": "evalflow.metric.latency.Ttft"}


def test_the_command_line_prints_it_where_asked(cli: Cli, experiment: Any) -> None:
    """`summary=json` ends the output with it, also under --quiet, where it is all but the verdict."""
    words = experiment()
    quiet = cli(*words, "--quiet", "summary=json")
    verdict, told = quiet.out.splitlines()
    assert verdict == quiet.report["verdict"]
    assert json.loads(told) == json.loads(summary_lines(quiet.report)[0])
    assert json.loads(told)["n"] == 6
    assert not any(text.startswith("{") for text in cli(*words).out.splitlines())
