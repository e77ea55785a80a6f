"""Logging a finished run to MLflow: flat runs, one per arm and seed, one for the report; and one for a whole sweep.

A run is logged after its results are on disk, so the store can be lost without losing anything else.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalflow.errors import TrackingError
from evalflow.record import digest
from evalflow.tracking.entry import GIT_TAG, ORIGIN_TAG, PRIVATE_TAG, Entry, entries, identity
from evalflow.tracking.finished_run import FinishedRun, Logged
from evalflow.tracking.finished_sweep import FinishedSweep
from evalflow.tracking.key import safe_key, short_text
from evalflow.tracking.links import linked
from evalflow.tracking.store import Store, opened, store_at
from evalflow.tracking.sweep_entry import sweep_entry
from evalflow.tracking.view import VIEW_TAG, sweep_view_state, view_link, view_state

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Run

DIGEST_LENGTH = 36
GIT_WITHIN_S = 2.0
PAGE = 1000
KILLED_AFTER_S = 3600.0
# when logging began (s since the epoch), on runs not yet ended; their start time is the evaluation's
BEGUN_TAG = "evalflow.logging_begun"
# which process does it, as (a digest of) its machine's name and its number there
BY_TAG = "evalflow.logging_by"


@dataclass(frozen=True)
class MLflow:
    """Where runs are logged.

    Attributes:
        uri: any MLflow tracking URI; None is `sqlite:///<outputs>/mlflow.db`, with its files under
            `<outputs>/mlartifacts`.
        experiment: the MLflow experiment; None is the name of the evalflow experiment.
        private: keep prompts, answers and targets out of the store. What was logged before with False goes to
            MLflow's trash when the run is logged again; `mlflow gc` empties it.
    """

    uri: str | None = None
    experiment: str | None = None
    private: bool = False

    def log(self, run: FinishedRun, outputs: Path) -> Logged:
        """Log a run. Logging it again continues its MLflow runs, or replaces one that holds other things.

        For a store without a server, the link assumes that `evalflow ui` shows it at its default address.

        Raises:
            TrackingError: the store cannot be used, the experiment was deleted there, or files are gone.
        """
        store = store_at(self.uri, outputs)
        git = _git_commit()
        with opened(store) as client:
            logged = entries(run, self.private, git)
            experiment_id = self._experiment(client, store, str(run.report["experiment"]))
            old = _stored(client, experiment_id, f"tags.`evalflow.run_id` = '{run.run_id}'", run.origin)
            run_ids = _written(client, experiment_id, logged, old, run.report["dataset"])
            client.set_experiment_tag(experiment_id, VIEW_TAG, view_state(logged, run.report))
        return Logged(view_link(store.page, experiment_id), tuple(run_ids), self._shown_by(store, outputs))

    def log_sweep(self, sweep: FinishedSweep, outputs: Path) -> Logged:
        """Log a sweep as one run beside those of its jobs, which are logged by themselves. Again is as with `log`.

        Raises:
            TrackingError: the store cannot be used, or the experiment was deleted there.
        """
        store = store_at(self.uri, outputs)
        git = _git_commit()
        with opened(store) as client:
            entry = sweep_entry(sweep, self.private, git)
            experiment_id = self._experiment(client, store, str(sweep.summary["experiment"]))
            condition = f"tags.`evalflow.sweep_id` = '{sweep.sweep_id}' AND tags.`evalflow.role` = 'sweep'"
            old = _stored(client, experiment_id, condition, sweep.origin)
            run_ids = _written(client, experiment_id, [entry], old)
            client.set_experiment_tag(experiment_id, VIEW_TAG, sweep_view_state(entry, sweep.summary))
        return Logged(view_link(store.page, experiment_id), tuple(run_ids), self._shown_by(store, outputs))

    def recover(self, outputs: Path, experiment: str) -> None:
        """End the runs of an experiment that a process was killed over while it logged them.

        What is not there, store or experiment, is not made.

        Raises:
            TrackingError: the store cannot be used.
        """
        store = store_at(self.uri, outputs)
        if store.missing:
            return
        with opened(store) as client:
            found = client.get_experiment_by_name(self.experiment or experiment)
            if found is not None and found.lifecycle_stage == "active":
                _end_killed(client, str(found.experiment_id), alone=store.database is not None)

    def _experiment(self, client: MlflowClient, store: Store, name: str) -> str:
        """The id of the experiment to log to, where nothing that a killed process began is left running."""
        experiment_id = _experiment_id(client, store, self.experiment or name)
        _end_killed(client, experiment_id, alone=store.database is not None)
        return experiment_id

    def _shown_by(self, store: Store, outputs: Path) -> str | None:
        if store.page is not None:
            return None
        if self.uri is not None:
            return f"evalflow ui --uri {store.shown}"
        return "evalflow ui" if outputs == Path("outputs") else f"evalflow ui --outputs {outputs}"


def _git_commit() -> str | None:
    """The commit of the working folder, marked where files differ from it; None outside a repository."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_WITHIN_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _experiment_id(client: MlflowClient, store: Store, name: str) -> str:
    """The id of the experiment, made on first use.

    Raises:
        TrackingError: it was deleted. Restoring brings every deleted run back, so that is left to a person.
    """
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=_artifact_folder(store, name)))
        except MlflowException as fault:
            # on a server another machine's process may have made it just now: our lock does not reach there
            found = client.get_experiment_by_name(name) if fault.error_code == "RESOURCE_ALREADY_EXISTS" else None
            if found is None:
                raise
    if found.lifecycle_stage != "active":
        raise TrackingError(
            f"{store.shown}: experiment {name!r} was deleted there; restore it (`mlflow experiments restore "
            f"--experiment-id {found.experiment_id}`) or set tracking.experiment to another name"
        )
    return str(found.experiment_id)


