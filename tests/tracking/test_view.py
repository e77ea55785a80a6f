"""The shared view: its columns, its size and its link."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from evalflow.tracking.entry import entries
from evalflow.tracking.sweep_entry import sweep_entry
from evalflow.tracking.view import sweep_view_state, view_link, view_state
from tests.tracking.written_run import MakeRun
from tests.tracking.written_sweep import swept_in


def test_columns_begin_with_the_figures_that_decided_and_end_with_the_params(make_run: MakeRun) -> None:
    """The columns are the figures that gates read, the counts of missed gates, deltas, gates, times, params."""
    run = make_run("r")
    state = json.loads(view_state(entries(run, private=False, git=None), run.report))
    assert state["selectedColumns"] == [
        "metrics.`quality/exact`",
        "metrics.`n/gates_failed`",
        "metrics.`n/gates_unreadable`",
        "metrics.`delta/exact sampled_vs_greedy`",
        "metrics.`gate/good`",
        "metrics.`gate/bad`",
        "metrics.`gate/control`",
        "metrics.`lat/ttft_s/p50`",
        "params.`arm`",
        "params.`seed`",
        "params.`dataset`",
        "params.`concurrency`",
        "params.`decoding.temperature`",
    ]


def test_what_was_swept_comes_before_the_numbers_where_names_are_too_long_to_be_read(make_run: MakeRun) -> None:
    """A job's name ends with what was swept; where its column has no room for that, the values come first."""

    def columns(swept: dict[str, str]) -> list[str]:
        run = replace(make_run("r"), sweep_id="s", swept=swept)
        shown: list[str] = json.loads(view_state(entries(run, private=False, git=None), run.report))["selectedColumns"]
        return shown

    short = columns({"seed": "1", "concurrency": "6"})
    assert short[0] == "metrics.`quality/exact`"
    assert short[8:10] == ["params.`sweep.seed`", "params.`sweep.concurrency`"]
    long = columns({"seed": "1", "arms.long.model.checkpoint": "tuned-for-a-very-long-time"})
    assert long[:3] == ["params.`sweep.seed`", "params.`sweep.arms.long.model.checkpoint`", "metrics.`quality/exact`"]
    assert long.count("params.`sweep.seed`") == 1


def test_a_name_has_the_room_that_it_needs(make_run: MakeRun) -> None:
    """The column of names is as wide as the longest of them, 15 letters here, and has its end."""
    run = make_run("r")
    state = json.loads(view_state(entries(run, private=False, git=None), run.report))
    assert state["columnWidths"]["attributes.`Run Name`"] == 60 + 6 * len("long_sampled s0")
    assert state["columnOrder"][:2] == ["attributes.`Run Name`", "runDateAndNestInfo"]
    wide = replace(run, swept={"key": "x" * 100})
    state = json.loads(view_state(entries(wide, private=False, git=None), wide.report))
    assert state["columnWidths"]["attributes.`Run Name`"] == 340


def test_after_a_sweep_the_columns_are_what_was_decided_missed_and_swept(tmp_path: Path) -> None:
    """A sweep's view has quality and deltas, other figures, counts of missed jobs and gates, its axes, and the arm."""
    sweep = swept_in(tmp_path)
    state = json.loads(sweep_view_state(sweep_entry(sweep, private=False, git=None), sweep.summary))
    assert state["selectedColumns"] == [
        "metrics.`quality/exact`",
        "metrics.`delta/exact long_vs_short`",
        "metrics.`lat/ttft_s/p50`",
        "metrics.`stability/seed_sd`",
        "metrics.`n/jobs_failed`",
        "metrics.`n/jobs_incomplete`",
        "metrics.`n/gates_failed`",
        "metrics.`n/gates_unreadable`",
        "params.`sweep.seed`",
        "params.`sweep.concurrency`",
        "params.`arm`",
        "params.`seed`",
    ]
    assert (state["orderByKey"], state["orderByAsc"]) == ("attributes.start_time", False)


def test_a_view_fits_in_an_experiment_tag_however_many_figures_there_are(make_run: MakeRun) -> None:
    """A view of a hundred long figures stays under MLflow's 5,000 characters for an experiment tag."""
    run = make_run("r")
    arms = dict(run.report["arms"])
    long = {f"quality/{'x' * 60}{n}": arms["greedy"]["figures"]["mem/kv_bytes"] for n in range(100)}
    arms["greedy"] = arms["greedy"] | {"figures": long}
    wide = make_run("r", arms=arms)
    assert len(view_state(entries(wide, private=False, git=None), wide.report)) < 5000


def test_the_link_is_to_the_server_or_to_where_evalflow_ui_listens() -> None:
    """Without a server the link goes to the local address of `evalflow ui`, and else to the server's own."""
    assert view_link(None, "3") == (
        "http://127.0.0.1:5000/#/experiments/3/runs?workflowType=machine_learning&viewStateShareKey=evalflow"
    )
    assert view_link("https://ml.example", "3").startswith("https://ml.example/#/experiments/3/")
