"""Logging into an MLflow store: what is there afterwards, also again, in private and after a failure."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import TrackingError
from evalflow.record import fingerprints
from evalflow.tracking.finished_run import Logged
from evalflow.tracking.links import MODE
from evalflow.tracking.mlflow_store import BEGUN_TAG, BY_TAG, MLflow, _end_killed, _experiment_id, _writer
from evalflow.tracking.store import store_at
from evalflow.tracking.view import VIEW_TAG
from tests.tracking.conftest import client_of
from tests.tracking.written_run import ITEMS, MakeRun, figure, gate, report, session
from tests.tracking.written_sweep import SWEEP_ID, cell, job, line, swept_in

Log = Callable[..., Logged]
HERE = Path(__file__).parent
KILLED_WHILE_LOGGING = """
import os, sys, pathlib
sys.path.insert(0, sys.argv[1])
from written_run import made_in
from mlflow import MlflowClient
from evalflow.tracking.mlflow_store import MLflow

sent = []
whole = MlflowClient.log_batch

def log_batch(self, *args, **more):
    whole(self, *args, **more)
    sent.append(args)
    if len(sent) == 2:
        os.kill(os.getpid(), 9)

MlflowClient.log_batch = log_batch
outputs = pathlib.Path(sys.argv[2])
MLflow().log(made_in(outputs / "killed", "died"), outputs)
"""


def runs_of(client: Any, run_id: str) -> dict[str, Any]:
    everywhere = [experiment.experiment_id for experiment in client.search_experiments()]
    found = client.search_runs(everywhere, f"tags.`evalflow.run_id` = '{run_id}'")
    return {run.info.run_name: run for run in found}


def files_of(client: Any, run: Any) -> set[str]:
    return {file.path for file in client.list_artifacts(run.info.run_id)}


def test_a_run_is_flat_named_tagged_and_finished(
    make_run: MakeRun, log: Log, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every entry is a finished run without a parent, even where MLFLOW_RUN_ID names a run to write into."""
    monkeypatch.setenv("MLFLOW_RUN_ID", "f" * 32)
    logged = log(make_run("flat"))
    runs = runs_of(client, "flat")
    names = ["greedy s0", "long_sampled s0", "long_sampled s1", "long_sampled s2", "report: fail"]
    assert sorted(runs) == sorted(names)
    assert logged.run_ids == tuple(runs[name].info.run_id for name in names)
    for run in runs.values():
        assert "mlflow.parentRunId" not in run.data.tags
        assert run.info.status == "FINISHED"
        assert BEGUN_TAG not in run.data.tags
    tags = runs["long_sampled s2"].data.tags
    assert (tags["evalflow.role"], tags["evalflow.arm"], tags["evalflow.seed"]) == (
        "arm",
        "long_sampled",
        "2",
    )
    assert (tags["evalflow.verdict"], tags["evalflow.schema_version"]) == ("fail", "1")
    assert tags["evalflow.instrument"] == "0123456789ab"
    assert runs["report: fail"].info.end_time - runs["report: fail"].info.start_time == pytest.approx(300_000, abs=9)
    assert runs["report: fail"].data.tags["mlflow.note.content"].startswith("**Verdict: fail**")


def test_files_dataset_and_view_are_where_the_pages_look_for_them(make_run: MakeRun, log: Log, client: Any) -> None:
    """Report files, items table, dataset and view are stored where MLflow looks, and the link opens the view."""
    import pandas

    logged = log(make_run("files"))
    runs = runs_of(client, "files")
    assert files_of(client, runs["report: fail"]) >= {"report.json", "config.yaml", "junit.xml", "rows.jsonl"}
    arm = runs["greedy s0"]
    # as MLflow's own load_table reads it
    table = pandas.read_json(client.download_artifacts(arm.info.run_id, "items.json"), orient="split")
    assert list(table.columns)[:2] == ["id", "answer"]
    assert len(table) == 3
    [used] = arm.inputs.dataset_inputs
    assert (used.dataset.name, used.dataset.digest) == ("words", fingerprints(ITEMS)["content_fp"][:36])
    experiment = client.get_experiment(arm.info.experiment_id)
    assert "metrics.`quality/exact`" in json.loads(experiment.tags[VIEW_TAG])["selectedColumns"]
    assert logged.link.endswith(f"/experiments/{experiment.experiment_id}/runs?{MODE}&viewStateShareKey=evalflow")


