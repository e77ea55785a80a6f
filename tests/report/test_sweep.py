"""A sweep in one summary: which jobs came to what, and means that claim no more than their jobs gave."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from rich.console import Console

from evalflow.report.sweep import summarise, summary_csv
from evalflow.report.sweep_table import print_sweep, print_sweep_verdict

T_2 = 4.302653
"""Student's t at 0.975 with two degrees of freedom, from a printed table; with one it is 12.7062."""
T_1 = 12.7062
RESULT = ("mean", "low", "high", "method", "reason", "note")


def figure(value: float | None, **changes: Any) -> dict[str, Any]:
    return {
        "value": value,
        "unit": "share",
        "low": None,
        "high": None,
        "method": None,
        "n_total": 60,
        "n_scored": 60,
        "reason": None if value is not None else "one seed",
        "n_sessions": 1,
        **changes,
    }


def delta(value: float | None, **changes: Any) -> dict[str, Any]:
    reason = None if value is not None else "no item was scored in both arms"
    ends = {"low": None, "high": None, "method": None}
    return {"delta": value, **ends, "unpaired": [], "reason": reason, "n_sessions": 1, **changes}


def arm(figures: Mapping[str, Any], greedy: bool = False) -> dict[str, Any]:
    return {"conditions": {"greedy": greedy}, "figures": dict(figures)}


def gate(figure: str, outcome: str = "pass", report_only: bool = False) -> dict[str, Any]:
    return {"figure": figure, "outcome": outcome, "report_only": report_only}


def report(arms: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "experiment": "four",
        "part": None,
        "instrument": {"quality_hash": "q", "environment": {"machine": "m"}},
        "arms": dict(arms),
        "comparisons": {},
        "gates": {},
        "reasons": [],
        **changes,
    }


def exact(value: float | None, greedy: bool = False, **changes: Any) -> dict[str, Any]:
    """A report of one arm and one figure."""
    return report({"long": arm({"quality/exact": figure(value, **changes)}, greedy)})


def job(number: int, swept: Mapping[str, str], **changes: Any) -> dict[str, Any]:
    return {
        "job": number,
        "overrides": [f"{axis}={value}" for axis, value in swept.items()],
        "swept": dict(swept),
        "state": "finished",
        "verdict": "pass",
        "exit_code": 0,
        "run_id": f"20261130-10150{number % 10}-aaaaaa",
        "folder": None,
        "said": None,
        "skipped": False,
        "seconds": 1.0,
        **changes,
    }


def failed(number: int, swept: Mapping[str, str], **changes: Any) -> dict[str, Any]:
    return job(number, swept, **{"state": "failed", "verdict": None, "exit_code": 3, "seconds": None, **changes})


def not_run(number: int, swept: Mapping[str, str]) -> dict[str, Any]:
    return failed(number, swept, state="not run", exit_code=None, run_id=None)


def seeds(n: int) -> list[dict[str, Any]]:
    return [job(number, {"seed": str(number)}) for number in range(n)]


def summary(jobs: Sequence[Any], reports: Mapping[int, Any] | Sequence[Any] = (), **changes: Any) -> dict[str, Any]:
    """A summary; listed reports are those of the first jobs. It is plain JSON, whatever is in it."""
    by_job = reports if isinstance(reports, Mapping) else dict(enumerate(reports))
    told = summarise("20261130-101500-ab12cd", ["seed=0,1,2"], jobs, by_job, started="2026-11-30T10:15:00", **changes)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    return told


def cell(jobs: Sequence[Any], reports: Any) -> dict[str, Any]:
    """The only cell of a sweep with one arm and one figure."""
    ((only,),) = [line["cells"] for line in summary(jobs, reports)["grid"]]
    return only


def printed(told: Mapping[str, Any], width: int = 160) -> str:
    """What a pipe gets of it."""
    raw = io.BytesIO()
    pipe = io.TextIOWrapper(raw, encoding="utf-8")  # strict, as standard output is
    console = Console(file=pipe, width=width, highlight=False, markup=False)
    print_sweep(told, console)
    print_sweep_verdict(told, console)
    pipe.flush()
    return raw.getvalue().decode("utf-8")


