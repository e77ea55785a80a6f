"""The shared view: its columns, its size and its link."""

from __future__ import annotations

import json

from evalflow.tracking.entry import entries
from evalflow.tracking.view import view_link, view_state
from tests.tracking.written_run import MakeRun


def test_columns_begin_with_the_figures_that_decided_and_end_with_the_params(make_run: MakeRun) -> None:
    """The columns are the figures that gates read, the counts of missed gates, deltas, gates and then the params."""
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
        "params.`arm`",
        "params.`seed`",
        "params.`dataset`",
        "params.`concurrency`",
        "params.`decoding.temperature`",
    ]


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
    assert view_link(None, "3") == "http://127.0.0.1:5000/#/experiments/3/runs?viewStateShareKey=evalflow"
    assert view_link("https://ml.example", "3").startswith("https://ml.example/#/experiments/3/")
