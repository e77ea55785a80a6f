"""A finished run in the test's own folder, and one store per session (its first use takes seconds)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evalflow.tracking.finished_run import FinishedRun, Logged
from evalflow.tracking.mlflow_store import MLflow
from tests.tracking.written_run import MakeRun, made_in


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """`made_in` the test's own folder."""
    return partial(made_in, tmp_path)


@pytest.fixture(scope="session")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder whose store the session's tests share; they tell their runs apart by id or experiment."""
    return tmp_path_factory.mktemp("outputs")


def client_of(outputs: Path) -> Any:
    """MLflow's own client on a store; its first use warns of MLflow's own affairs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow import MlflowClient

        client = MlflowClient(f"sqlite:///{outputs / 'mlflow.db'}")
        client.search_experiments()
        return client


@pytest.fixture
def client(outputs: Path) -> Any:
    """MLflow's own client on the shared store, to look at what was logged."""
    return client_of(outputs)


@pytest.fixture
def log(outputs: Path) -> Callable[..., Logged]:
    """Logs a run into the shared store, under the given settings."""

    def log_it(run: FinishedRun, **settings: Any) -> Logged:
        return MLflow(**settings).log(run, outputs)

    return log_it