def line_with(text: str, out: str) -> str:
    (line,) = [line for line in out.splitlines() if text in line]
    return line


def test_a_cell_is_the_mean_over_seeds_with_a_t_interval():
    """0.5, 0.6 and 0.7 have mean 0.6 and standard deviation 0.1, hence 0.6 +/- 4.302653 * 0.1 / sqrt 3."""
    found = cell(seeds(3), [exact(0.5), exact(0.6), exact(0.7)])
    reach = T_2 * 0.1 / math.sqrt(3)
    assert found == {
        "at": {},
        "jobs": [0, 1, 2],
        "n_jobs": 3,
        "n_defined": 3,
        "mean": pytest.approx(0.6),
        "low": pytest.approx(0.6 - reach, abs=1e-6),
        "high": pytest.approx(0.6 + reach, abs=1e-6),
        "method": "t over 3 seeds",
        "reason": None,
        "note": None,
    }


def test_an_interval_ends_where_the_figure_does():
    """No share is outside 0 to 1, no difference of two outside -1 to 1, no time below 0; a plain number has no end."""
    found = cell(seeds(2), [exact(0.4), exact(0.6)])
    assert (found["low"], found["high"]) == (0.0, 1.0)  # 0.5 +/- 1.27
    found = cell(seeds(2), [exact(0.4, unit=""), exact(0.6, unit="")])
    assert (found["low"], found["high"]) == pytest.approx((0.5 - T_1 * 0.1, 0.5 + T_1 * 0.1), abs=1e-5)
    # 10, 20 and 60 ms: mean 30, sd sqrt((400 + 100 + 900) / 2)
    found = cell(seeds(3), [exact(value, unit="s") for value in (0.010, 0.020, 0.060)])
    assert (found["low"], found["high"]) == (0.0, pytest.approx(0.03 + T_2 * 0.026457513 / math.sqrt(3), abs=1e-7))
    gains = [{"pair": {"quality/exact": delta(value)}} for value in (-0.2, 0.4)]
    told = summary(seeds(2), [{**exact(0.5), "comparisons": gain} for gain in gains])
    assert [told["grid"][1]["cells"][0][end] for end in ("mean", "low", "high")] == [pytest.approx(0.1), -1.0, 1.0]


def test_cells_share_every_axis_but_the_seed():
    """Six jobs of three seeds and two levels of concurrency give two cells of three jobs, in the order of the jobs."""
    swept = [{"seed": seed, "concurrency": level} for seed in "012" for level in "16"]
    jobs = [job(number, values) for number, values in enumerate(swept)]
    told = summary(jobs, [exact(value / 10) for value in (5, 1, 6, 2, 7, 3)])
    assert told["axes"] == {"seed": ["0", "1", "2"], "concurrency": ["1", "6"]}
    (line,) = told["grid"]
    assert [(c["at"], c["jobs"]) for c in line["cells"]] == [
        ({"concurrency": "1"}, [0, 2, 4]),
        ({"concurrency": "6"}, [1, 3, 5]),
    ]
    assert [c["mean"] for c in line["cells"]] == pytest.approx([0.6, 0.2])


def test_jobs_of_one_cell_without_a_seed_of_their_own_are_called_jobs():
    """Where the seed is not swept, or is the same, there are no seeds to speak of."""
    for values in ({"concurrency": "1"}, {"seed": "0"}, {}):
        found = cell([job(0, values), job(1, values)], [exact(0.4), exact(0.6)])
        assert found["method"] == "t over 2 jobs"


def test_one_job_has_its_own_interval():
    """Nothing is estimated over one job: its value, interval and method are passed on."""
    own = {"low": 0.4, "high": 0.7, "method": "wilson"}
    found = cell([job(0, {})], [exact(0.567, **own)])
    assert {key: found[key] for key in RESULT} == {"mean": 0.567, **own, "reason": None, "note": None}
    found = cell(seeds(3), [exact(None), exact(0.567, **own), exact(None)])
    assert (found["mean"], found["low"], found["method"]) == (0.567, 0.4, "wilson")
    assert (found["n_jobs"], found["n_defined"]) == (3, 1)