def test_logging_again_continues_the_same_runs(make_run: MakeRun, log: Log, client: Any) -> None:
    """A second logging updates the same runs, and repeats neither a metric nor a dataset."""
    first = log(make_run("again"))
    more = {**report("again")["gates"], "new": gate("pass")}
    second = log(make_run("again", verdict="pass", gates=more))
    assert second.run_ids == first.run_ids
    runs = runs_of(client, "again")
    assert len(runs) == 5
    assert runs["report: pass"].data.metrics["gate/new"] == 1
    history = client.get_metric_history(first.run_ids[0], "quality/exact")
    assert len(history) == 1
    assert len(runs["greedy s0"].inputs.dataset_inputs) == 1


def test_a_run_logged_again_from_elsewhere_is_continued_and_keeps_its_commit(
    make_run: MakeRun, log: Log, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logging again from another folder continues the same runs and leaves their commit tag as it was."""
    first = log(make_run("moved"))
    client.set_tag(first.run_ids[0], "evalflow.git", "0123456789ab")
    monkeypatch.chdir(tmp_path)
    assert log(make_run("moved")).run_ids == first.run_ids
    assert runs_of(client, "moved")["greedy s0"].data.tags["evalflow.git"] == "0123456789ab"


def test_two_runs_of_one_id_do_not_overwrite_each_other(make_run: MakeRun, log: Log, client: Any) -> None:
    """Two machines may begin the same config in the same second: what another session began is another run."""
    first = log(make_run("twin"))
    second = log(make_run("twin", sessions=[session("elsewhere")]))
    assert not set(first.run_ids) & set(second.run_ids)
    assert log(make_run("twin")).run_ids == first.run_ids
    assert {client.get_run(run_id).info.lifecycle_stage for run_id in second.run_ids} == {"active"}


def test_a_number_that_is_no_longer_so_does_not_stay(make_run: MakeRun, log: Log, client: Any) -> None:
    """A report that lost a gate is logged as a new run in place of the old, and the arms' runs are continued."""
    first = log(make_run("fewer"))
    second = log(make_run("fewer", gates={"good": gate("pass")}))
    assert first.run_ids[:-1] == second.run_ids[:-1]
    assert first.run_ids[-1] != second.run_ids[-1]
    runs = runs_of(client, "fewer")
    assert len(runs) == 5
    assert "gate/bad" not in runs["report: fail"].data.metrics


def test_names_that_mlflow_refuses_are_logged_all_the_same(make_run: MakeRun, log: Log, client: Any) -> None:
    """Three gates with signs, empty parts or accents in their names are three metrics."""
    log(make_run("names", gates={"f@1 (50%)": gate("pass"), "a//b": gate("fail"), "é/ü": gate("pass")}))
    keys = runs_of(client, "names")["report: fail"].data.metrics
    assert len([key for key in keys if key.startswith("gate/")]) == 3


def test_private_leaves_no_prompt_answer_or_target_anywhere(make_run: MakeRun, log: Log, outputs: Path) -> None:
    """After a private logging, neither the database nor any file of the store holds a byte of them."""
    run = make_run("private")
    secrets = {"target": "zebratarget", "prompt": "zebraprompt", "answer": "zebraanswer"}
    items = [replace(item, prompt=secrets["prompt"], target=secrets["target"]) for item in ITEMS]
    rows = [replace(row, draft=secrets["answer"], served=secrets["answer"]) for row in run.rows]
    for name in ("junit.xml", "report.html", "rows.jsonl", "scores.jsonl", "console.txt"):
        (run.folder / name).write_text(" ".join(secrets.values()))
    (run.folder / "config.yaml").write_text(f"model: {{otherwise: {secrets['answer']}, system: be a zebra}}\n")
    log(replace(run, items=items, rows=rows), private=True)
    stored = [path for path in outputs.rglob("*") if path.is_file()]
    assert {"mlflow.db", "items.json", "report.json"} <= {path.name for path in stored}
    assert [path for path in stored if b"zebra" in path.read_bytes()] == []


def test_turning_private_on_replaces_what_was_logged_in_the_open(make_run: MakeRun, log: Log, client: Any) -> None:
    """Logging again in private replaces every run, and the report keeps only report.json and config.yaml."""
    first = log(make_run("later"))
    second = log(make_run("later"), private=True)
    assert not set(first.run_ids) & set(second.run_ids)
    assert files_of(client, runs_of(client, "later")["report: fail"]) == {"report.json", "config.yaml"}


def test_a_failure_while_logging_leaves_no_run_running(make_run: MakeRun, log: Log, client: Any, outputs: Path) -> None:
    """Where artifacts cannot be written the runs end as failed, and once they can be the same runs are continued."""
    run = make_run("broken")
    in_the_way = outputs / "mlartifacts" / "blocked"
    in_the_way.parent.mkdir(exist_ok=True)
    in_the_way.write_text("")
    with pytest.raises(TrackingError, match="the tracking store cannot be used"):
        log(run, experiment="blocked")
    failed = runs_of(client, "broken")
    assert [stored.info.status for stored in failed.values()] == ["FAILED"] * 5

    in_the_way.unlink()
    assert set(log(run, experiment="blocked").run_ids) == {stored.info.run_id for stored in failed.values()}
    assert {stored.info.status for stored in runs_of(client, "broken").values()} == {"FINISHED"}


def test_a_run_left_by_a_killed_process_is_ended_at_the_next_logging(make_run: MakeRun, log: Log, client: Any) -> None:
    """The next logging ends a run that a dead process of ours had begun, and leaves somebody else's running."""
    log(make_run("next"))
    experiment = client.get_experiment_by_name("word_tasks").experiment_id
    ours = client.create_run(experiment, tags={BEGUN_TAG: "1", "evalflow.run_id": "dead"}, run_name="dead s0")
    other = client.create_run(experiment, run_name="somebody else's")
    log(make_run("next"))
    assert client.get_run(ours.info.run_id).info.status == "KILLED"
    assert client.get_run(other.info.run_id).info.status == "RUNNING"
    client.delete_run(other.info.run_id)


def test_a_process_killed_while_it_logs_leaves_runs_that_recovery_ends_and_logging_again_completes(
    make_run: MakeRun, log: Log, client: Any, outputs: Path
) -> None:
    """A SIGKILL in mid-logging leaves runs RUNNING; recovery makes them KILLED, and logging again finishes the same."""
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_LOGGING, str(HERE), str(outputs)], capture_output=True, check=False
    )
    assert killed.returncode == -9, killed.stderr.decode()
    left = runs_of(client, "died")
    assert sorted(run.info.status for run in left.values()) == ["FINISHED", *["RUNNING"] * 4]

    MLflow().recover(outputs, "word_tasks")
    assert sorted(run.info.status for run in runs_of(client, "died").values()) == ["FINISHED", *["KILLED"] * 4]

    logged = log(make_run("died"))
    assert set(logged.run_ids) == {run.info.run_id for run in left.values()}
    whole = runs_of(client, "died")
    assert {run.info.status for run in whole.values()} == {"FINISHED"}
    assert not [tag for run in whole.values() for tag in run.data.tags if tag in (BEGUN_TAG, BY_TAG)]


