"""Faults planted on purpose, each with the verdict and the exit code that it must end in.

Those that need the embedded model are in a file of their own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import ITEMS, Cli, Lab, Ran

Experiment = Callable[..., list[str]]
SCRIPTED = "evalflow.model.scripted.Scripted"
EXACT = {"exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"}}
CONTAINS = {"exact": {"_target_": "evalflow.metric.contains.Contains"}}
SD = {"sd": {"_target_": "evalflow.metric.seed_sd.SeedSd", "of": "exact"}}
E2E = {"e2e": {"_target_": "evalflow.metric.latency.E2e", "percentiles": [50]}}
HEALTHY = {
    "errors": {"figure": "n/error_share", "ceiling": 0.0},
    "truncated": {"figure": "n/truncated_share", "ceiling": 0.05},
    "coverage": {"figure": "n/coverage", "floor": 1.0},
}
"""The shipped default set, as conf/gate/healthy.yaml has it (the last test compares)."""
FLOOR = {"floor": {"figure": "quality/exact", "floor": 0.5}}
FAST = {"figure": "lat/e2e_s/p50", "ceiling": 1000.0}
PAIR = {"pair": {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}}
SAMPLED = {"decoding": {"temperature": 1.0}, "seeds": [0, 1, 2, 3, 4]}


def stand_in(name: str, **settings: Any) -> dict[str, Any]:
    return {"_target_": f"tests.stand_ins.{name}", **settings}


def many(n: int) -> list[dict[str, Any]]:
    return [{"id": f"q{i:02}", "input": f"question {i}", "target": "right"} for i in range(n)]


def outcomes(ran: Ran) -> dict[str, str]:
    return {name: gate["outcome"] for name, gate in ran.report["gates"].items()}


def figure(ran: Ran, name: str, arm: str = "one") -> dict[str, Any]:
    return dict(ran.report["arms"][arm]["figures"][name])


def ended(ran: Ran, verdict: str, code: int) -> None:
    """The exit code, the report and the printed line all say one thing, and the report obeys its schema."""
    assert (ran.code, ran.report["exit_code"], ran.report["verdict"]) == (code, code, verdict)
    why = "".join(f"; {reason}" for reason in ran.report["reasons"])
    assert f"Verdict: {verdict} (exit code {code}){why}" in ran.out.splitlines()
    schema = json.loads((files("evalflow.report") / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(ran.report, schema)


def test_nothing_planted(lab: Lab) -> None:
    """A model that is right everywhere passes the default gates and its floor."""
    ran = lab(gates={**HEALTHY, **FLOOR})
    ended(ran, "pass", 0)
    assert set(outcomes(ran).values()) == {"pass"}


def test_two_equal_arms_are_identical_and_not_better(lab: Lab) -> None:
    """A/A: the delta is exactly 0, the conclusion identical, and a gate that wants better fails."""
    gates = {"better": {"comparison": "pair", "figure": "quality/exact", "verdict": "better"}}
    ran = lab(arms={"one": {}, "two": {}}, comparisons=PAIR, gates=gates)
    ended(ran, "fail", 1)
    delta = ran.report["comparisons"]["pair"]["quality/exact"]
    assert (delta["delta"], delta["conclusion"], delta["n_pairs"]) == (0.0, "identical", 6)
    assert (delta["wins"], delta["losses"], delta["ties"]) == (0, 0, 6)


def test_a_difference_that_cannot_be_shown_is_not_shown(lab: Lab) -> None:
    """Five items gained and none lost of six: p = 2 x 0.5^5 = 0.0625, so the gain of 5/6 is not shown."""
    arms = {"one": {"model": stand_in("Fixed", right=["f"])}, "two": {"model": stand_in("Fixed", right=list("abcdef"))}}
    gates = {"better": {"comparison": "pair", "figure": "quality/exact", "verdict": "better"}}
    ran = lab(arms=arms, comparisons=PAIR, gates=gates)
    ended(ran, "fail", 1)
    delta = ran.report["comparisons"]["pair"]["quality/exact"]
    assert (delta["delta"], delta["p"]) == (pytest.approx(5 / 6), pytest.approx(0.0625))
    assert delta["conclusion"] == "not shown"


@pytest.mark.parametrize(
    ("n", "margin", "outcome"),
    # with no discordant pair the one-sided 95 % bound is 1 - 0.05 ** (1 / n): 0.393 at 6, 0.0471 at 62
    [(6, 0.1, "unreadable"), (6, 0.4, "pass"), (62, 0.047, "unreadable"), (62, 0.0472, "pass")],
)
def test_a_margin_that_the_run_cannot_reach_is_unreadable(lab: Lab, n: int, margin: float, outcome: str) -> None:
    """Equal arms show non-inferiority only within what so many pairs can exclude."""
    gate = {"comparison": "pair", "figure": "quality/exact", "verdict": "non_inferior", "margin": margin}
    ran = lab(many(n), arms={"one": {}, "two": {}}, comparisons=PAIR, gates={"close": gate})
    ended(ran, outcome, {"pass": 0, "unreadable": 2}[outcome])
    if outcome == "unreadable":
        assert "beyond this run's reach" in ran.report["gates"]["close"]["reason"]


def test_a_sampled_arm_that_is_greedy_shows_no_spread(lab: Lab) -> None:
    """An arm that ignores its seeds has a spread of exactly 0, which a strict floor of 0 fails."""
    gates = {"varies": {"figure": "stability/seed_sd", "floor": 0.0, "strict": True, "allow_reason": "saturated"}}
    model = stand_in("Fixed", right=["a", "b"])
    ran = lab(arms={"one": SAMPLED}, model=model, metrics={**EXACT, **SD}, gates=gates)
    ended(ran, "fail", 1)
    assert figure(ran, "stability/seed_sd")["value"] == 0.0


def test_a_sampled_arm_that_varies_passes(lab: Lab) -> None:
    """The same gate passes an arm whose answers follow the seed."""
    gates = {"varies": {"figure": "stability/seed_sd", "floor": 0.0, "strict": True}}
    items = [{"id": f"q{i}", "input": "digit?", "target": "7"} for i in range(10)]
    model = {"_target_": SCRIPTED, "otherwise": "{seed}"}
    ran = lab(items, arms={"one": SAMPLED}, model=model, metrics={**CONTAINS, **SD}, gates=gates)
    ended(ran, "pass", 0)
    assert len({row["draft"] for row in ran.rows}) == 50


@pytest.mark.parametrize(("allowed", "outcome", "code"), [("saturated", "pass", 0), (None, "unreadable", 2)])
def test_a_saturated_arm_passes_only_where_that_is_allowed(
    lab: Lab, allowed: str | None, outcome: str, code: int
) -> None:
    """With every answer right under every seed no spread can show: unreadable, unless the gate names that reason."""
    gates = {"varies": {"figure": "stability/seed_sd", "floor": 0.0, "strict": True, "allow_reason": allowed}}
    ran = lab(arms={"one": SAMPLED}, metrics={**EXACT, **SD}, gates=gates)
    ended(ran, {0: "pass", 2: "unreadable"}[code], code)
    assert (outcomes(ran)["varies"], figure(ran, "stability/seed_sd")["value"]) == (outcome, None)


def test_an_empty_denominator_is_unreadable(lab: Lab) -> None:
    """A gate whose `where` matches no row reads nothing, whatever its threshold."""
    gates = {
        "floor": {"figure": "quality/exact", "where": {"kind": "nobody"}, "floor": 0.01},
        "ceiling": {"figure": "quality/exact", "where": {"kind": "nobody"}, "ceiling": 0.99},
        "count": {"figure": "quality/exact", "where": {"kind": "nobody"}, "ceiling": 3, "count": True},
    }
    ran = lab(gates=gates)
    ended(ran, "unreadable", 2)
    assert set(outcomes(ran).values()) == {"unreadable"}
    assert ran.report["gates"]["floor"]["reason"] == "empty: no row is kind nobody"


def test_a_denominator_that_is_not_the_one_required_is_unreadable(lab: Lab) -> None:
    """`of: 7` over six items is not read, however good the figure."""
    ran = lab(gates={"count": {"figure": "quality/exact", "floor": 5, "count": True, "of": 7}})
    ended(ran, "unreadable", 2)
    assert ran.report["gates"]["count"]["reason"] == "denominator 6, not 7"


def test_one_nan_is_excluded_counted_and_fails_coverage(lab: Lab) -> None:
    """A NaN for one row leaves the mean of the others and is counted; coverage fails, and no gate reads over it."""
    lax = {"lax": {**FLOOR["floor"], "coverage": 0.8}}
    ran = lab(metrics={"exact": stand_in("Holed", holes=["b"])}, gates={**HEALTHY, **FLOOR, **lax})
    ended(ran, "fail", 1)
    wanted = {"errors": "pass", "truncated": "pass", "coverage": "fail", "floor": "unreadable", "lax": "pass"}
    assert outcomes(ran) == wanted
    assert ran.report["gates"]["floor"]["reason"] == "1 of 6 were not scored"
    found = figure(ran, "quality/exact")
    assert (found["value"], found["n_total"], found["n_scored"], found["n_excluded"]) == (1.0, 6, 5, 1)
    assert ran.report["gates"]["coverage"]["rows"] == ["b (seed 0)"]


@pytest.mark.parametrize("gives", ["nan", "inf"])
def test_a_figure_that_is_not_finite_is_unreadable(lab: Lab, gives: str) -> None:
    """No threshold passes a figure that is no number, and the report holds none."""
    gates = {"floor": {"figure": "quality/m", "floor": 0.0}, "ceiling": {"figure": "quality/m", "ceiling": 1.0}}
    ran = lab(metrics={"m": stand_in("NotANumber", gives=gives)}, gates=gates)
    ended(ran, "unreadable", 2)
    assert set(outcomes(ran).values()) == {"unreadable"}


def test_an_arm_whose_model_cannot_start_makes_the_run_incomplete(lab: Lab) -> None:
    """The other arm is still run and read; the run is incomplete and says why."""
    arms = {"one": {}, "two": {"model": stand_in("Unstartable")}}
    ran = lab(arms=arms, gates={"one": {**FLOOR["floor"], "arm": "one"}, "two": {**FLOOR["floor"], "arm": "two"}})
    ended(ran, "incomplete", 3)
    assert outcomes(ran) == {"one": "pass", "two": "unreadable"}
    assert ran.report["reasons"] == ["arm two is unavailable: no such device"]


def test_an_optional_arm_that_is_absent_skips_its_gates(lab: Lab) -> None:
    """An absent optional arm decides nothing, and its gates say that they were skipped and why."""
    arms = {"one": {}, "two": {"optional": True, "model": stand_in("Unstartable", error="OSError")}}
    ran = lab(arms=arms, gates={"one": {**FLOOR["floor"], "arm": "one"}, "two": {**FLOOR["floor"], "arm": "two"}})
    ended(ran, "pass", 0)
    assert outcomes(ran) == {"one": "pass", "two": "skipped"}
    assert "OSError: no such device" in ran.report["gates"]["two"]["reason"]


@pytest.mark.parametrize(
    "model",
    [stand_in("Raising", fails=["b", "e"]), {"_target_": SCRIPTED, "answers": dict.fromkeys("acdf", "right")}],
)
def test_errors_are_rows_that_are_counted_and_gated(lab: Lab, model: dict[str, Any]) -> None:
    """Two of six requests without an answer do not raise the score unseen: errors and coverage fail, and name them."""
    lax = {"lax": {**FLOOR["floor"], "coverage": 0.6}}
    ran = lab(model=model, gates={**HEALTHY, **FLOOR, **lax})
    ended(ran, "fail", 1)
    assert outcomes(ran) == {
        "errors": "fail",
        "truncated": "unreadable",
        "coverage": "fail",
        "floor": "unreadable",
        "lax": "pass",
    }
    assert ran.report["gates"]["floor"]["reason"] == "2 of 6 were not scored"
    assert sum(error["count"] for error in ran.report["arms"]["one"]["errors"]) == 2
    found = figure(ran, "quality/exact")
    assert (found["value"], found["n_scored"], found["n_error"]) == (1.0, 4, 2)
    assert ran.report["gates"]["errors"]["rows"] == ["b (seed 0)", "e (seed 0)"]
    assert ran.report["coverage"] == {"n_planned": 6, "n_rows": 6, "n_error": 2}


def test_only_errors_leave_nothing_to_read(lab: Lab) -> None:
    """An arm that answers nothing fails on its errors; its floor is unreadable, never a score of 0."""
    ran = lab(model={"_target_": SCRIPTED}, gates={**HEALTHY, **FLOOR})
    ended(ran, "fail", 1)
    assert outcomes(ran) == {"errors": "fail", "truncated": "unreadable", "coverage": "fail", "floor": "unreadable"}


@pytest.mark.parametrize("kind", ["text", "no_text", "nan_time"])
def test_a_model_that_returns_garbage_fails_by_its_errors(lab: Lab, kind: str) -> None:
    """An answer that is none is an error row; the run ends, is scored and fails."""
    ran = lab(model=stand_in("Garbage", kind=kind), gates={**HEALTHY, **FLOOR})
    ended(ran, "fail", 1)
    assert figure(ran, "n/error_share")["value"] == pytest.approx(1 / 6)


def test_a_model_that_hangs_fails_by_its_errors(lab: Lab) -> None:
    """A request without an end is given up and counted; the run ends."""
    runner = {"_target_": "evalflow.runner.settings.Runner", "timeout_s": 0.05}
    ran = lab(model=stand_in("Hanging", hangs=["c"]), runner=runner, gates={**HEALTHY, **FLOOR})
    ended(ran, "fail", 1)
    assert [row["error"]["kind"] for row in ran.rows if row["status"] == "error"] == ["timeout"]


def test_a_saturated_driver_makes_times_unreadable_and_answers_not(lab: Lab) -> None:
    """A model that holds the event loop spoils its times: those are unreadable, the quality is read."""
    gates = {**FLOOR, "slow": {"figure": "lat/e2e_s/p50", "ceiling": 1000.0}}
    ran = lab(ITEMS[:3], model=stand_in("Blocking"), metrics={**EXACT, **E2E}, gates=gates)
    ended(ran, "unreadable", 2)
    assert outcomes(ran) == {"floor": "pass", "slow": "unreadable"}
    assert ran.report["gates"]["slow"]["reason"] == "the driver was saturated"
    assert ran.report["driver"]["one"]["saturated"] is True


def test_a_smoke_run_is_unreadable_and_says_so(lab: Lab) -> None:
    """Five of six items are a smoke run: exit code 2, named in the report and on every gate."""
    ran = lab(limit=5, gates=FLOOR)
    ended(ran, "unreadable", 2)
    assert ran.report["part"] == "smoke run: limit 5"
    assert ran.report["gates"]["floor"]["reason"] == "smoke run: limit 5"
    assert "(smoke run: limit 5)" in ran.out.splitlines()[0]


@pytest.mark.parametrize("limit", [6, 100])
def test_a_limit_that_cuts_nothing_is_a_full_run(lab: Lab, limit: int) -> None:
    """A limit of the dataset's size or more leaves the run readable."""
    ran = lab(limit=limit, gates=FLOOR)
    ended(ran, "pass", 0)
    assert ran.report["part"] is None


