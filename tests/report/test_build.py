"""report.json: every figure by hand, every report valid under the shipped schema."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from evalflow.metric.exact_match import ExactMatch
from evalflow.metric.protocol import Answer, Clusters, Stack
from evalflow.numeric.interval import Interval
from evalflow.record import RowError
from evalflow.report.build import build_report, errors_of, schema, scores_text, to_text
from evalflow.runner.judge import judge
from evalflow.runner.score import score
from evalflow.runner.stored_run import StoredRun
from tests.conftest import Lab
from tests.report.by_hand import ARMS, ENVIRONMENT, GATES, ITEMS, RUN_ID, SAID, SESSIONS, TRACES, made, trace

SOUND = ["base", "new", "bad"]
DECIDED = {**GATES, **{name: {**GATES[name], "coverage": 0.75} for name in ("base_floor", "gain")}}
"""The gates, two of which read base although a quarter of it is an error."""
SEVERAL = "its rows come from 2 sessions: times over more than one are marked"


def valid(report: dict[str, Any]) -> list[str]:
    """What the shipped schema holds against the report."""
    return [error.message for error in Draft202012Validator(schema()).iter_errors(report)]


@pytest.fixture
def report(tmp_path: Path) -> dict[str, Any]:
    made_report, _ = made(tmp_path, gates=DECIDED)
    assert valid(made_report) == []
    return made_report


def test_the_schema_is_one():
    """The shipped schema is itself valid, and of the version that reports carry."""
    Draft202012Validator.check_schema(schema())
    assert schema()["properties"]["schema_version"] == {"const": 1}


def test_what_the_run_was(report: dict[str, Any]):
    """Run, experiment, times, sessions, dataset and limits are the run's own."""
    assert (report["schema_version"], report["run_id"], report["experiment"]) == (1, RUN_ID, "four")
    assert (report["started"], report["finished"]) == ("2026-11-29T10:11:12+00:00", "2026-11-29T10:12:00+00:00")
    first, second = report["sessions"]
    assert (first["session"], first["state"], first["n_rows"]) == ("s1", "interrupted", 12)
    assert (first["started"], first["finished"]) == ("2026-11-29T10:11:12+00:00", "2026-11-29T10:11:40+00:00")
    assert (second["session"], second["state"], second["n_rows"]) == ("s2", "finished", 4)
    assert report["instrument"]["environment"] == ENVIRONMENT
    assert report["notes"] == [SEVERAL]
    assert (report["dataset"]["name"], report["dataset"]["n"], report["part"]) == ("questions", 4, None)
    assert report["limits"] == ["four questions show little"]
    assert report["coverage"] == {"n_planned": 16, "n_rows": 16, "n_error": 1}


def test_what_was_asked_is_told(tmp_path: Path):
    """What each metric's numbers mean, whom a comparison holds against whom, and which rows a gate reads."""
    gates = {
        **GATES,
        "some": {"figure": "quality/exact", "arm": "new", "floor": 1, "count": True, "where": {"kind": "x"}},
    }
    asked = made(tmp_path, gates=gates)[0]["asked"]
    told = {"grain": "row", "unit": "share", "higher_is_better": True, "is_rate": True}
    assert asked["metrics"]["exact"] == {"figure": "quality/exact", **told}
    assert asked["metrics"]["ttft"]["figure"] == "lat/ttft_s" and not asked["metrics"]["ttft"]["is_rate"]
    assert asked["comparisons"] == {"new_vs_base": {"reference": "base", "candidate": "new"}}
    assert asked["gates"]["gain"] == {"where": {}, "margin": 0.1, "count": False}
    assert asked["gates"]["some"] == {"where": {"kind": "x"}, "margin": None, "count": True}