def test_recovery_makes_no_experiment_and_leaves_deleted_ones_alone(client: Any, outputs: Path) -> None:
    """Recovering an experiment that never was, or was deleted, changes nothing in the store."""
    gone = client.create_experiment("was deleted")
    run = client.create_run(gone, tags={BEGUN_TAG: "1"})
    client.delete_experiment(gone)
    before = {experiment.name for experiment in client.search_experiments()}
    MLflow().recover(outputs, "never was")
    MLflow().recover(outputs, "was deleted")
    MLflow(experiment="never was either").recover(outputs, "word_tasks")
    assert {experiment.name for experiment in client.search_experiments()} == before
    assert client.get_run(run.info.run_id).info.status == "RUNNING"


def test_recovery_of_a_store_that_is_away_is_an_error_in_one_line(outputs: Path) -> None:
    """A server that refuses the connection is a TrackingError, as it is for logging."""
    with pytest.raises(TrackingError, match="the tracking store cannot be used"):
        MLflow(uri="http://127.0.0.1:9").recover(outputs, "word_tasks")


def test_on_a_server_only_what_is_surely_dead_is_ended(client: Any) -> None:
    """Where others may be writing, a run of a living or foreign process stays, for an hour at most."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    now = str(round(time.time()))
    experiment = client.create_experiment("shared")
    machine = _writer().partition(":")[0]

    def begun(by: str, at: str = now) -> str:
        return str(client.create_run(experiment, tags={BEGUN_TAG: at, BY_TAG: by}).info.run_id)

    dead, alive = begun(f"{machine}:{ended.pid}"), begun(_writer())
    foreign, old, odd = begun(f"elsewhere:{ended.pid}"), begun("elsewhere:1", at="1"), begun(f"{machine}:x")
    huge = begun(f"{machine}:{10**30}")
    _end_killed(client, experiment, alone=False)
    status = {run: client.get_run(run).info.status for run in (dead, old, alive, foreign, odd, huge)}
    assert list(status.values()) == ["KILLED", "KILLED", "RUNNING", "RUNNING", "RUNNING", "RUNNING"]


def test_a_run_that_was_logged_interrupted_is_continued_once_it_was_resumed(
    make_run: MakeRun, log: Log, client: Any
) -> None:
    """An interrupted session's runs are killed ones, and the resumed run finishes the same; nothing stale stays."""
    stopped = make_run("resumed", verdict="incomplete", sessions=[session("s1", "interrupted")])
    arms = report("resumed")["arms"]
    for has in arms.values():
        for figures in (has["figures"], *has["by_seed"].values()):
            del figures["lat/ttft_s/p50"]  # not taken yet, as the first arm's quality
    arms["greedy"]["by_seed"]["0"]["quality/exact"] = figure(None)
    partial = replace(stopped, rows=stopped.rows[:2], report={**stopped.report, "arms": arms})
    first = log(partial)
    assert {run.info.status for run in runs_of(client, "resumed").values()} == {"KILLED"}

    second = log(make_run("resumed", sessions=[session("s1", "interrupted"), session("s2")]))
    assert second.run_ids == first.run_ids
    whole = runs_of(client, "resumed")
    assert {run.info.status for run in whole.values()} == {"FINISHED"}
    greedy = whole["greedy s0"].data
    assert greedy.metrics["quality/exact"] == pytest.approx(2 / 3, abs=1e-6)
    assert "evalflow.undefined.quality/exact" not in greedy.tags
    assert "evalflow.undefined.lat/ttft_s/p95" in greedy.tags