def test_equal_values_have_no_interval():
    """A width of nothing would claim certainty; that a greedy arm does not vary is by design, and said so."""
    nothing = {"low": None, "high": None, "method": None, "reason": None}
    for greedy, note in ((True, "no variation by design"), (False, "no variation")):
        found = cell(seeds(3), [exact(0.1, greedy)] * 3)
        assert {key: found[key] for key in RESULT} == {"mean": 0.1, **nothing, "note": note}
    found = cell(seeds(2), [exact(0.1, True), exact(0.1, False)])
    assert found["note"] == "no variation"


def test_a_greedy_arm_that_varies_is_shown_to():
    """What should not have varied and did has its interval, and no word of design."""
    found = cell(seeds(2), [exact(0.1, True), exact(0.2, True)])
    assert found["low"] is not None
    assert found["note"] is None


def test_that_no_row_failed_is_nobodys_design():
    """Greedy decoding fixes the answers, not how many of them fail."""
    reports = [report({"long": arm({"n/error_share": figure(0.0)}, True)}, gates={"g": gate("n/error_share")})] * 2
    assert cell(seeds(2), reports)["note"] == "no variation"


def test_a_delta_varies_by_design_where_no_arm_can():
    """A report does not name a comparison's arms, so that of all of them must be greedy."""
    for greedy, note in ((True, "no variation by design"), (False, "no variation")):
        arms = {"long": arm({"quality/exact": figure(0.5)}, True), "other": arm({}, greedy)}
        reports = [report(arms, comparisons={"pair": {"quality/exact": delta(0.25)}})] * 2
        line = summary(seeds(2), reports)["grid"][1]
        assert (line["arm"], line["figure"], line["unit"]) == ("pair", "delta quality/exact", "share")
        assert (line["cells"][0]["mean"], line["cells"][0]["note"]) == (0.25, note)


def test_undefined_jobs_are_left_out_and_counted():
    """The mean is over the jobs that have a number; where none has, the commonest reason stands for it."""
    found = cell(seeds(3), [exact(0.4), exact(None), exact(0.6)])
    assert (found["mean"], found["n_jobs"], found["n_defined"]) == (pytest.approx(0.5), 3, 2)
    assert found["method"] == "t over 2 seeds"
    found = cell(seeds(3), [exact(None, reason=why) for why in ("empty", "one seed", "one seed")])
    assert (found["mean"], found["n_defined"], found["reason"]) == (None, 0, "one seed")


def test_times_of_several_sessions_are_no_measurement():
    """A figure or delta that was taken in two sessions counts as undefined."""
    found = cell(seeds(2), [exact(0.4, n_sessions=2), exact(0.6)])
    assert (found["mean"], found["n_defined"]) == (0.6, 1)
    found = cell(seeds(2), [exact(0.4, n_sessions=2)] * 2)
    assert (found["mean"], found["reason"]) == (None, "taken in 2 sessions")
    told = summary([job(0, {})], [report({}, comparisons={"pair": {"lat/x": delta(0.1, n_sessions=3)}})])
    assert told["grid"][0]["cells"][0]["reason"] == "taken in 3 sessions"


def test_rows_that_are_missing_are_told():
    """A mean over answers that half of the jobs lack says how many."""
    assert cell([job(0, {})], [exact(0.5, n_scored=58)])["note"] == "2 missing"
    assert cell(seeds(2), [exact(0.5, n_scored=58), exact(0.6)])["note"] == "0 to 2 missing"
    assert cell(seeds(2), [exact(0.5, n_scored=58)] * 2)["note"] == "no variation; 2 missing"
    told = summary([job(0, {})], [report({}, comparisons={"pair": {"lat/x": delta(0.1, unpaired=["a", "b", "c"])}})])
    assert told["grid"][0]["cells"][0]["note"] == "3 missing"