def test_a_session_that_gave_no_row_is_listed_and_counts_for_nothing(tmp_path: Path):
    """One that was stopped at once is told with 0 rows; it makes of one session's times no two, and has no machine."""
    idle = {**SESSIONS[0], "session": "s0", "environment": {"python": "2"}}
    whole = {**SAID, ("bad", 0): ""}
    report = made(tmp_path, whole, sessions=(idle, *SESSIONS))[0]
    assert [(one["session"], one["n_rows"]) for one in report["sessions"]] == [("s0", 0), ("s1", 12), ("s2", 0)]
    assert (report["notes"], report["instrument"]["environment"]) == ([], ENVIRONMENT)
    assert valid(report) == []


def test_sessions_in_different_environments_are_all_in_the_instrument(tmp_path: Path):
    """None of the two is the run's; both are listed, the run says so, and its hash is neither's."""
    moved = {"python": "3.1"}
    report = made(tmp_path, sessions=(SESSIONS[0], {**SESSIONS[1], "environment": moved}))[0]
    assert report["instrument"]["environment"] == {"sessions": [ENVIRONMENT, moved]}
    assert report["notes"] == [SEVERAL, "its sessions ran in different environments, which the instrument lists"]
    hashes = {report["instrument"]["latency_hash"]}
    for place in ENVIRONMENT, moved:
        alike = tuple({**session, "environment": place} for session in SESSIONS)
        hashes.add(made(tmp_path, sessions=alike)[0]["instrument"]["latency_hash"])
    assert len(hashes) == 3
    assert valid(report) == []


def test_a_run_of_a_shared_machine_says_so(tmp_path: Path):
    """Jobs of its sweep may have run beside it: whoever reads its times must know."""
    report = made(tmp_path, shared=True)[0]
    assert report["notes"][1:] == ["jobs of its sweep may have run at the same time: its times are of a shared machine"]
    assert valid(report) == []


@pytest.mark.parametrize(("later", "told"), [(("bad", "d"), True), (("bad",), False)])
def test_an_arm_that_was_asked_at_two_levels_says_so(tmp_path: Path, later: tuple[str, ...], told: bool):
    """Base was asked at 1, then at 4, if its last item came then; a session that gave it no row has no say."""
    again = replace(trace("s2", 1, 52), concurrency=4)
    report = made(tmp_path, traces={**TRACES, "base": (*TRACES["base"], again)}, later=later)[0]
    assert report["notes"] == [SEVERAL, *["arm base was asked at concurrency 1, then 4"] * told]


def test_what_was_in_flight_stands_beside_what_was_asked(tmp_path: Path):
    """Base asks nine at a time of four items, new has a rate and no such end; the driver counted for base alone."""
    driver = {"saturated": False, "in_flight_mean": 2.5, "in_flight_max": 4.0}
    arms = {**ARMS, "base": {"concurrency": 9}, "new": {**ARMS["new"], "rate": 0.5}}
    traces = {**TRACES, "base": (replace(TRACES["base"][0], driver=driver),)}
    report = made(tmp_path, traces=traces, arms=arms)[0]
    told = {name: arm["concurrency"] for name, arm in report["arms"].items()}
    assert told["base"] == {"asked": 9, "reachable": 4, "in_flight_mean": 2.5, "in_flight_max": 4.0}
    assert told["new"] == {"asked": None, "reachable": None, "in_flight_mean": None, "in_flight_max": None}
    conditions = {name: arm["conditions"] for name, arm in report["arms"].items()}
    assert (conditions["new"]["rate"], conditions["new"]["arrivals"]) == (0.5, "poisson")
    assert (conditions["base"]["rate"], conditions["base"]["arrivals"]) == (None, None)
    assert report["notes"] == [SEVERAL, "arm base asks 9 at a time, and can have 4 in flight: there are 4 items"]
    assert valid(report) == []


