"""Which run of ours an MLflow run was logged from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from evalflow.errors import TrackingError
from evalflow.tracking.entry import ORIGIN_TAG
from evalflow.tracking.store import opened, store_at

MLFLOW_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class LoggedRun:
    """The run's own id and experiment, and the session that began it, which no other run has (None: not known)."""

    run_id: str
    experiment: str
    origin: str | None


def logged_run(mlflow_id: str, uri: str | None, outputs: Path) -> LoggedRun:
    """The run that an MLflow run is of: its report's entry, or that of any of its arms and seeds.

    Raises:
        TrackingError: the store cannot be used, has no such run, or it is not of one run of evalflow's.
    """
    store = store_at(uri, outputs)
    if store.missing:
        raise TrackingError(f"{store.shown}: there is no tracking store; give --tracking-uri, or the run's folder")
    with opened(store) as client:
        from mlflow.exceptions import MlflowException

        try:
            tags = client.get_run(mlflow_id).data.tags
        except MlflowException as fault:
            if fault.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            raise TrackingError(f"{store.shown}: it has no MLflow run {mlflow_id}; see evalflow list") from None
    run_id, experiment = tags.get("evalflow.run_id"), tags.get("evalflow.experiment")
    if run_id is None or experiment is None:
        what = (
            "it is of a sweep; name one of its jobs" if tags.get("evalflow.role") == "sweep" else "evalflow made none"
        )
        raise TrackingError(f"{store.shown}: MLflow run {mlflow_id}: {what}")
    return LoggedRun(run_id, experiment, tags.get(ORIGIN_TAG))