def test_a_mean_over_other_datasets_says_nothing():
    """Jobs of a cell whose dataset or metrics differ have no mean, and a note says why; other cells keep theirs."""
    moved = {**exact(0.6), "instrument": {"quality_hash": "other", "environment": {"machine": "m"}}}
    found = cell(seeds(2), [exact(0.4), moved])
    assert (found["mean"], found["reason"], found["n_defined"]) == (None, "jobs differ in dataset or metrics", 2)
    note = "jobs differ in dataset or metrics: a mean over them says nothing"
    assert note in summary(seeds(2), [exact(0.4), moved])["notes"]
    told = summary([job(0, {"limit": "5"}), job(1, {"limit": "6"})], [exact(0.4), moved])
    assert [c["mean"] for c in told["grid"][0]["cells"]] == [0.4, 0.6]
    assert told["notes"] == []


def test_machines_of_one_mean_are_told_apart():
    """Times of jobs that differ in seed alone but ran elsewhere are not of one machine."""
    moved = {**exact(0.6), "instrument": {"quality_hash": "q", "environment": {"machine": "other"}}}
    note = "jobs of one mean ran in different environments: their times are not of one machine"
    assert summary(seeds(2), [exact(0.4), moved])["notes"] == [note]
    assert summary([job(0, {"limit": "5"}), job(1, {"limit": "6"})], [exact(0.4), moved])["notes"] == []


def test_lines_are_quality_and_what_is_read():
    """Every quality figure, and any other that a gate or a comparison reads, in the order of the reports."""
    names = ("lat/e2e_s/p50", "quality/exact", "mem/kv_bytes", "stability/seed_sd")
    arms = {name: arm({figured: figure(0.5) for figured in names}) for name in ("short", "long")}
    comparisons = {"pair": {"stability/seed_sd": delta(0.0)}}
    gates = {"fast": gate("lat/e2e_s/p50", report_only=True)}
    told = summary([job(0, {})], [report(arms, comparisons=comparisons, gates=gates)])
    assert [(line["arm"], line["figure"]) for line in told["grid"]] == [
        ("short", "lat/e2e_s/p50"),
        ("short", "quality/exact"),
        ("short", "stability/seed_sd"),
        ("long", "lat/e2e_s/p50"),
        ("long", "quality/exact"),
        ("long", "stability/seed_sd"),
        ("pair", "delta stability/seed_sd"),
    ]


def test_an_arm_that_only_some_jobs_have():
    """It is undefined where it is not, as is a figure that only another job has."""
    both = report({"a": arm({"quality/x": figure(0.1)}), "b": arm({"quality/x": figure(0.2)})})
    one = report({"a": arm({"quality/y": figure(0.3)})})
    told = summary([job(0, {"part": "both"}), job(1, {"part": "one"})], [both, one])
    found = {(line["arm"], line["figure"]): [c["mean"] for c in line["cells"]] for line in told["grid"]}
    assert found == {("a", "quality/x"): [0.1, None], ("a", "quality/y"): [None, 0.3], ("b", "quality/x"): [0.2, None]}
    assert told["grid"][0]["cells"][1]["reason"] == "the job has no such figure"
    assert "no such" not in printed(told)


def test_a_job_without_a_report_is_an_undefined_one():
    """Its cell counts it, and its failure is told once, beside the job and in the notes."""
    jobs = [job(0, {"seed": "0"}), failed(1, {"seed": "1"}, said="model: no weights;\ntrain it")]
    told = summary(jobs, {0: exact(0.5)})
    assert (told["grid"][0]["cells"][0]["n_jobs"], told["grid"][0]["cells"][0]["n_defined"]) == (2, 1)
    assert told["notes"] == ["job 1 (seed=1) could not run: model: no weights; train it"]
    assert "0.500 n=1 (1 of 2 undefined)" in printed(told)