def test_a_claim_of_the_cache_is_told_with_its_reason(tmp_path: Path):
    """No row reports cached tokens here; where all of a cold arm's were cached the report says what it was not."""
    report, scores = made(tmp_path)
    assert report["arms"]["bad"]["claims"] == {
        "cache": "cannot_say",
        "cache_why": "none of 4 rows reports cached tokens",
    }
    hits = {key: replace(row, tokens_in=10, cached_tokens=9) for key, row in scores.arms["bad"].rows.items()}
    run = StoredRun(tmp_path, _state(report), scores.plan.items, tuple(hits.values()), (), TRACES)
    hit = score(scores.plan, run.rows, (), TRACES)
    report = build_report(run, hit, judge(hit))
    why = "4 of 4 first reads of a group hit the cache; a cold arm claims at most 0.1 of them"
    assert report["arms"]["bad"]["claims"] == {"cache": "broken", "cache_why": why}
    assert f"arm bad was not what it claims: {why}" in report["notes"]
    assert valid(report) == []


def _state(report: dict[str, Any]) -> dict[str, Any]:
    """What run.json of the run by hand would say."""
    known = {name: report[name] for name in ("run_id", "started", "finished", "calibration")}
    return {**known, "sessions": SESSIONS, "shared": False}


def test_what_was_found_out_about_a_seat_is_of_the_instrument(tmp_path: Path):
    """Another version of the seat is another instrument for times, and the same one for quality."""

    def told(version: str) -> dict[str, Any]:
        facts = {"seat": {"version": version}, "connections_opened": 1}
        return dict(made(tmp_path, traces={**TRACES, "new": (replace(TRACES["new"][0], facts=facts),)})[0])

    first, other = told("1"), told("2")
    assert first["instrument"]["seats"] == {"new": {"version": "1"}}
    assert first["instrument"]["serving"] is None
    assert first["instrument"]["latency_hash"] != other["instrument"]["latency_hash"]
    assert first["instrument"]["quality_hash"] == other["instrument"]["quality_hash"]
    assert valid(first) == []


def test_the_drivers_own_error_is_in_the_report(tmp_path: Path):
    """As the calibration of this machine found it, or null where there was none."""
    assert made(tmp_path)[0]["calibration"] is None
    report = made(tmp_path, calibration={"ttft_error_s": 0.001})[0]
    assert report["calibration"] == {"ttft_error_s": 0.001}
    assert valid(report) == []


def test_figures_by_hand(report: dict[str, Any]):
    """One of three scored answers of base is right and one row is an error; new averages its seeds inside an item."""
    base, new = (report["arms"][name]["figures"] for name in ("base", "new"))
    exact = base["quality/exact"]
    assert exact["value"] == pytest.approx(1 / 3)
    assert (exact["n_total"], exact["n_scored"], exact["n_excluded"], exact["n_error"]) == (4, 3, 0, 1)
    # two words of two and one scored items count as 9 / 5 words, too few for an interval
    assert (exact["unit"], exact["level"], exact["low"], exact["high"]) == ("share", None, None, None)
    assert (new["quality/exact"]["level"], new["n/coverage"]["unit"]) == (0.95, "share")
    assert new["quality/exact"]["value"] == pytest.approx((1 + 1 + 0.5 + 1) / 4)
    assert (new["quality/exact"]["n_total"], new["quality/exact"]["n_scored"]) == (8, 8)
    # seeds score 1 and 0.75: their sd is 0.25 / sqrt 2
    assert new["stability/seed_sd"]["value"] == pytest.approx(0.25 / 2**0.5)
    assert base["n/error_share"]["value"] == 0.25
    assert new["n/coverage"]["n_total"] == 8


def test_undefined_figures_are_null_with_a_reason(report: dict[str, Any]):
    """Nothing timed, nothing measured and a single seed are null, each with its own reason and counts."""
    base = report["arms"]["base"]["figures"]
    assert (base["lat/ttft_s/p50"]["value"], base["lat/ttft_s/p50"]["n_excluded"]) == (None, 3)
    assert base["lat/ttft_s/p50"]["reason"] == "nothing scored (1 errors, 3 excluded)"
    assert base["stability/seed_sd"]["reason"] == "one seed"
    assert base["mem/param_bytes"]["reason"] == "no measurement memory was taken, or the model has none"


