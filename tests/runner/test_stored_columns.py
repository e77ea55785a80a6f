"""Columns of stored rows, which stay in the file until a metric asks for them."""

from __future__ import annotations

import base64
import json
import shutil
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalflow.cli import main
from evalflow.columns import Columns
from evalflow.errors import StoredRunError
from evalflow.job import rescored
from evalflow.record import Row, to_json
from evalflow.runner.score import score
from evalflow.runner.session import stored_plan
from evalflow.runner.stored_columns import StoredColumns, left_in_file
from evalflow.runner.stored_run import StoredRun, load_run
from evalflow.stored_file import located_lines
from evalflow.stored_record import row_from_json
from tests.metric.by_hand import row


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of 27 texts, run once."""
    outputs = tmp_path_factory.mktemp("columns")
    main(["experiment=perplexity", "tracking=none", "dataset.n=3", "--quiet", f"runner.outputs={outputs}"])
    return next(outputs.glob("perplexity/*"))


@pytest.fixture
def folder(ran: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(ran, tmp_path / ran.name))


def scored(item: str, values: list[float]) -> Row:
    columns = Columns.of({"nll": np.array(values), "argmax": np.arange(len(values), dtype=np.int32)}, {"shared": 0.5})
    return row("", item_id=item, columns=columns, finish_reason="stop")


ROWS = [scored("a", [1.0, 2.0]), row("x", item_id="b", finish_reason="stop"), scored("c", [3.0]), scored("d", [])]


def written(path: Path, *rows: Row, before: str = "") -> list[Row]:
    """Rows written to a file, and read back with their columns left in it."""
    path.write_text(before + "".join(f"{to_json(one)}\n" for one in rows), encoding="utf-8")
    return left(path)


def left(path: Path) -> list[Row]:
    return [left_in_file(row_from_json(line, where), path, offset) for where, offset, line in located_lines(path)]


def test_a_row_left_in_its_file_is_the_row(tmp_path: Path) -> None:
    """Each with its own columns, whichever is asked for first and however often."""
    found = written(tmp_path / "rows.jsonl", *ROWS)
    for one in (3, 0, 2, 0):
        columns = found[one].columns
        assert columns is not None and isinstance(columns.packed, StoredColumns)
        assert columns["nll"].tolist() == ROWS[one].columns["nll"].tolist()  # type: ignore[index]
        assert columns["argmax"].dtype == np.int32
        assert columns.facts == {"shared": 0.5}
    assert found == ROWS
    assert [to_json(one) for one in found] == [to_json(one) for one in ROWS]


def test_a_row_without_columns_is_as_it_was(tmp_path: Path) -> None:
    """There is nothing to leave."""
    assert left_in_file(ROWS[1], tmp_path / "nowhere", 0) is ROWS[1]


def test_the_names_are_known_without_the_file(tmp_path: Path) -> None:
    """Which columns there are, and how many; one that is not there is no reading of another."""
    path = tmp_path / "rows.jsonl"
    (one,) = written(path, ROWS[0])
    columns = one.columns
    assert columns is not None
    with pytest.raises(KeyError):
        columns["kl"]
    path.unlink()
    assert (list(columns.packed), len(columns.packed), columns.n) == (["nll", "argmax"], 2, 2)
    assert ("nll" in columns.packed.keys(), "kl" in columns.packed.keys()) == (True, False)  # noqa: SIM118


def test_places_are_bytes_and_not_characters(tmp_path: Path) -> None:
    """A line that somebody saved with letters of two bytes before it moves what follows by as much."""
    other = json.dumps({**json.loads(to_json(ROWS[1])), "draft": "größer 😀"}, ensure_ascii=False)
    found = written(tmp_path / "rows.jsonl", ROWS[0], ROWS[2], before=f"{other}\n\n")
    assert [one.columns["nll"].tolist() for one in found[1:]] == [[1.0, 2.0], [3.0]]  # type: ignore[index]


@pytest.mark.parametrize("change", ["gone", "cut", "shifted", "other", "no columns"])
def test_a_file_that_changed_under_its_reader_is_one_line(tmp_path: Path, change: str) -> None:
    """Where it lies, what is missing and what to do; nothing is read as a number that is none."""
    path = tmp_path / f"{change}.jsonl"
    found = written(path, *ROWS)[2]
    assert found.columns is not None
    text = path.read_text(encoding="utf-8")
    at = text.index('{"run_id":"r","session":"s","arm":"a","seed":0,"item_id":"c"')
    if change == "gone":
        path.unlink()
    else:
        changed = {"cut": text[: at + 40], "shifted": f" {text}"[:-1], "other": text[:at] + "3\n"}
        changed["no columns"] = text[:at] + to_json(replace(ROWS[2], columns=None)) + "\n"
        path.write_text(changed[change], encoding="utf-8")
    with pytest.raises(StoredRunError) as fault:
        found.columns["nll"]
    said = str(fault.value)
    assert said.startswith(f"{path}: its row at byte {at} is not there any more (") and said.endswith("; restore it")
    assert "\n" not in said


def test_a_run_whose_file_is_lost_while_it_is_scored_says_so(folder: Path) -> None:
    """It is no metric's fault."""
    run = load_run(folder)
    plan = stored_plan(run, ())
    (folder / "rows.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(StoredRunError, match=r"rows\.jsonl: its row at byte \d+ is not there any more"):
        score(plan, run.rows, run.probes, run.traces)


def lengthened(folder: Path, n: int) -> int:
    """Give each row of a run `n` positions; the size of its file (bytes)."""
    lines = (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    rng = np.random.default_rng(0)
    rows = []
    for line in lines:
        told: dict[str, Any] = json.loads(line)
        arrays = {"nll": rng.uniform(0, 9, n), "position": np.arange(n), "start": np.arange(n) % 80}
        kinds = {"nll": "<f8", "position": "<i4", "start": "<i4"}
        packed = {
            name: f"{kinds[name]}:{base64.b64encode(array.astype(kinds[name]).tobytes()).decode()}"
            for name, array in arrays.items()
        }
        rows.append(json.dumps({**told, "columns": {"n": n, "packed": packed, "facts": {}}}))
    (folder / "rows.jsonl").write_text("".join(f"{one}\n" for one in rows), encoding="utf-8")
    return (folder / "rows.jsonl").stat().st_size


def peak_of_scoring(folder: Path) -> tuple[int, StoredRun]:
    """The most memory (bytes) at once that a run took to be read and scored, all its figures and worst places read."""
    tracemalloc.start()
    run = load_run(folder)
    scores = score(stored_plan(run, ()), run.rows, run.probes, run.traces)
    for arm in scores.arms:
        scores.figures(arm)
        scores.worst(arm, "nll", {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, run


def test_scoring_a_run_needs_no_more_memory_for_longer_texts(folder: Path) -> None:
    """Of 27 rows a few at a time are in memory: texts of 20,000 positions take no more than some lines of them more
    than texts of 40, and not the whole file."""
    lengthened(folder, 40)
    peak_of_scoring(folder)  # imports and caches are no part of it
    short, _ = peak_of_scoring(folder)
    size = lengthened(folder, 20_000)
    line = size / 27
    long, run = peak_of_scoring(folder)
    assert len(run.rows) == 27
    assert long - short < 8 * line < size / 3, f"{short:,} {long:,} of {size:,}"


def test_a_run_is_scored_again_from_its_file(folder: Path) -> None:
    """`score` gives the figures of the run itself, from columns that never were in memory together."""
    before = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    with rescored(folder, ()) as (_, done):
        assert all(isinstance(one.columns.packed, StoredColumns) for one in done.rows)  # type: ignore[union-attr]
        assert done.report["arms"] == before["arms"]
        assert done.report["gates"] == before["gates"]