@pytest.mark.parametrize(("right", "verdict", "code"), [("", "pass", 0), ("abcdef", "fail", 1)])
def test_a_negative_control_must_fail(lab: Lab, right: str, verdict: str, code: int) -> None:
    """`expect: fail` passes where the control is bad and fails where the control is good."""
    arms = {"one": {"control": True, "model": stand_in("Fixed", right=list(right))}}
    gates = {"control": {"figure": "quality/exact", "arm": "one", "floor": 0.5, "expect": "fail"}}
    ran = lab(arms=arms, gates=gates)
    ended(ran, verdict, code)
    said = {"pass": "failed, as it should", "fail": "passed, where it should have failed"}[verdict]
    assert ran.report["gates"]["control"]["reason"] == said


def test_a_negative_control_that_was_never_asked_is_unreadable(lab: Lab) -> None:
    """A control without a single scored row has not failed as it should."""
    gates = {"control": {"figure": "quality/exact", "floor": 0.5, "expect": "fail"}}
    ran = lab(model={"_target_": SCRIPTED}, gates=gates)
    ended(ran, "unreadable", 2)


def test_a_run_without_gates_is_unreadable(lab: Lab) -> None:
    """Nothing was asked, so nothing passed."""
    ran = lab()
    ended(ran, "unreadable", 2)
    assert ran.report["reasons"] == ["no gate decided anything"]


