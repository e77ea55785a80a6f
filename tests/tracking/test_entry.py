"""Entries: which flat runs a finished run becomes, and what each of them carries."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from evalflow.errors import TrackingError
from evalflow.record import Times
from evalflow.tracking.entry import Entry, entries, seconds_at_work
from evalflow.tracking.finished_run import FinishedRun
from tests.tracking.written_run import ITEMS, MakeRun, figure, gate, report, row, session


def of(run: FinishedRun, private: bool = False) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries(run, private, git=None)}


def test_there_is_one_entry_per_arm_and_seed_and_one_for_the_report(make_run: MakeRun) -> None:
    """Arms of one and three seeds make four entries in config order, and the report's comes last."""
    names = list(of(make_run("r")))
    assert names == ["greedy s0", "long_sampled s0", "long_sampled s1", "long_sampled s2", "report: fail"]


def test_only_what_varies_between_the_arms_is_a_param(make_run: MakeRun) -> None:
    """Beside arm, seed, dataset and concurrency, only the temperature is a param, since it alone differs."""
    params = of(make_run("r"))["long_sampled s1"].params
    assert params == {
        "arm": "long_sampled",
        "seed": "1",
        "dataset": "words",
        "concurrency": "2",
        "decoding.temperature": "1.0",
    }


def test_a_sweep_shows_in_name_params_and_tag(make_run: MakeRun) -> None:
    """A swept value is in the entry's name and params, and a run without a sweep is tagged as its own."""
    run = replace(make_run("r"), sweep_id="sweep", swept={"arms.greedy.concurrency": 6})
    entry = of(run)["greedy s0 concurrency=6"]
    assert entry.params["sweep.arms.greedy.concurrency"] == "6"
    assert entry.tags["evalflow.sweep_id"] == "sweep"
    assert of(make_run("r"))["greedy s0"].tags["evalflow.sweep_id"] == "r"


def test_a_training_step_is_that_of_every_metric_and_a_param(make_run: MakeRun) -> None:
    """Said once where the sweep gave it; a run without one, or reported before there were any, is at step 0."""
    run = make_run("r")
    at = replace(run, report={**run.report, "step": 150})
    assert {(entry.step, entry.params["step"]) for entry in of(at).values()} == {(150, "150")}
    swept = of(replace(at, swept={"step": "150"}))["greedy s0 step=150"]
    assert (swept.step, swept.params["sweep.step"], "step" in swept.params) == (150, "150", False)
    for told in (run.report, {**run.report, "step": None}):
        entries_without = of(replace(run, report=told)).values()
        assert {(entry.step, "step" in entry.params) for entry in entries_without} == {(0, False)}


def test_metrics_are_of_the_seed_where_the_seed_has_them_and_else_of_the_arm(make_run: MakeRun) -> None:
    """A seed's own figure is logged to six significant digits, and one that only the arm has is taken from there."""
    metrics = of(make_run("r"))["long_sampled s2"].metrics
    assert metrics["quality/exact"] == 0.466667  # 2/3 - 0.2 to six significant digits
    assert metrics["mem/kv_bytes"] == 12345700.0


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_not_finite_is_a_tag_and_counted_never_a_metric(make_run: MakeRun, value: float | None) -> None:
    """hc17: a missing, NaN or infinite figure becomes a tag with its reason and adds to the count of undefined ones."""
    arms = report("r")["arms"]
    arms["greedy"]["by_seed"]["0"]["quality/exact"] = figure(1.0) | {
        "value": value,
        "reason": "no row was scored",
    }
    entry = of(make_run("r", arms=arms))["greedy s0"]
    assert "quality/exact" not in entry.metrics
    assert entry.tags["evalflow.undefined.quality/exact"] == "no row was scored"
    assert entry.metrics["n/undefined"] == 2  # it and the fixture's p95
    assert all(map(math.isfinite, entry.metrics.values()))


def test_a_time_over_several_sessions_is_a_tag_and_no_metric(make_run: MakeRun) -> None:
    """A figure or delta that was taken in two sessions is a tag with its value and their count."""
    arms = report("r")["arms"]
    arms["greedy"]["by_seed"]["0"]["lat/ttft_s/p50"] = figure(0.1234567, "s", n_sessions=2)
    comparisons = {"a_vs_b": {"lat/ttft_s/p50": {"delta": 0.25, "reason": None, "n_sessions": 3}}}
    logged = of(make_run("r", arms=arms, comparisons=comparisons))
    arm, whole = logged["greedy s0"], logged["report: fail"]
    assert arm.tags["evalflow.over_sessions.lat/ttft_s/p50"] == "0.123457 s over 2 sessions"
    assert whole.tags["evalflow.over_sessions.delta/ttft_s.p50 a_vs_b"] == "0.25 over 3 sessions"
    assert not [key for key in {**arm.metrics, **whole.metrics} if "ttft" in key]
    assert arm.metrics["n/undefined"] == 1  # it is defined; the fixture's p95 is not
    assert "lat/ttft_s/p50" in logged["long_sampled s0"].metrics