def test_figures_by_kind_and_by_seed(report: dict[str, Any]):
    """Kinds and seeds have figures of their own, and what is not of rows has no kind."""
    new = report["arms"]["new"]
    assert {kind: part["quality/exact"]["value"] for kind, part in new["breakdown"].items()} == {
        "kind=x": 0.75,
        "kind=y": 1.0,
    }
    assert {seed: part["quality/exact"]["value"] for seed, part in new["by_seed"].items()} == {"0": 1.0, "1": 0.75}
    assert "mem/param_bytes" not in new["breakdown"]["kind=x"]
    assert report["arms"]["base"]["breakdown"]["kind=y"]["quality/exact"]["n_error"] == 1


def test_conditions_order_and_driver(report: dict[str, Any]):
    """An arm carries what it ran under, when, and what driver and model saw of themselves."""
    base, new = report["arms"]["base"], report["arms"]["new"]
    assert (base["order"], new["order"], report["arms"]["bad"]["order"]) == (1, 2, 3)
    assert (base["conditions"]["greedy"], new["conditions"]["greedy"]) == (True, False)
    assert new["conditions"]["seeds"] == [0, 1]
    assert new["conditions"]["decoding"]["temperature"] == 1.0
    assert base["driver"] == report["driver"]["base"] == {"saturated": False, "loop_lag_p99_s": 0.001}
    assert base["facts"] == {"batch": 2.0}
    assert [report["arms"][name]["conditions"]["control"] for name in SOUND] == [False, False, True]


def test_gates_and_the_verdict(report: dict[str, Any]):
    """Each gate's outcome, and the verdict that follows from those that decide: base is below its floor."""
    gates = report["gates"]
    assert {name: gate["outcome"] for name, gate in gates.items()} == {
        "new_floor": "pass",
        "base_floor": "fail",
        "control": "pass",
        "first_token": "unreadable",
        "gain": "unreadable",
        "alone": "skipped",
    }
    assert (report["verdict"], report["exit_code"]) == ("fail", 1)
    assert gates["base_floor"]["value"] == pytest.approx(1 / 3)
    assert gates["base_floor"]["rows"] == ["b (seed 0)", "c (seed 0)"]
    assert (gates["base_floor"]["threshold"], gates["base_floor"]["on_fail"]) == (">= 0.5", "train longer")
    assert gates["base_floor"]["denominator"] == 3
    assert gates["control"]["expected"] == "fail"
    assert gates["alone"]["reason"] == "concurrency is 1"
    assert gates["first_token"]["report_only"]
    # two words, worth 9 / 5 of equal size, each gained 0.5: 1 - 0.05^(5/9) may differ unseen, far more than the margin
    assert gates["gain"]["reason"] == "a margin of 0.1 is beyond this run's reach (0.811)"


def test_a_gate_that_asks_for_all_rows_does_not_read_an_arm_with_an_error(tmp_path: Path):
    """As written, base's floor wants every row scored; one of four is an error, so it is not read."""
    gates = made(tmp_path)[0]["gates"]
    gate = gates["base_floor"]
    assert (gate["outcome"], gate["reason"], gate["rows"]) == ("unreadable", "1 of 4 were not scored", [])
    assert (gates["gain"]["outcome"], gates["gain"]["reason"]) == ("unreadable", "1 of 4 items are unpaired")