def test_junit_counts_what_the_report_says(lab: Lab) -> None:
    """A CI system sees a failed gate as a failure and an unreadable one as an error."""
    gates = {
        **FLOOR,
        "bad": {"figure": "quality/exact", "ceiling": 0.5},
        "none": {**FLOOR["floor"], "where": {"kind": "x"}},
    }
    ran = lab(gates=gates)
    ended(ran, "fail", 1)
    assert ran.folder is not None
    first = (ran.folder / "junit.xml").read_text(encoding="utf-8").splitlines()[0]
    assert 'tests="3" failures="1" errors="1" skipped="0"' in first


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]


def wait_for_rows(process: subprocess.Popen[str], home: Path, n: int) -> Path:
    """The run's folder, once it has `n` rows on disk."""
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up and process.poll() is None:
        for path in home.glob("outputs/*/[0-9]*/rows.jsonl"):  # a folder that is not yet whole has another name
            if len(path.read_text(encoding="utf-8").splitlines()) >= n:
                return path.parent
        time.sleep(0.02)
    process.kill()
    raise AssertionError(f"no rows: {process.communicate()}")


STOPPED = "evalflow: stopping, "
FINISHING = f"{STOPPED}finishing what is in flight; Ctrl-C again stops at once"
KEPT = "what was answered is on disk"


