"""The tracking store: where it is, opening it for one writer at a time, and its errors as ours.

mlflow takes over a second to import, so it is imported only when a store is opened.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sqlite3
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from evalflow.errors import TrackingError

SQLITE = "sqlite:///"
ANSWER_WITHIN_S = 3.0
LOCK_WITHIN_S = 600.0
ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    # the default of 7 retries answers for a dead server after four minutes
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    # the link is the command line's to print
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
LIBRARIES = ("mlflow", "sqlalchemy", "alembic", "requests", "urllib3")
PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}


@dataclass(frozen=True)
class Store:
    """One tracking store. `lock` keeps other evalflow processes out while one writes.

    `artifacts` is where a new experiment keeps its files; None leaves it to the server.
    """

    uri: str
    lock: Path
    artifacts: str | None

    @property
    def database(self) -> Path | None:
        """The SQLite file, or None for a store of another kind."""
        return Path(self.uri.removeprefix(SQLITE)) if self.uri.startswith(SQLITE) else None

    @property
    def missing(self) -> bool:
        """Whether a store of files is not there, where opening it would make one."""
        parts = urlsplit(self.uri)
        path = Path(parts.path) if parts.scheme in ("", "file") else self.database
        try:
            return path is not None and path.stat().st_size == 0
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False  # opening it says why

    @property
    def is_server(self) -> bool:
        """Whether this is an MLflow server (http)."""
        return self.uri.startswith(("http://", "https://"))

    @property
    def page(self) -> str | None:
        """The server's own pages, without a login in the address; None for a store without a server."""
        return re.sub(r"://[^/@]*@", "://", self.uri) if self.is_server else None

    @property
    def shown(self) -> str:
        """The address as it may be printed."""
        return without_password(self.uri)


def store_at(uri: str | None, outputs: Path) -> Store:
    """The store that `uri` names; None is `mlflow.db` under `outputs`.

    A relative SQLite path counts from here and is made absolute: a store must not move with the folder.
    """
    outputs = outputs.resolve()
    if uri is None:
        uri = f"{SQLITE}{outputs / 'mlflow.db'}"
    if uri.startswith(SQLITE):
        database = Path(uri.removeprefix(SQLITE)).resolve()
        beside = database.with_name(database.name + ".lock")
        return Store(f"{SQLITE}{database}", beside, (database.parent / "mlartifacts").as_uri())
    server = uri.startswith(("http://", "https://", "databricks"))
    return Store(uri.rstrip("/"), outputs / "mlflow.lock", None if server else (outputs / "mlartifacts").as_uri())


@contextmanager
def opened(store: Store) -> Iterator[Any]:
    """An `MlflowClient` on the store, while no other evalflow process writes to it.

    The lock also covers the first use of a new database, whose migrations MLflow runs unguarded: of eight
    processes at once seven died in them.

    Raises:
        TrackingError: whatever goes wrong with the store, inside the block too.
    """
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    with _our_errors(store), _quiet():
        store.lock.parent.mkdir(parents=True, exist_ok=True)
        _check_there(store)
        from mlflow import MlflowClient

        with FileLock(store.lock, timeout=LOCK_WITHIN_S):
            if store.database is not None and _is_new(store.database):
                _make(store.database)
            client = MlflowClient(tracking_uri=store.uri)
            client.search_experiments(max_results=1)
            yield client


def _is_new(database: Path) -> bool:
    return not database.exists() or database.stat().st_size == 0


def _make(database: Path) -> None:
    """Make a database under another name and name it when it is whole.

    MLflow's migrations are many small steps: a process killed between two of them leaves a file that no later one gets
    through.
    """
    from mlflow import MlflowClient

    part = database.with_name(f".{database.name}.new")
    for left in (part, part.with_name(f"{part.name}-journal")):
        left.unlink(missing_ok=True)
    MlflowClient(tracking_uri=f"{SQLITE}{part}").search_experiments(max_results=1)
    part.replace(database)


def without_password(text: str) -> str:
    """`text` with the password of any address in it blotted out."""
    return re.sub(r"(://[^\s:/@]*):[^\s@]+@", r"\1:***@", text)


@contextmanager
def _our_errors(store: Store) -> Iterator[None]:
    """The one place where errors of MLflow, its database and its files become ours."""
    try:
        yield
    except Timeout:
        raise TrackingError(
            f"{store.shown}: another process has held {store.lock} for {LOCK_WITHIN_S:.0f} s; end it, then log again"
        ) from None
    except (OSError, sqlite3.Error) as fault:
        raise _unusable(store, fault) from fault
    except Exception as fault:
        # every library under MLflow raises its own kind, and none is imported before there is a fault
        if not _foreign(fault):
            raise
        raise _unusable(store, fault) from fault


def _foreign(fault: Exception) -> bool:
    """Whether a fault is of a library that MLflow stands on; a missing database driver is an ImportError."""
    homes = {kind.__module__.partition(".")[0] for kind in type(fault).__mro__}
    return isinstance(fault, ImportError) or not homes.isdisjoint(LIBRARIES)


def _unusable(store: Store, fault: BaseException) -> TrackingError:
    said = without_password(" ".join(str(fault).split()))
    return TrackingError(
        f"{store.shown}: the tracking store cannot be used ({said[:300] or type(fault).__name__}); "
        "results are on disk: mend the store or tracking.uri, then log again"
    )


def _check_there(store: Store) -> None:
    """Fail at once where MLflow would try again for minutes.

    Raises:
        OSError, sqlite3.Error: nothing usable is there.
    """
    parts = urlsplit(store.uri)
    if store.database is not None:
        if not _is_new(store.database):
            # a file of another kind is refused here
            with closing(sqlite3.connect(store.database)) as connection:
                connection.execute("PRAGMA schema_version").fetchone()
    elif store.is_server:
        _check_health(store)
    elif parts.hostname and (port := parts.port or PORTS.get(parts.scheme.partition("+")[0])):
        socket.create_connection((parts.hostname, port), timeout=ANSWER_WITHIN_S).close()


def _check_health(store: Store) -> None:
    try:
        urllib.request.urlopen(f"{store.uri}/health", timeout=ANSWER_WITHIN_S).close()
    except urllib.error.HTTPError as answer:
        answer.close()
        # a proxy or a login may hide /health; the first real request then says what is wrong
        if answer.code >= 500:
            raise OSError(f"/health answers {answer.code}") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """MLflow and Alembic write their progress to stderr, and warn of what is not ours to mend."""
    import mlflow

    del mlflow  # its import sets the levels that are changed here
    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