def test_no_reports_at_all():
    """There is no grid then, the experiment is the one that was asked for, and every failure is named."""
    jobs = [failed(0, {}, overrides=["experiment=nothing"], said="no"), failed(1, {}, said=None)]
    told = summary(jobs)
    assert (told["grid"], told["experiment"], told["verdict"], told["exit_code"]) == ([], "nothing", "incomplete", 3)
    assert told["notes"] == [
        "no job has a report",
        "job 0 could not run: no",
        "job 1 could not run: no reason was given",
    ]
    assert printed(told).startswith("nothing · sweep 20261130-101500-ab12cd · 2 jobs\n")
    assert summary_csv(told) == "arm,figure,unit,n_jobs,n_defined,mean,low,high,method,reason,note\n"


@pytest.mark.parametrize(
    ("codes", "verdict", "code"),
    [
        ([0, 0], "pass", 0),
        ([0, 2], "unreadable", 2),
        ([2, 1], "fail", 1),
        ([1, 3], "incomplete", 3),
        ([3, 64], "incomplete", 64),
        ([64, 130], "incomplete", 130),
        ([1, 137], "incomplete", 3),
        ([1, -9], "incomplete", 3),
        ([1, None], "incomplete", 3),
    ],
)
def test_the_worst_job_decides(codes: list[int | None], verdict: str, code: int):
    """By the order of exit codes; a process that was killed did not complete."""
    jobs = [job(number, {"seed": str(number)}, exit_code=came) for number, came in enumerate(codes)]
    told = summary(jobs, finished="2026-11-30T10:16:00")
    assert (told["verdict"], told["exit_code"]) == (verdict, code)
    assert (told["started"], told["finished"]) == ("2026-11-30T10:15:00", "2026-11-30T10:16:00")


def test_jobs_that_were_not_run():
    """They are interrupted ones where the sweep was, else they are missing; all jobs done, neither."""
    jobs = [job(0, {"seed": "0"}), not_run(1, {"seed": "1"}), not_run(2, {"seed": "2"})]
    assert summary(jobs, [exact(0.5)], interrupted=True)["exit_code"] == 130
    told = summary(jobs, [exact(0.5)])
    assert (told["exit_code"], told["verdict"]) == (3, "incomplete")
    assert told["notes"] == ["not run: 2 of 3 jobs"]
    assert summary(seeds(1), [exact(0.5)], interrupted=True)["exit_code"] == 0


def test_gates_and_reasons_come_from_the_report():
    """Gates that only report decide nothing and are not listed; what made a run worth less is its reason."""
    outcomes = {"a": "pass", "b": "fail", "c": "unreadable", "d": "skipped", "e": "fail"}
    gates = {name: gate("quality/exact", outcome, report_only=name == "e") for name, outcome in outcomes.items()}
    reports = [{**exact(0.5), "gates": gates, "reasons": ["arm x has 1 of 2 rows", "no gate decided anything"]}]
    told = summary([job(0, {}), failed(1, {}, said="disk full")], reports)["jobs"]
    assert told[0]["gates"] == {"failed": ["b"], "unreadable": ["c"]}
    assert told[0]["said"] == "arm x has 1 of 2 rows; no gate decided anything"
    assert (told[1]["gates"], told[1]["said"]) == ({"failed": [], "unreadable": []}, "disk full")


def test_how_a_job_failed():
    """One that has a verdict ran and did not complete; one that was stopped was interrupted."""
    jobs = [
        failed(0, {"seed": "0"}, verdict="incomplete", said="arm a has 1 of 2 rows"),
        failed(1, {"seed": "1"}, verdict="incomplete", exit_code=130, said="stopped"),
    ]
    told = summary(jobs)
    assert told["notes"][1:] == [
        "job 0 (seed=0) did not complete: arm a has 1 of 2 rows",
        "job 1 (seed=1) was interrupted: stopped",
    ]
    out = printed(told)
    table = [line.split() for line in out.splitlines() if line.strip()[:1].isdigit()]
    assert [line[:5] for line in table] == [
        ["0", "0", "incomplete", "3", "arm"],
        ["1", "1", "interrupted", "130", "stopped"],
    ]