@pytest.mark.parametrize(
    ("signals", "code", "state", "said"),
    [
        (["SIGTERM"], 130, "interrupted", [f"{STOPPED}cancelling what is in flight", f"{KEPT}, and the same command"]),
        (["SIGINT", "SIGINT"], 130, "interrupted", [FINISHING, KEPT]),
        (["SIGKILL"], -9, "running", []),
    ],
)
def test_a_run_that_is_stopped_keeps_its_rows_and_is_gone_on_with(
    cli: Cli, experiment: Experiment, home: Path, signals: list[str], code: int, state: str, said: list[str]
) -> None:
    """However it ended: its rows stay, it scores as incomplete, and the same command asks what is missing alone."""
    gates = {**FLOOR, "fast": {**FAST, "report_only": True}, "any": {**FAST, "allow_sessions": True}}
    metrics = {**EXACT, **E2E}
    model = {"_target_": SCRIPTED, "otherwise": "right", "delays": dict.fromkeys("cdef", 60.0), "calls": "calls"}
    words = [*experiment(model=model, gates=gates, metrics=metrics), "runner.progress=false"]
    process = subprocess.Popen(
        [sys.executable, "-m", "evalflow", *words],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    folder = wait_for_rows(process, home, 2)
    for number in signals:
        process.send_signal(getattr(signal, number))
        time.sleep(0.5)  # two signals of one number at once would be one
    out, err = process.communicate(timeout=30)
    lines = err.splitlines()
    assert (process.returncode, len(lines)) == (code, len(said)), err
    assert all(part in line for part, line in zip(said, lines, strict=True)), err
    assert (
        ("Verdict: incomplete (exit code 130)" in out) == (folder / "report.json").exists() == (signals == ["SIGTERM"])
    )
    assert [row["item_id"] for row in rows_of(folder)] == ["a", "b"]
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["state"] == state

    again = cli("score", str(folder), "--allow", "tests")
    again = replace(again, folder=folder)
    ended(again, "incomplete", 3)
    assert again.report["reasons"] == ["arm one did not finish: it has 2 of 6 rows"]
    assert (again.report["finished"] is None) == (state == "running")
    assert again.report["gates"]["floor"]["outcome"] == "unreadable"

    words = [*experiment(model={**model, "delays": {}}, gates=gates, metrics=metrics), "runner.progress=false"]
    ran = cli(*words)  # how long an answer takes is not in the resume key
    assert ran.out.splitlines()[0] == f"resuming run {folder.name}: 2 of 6 rows are there"
    assert ran.folder == folder
    # a session that was cut off before its driver was looked at: whether it was late, nobody knows
    known = signals == ["SIGTERM"]
    ended(ran, *(("pass", 0) if known else ("unreadable", 2)))
    assert [row["item_id"] for row in ran.rows] == list("abcdef")
    asked = [json.loads(line)[0] for line in (home / "calls").read_text(encoding="utf-8").splitlines()]
    assert sorted(asked) == ["a", "b", "c", *"cdef"]  # c was in flight
    assert outcomes(ran) == {"floor": "pass", "fast": "unreadable", "any": "pass" if known else "unreadable"}
    over = "taken in 2 sessions (allow_sessions reads it)"
    assert ran.report["gates"]["fast"]["reason"] == (over if known else "the driver's own lag is not known")
    assert figure(ran, "lat/e2e_s/p50")["n_sessions"] == 2
    assert figure(ran, "quality/exact")["n_sessions"] is None
    assert "note: its rows come from 2 sessions: times over more than one are marked" in ran.out
    assert cli(*words).folder != folder  # a finished run is never taken for a new one


def test_a_driver_that_nobody_heard_of_leaves_times_unread_for_good(cli: Cli, lab: Lab) -> None:
    """Where a session was killed before it noted how late it was, no later session can make its times readable."""
    gates = {**FLOOR, "fast": {**FAST, "allow_sessions": True}}
    ran = lab(gates=gates, metrics={**EXACT, **E2E})
    ended(ran, "pass", 0)
    assert ran.folder is not None
    (ran.folder / "arms.json").write_text("{}", encoding="utf-8")
    state = json.loads((ran.folder / "run.json").read_text(encoding="utf-8"))
    (ran.folder / "run.json").write_text(json.dumps({**state, "state": "running"}), encoding="utf-8")
    path = ran.folder / "rows.jsonl"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:4]), encoding="utf-8")
    again = lab(gates=gates, metrics={**EXACT, **E2E})
    assert again.folder == ran.folder
    ended(again, "unreadable", 2)
    assert outcomes(again) == {"floor": "pass", "fast": "unreadable"}
    assert again.report["gates"]["fast"]["reason"] == "the driver's own lag is not known"


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("rows.jsonl", None, "rows.jsonl: not there; restore it"),
        ("probes.jsonl", None, "probes.jsonl: not there; restore it"),
        ("items.jsonl", ('"right"', '"wrong"'), "items.jsonl: these are not the items that were asked; restore it"),
        ("config.yaml", ("otherwise: right", "otherwise: wrong"), "is not what the rows were made with; restore it"),
        ("rows.jsonl", ('"arm":"one"', '"arm":"two"'), "arm 'two', seed 0, item 'a' was never asked; restore the file"),
        ("rows.jsonl", ('"status":"ok"', '"status":"fine"'), "status is 'fine'"),
        ("run.json", ('"environment"', '"surroundings"'), "it has no environment"),
        ("arms.json", ('"order": 0', '"order": "x"'), "order is 'x'"),
    ],
)
def test_a_damaged_run_is_not_scored(cli: Cli, lab: Lab, name: str, change: tuple[str, str] | None, said: str) -> None:
    """Whatever file of a run was lost or changed, scoring it again is refused (64), and the report left as it was."""
    ran = lab(gates=FLOOR)
    ended(ran, "pass", 0)
    assert ran.folder is not None
    path, report = ran.folder / name, (ran.folder / "report.json").read_bytes()
    text = path.read_text(encoding="utf-8")
    path.unlink()
    if change is not None:
        assert change[0] in text
        path.write_text(text.replace(*change), encoding="utf-8")
    again = cli("score", str(ran.folder))
    assert (again.code, len(again.faults)) == (64, 1)
    assert said in again.faults[0]
    assert (ran.folder / "report.json").read_bytes() == report


