"""Stores: where a URI leads, what may be shown of it, and how an unusable one is refused."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalflow.errors import TrackingError
from evalflow.tracking.mlflow_store import MLflow
from evalflow.tracking.store import store_at, without_password
from tests.tracking.written_run import MakeRun


def test_importing_tracking_loads_neither_mlflow_nor_pandas() -> None:
    """The tracking modules are imported without any of the slow libraries behind MLflow."""
    code = (
        "import sys, evalflow.tracking.mlflow_store, evalflow.tracking.ui, evalflow.tracking.untracked;"
        "print([name for name in ('mlflow', 'pandas', 'sqlalchemy', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_uri_is_a_database_under_outputs(tmp_path: Path) -> None:
    """Without a URI the database, its artifacts and its lock are all in the outputs folder."""
    store = store_at(None, tmp_path)
    assert store.uri == f"sqlite:///{tmp_path}/mlflow.db"
    assert store.artifacts == f"file://{tmp_path}/mlartifacts"
    assert store.lock == tmp_path / "mlflow.db.lock"


def test_a_relative_database_is_made_absolute_and_keeps_its_files_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative SQLite path counts from the working folder, and its artifacts are beside the database."""
    monkeypatch.chdir(tmp_path)
    store = store_at("sqlite:///team/runs.db", tmp_path / "outputs")
    assert store.database == tmp_path / "team" / "runs.db"
    assert store.artifacts == f"file://{tmp_path}/team/mlartifacts"


def test_a_server_decides_where_files_go_and_its_link_has_no_login(tmp_path: Path) -> None:
    """A server's store names no place for files, its page has no login and its shown address no password."""
    store = store_at("http://me:secret@ml.example/", tmp_path)
    assert store.artifacts is None
    assert store.page == "http://ml.example"
    assert store.shown == "http://me:***@ml.example"


def test_a_password_is_blotted_out_anywhere_in_a_message() -> None:
    """An address inside a sentence loses its password, even one with a colon and a slash in it."""
    said = without_password("cannot connect to postgresql+psycopg2://u:p:w/d@db:5432/x now")
    assert "p:w" not in said


@pytest.mark.parametrize("uri", [None, "sqlite:///{tmp}/own/runs.db", "{tmp}/folder", "file://{tmp}/folder"])
def test_a_store_of_files_that_is_not_there_is_missing_and_looking_makes_none(tmp_path: Path, uri: str | None) -> None:
    """A database or folder that does not exist is missing, and neither looking nor recovering creates anything."""
    uri = uri and uri.format(tmp=tmp_path)
    assert store_at(uri, tmp_path / "outputs").missing
    MLflow(uri=uri).recover(tmp_path / "outputs", "word_tasks")
    assert list(tmp_path.iterdir()) == []


def test_a_server_and_a_file_with_something_in_it_are_not_missing(tmp_path: Path) -> None:
    """An empty file is no store yet, one with content may be, and a server is asked."""
    (tmp_path / "mlflow.db").touch()
    assert store_at(None, tmp_path).missing
    (tmp_path / "mlflow.db").write_text("something")
    assert not store_at(None, tmp_path).missing
    assert not store_at("http://127.0.0.1:9", tmp_path).missing


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        (None, "Not a directory"),
        ("sqlite:///{tmp}/text.db", "file is not a database"),
        ("http://127.0.0.1:9", "refused"),
        ("postgresql://me:secret@127.0.0.1:9/runs", "refused"),
        ("nonsense://x", "nonsense"),
    ],
)
def test_an_unusable_store_is_one_line_at_once(make_run: MakeRun, tmp_path: Path, uri: str | None, said: str) -> None:
    """An unusable store is refused within seconds, in one line with the cause, the way out and no password."""
    (tmp_path / "text.db").write_text("a text, not a database, and long enough to tell" * 20)
    outputs = tmp_path / "outputs"
    if uri is None:
        outputs = tmp_path / "text.db" / "outputs"
    begun = time.monotonic()
    with pytest.raises(TrackingError) as caught:
        MLflow(uri=uri and uri.format(tmp=tmp_path)).log(make_run("r"), outputs)
    message = str(caught.value)
    assert said in message
    assert "\n" not in message
    assert "secret" not in message
    assert "results are on disk: mend the store or tracking.uri" in message
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("left", ["half a new database", "an empty database"])
def test_a_process_killed_while_it_made_the_database_leaves_nothing_in_the_way(
    tmp_path: Path, make_run: MakeRun, left: str
) -> None:
    """It is made under another name and named when it is whole: what a dead process left of it is made anew."""
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    half = outputs / (".mlflow.db.new" if left.startswith("half") else "mlflow.db")
    half.write_bytes(b"SQLite format 3\x00" if left.startswith("half") else b"")
    assert MLflow().log(make_run("20261130-101500-aaaaaa"), outputs).run_ids
    assert not (outputs / ".mlflow.db.new").exists()