def test_a_gate_is_1_or_0_and_an_unreadable_one_is_no_number(make_run: MakeRun) -> None:
    """A pass is 1 and a fail 0, while an unreadable gate is a tag with its reason, and each outcome is counted."""
    entry = of(make_run("r"))["report: fail"]
    gates = {key: value for key, value in entry.metrics.items() if key.startswith("gate/")}
    assert gates == {"gate/good": 1.0, "gate/bad": 0.0, "gate/control": 1.0}
    assert entry.tags["evalflow.unreadable.p95"] == "needs 20 rows, has 3"
    counts = [entry.metrics[f"n/gates_{word}"] for word in ("passed", "failed", "unreadable")]
    assert counts == [2, 1, 1]


def test_deltas_have_two_levels_and_keep_their_group_only_where_two_figures_would_be_one(
    make_run: MakeRun,
) -> None:
    """A delta's name drops its figure's group unless two figures of the comparison would then share a name."""

    def delta(value: float) -> dict[str, object]:
        return {"delta": value, "reason": None}

    run = make_run(
        "r",
        comparisons={
            "a_vs_b": {"quality/x": delta(1.0), "lat/ttft_s/p50": delta(2.0)},
            "c_vs_d": {"quality/x": delta(3.0), "parity/x": delta(4.0)},
        },
    )
    metrics = of(run)["report: fail"].metrics
    assert {key: value for key, value in metrics.items() if key.startswith("delta/")} == {
        "delta/x a_vs_b": 1.0,
        "delta/ttft_s.p50 a_vs_b": 2.0,
        "delta/quality.x c_vs_d": 3.0,
        "delta/parity.x c_vs_d": 4.0,
    }


def test_the_report_comes_first_in_a_list_sorted_by_start_then_the_arms_in_order(make_run: MakeRun) -> None:
    """Start times put the report on top of a newest-first list, and the arms below it in config order."""
    logged = entries(make_run("r"), private=False, git=None)
    newest_first = sorted(logged, key=lambda entry: -entry.start_ms)
    assert [entry.name for entry in newest_first] == [logged[-1].name, *(entry.name for entry in logged[:-1])]


def test_an_arm_lasts_from_its_first_request_to_its_last_end_whatever_the_session() -> None:
    """Each session counts from its first request to its last end, and the time between sessions does not count."""
    one = row("greedy", 0, ITEMS[0], 0)
    rows = [
        replace(one, times=Times(scheduled=10.0, end=11.0)),
        replace(one, times=Times(sent=12.0, end=14.5)),
        replace(one, session="s2", times=Times(scheduled=900.0, end=901.0)),
        replace(one, session="s3", times=Times()),
    ]
    assert seconds_at_work(rows) == 5.5


def test_an_incomplete_run_is_not_a_finished_one(make_run: MakeRun) -> None:
    """The report entry of an incomplete run is not completed, and ends when it starts."""
    entry = of(make_run("r", verdict="incomplete", finished=None))["report: incomplete"]
    assert entry.status == "FAILED"
    assert entry.end_ms == entry.start_ms


@pytest.mark.parametrize("state", ["interrupted", "running"])
def test_a_run_that_was_stopped_or_died_is_a_killed_one(make_run: MakeRun, state: str) -> None:
    """The report of a run whose last session has no proper end is killed, and so are the arms that lack rows."""
    sessions = [session("s1"), session("s2", state)]
    run = make_run("r", verdict="incomplete", sessions=sessions)
    logged = of(replace(run, rows=run.rows[:4]))  # the whole first arm, and a third of the second's first pass
    assert {name: entry.status for name, entry in logged.items()} == {
        "greedy s0": "FINISHED",
        "long_sampled s0": "KILLED",
        "long_sampled s1": "KILLED",
        "long_sampled s2": "KILLED",
        "report: incomplete": "KILLED",
    }


def test_a_run_that_was_resumed_to_its_end_is_a_finished_one(make_run: MakeRun) -> None:
    """What an earlier session came to does not matter once the last one finished."""
    run = make_run("r", sessions=[session("s1", "interrupted"), session("s2")])
    assert {entry.status for entry in entries(run, private=False, git=None)} == {"FINISHED"}


def test_an_arm_that_could_not_start_is_logged_as_failed_with_its_reason(make_run: MakeRun) -> None:
    """An unavailable arm is not completed, has its reason as a tag and has no items table."""
    arms = report("r")["arms"]
    arms["greedy"]["unavailable"] = "no accelerator here"
    run = make_run("r", arms=arms)
    entry = of(replace(run, rows=[row for row in run.rows if row.arm != "greedy"]))["greedy s0"]
    assert entry.status == "FAILED"
    assert entry.tags["evalflow.unavailable"] == "no accelerator here"
    assert not entry.texts