def test_what_a_reader_must_know_of_the_whole():
    """Jobs at once share a machine; a swept seed moves nothing where every arm is greedy."""
    shared = "jobs ran at once on this machine: their times are of a shared machine"
    still = "seed is swept but every arm is greedy: no answer can vary"
    assert summary(seeds(2), [exact(0.5, True)] * 2, parallel=True)["notes"] == [shared, still]
    assert summary(seeds(2), [exact(0.5, True), exact(0.5)])["notes"] == []
    assert summary([job(0, {"seed": "0"})], [exact(0.5, True)])["notes"] == []
    assert summary([job(0, {"a": "0"}), job(1, {"a": "1"})], [exact(0.5, True)] * 2)["notes"] == []


def test_a_sweep_of_smoke_runs_says_so():
    """Means over a part of the dataset are those of the part."""
    reports = [{**exact(0.5), "part": part} for part in ("smoke run: limit 2", None, "smoke run: limit 2")]
    assert summary(seeds(3), reports)["notes"] == ["jobs took a part of their dataset: smoke run: limit 2"]


def test_a_job_stays_on_its_line():
    """Of many gates three are named, and a long reason is cut: the notes and the report have the whole."""
    gates = {name: gate("quality/exact", "unreadable") for name in "abcde"}
    jobs = [job(0, {"a": "0"}, verdict="unreadable", exit_code=2), failed(1, {"a": "1"}, said=f"{'x' * 59}yz")]
    out = printed(summary(jobs, [{**exact(0.5), "gates": gates}]))
    assert "unreadable: a, b, c and 2 more  " in line_with("2 more", out)
    assert f" {'x' * 43}… " in line_with("could not run  ", out) + " "
    assert f"note: job 1 (a=1) could not run: {'x' * 59}yz\n" in out


def test_experiments_of_a_sweep_are_all_named():
    """A sweep over experiments has several, each once."""
    reports = [{**exact(0.5), "experiment": name} for name in ("one", "two", "one")]
    assert summary(seeds(3), reports)["experiment"] == "one, two"


def test_what_is_printed():
    """A line per job, a column per cell, the notes, and the verdict last."""
    swept = [{"seed": seed, "concurrency": level} for seed in "012" for level in "16"]
    jobs = [job(number, values, seconds=12.34) for number, values in enumerate(swept)]
    jobs[0]["skipped"] = True
    jobs[2] |= {"verdict": "fail", "exit_code": 1}
    jobs[5] = failed(5, swept[5], said="model: no weights")
    times = (0.010, 0.5, 0.020, None, 0.060, 0.25)
    reports = {n: exact(value, unit="s", reason="too few") for n, value in enumerate(times) if n != 5}
    reports[2]["gates"] = {"floor": gate("quality/exact", "fail"), "blind": gate("quality/exact", "unreadable")}
    out = printed(summary(jobs, reports))
    lines = out.splitlines()
    assert lines[0] == "four · sweep 20261130-101500-ab12cd · 6 jobs over seed (3), concurrency (2)"
    heading = line_with("exit code  ", out).split()
    assert heading == ["job", "seed", "concurrency", "verdict", "exit", "code", "gates", "why", "run", "seconds"]
    run = "20261130-101500-aaaaaa"
    assert line_with("finished before", out).split() == ["0", "0", "1", "pass", "0", run, "finished", "before"]
    words = line_with("failed: floor; unreadable: blind", out).split()
    assert words == [
        "2",
        "1",
        "1",
        "fail",
        "1",
        "failed:",
        "floor;",
        "unreadable:",
        "blind",
        run.replace("00-a", "02-a"),
        "12.3",
    ]
    words = line_with("could not run  ", out).split()
    assert words == ["5", "2", "6", "could", "not", "run", "3", "model:", "no", "weights", run.replace("00-a", "05-a")]
    assert line_with("concurrency=1 ", out).split() == ["arm", "figure", "concurrency=1", "concurrency=6"]
    row = line_with("quality/exact  ", out)
    assert "30 ms [0, 95.724] n=3" in row
    assert row.rstrip().endswith("500 ms n=1 (2 of 3 undefined: too few)")
    assert lines[-1] == "Sweep: incomplete (exit code 3)"
    assert "  note: job 5 (seed=2 concurrency=6) could not run: model: no weights" in lines