def test_a_row_that_was_cut_off_is_missing(cli: Cli, lab: Lab) -> None:
    """A last line without its end counts as a row that never came: incomplete, exit code 3."""
    ran = lab(gates=FLOOR)
    assert ran.folder is not None
    path = ran.folder / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    again = cli("score", str(ran.folder))
    ended(again, "incomplete", 3)
    assert again.report["reasons"] == ["arm one has 5 of 6 rows"]


def test_a_gate_may_be_moved_before_a_run_is_scored_again(cli: Cli, lab: Lab) -> None:
    """What judges the rows is no part of them; that it was moved shows in the instrument."""
    ran = lab(model=stand_in("Fixed", right=list("abcd")), gates=FLOOR)
    ended(ran, "pass", 0)
    assert ran.folder is not None
    before = ran.report["instrument"]["judging_hash"]
    path = ran.folder / "config.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("floor: 0.5", "floor: 0.9"), encoding="utf-8")
    again = cli("score", str(ran.folder), "--allow", "tests")
    ended(again, "fail", 1)
    assert again.report["instrument"]["judging_hash"] != before


def test_seeds_give_every_repeat_its_own_answer_and_never_change(lab: Lab) -> None:
    """hc03: three repeats of one sampled item are three answers; five repeats begin with the same three."""
    items = [{"id": "q1", "input": "say a colour", "target": "x"}]
    parts: dict[str, Any] = {
        "seed": 7,
        "model": {"_target_": SCRIPTED, "otherwise": "reply-{seed}"},
        "decoding": {"_target_": "evalflow.record.Decoding", "temperature": 0.8},
    }
    drafts = []
    for repeats, concurrency in ((3, 1), (5, 4)):
        arms = {"one": {"seeds": list(range(repeats)), "concurrency": concurrency}}
        rows = lab(items, arms=arms, **parts).rows
        drafts.append([row["draft"] for row in sorted(rows, key=lambda row: row["seed"])])
    assert [len(set(found)) for found in drafts] == [3, 5]
    assert drafts[1][:3] == drafts[0]