def test_errors_are_told_by_arm(tmp_path: Path):
    """The most frequent first, five and the others counted in one, long words cut, an item's id told once."""
    plan_report, scores = made(tmp_path)
    assert plan_report["arms"]["base"]["errors"] == [{"kind": "ModelError", "message": "no answer", "count": 1}]
    assert [plan_report["arms"][name]["errors"] for name in ("new", "bad")] == [[], []]
    said = ["late"] * 2 + [f"{n}{'x' * 300}" for n in range(6)] + ["late"]
    rows = [
        replace(row, status="error", error=RowError("timeout", text), item_id=str(n))
        for n, (text, row) in enumerate(zip(said, scores.rows, strict=False))
    ]
    arm = replace(scores.arms["base"], rows={(0, row.item_id): row for row in rows})
    found = errors_of(arm)
    assert found[0] == {"kind": "timeout", "message": "late", "count": 3}
    assert [(len(error["message"]), error["count"]) for error in found[1:-1]] == [(200, 1)] * 4
    assert found[-1] == {"kind": "others", "message": "2 other messages", "count": 2}
    named = [replace(row, error=RowError("Lost", f"nothing for {row.item_id!r}")) for row in rows]
    told = errors_of(replace(arm, rows={(0, row.item_id): row for row in named}))
    assert told == [{"kind": "Lost", "message": "nothing for '0' and 8 others", "count": 9}]
    assert errors_of(replace(arm, rows={(0, "3"): named[3]}))[0]["message"] == "nothing for '3'"


def test_a_report_holds_numpy_values_as_plain_ones(lab: Lab):
    """A metric's settings may be arrays, and its details numpy's numbers."""
    ran = lab(metrics={"exact": {"_target_": "tests.report.test_build.Arrayed"}})
    assert valid(ran.report) == []
    assert ran.report["instrument"]["metrics"]["exact"]["settings"] == {"weights": [1.0, 2.0]}
    assert ran.folder is not None
    first = (ran.folder / "scores.jsonl").read_text(encoding="utf-8").splitlines()[0]
    assert json.loads(first)["detail"]["exact"] == {"n": 1, "all": [1, 2]}


@dataclass(frozen=True)
class Arrayed(ExactMatch):
    """Exact match with an array among its settings and numpy's numbers in its details."""

    weights: Any = (1.0, 2.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.array(self.weights))

    def detail(self, unit: Answer) -> Any:
        return {"n": np.int64(1), "all": np.array([1, 2])}


def test_a_value_without_its_interval_is_told_with_what_that_needs(lab: Lab):
    """A note for each arm, the figure's own reason being for those that have no value."""
    metrics = {"exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"}, "few": {"_target_": f"{__name__}.Few"}}
    ran = lab(metrics=metrics)
    assert valid(ran.report) == []
    assert "no interval of quality/few of one: an interval needs 20 answers" in ran.report["notes"]
    assert not any("exact" in note for note in ran.report["notes"])


@dataclass(frozen=True)
class Few(ExactMatch):
    """Exact match of too few answers for an interval."""

    no_interval: ClassVar[str] = "an interval needs 20 answers"

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        return None


def test_the_comparison_by_hand(report: dict[str, Any]):
    """New minus base over the three items that both answered is +0.5; the item that base failed on is named."""
    delta = report["comparisons"]["new_vs_base"]["quality/exact"]
    assert delta["delta"] == pytest.approx((1 + 1 + 0.5) / 3 - 1 / 3)
    assert (delta["n_pairs"], delta["n_clusters"], delta["unpaired"]) == (3, 2, ["d"])
    assert (delta["wins"], delta["losses"], delta["ties"]) == (2, 0, 0)
    assert delta["p"] == delta["p_adjusted"] == 0.5
    assert "with 2 that differ, 0.05 cannot be reached" in delta["words"]


def _missing(folder: Path) -> dict[str, Any]:
    return made(folder, {**SAID, ("new", 1): "rr-r"})[0]


def _unavailable(folder: Path) -> dict[str, Any]:
    traces = {**TRACES, "new": (trace("s1", 2, 14, unavailable="no such device"),)}
    said = {key: letters for key, letters in SAID.items() if key[0] != "new"}
    return made(folder, said, traces)[0]


def _optional(folder: Path) -> dict[str, Any]:
    traces = {**TRACES, "new": (trace("s1", 2, 14, unavailable="no such device"),)}
    said = {key: letters for key, letters in SAID.items() if key[0] != "new"}
    arms = {**ARMS, "new": {**ARMS["new"], "optional": True}}
    return made(folder, said, traces, arms=arms, gates={"n": GATES["new_floor"], "b": GATES["control"]})[0]