@pytest.mark.parametrize(
    ("reports", "text"),
    [
        ([exact(0.4, unit="")] * 3, "0.400 n=3 (no variation)"),
        ([exact(0.4, True)] * 3, "0.400 n=3 (no variation by design)"),
        ([exact(0.4)] * 2 + [exact(None)], "0.400 n=2 (1 of 3 undefined: one seed; no variation)"),
        ([exact(None)] * 3, "undefined: one seed"),
        ([exact(None, reason="arm unavailable: no weights")] * 3, " - "),
        ([exact(0.0, low=0.0, high=0.125)], "0 [0, 0.125] n=1 (2 of 3 undefined)"),
        ([exact(0.5), exact(0.6), exact(0.7)], "0.600 [0.352, 0.848] n=3"),
        ([exact(102_400.0, unit="bytes")] * 3, "102,400 n=3 (no variation)"),
    ],
)
def test_a_cell_in_words(reports: list[Any], text: str):
    """Mean, interval and jobs, with what is undefined or cannot vary; nothing undefined looks like a number."""
    assert text in line_with("quality/exact  ", printed(summary(seeds(3), reports)) + " ")


def test_a_sweep_of_single_jobs_claims_no_means():
    """Where no two jobs share a cell each has its own interval, and the heading says so."""
    own = "Each job's figures, with its own intervals"
    assert own in printed(summary([job(0, {"a": "0"}), job(1, {"a": "1"})], [exact(0.5)] * 2))
    assert own not in printed(summary(seeds(2), [exact(0.5)] * 2))
    assert "every job" in line_with("figure  ", printed(summary(seeds(2), [exact(0.5)] * 2)))


def test_counts_that_are_the_same_for_every_arm_take_one_line():
    """No row failed in any arm: that is said once. A quality is always told of its arm."""
    gates = {"healthy": gate("n/error_share"), "whole": gate("n/coverage")}
    figures = {"quality/exact": figure(0.5), "n/error_share": figure(0.0), "n/coverage": figure(1.0)}
    arms = {"a": arm(figures), "b": arm({**figures, "n/coverage": figure(0.875)})}
    out = printed(summary(seeds(2), [report(arms, gates=gates)] * 2))
    assert line_with("n/error_share", out).split()[:2] == ["every", "arm"]
    assert [line.split()[0] for line in out.splitlines() if "n/coverage" in line] == ["a", "b"]
    assert [line.split()[0] for line in out.splitlines() if "quality/exact" in line] == ["a", "b"]
    del arms["b"]["figures"]["n/error_share"]
    out = printed(summary(seeds(2), [report(arms, gates=gates)] * 2))
    assert line_with("n/error_share", out).split()[0] == "a"


def test_of_very_many_jobs_the_worst_are_shown():
    """200 jobs are 40 lines, failures first and what was not run last; the rest is counted by verdict."""
    jobs = seeds(200)
    jobs[150] = failed(150, {"seed": "150"}, said="no weights")
    jobs[199] |= {"verdict": "unreadable", "exit_code": 2}
    jobs[10:20] = [not_run(number, {"seed": str(number)}) for number in range(10, 20)]
    out = printed(summary(jobs))
    table = [line.split() for line in out.splitlines() if line.strip()[:1].isdigit() and "left out" not in line]
    assert len(table) == 40
    assert [line[0] for line in table[:4]] == ["150", "199", "0", "1"]
    assert "not" not in [line[2] for line in table]
    assert "  160 more jobs are left out: 150 pass, 10 not run\n" in out
    assert len(out.splitlines()) < 60


