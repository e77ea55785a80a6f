"""Which run an MLflow run was logged from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import TrackingError
from evalflow.tracking.finished_run import Logged
from evalflow.tracking.logged_run import MLFLOW_ID, LoggedRun, logged_run
from tests.tracking.written_run import MakeRun

Log = Callable[..., Logged]


def test_every_entry_of_a_run_leads_to_it(make_run: MakeRun, log: Log, outputs: Path) -> None:
    """The report's MLflow run and that of each arm and seed name the same run, and the session that began it."""
    run = make_run("20261130-000001-c0ffee")
    ids = log(run).run_ids
    expected = LoggedRun(run.run_id, run.report["experiment"], run.origin)
    assert [logged_run(one, None, outputs) for one in ids] == [expected] * len(ids)
    assert all(MLFLOW_ID.fullmatch(one) for one in ids)
    uri = f"sqlite:///{outputs / 'mlflow.db'}"
    assert logged_run(ids[0], uri, Path("elsewhere")) == expected


def test_what_evalflow_did_not_log_is_refused(client: Any, outputs: Path) -> None:
    """A run of somebody else's, a sweep, and an id that the store does not have: each in its own words."""
    experiment = client.create_experiment("foreign")
    foreign = client.create_run(experiment).info.run_id
    with pytest.raises(TrackingError, match=f"MLflow run {foreign}: evalflow made none"):
        logged_run(foreign, None, outputs)
    sweep = client.create_run(experiment, tags={"evalflow.role": "sweep", "evalflow.sweep_id": "x"}).info.run_id
    with pytest.raises(TrackingError, match="it is of a sweep; name one of its jobs"):
        logged_run(sweep, None, outputs)
    with pytest.raises(TrackingError, match=f"it has no MLflow run {'0' * 32}"):
        logged_run("0" * 32, None, outputs)


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """Looking for a run makes no store."""
    with pytest.raises(TrackingError, match="there is no tracking store; give --tracking-uri"):
        logged_run("0" * 32, None, tmp_path)
    assert list(tmp_path.iterdir()) == []