def _ungated(folder: Path) -> dict[str, Any]:
    return made(folder, gates={})[0]


def _smoke(folder: Path) -> dict[str, Any]:
    return made(folder, limit=2, gates={"n": GATES["new_floor"]})[0]


def _saturated(folder: Path) -> dict[str, Any]:
    traces = {name: (replace(parts[0], driver={"saturated": True}),) for name, parts in TRACES.items()}
    gates = {"t": {"figure": "lat/ttft_s/p50", "arm": "new", "ceiling": 9.0}}
    return made(folder, traces=traces, gates=gates)[0]


def _passing(folder: Path) -> dict[str, Any]:
    return made(folder, gates={"n": GATES["new_floor"], "c": GATES["control"]})[0]


def _untraced(folder: Path) -> dict[str, Any]:
    traces = {name: parts for name, parts in TRACES.items() if name != "new"}
    return made(folder, traces=traces, gates={"n": GATES["new_floor"]})[0]


def _killed(folder: Path) -> dict[str, Any]:
    """Killed in its last arm: neither an end nor that arm's trace."""
    traces = {name: parts for name, parts in TRACES.items() if name != "bad"}
    report = made(folder, {**SAID, ("bad", 0): "ww--"}, traces, gates={"n": GATES["new_floor"]})[0]
    return {**report, "finished": None}


def _hostile(folder: Path) -> dict[str, Any]:
    items = [{**item, "id": f"{item['id']}\ud800\x00\x1b[31m", "kind": "[red]"} for item in ITEMS]
    return made(folder, items=items, gates=DECIDED)[0]


@pytest.mark.parametrize(
    ("make", "verdict", "code", "reason"),
    [
        (_missing, "incomplete", 3, "arm new has 7 of 8 rows"),
        (_killed, "incomplete", 3, "arm bad did not finish: it has 2 of 4 rows"),
        (_unavailable, "incomplete", 3, "arm new is unavailable: no such device"),
        (_optional, "pass", 0, None),
        (_ungated, "unreadable", 2, "no gate decided anything"),
        (_smoke, "unreadable", 2, None),
        (_saturated, "unreadable", 2, None),
        (_passing, "pass", 0, None),
        (_untraced, "incomplete", 3, "arm new did not finish: it has 8 of 8 rows"),
        (_hostile, "fail", 1, None),
    ],
)
def test_every_kind_of_report_obeys_the_schema(make: Any, verdict: str, code: int, reason: str | None, tmp_path: Path):
    """Whatever went wrong, the report is valid, its verdict and exit code agree, and it says why."""
    report = make(tmp_path)
    assert valid(report) == []
    assert (report["verdict"], report["exit_code"]) == (verdict, code)
    assert report["reasons"] == ([reason] if reason else [])


def test_a_part_of_the_dataset_decides_nothing(tmp_path: Path):
    """A smoke run's gate is unreadable, for the reason that the report names too."""
    report = _smoke(tmp_path)
    assert report["part"] == report["gates"]["n"]["reason"] == "smoke run: limit 2"
    assert report["dataset"]["n"] == 2


def test_a_saturated_driver_has_no_times(tmp_path: Path):
    """Times are undefined where the driver was late; the answers are not."""
    figures = _saturated(tmp_path)["arms"]["new"]["figures"]
    assert figures["lat/ttft_s/p50"]["reason"] == "the driver was saturated"
    assert figures["quality/exact"]["value"] == pytest.approx(0.875)