def test_very_many_failures_and_columns():
    """Notes and columns of a wide sweep end too, and say how many are left out."""
    jobs = [failed(n, {"a": str(n)}, said="no weights") for n in range(50)]
    out = printed(summary(jobs))
    assert "  31 more notes are left out\n" in out  # of 50 failures and that there is no report
    arms = {"a": arm({f"quality/{n:03}": figure(0.5) for n in range(100)})}
    out = printed(summary([job(n, {"a": str(n)}) for n in range(10)], [report(arms)] * 10))
    assert "  20 more lines and 6 more columns of the grid are left out\n" in out


def test_columns_that_have_no_room_abreast_stand_below():
    """A narrow terminal gets one table under another, and no name is cut."""
    jobs = [job(n, {"concurrency": str(n)}) for n in range(3)]
    out = printed(summary(jobs, [exact(0.5)] * 3), width=80)
    assert [out.count(f"concurrency={n}") for n in range(3)] == [1, 1, 1]
    assert out.count("quality/exact") == 3
    assert "…" not in out


HOSTILE = ["[red]x[/red]", "[/]", "[a,b]", "{x: 1, y: 2}", ":smile:", "été 中", "'a, b'"]


@pytest.mark.parametrize("text", HOSTILE)
def test_swept_values_are_text(text: str):
    """Commas, brackets and other scripts in names and values are shown as they are."""
    jobs = [job(0, {"stop": text}), failed(1, {"stop": text}, said=text)]
    told = summary(jobs, [report({text: arm({"quality/exact": figure(0.5)})}, experiment=text)])
    out = printed(told)
    # heading, two jobs, why, column, arm, note twice
    assert out.count(text) == 8
    (row,) = csv.DictReader(io.StringIO(summary_csv(told)))
    assert (row["arm"], row["stop"]) == (text, text)


def test_control_characters_are_shown_and_not_sent():
    """A swept value cannot clear the screen, forge the last line, or break the printing with half a character."""
    evil = "x\x1b[2J\u202e\ud800\nSweep: pass (exit code 0)"
    told = summary([failed(0, {"stop": evil}, said=evil), job(1, {"stop": evil})], {1: exact(0.5)})
    out = printed(told, width=300)
    assert not set(out) & set("\x1b\u202e\ud800")
    assert "x\\x1b[2J\\u202e\\ud800 Sweep: pass (exit code 0)" in out
    assert [line for line in out.splitlines() if line.startswith("Sweep")] == ["Sweep: incomplete (exit code 3)"]
    assert summary_csv(told).encode("utf-8").count(b"\\ud800") == 1


def test_colour_is_for_terminals():
    """A pipe gets plain text; a terminal the verdicts in colour."""
    told = summary(seeds(2), [exact(0.5)] * 2)
    assert "\x1b" not in printed(told)
    out = io.StringIO()
    terminal = Console(file=out, width=160, force_terminal=True, color_system="standard", legacy_windows=False)
    print_sweep_verdict(told, terminal)
    assert "Sweep: \x1b[32mpass" in out.getvalue()


def test_the_grid_as_csv():
    """A line per cell, the axes but the seed as columns, numbers in full and what is undefined empty."""
    swept = [{"seed": seed, "stop": stop} for seed in "01" for stop in ('a,"b"\nc', "d")]
    jobs = [job(number, values) for number, values in enumerate(swept)]
    told = summary(jobs, [exact(0.125, True), exact(None), exact(0.125, True), exact(None)])
    text = summary_csv(told)
    assert text.splitlines()[0] == "arm,figure,unit,stop,n_jobs,n_defined,mean,low,high,method,reason,note"
    _, first, second = csv.reader(io.StringIO(text, newline=""))
    assert first == [
        *("long", "quality/exact", "share", 'a,"b"\nc', "2", "2", "0.125"),
        *("", "", "", "", "no variation by design"),
    ]
    assert second == ["long", "quality/exact", "share", "d", "2", "0", "", "", "", "", "one seed", ""]


def test_numbers_beyond_a_float_have_no_mean():
    """A sum that overflows is undefined, and says so."""
    found = cell(seeds(2), [exact(1.7e308, unit=""), exact(1.6e308, unit="")])
    assert (found["mean"], found["reason"]) == (None, "non-finite result")