def test_the_items_table_has_the_id_first_and_the_answer_second(make_run: MakeRun) -> None:
    """The items table has one row per item, with its scores or their exclusion and its status at the end."""
    table = json.loads(of(make_run("r"))["greedy s0"].texts["items.json"])
    assert table["columns"] == ["id", "answer", "target", "prompt", "exact", "f1", "status"]
    assert table["data"][0] == [
        "copy:tree",
        "tree said greedy",
        "tree",
        "Copy the word: tree",
        1.0,
        "1 0 2",
        "ok",
    ]
    assert table["data"][2][4:] == ["excluded", "1 0 2", "error (timeout)"]


def test_what_was_served_is_a_column_only_where_it_differs_from_the_answer(make_run: MakeRun) -> None:
    """One served text that is not the answer brings the served column into the items table."""
    run = make_run("r")
    changed = replace(run, rows=[replace(run.rows[0], served="(withheld)"), *run.rows[1:]])
    assert "served" in json.loads(of(changed)["greedy s0"].texts["items.json"])["columns"]


def test_a_private_table_has_ids_statistics_and_status_only(make_run: MakeRun) -> None:
    """In private the items table has no prompt, answer or target, and a tag says that they were left out."""
    entry = of(make_run("r"), private=True)["greedy s0"]
    assert json.loads(entry.texts["items.json"])["columns"] == ["id", "exact", "f1", "status"]
    assert "left out" in entry.tags["evalflow.private"]


def test_private_refuses_a_report_whose_gates_quote_answers(make_run: MakeRun) -> None:
    """A private run whose gate names more than row ids is refused with the gate's place in the report."""
    run = make_run("r", gates={"bad": gate("fail", rows=["copy:tree answered: secret"])})
    with pytest.raises(TrackingError, match=r"gates\.bad\.rows holds more than row ids"):
        entries(run, private=True, git=None)


def test_the_page_is_logged_as_it_lies_there_and_privately_without_texts(make_run: MakeRun) -> None:
    """The report run has report.html; privately the one that is made for it, and none where it cannot be made."""
    run = make_run("page")
    open_entry = entries(run, private=False, git=None)[-1]
    assert "report.html" in [path.name for path in open_entry.files] and open_entry.texts == {}
    private = replace(run, private_page=lambda: "<p>nobody's texts</p>")
    entry = entries(private, private=True, git=None)[-1]
    assert entry.texts["report.html"] == "<p>nobody's texts</p>"
    assert entry.files == ()
    assert list(entries(run, private=True, git=None)[-1].texts) == ["report.json", "config.yaml"]


def test_a_folder_without_its_report_is_refused_by_name(make_run: MakeRun) -> None:
    """A run whose report.json is gone is refused, and the file is named."""
    run = make_run("r")
    (run.folder / "report.json").unlink()
    with pytest.raises(TrackingError, match=r"report\.json: is not there"):
        entries(run, private=False, git=None)


def test_a_private_run_keeps_the_texts_of_its_positions(make_run: MakeRun) -> None:
    """What a gate on scored texts names, and the worst positions, are logged by their places and without the words."""
    told = report("r")
    gate = next(iter(told["gates"].values()))
    gate["rows"] = ["copy:oak|x at 17 (0.25): the ⟦secret⟧ word"]
    place = {"item": "copy:oak|x", "at": 17, "value": 0.25, "context": "the ⟦secret⟧ word"}
    told["arms"]["greedy"]["worst_positions"] = {"kl": [place]}
    last = entries(replace(make_run("r"), report=told), True, None)[-1]
    assert "copy:oak|x at 17 (0.25)" in last.texts["report.json"]
    everything = json.dumps([dict(last.tags), dict(last.texts)], ensure_ascii=False)
    assert "secret" not in everything
    assert last.files == ()


def test_a_private_run_keeps_its_system_prompts_and_what_servers_said(make_run: MakeRun) -> None:
    """Texts among the conditions, of the sweep too, are digests as params and in the report; messages are left out."""
    told = report("r")
    for arm, text in {"greedy": "You are kind.", "long_sampled": "You are curt."}.items():
        told["arms"][arm]["conditions"]["model"]["system"] = text
        told["arms"][arm]["errors"] = [{"kind": "refused", "message": "I cannot take 'kind'", "count": 1}]
    told["instrument"]["conditions"] = {"greedy": {"model": {"system": "You are kind."}}}
    run = replace(make_run("r"), report=told, swept={"model.system": "You are kind.", "seed": 1})
    logged = entries(run, private=True, git=None)
    everything = json.dumps([[e.name, dict(e.tags), dict(e.params), dict(e.texts)] for e in logged])
    assert "kind." not in everything and "curt" not in everything and "cannot take" not in everything
    systems = {e.params["model.system"] for e in logged if "model.system" in e.params}
    assert len(systems) == 2 and all(system.startswith("withheld.") for system in systems)
    assert all(e.params["sweep.seed"] == "1" for e in logged)
    assert "You are kind." in json.dumps([dict(e.params) for e in entries(run, private=False, git=None)])