def test_a_time_that_came_to_be_over_two_sessions_does_not_stay_as_a_measurement(
    make_run: MakeRun, log: Log, client: Any
) -> None:
    """A resumed arm whose time was logged before is logged anew, and its time is a tag; the other arms go on."""
    first = log(make_run("slower"))
    arms = report("slower")["arms"]
    arms["greedy"]["by_seed"]["0"]["lat/ttft_s/p50"] = figure(0.5, "s", n_sessions=2)
    second = log(make_run("slower", arms=arms))
    assert [a == b for a, b in zip(first.run_ids, second.run_ids, strict=True)] == [False, True, True, True, True]
    greedy = runs_of(client, "slower")["greedy s0"].data
    assert "lat/ttft_s/p50" not in greedy.metrics
    assert greedy.tags["evalflow.over_sessions.lat/ttft_s/p50"] == "0.5 s over 2 sessions"


def test_a_sweep_is_one_run_above_those_of_its_jobs(
    make_run: MakeRun, log: Log, client: Any, outputs: Path, tmp_path: Path
) -> None:
    """The sweep's run is flat, tagged as its jobs' are, has the files, and is on top of a newest-first list."""
    settings = {"experiment": "swept"}
    for number in ("1", "2"):
        log(replace(make_run(f"job{number}"), sweep_id=SWEEP_ID, swept={"seed": number}), **settings)
    logged = MLflow(**settings).log_sweep(swept_in(tmp_path), outputs)
    experiment = client.get_experiment_by_name("swept")
    found = client.search_runs([experiment.experiment_id], f"tags.`evalflow.sweep_id` = '{SWEEP_ID}'")
    assert len(found) == 11
    assert (found[0].info.run_name, found[0].info.status) == ("sweep: incomplete", "FAILED")
    assert logged.run_ids == (found[0].info.run_id,)
    assert found[0].data.tags["evalflow.role"] == "sweep"
    assert found[0].data.tags["mlflow.note.content"].startswith("**Verdict: incomplete**")
    assert not {"mlflow.parentRunId", BEGUN_TAG, BY_TAG} & set(found[0].data.tags)
    assert files_of(client, found[0]) == {"sweep.json", "summary.json", "summary.csv"}
    assert not found[0].inputs.dataset_inputs
    view = json.loads(experiment.tags[VIEW_TAG])
    assert {"params.`sweep.seed`", "params.`sweep.concurrency`"} <= set(view["selectedColumns"])
    assert logged.link.endswith(f"/experiments/{experiment.experiment_id}/runs?{MODE}&viewStateShareKey=evalflow")