def test_failed_items_do_not_leave_the_denominator(lab: Lab) -> None:
    """hc04: right, wrong, error, NaN, right are 2 of 3 scored at coverage 0.6, and the run does not pass."""
    model = {"_target_": SCRIPTED, "answers": {"a": "right", "b": "wrong", "d": "right", "e": "right"}}
    gates = {"accuracy": {"figure": "quality/exact", "floor": 0.6}, "coverage": {"figure": "n/coverage", "floor": 0.9}}
    ran = lab(ITEMS[:5], model=model, metrics={"exact": stand_in("Holed", holes=["d"])}, gates=gates)
    ended(ran, "fail", 1)
    found = figure(ran, "quality/exact")
    counts = [found[name] for name in ("n_total", "n_scored", "n_error", "n_excluded")]
    assert (counts, found["value"]) == ([5, 3, 1, 1], pytest.approx(0.6666667, abs=1e-6))
    assert figure(ran, "n/coverage")["value"] == pytest.approx(0.6)


def test_the_order_of_completion_changes_nothing(lab: Lab) -> None:
    """hc06: reversed delays at concurrency 1, 2 and 4 give the same scores in the same order, 0.75."""
    replies = {"a": "A", "b": "B", "c": "X", "d": "D"}
    delays = {"a": 0.04, "b": 0.005, "c": 0.02, "d": 0.001}
    items = [{"id": name, "input": name, "target": name.upper()} for name in "abcd"]
    arms = {f"at{n}": {"concurrency": n} for n in (1, 2, 4)}
    model = {"_target_": SCRIPTED, "answers": replies, "delays": delays}
    ran = lab(items, arms=arms, model=model, gates=FLOOR)
    assert ran.folder is not None
    scored = [json.loads(line) for line in (ran.folder / "scores.jsonl").read_text(encoding="utf-8").splitlines()]
    for arm in arms:
        mine = [row for row in scored if row["arm"] == arm]
        assert [row["item_id"] for row in mine] == ["a", "b", "c", "d"]
        assert [row["stats"]["exact"] for row in mine] == [[1.0], [1.0], [0.0], [1.0]]
        assert figure(ran, "quality/exact", arm)["value"] == 0.75
    completed = [row["item_id"] for row in ran.rows if row["arm"] == "at4"]
    assert completed != ["a", "b", "c", "d"]


