"""The charts of the prepared view."""

from __future__ import annotations

import json

from evalflow.tracking.charts import chart_state

KEYS = ["quality/exact", "n/gates_failed", "delta/exact a_vs_b", "gate/good", "lat/ttft_s/p50"]
GROUPS = ["quality", "n", "delta", "gate", "lat/ttft_s"]


def test_what_was_decided_on_is_drawn_first_and_the_groups_are_folded():
    """One open section of ours, whose bars are the figures in their order without counts and gates; then the groups."""
    state = chart_state(KEYS, GROUPS, [], 4000)
    first, *others = state["compareRunSections"]
    assert (first["name"], first["display"]) == ("decided on", True)
    assert [(one["name"], one["display"]) for one in others] == [(group, False) for group in GROUPS]
    assert {one["metricSectionId"] for one in state["compareRunCharts"]} == {first["uuid"]}
    drawn = [(one["type"], one["metricKey"]) for one in state["compareRunCharts"]]
    assert drawn == [("BAR", "quality/exact"), ("BAR", "delta/exact a_vs_b"), ("BAR", "lat/ttft_s/p50")]


def test_numbers_that_were_swept_are_an_axis():
    """Each figure of an arm stands over each number that was swept; a delta, which is of two arms, does not."""
    state = chart_state(KEYS, GROUPS, ["sweep.seed", "sweep.concurrency"], 4000)
    points = [one for one in state["compareRunCharts"] if one["type"] == "SCATTER"]
    assert [(one["xaxis"]["key"], one["yaxis"]["key"]) for one in points] == [
        ("sweep.seed", "quality/exact"),
        ("sweep.concurrency", "quality/exact"),
        ("sweep.seed", "lat/ttft_s/p50"),
        ("sweep.concurrency", "lat/ttft_s/p50"),
    ]
    assert len({one["uuid"] for one in state["compareRunCharts"]}) == 7


def test_charts_that_have_no_room_or_no_figure_are_left_to_mlflow():
    """Nothing half is asked for: without room in the tag, or a figure to draw, the state says nothing of charts."""
    assert chart_state(KEYS, GROUPS, [], 200) == {}
    assert chart_state(["n/gates_failed"], ["n"], [], 4000) == {}
    whole = chart_state(KEYS, GROUPS, [], 4000)
    assert chart_state(KEYS, GROUPS, [], len(json.dumps(whole))) == whole