def test_a_sweep_logged_again_is_the_same_run(log: Log, client: Any, outputs: Path, tmp_path: Path) -> None:
    """A sweep that was completed is continued, and one whose means are fewer takes the place of the old run."""
    tracker = MLflow(experiment="swept again")
    first = tracker.log_sweep(swept_in(tmp_path), outputs)
    passed = {"verdict": "pass", "exit_code": 0, "jobs": [job(n, str(n), "1") for n in range(4)]}
    assert tracker.log_sweep(swept_in(tmp_path, **passed), outputs).run_ids == first.run_ids
    third = tracker.log_sweep(swept_in(tmp_path, **passed, grid=[]), outputs)
    assert third.run_ids != first.run_ids
    experiment = client.get_experiment_by_name("swept again").experiment_id
    [only] = client.search_runs([experiment])
    assert (only.info.run_name, only.info.status) == ("sweep: pass", "FINISHED")


def test_a_sweep_over_training_steps_is_a_curve(client: Any, outputs: Path, tmp_path: Path) -> None:
    """One value per step; logged again only what is new is sent, and a step that changed makes another run of it."""

    def logged(*means: float | None) -> str:
        cells = [cell(mean, at={"step": str(100 * (n + 1))}) for n, mean in enumerate(means)]
        axes = {"step": [str(100 * (n + 1)) for n in range(len(means))]}
        sweep = swept_in(tmp_path, axes=axes, grid=[line("long", "quality/exact", *cells)])
        return MLflow(experiment="curve").log_sweep(sweep, outputs).run_ids[0]

    def curve(run_id: str) -> list[tuple[int, float]]:
        return [(point.step, point.value) for point in client.get_metric_history(run_id, "quality/exact long")]

    first = logged(0.5, 0.75, None)
    assert curve(first) == [(100, 0.5), (200, 0.75)]
    assert logged(0.5, 0.75, 0.25) == first
    assert curve(first) == [(100, 0.5), (200, 0.75), (300, 0.25)]
    second = logged(0.5, 0.8, 0.25)
    assert second != first
    assert curve(second) == [(100, 0.5), (200, 0.8), (300, 0.25)]