def _artifact_folder(store: Store, name: str) -> str | None:
    return None if store.artifacts is None else f"{store.artifacts}/{safe_key(name).replace('/', '.')}"


def _search(client: MlflowClient, experiment_id: str, condition: str) -> Iterator[Run]:
    token = None
    while True:
        page = client.search_runs([experiment_id], condition, max_results=PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _end_killed(client: MlflowClient, experiment_id: str, alone: bool) -> None:
    """End the runs that a killed process left RUNNING.

    `alone` (the lock covers every writer): all of them. On a server another process may be writing just now, so
    there a run counts as killed when its process is gone from this machine, or its logging began over an hour ago.
    """
    for run in list(_search(client, experiment_id, "attributes.status = 'RUNNING'")):
        begun = run.data.tags.get(BEGUN_TAG)
        if begun is None:
            continue
        if alone or _is_gone(run.data.tags.get(BY_TAG, "")) or time.time() - float(begun) > KILLED_AFTER_S:
            client.set_terminated(run.info.run_id, "KILLED")


def _writer() -> str:
    """This process, as other processes of the machine can know it; the machine's name stays here."""
    return f"{_machine()}:{os.getpid()}"


def _machine() -> str:
    return digest(platform.node())[:12]


def _is_gone(writer: str) -> bool:
    """Whether a writer was a process of this machine that has ended."""
    machine, _, pid = writer.partition(":")
    if machine != _machine() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False  # somebody else's, or no process
    return False


def _stored(client: MlflowClient, experiment_id: str, condition: str, origin: str) -> dict[tuple[str | None, ...], Run]:
    """What the store already has of this origin, by (role, arm, seed); a second of a kind is deleted."""
    found: dict[tuple[str | None, ...], Run] = {}
    for run in list(_search(client, experiment_id, condition)):
        if run.data.tags.get(ORIGIN_TAG, origin) != origin:
            continue
        if found.setdefault(identity(run.data.tags), run) is not run:
            client.delete_run(run.info.run_id)
    return found


def _written(
    client: MlflowClient,
    experiment_id: str,
    logged: Sequence[Entry],
    old: Mapping[tuple[str | None, ...], Run],
    dataset: Mapping[str, Any] | None = None,
) -> list[str]:
    """Write every entry into an MLflow run of its own; their ids."""
    with _claimed(client, experiment_id, logged, old) as run_ids:
        for entry, run_id in zip(linked(logged, experiment_id, run_ids), run_ids, strict=True):
            _fill(client, client.get_run(run_id), entry, dataset)
            client.set_terminated(run_id, entry.status, end_time=entry.end_ms)
            for tag in (BEGUN_TAG, BY_TAG):
                client.delete_tag(run_id, tag)
    return run_ids


@contextmanager
def _claimed(
    client: MlflowClient,
    experiment_id: str,
    logged: Sequence[Entry],
    old: Mapping[tuple[str | None, ...], Run],
) -> Iterator[list[str]]:
    """The ids of one MLflow run per entry; whatever ends the block early leaves none of them RUNNING."""
    run_ids: list[str] = []
    try:
        for entry in logged:
            run_ids.append(_claim(client, experiment_id, entry, old.get(entry.identity)))
        yield run_ids
    except BaseException:
        for run_id in run_ids:
            # the store itself may be what failed; the first error is the one to hear about
            with suppress(Exception):
                if client.get_run(run_id).info.status == "RUNNING":
                    client.set_terminated(run_id, "FAILED")
        raise


def _claim(client: MlflowClient, experiment_id: str, entry: Entry, old: Run | None) -> str:
    begun = {BEGUN_TAG: str(round(time.time())), BY_TAG: _writer()}
    if old is not None and _continues(client, old, entry):
        run_id = str(old.info.run_id)
        for tag, value in begun.items():
            client.set_tag(run_id, tag, value)
        client.update_run(run_id, status="RUNNING", name=entry.name)
        return run_id
    if old is not None:
        client.delete_run(old.info.run_id)
    # the tags go in at once, so that a run killed right here is still found and ended
    tags = {**entry.tags, **begun}
    created = client.create_run(experiment_id, start_time=entry.start_ms, tags=tags, run_name=entry.name)
    return str(created.info.run_id)


def _continues(client: MlflowClient, old: Run, entry: Entry) -> bool:
    """Whether a stored run holds nothing that the entry has not and that would stay.

    MLflow can neither drop a metric nor change a param, so a number that is no longer so would stay; so would one of a
    series.
    """
    return (
        set(old.data.metrics) <= {*entry.metrics, *entry.series}
        and all(points.items() <= entry.series[key].items() for key, points in _points(client, old, entry).items())
        and old.data.params.items() <= entry.params.items()
        and old.data.tags.get(PRIVATE_TAG) == entry.tags.get(PRIVATE_TAG)
    )


def _points(client: MlflowClient, run: Run, entry: Entry) -> dict[str, dict[int, float]]:
    """What a stored run holds of an entry's series: the values by step."""
    keys = [key for key in entry.series if key in run.data.metrics]
    return {key: {one.step: one.value for one in client.get_metric_history(run.info.run_id, key)} for key in keys}


def _fill(client: MlflowClient, run: Run, entry: Entry, dataset: Mapping[str, Any] | None) -> None:
    """Everything of an entry: one batch, the dataset, the files. What the run already holds is not sent."""
    from mlflow.entities import Metric, Param, RunTag

    now, has, run_id = round(1000 * time.time()), run.data, run.info.run_id
    new = [(key, value, entry.step) for key, value in entry.metrics.items() if has.metrics.get(key) != value]
    held = _points(client, run, entry)
    for key, points in entry.series.items():
        new += [(key, value, step) for step, value in sorted(points.items()) if step not in held.get(key, {})]
    client.log_batch(
        run_id,
        metrics=[Metric(key, value, now, step) for key, value, step in new],
        params=[Param(key, value) for key, value in entry.params.items() if key not in has.params],
        # the commit stays that of the first logging: later ones only say it again, from wherever they are
        tags=[RunTag(key, value) for key, value in entry.tags.items() if key != GIT_TAG and has.tags.get(key) != value],
    )
    for key in has.tags:
        if key.startswith("evalflow.") and key not in {*entry.tags, GIT_TAG, BEGUN_TAG, BY_TAG}:
            client.delete_tag(run_id, key)  # said of an earlier logging, and no longer so
    if dataset is not None and not run.inputs.dataset_inputs:
        client.log_inputs(run_id, [_dataset_input(dataset)])
    for name, text in entry.texts.items():
        client.log_text(run_id, text, name)
    for path in entry.files:
        client.log_artifact(run_id, str(path))


def _dataset_input(dataset: Mapping[str, Any]) -> DatasetInput:
    """The dataset under our own digest: MLflow's looks at the first 10,000 rows only."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    prints = {key: dataset[key] for key in ("content_fp", "ordered_fp", "request_fp")}
    logged = Dataset(
        name=short_text(str(dataset["name"])),
        digest=str(dataset["content_fp"])[:DIGEST_LENGTH],
        source_type="code",
        source=json.dumps({"tags": {"mlflow.source.name": "evalflow"}}),
        profile=json.dumps({"num_rows": dataset["n"], **prints}),
    )
    return DatasetInput(logged, [InputTag("mlflow.data.context", "evaluation")])