def test_answers_cut_at_the_limit_are_counted_and_gated(lab: Lab) -> None:
    """hc15: 4 of 10 cut: 0.6 right in all, 5 of 6 of the complete, 1 of 4 of the cut; the ceiling of 5 % fails."""
    items = many(10)
    right, cut = [f"q{i:02}" for i in (0, 1, 2, 3, 4, 6)], [f"q{i:02}" for i in (6, 7, 8, 9)]
    gates = {
        "truncated": HEALTHY["truncated"],
        "complete": {"figure": "quality/exact", "where": {"finish_reason": "stop"}, "between": [0.83, 0.84], "of": 6},
        "cut": {"figure": "quality/exact", "where": {"status": "truncated"}, "equals": 0.25, "of": 4},
        "all": {"figure": "quality/exact", "equals": 0.6, "of": 10},
    }
    ran = lab(items, model=stand_in("Fixed", right=right, cut=cut), gates=gates)
    ended(ran, "fail", 1)
    assert outcomes(ran) == {"truncated": "fail", "complete": "pass", "cut": "pass", "all": "pass"}
    assert figure(ran, "n/truncated_share")["value"] == pytest.approx(0.4)
    assert ran.report["gates"]["truncated"]["rows"] == [f"{name} (seed 0)" for name in cut]


ODD = ["half pair \ud835 end", "nul \u0000 inside", "emoji \U0001f600 ok"]


def test_any_text_goes_through_a_whole_run(lab: Lab) -> None:
    """hc16: a lone surrogate, a NUL and an emoji, asked, answered and scored, lose no byte and stop no writer."""
    items = [{"id": text, "input": text, "target": text, "kind": text} for text in ODD]
    ran = lab(
        items,
        model={"_target_": SCRIPTED, "answers": {text: text for text in ODD[:2]}, "otherwise": ODD[0]},
        gates=FLOOR,
    )
    ended(ran, "pass", 0)
    assert ran.folder is not None
    for name in ("rows.jsonl", "items.jsonl", "scores.jsonl", "report.json"):
        (ran.folder / name).read_bytes().decode("utf-8", "strict")
    assert [row["draft"] for row in ran.rows] == [ODD[0], ODD[1], ODD[0]]
    assert figure(ran, "quality/exact")["value"] == pytest.approx(2 / 3)