def _set(path: str, value: Any) -> Any:
    def change(report: dict[str, Any]) -> None:
        *parents, last = path.split(" ")
        node: Any = report
        for parent in parents:
            node = node[int(parent) if isinstance(node, list) else parent]
        node[last] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set("schema_version", 2),
        _set("verdict", "passed"),
        _set("exit_code", 0),  # of a failed run
        _set("surprise", 1),
        _set("run_id", "latest"),
        _set("coverage", {}),
        _set("arms base figures quality/exact value", None),  # without a reason
        _set("arms base figures quality/exact reason", "why"),  # beside a value
        _set("arms base figures quality/exact value", "0.3"),
        _set("arms base claims cache", "maybe"),
        _set("arms base claims cache_why", ""),
        _set("arms base concurrency asked", -1),
        _set("arms base concurrency", {"asked": 1}),
        _set("arms base conditions rate", 0),
        _set("arms base conditions arrivals", "bursts"),
        _set("instrument seats", None),
        _set("calibration", []),
        _set("arms base errors", [{"kind": "x", "message": "y" * 201, "count": 1}]),
        _set("arms base errors", [{"kind": "x", "message": "y", "count": 0}]),
        _set("arms base errors", None),
        _set("finished", 5),
        _set("sessions", []),
        _set("sessions", ["s1"]),
        _set("sessions 0 n_rows", -1),
        _set("sessions 0 state", "done"),
        _set("arms base figures quality/exact n_sessions", 0),
        _set("gates base_floor outcome", "failed"),
        _set("gates first_token reason", None),  # unreadable without a reason
        _set("comparisons new_vs_base quality/exact conclusion", "equal"),
        _set("dataset content_fp", "abc"),
    ],
)
def test_the_schema_refuses_what_is_no_report(report: dict[str, Any], change: Any):
    """The schema is not empty: each of these faults is found."""
    changed = copy.deepcopy(report)
    change(changed)
    assert changed != report
    assert valid(changed)


def test_a_report_says_its_training_step(tmp_path: Path, report: dict[str, Any]):
    """Where the config does; it is no part of the instrument, and a step below 0 is none."""
    without, stepped = made(tmp_path)[0], made(tmp_path, step=1500)[0]
    assert (without["step"], stepped["step"], valid(stepped)) == (None, 1500, [])
    assert stepped["instrument"]["hash"] == without["instrument"]["hash"]
    assert valid({**report, "step": -1}) and valid({**report, "step": 1.5})


def test_no_part_of_a_report_may_be_left_out(report: dict[str, Any]):
    """Every key of the report is required but the training step, which reports of before had no place for."""
    for key in report.keys() - {"step"}:
        assert valid({name: part for name, part in report.items() if name != key})


def test_the_text_is_the_report(report: dict[str, Any]):
    """The stored text is ASCII JSON that reads back equal, and refuses a number that is none."""
    text = to_text(report)
    assert json.loads(text) == report
    assert text.isascii()
    with pytest.raises(ValueError, match="JSON compliant"):
        to_text({**report, "exit_code": float("nan")})


def test_two_reports_of_one_run_are_one(tmp_path: Path):
    """Scoring again gives the same report, and the instrument's hash moves with a gate."""
    first, _ = made(tmp_path)
    again, _ = made(tmp_path)
    assert first == again
    moved, _ = made(tmp_path, gates={**GATES, "new_floor": {**GATES["new_floor"], "floor": 0.7}})
    assert moved["instrument"]["hash"] != first["instrument"]["hash"]
    assert moved["instrument"]["quality_hash"] == first["instrument"]["quality_hash"]


def test_scores_are_a_line_per_row(tmp_path: Path):
    """Each row's statistics and reasons are one line of JSON; an error row has none."""
    _, scores = made(tmp_path)
    lines = [json.loads(line) for line in scores_text(scores.rows).splitlines()]
    assert len(lines) == 16
    by_key = {(line["arm"], line["seed"], line["item_id"]): line for line in lines}
    assert by_key["new", 1, "c"]["stats"]["exact"] == [0.0]
    assert by_key["new", 1, "c"]["detail"]["exact"] == {"expected": "right"}
    assert by_key["base", 0, "d"]["stats"]["exact"] is None
    assert by_key["base", 0, "d"]["status"] == "error"