def test_a_runs_metrics_are_at_its_training_step(make_run: MakeRun, log: Log, client: Any) -> None:
    """So that runs of several checkpoints can be drawn over it."""
    run = make_run("stepped")
    logged = log(replace(run, report={**run.report, "step": 1500}))
    (point,) = client.get_metric_history(logged.run_ids[0], "quality/exact")
    assert point.step == 1500


def test_a_private_sweep_keeps_what_a_job_said_out_of_the_store(tmp_path: Path) -> None:
    """Neither database nor files of the store hold a word of why a job could not run."""
    outputs = tmp_path / "outputs"
    MLflow(private=True).log_sweep(swept_in(tmp_path), outputs)
    stored = [path for path in outputs.rglob("*") if path.is_file()]
    assert {"mlflow.db", "summary.json"} <= {path.name for path in stored}
    assert [path for path in stored if b"zebra" in path.read_bytes()] == []


def test_a_deleted_experiment_is_refused_with_the_way_out(make_run: MakeRun, log: Log, client: Any) -> None:
    """Logging to an experiment that was deleted is refused with the command that restores it."""
    gone = client.create_experiment("gone")
    client.delete_experiment(gone)
    with pytest.raises(TrackingError, match=f"was deleted there; restore it .*--experiment-id {gone}"):
        log(make_run("gone"), experiment="gone")


def test_four_processes_may_make_a_new_store_at_once_and_say_nothing(tmp_path: Path) -> None:
    """All four log their runs and print nothing, where MLflow alone loses most in its migrations and narrates them."""
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); from written_run import made_in;"
        "from evalflow.tracking.mlflow_store import MLflow;"
        "folder = pathlib.Path(sys.argv[2]);"
        "MLflow().log(made_in(folder, sys.argv[3]), folder / 'outputs')"
    )
    begun = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code, str(HERE), str(tmp_path), f"run{number}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(4)
    ]
    said = [process.communicate(timeout=120)[0] for process in begun]
    assert [process.returncode for process in begun] == [0] * 4, said
    assert said == [""] * 4

    client = client_of(tmp_path / "outputs")
    assert [len(runs_of(client, f"run{number}")) for number in range(4)] == [5] * 4


def test_a_link_says_which_command_must_run_for_it(tmp_path: Path) -> None:
    """The default store needs `evalflow ui`, another folder or file must be named, and a server shows itself."""
    elsewhere = tmp_path / "elsewhere.db"
    for uri, outputs, wanted in [
        (None, Path("outputs"), "evalflow ui"),
        (None, tmp_path, f"evalflow ui --outputs {tmp_path}"),
        (f"sqlite:///{elsewhere}", Path("outputs"), f"evalflow ui --uri sqlite:///{elsewhere}"),
        ("http://ml.example", Path("outputs"), None),
    ]:
        assert MLflow(uri)._shown_by(store_at(uri, outputs), outputs) == wanted


def test_an_experiment_that_another_process_made_in_between_is_used(client: Any, tmp_path: Path) -> None:
    """Two machines that log to a new experiment of a server at once both get it; any other refusal is told."""

    class LooksTooEarly:
        """A client that does not see, at its first look, what is there by the time that it makes it."""

        def __init__(self) -> None:
            self.looks = 0

        def get_experiment_by_name(self, name: str) -> Any:
            self.looks += 1
            return None if self.looks == 1 else client.get_experiment_by_name(name)

        def create_experiment(self, name: str, artifact_location: str | None) -> str:
            return str(client.create_experiment(name, artifact_location))

    made = client.create_experiment("raced")
    store = store_at(None, tmp_path)
    assert _experiment_id(LooksTooEarly(), store, "raced") == made
    with pytest.raises(Exception, match="Invalid experiment name"):
        _experiment_id(LooksTooEarly(), store, "")