def test_odd_text_can_be_printed_where_it_decided_a_gate(lab: Lab) -> None:
    """Ids with a lone surrogate or a NUL are named on the console and in the JUnit file without breaking either."""
    items = [{"id": text, "input": text, "target": "right" if text == ODD[2] else "x"} for text in ODD]
    ran = lab(items, gates=FLOOR)
    ended(ran, "fail", 1)
    assert ran.report["gates"]["floor"]["rows"] == [f"{text} (seed 0)" for text in ODD[:2]]
    assert "decided by half pair" in " ".join(ran.out.split())


def test_one_gate_over_all_hides_nothing_that_a_gate_each_would_show(lab: Lab) -> None:
    """hc18: 10, 9 and 2 of 10 right are 0.7 over all, which passes 0.6, while a gate per test names the third."""
    items = [
        {"id": f"t{t}-{i}", "input": "?", "target": "right", "kind": f"t{t}"} for t in (1, 2, 3) for i in range(10)
    ]
    passes = {1: 10, 2: 9, 3: 2}
    right = [f"t{t}-{i}" for t, n in passes.items() for i in range(n)]
    each = {f"t{t}": {"figure": "quality/exact", "where": {"kind": f"t{t}"}, "floor": 0.8} for t in passes}
    gates = {"all": {"figure": "quality/exact", "floor": 0.6}, **each}
    ran = lab(items, model=stand_in("Fixed", right=right), gates=gates)
    ended(ran, "fail", 1)
    assert figure(ran, "quality/exact")["value"] == pytest.approx(0.7)
    assert outcomes(ran) == {"all": "pass", "t1": "pass", "t2": "pass", "t3": "fail"}


def test_the_default_gates_here_are_those_that_ship(cli: Cli, experiment: Experiment) -> None:
    """`+gate@gates=healthy` adds errors, truncated and coverage with the thresholds planted against above."""
    ran = cli(*experiment(), "+gate@gates=healthy")
    ended(ran, "pass", 0)
    shipped = {name: (gate["figure"], gate["threshold"]) for name, gate in ran.report["gates"].items()}
    assert shipped == {
        "errors": ("n/error_share", "<= 0"),
        "truncated": ("n/truncated_share", "<= 0.05"),
        "coverage": ("n/coverage", ">= 1"),
    }


def test_a_comparison_on_part_of_the_items_is_unreadable(lab: Lab) -> None:
    """Items that neither arm answered are missing pairs too, for gates of any sort and for controls."""
    half = {"model": stand_in("Raising", fails=["a", "b", "c", "d"])}
    gates = {
        "floor": {"figure": "quality/exact", "comparison": "c", "floor": -0.05},
        "not_worse": {"figure": "quality/exact", "comparison": "c", "verdict": "non_inferior", "margin": 0.9},
        "control": {"figure": "quality/exact", "comparison": "c", "floor": 0.5, "expect": "fail"},
    }
    comparison = {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}
    ran = lab(arms={"one": half, "two": half}, comparisons={"c": comparison}, gates=gates)
    ended(ran, "unreadable", 2)
    assert {gate["reason"] for gate in ran.report["gates"].values()} == {"4 of 6 items are unpaired"}


def test_a_model_cannot_make_itself_fast(lab: Lab) -> None:
    """Time is counted from when the driver asked until it had the answer, whatever the model stamps."""
    metrics = {"e2e": {"_target_": "evalflow.metric.latency.E2e", "percentiles": [50]}}
    gates = {"fast": {"figure": "lat/e2e_s/p50", "ceiling": 0.01}}
    ended(lab(model=stand_in("Stamping"), metrics=metrics, gates=gates), "fail", 1)


def test_a_model_may_raise_anything(lab: Lab) -> None:
    """An exception that is no `Exception` is an error row like any other."""
    ran = lab(model=stand_in("Stamping", odd=True), gates=HEALTHY)
    ended(ran, "fail", 1)
    assert {row["error"]["kind"] for row in ran.rows} == {"Odd"}
