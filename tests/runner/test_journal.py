"""A run's folder: written as the run goes, read back whole, refused when it is not ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import OutputError, StoredRunError
from evalflow.record import Item, Probe, Row, RowError, Times
from evalflow.runner.journal import (
    ArmTrace,
    Journal,
    check_writable,
    find_run,
    load_run,
    open_run,
    unfinished,
)


def opened(outputs: Path, experiment: str = "case", config_hash: str = "abcdef0123", key: str = "key") -> Journal:
    return open_run(outputs, experiment, config_hash, {"resume_key": key})


def row(name: str = "a", **fields: Any) -> Row:
    settings = {"run_id": "r", "session": "s", "arm": "one", "seed": 0, "status": "ok", "draft": "x", "served": "x"}
    return Row(**{**settings, "item_id": name, **fields})


def state(journal: Journal) -> dict[str, Any]:
    return dict(json.loads((journal.folder / "run.json").read_text(encoding="utf-8")))


def test_a_runs_id_is_its_time_and_the_head_of_its_configs_hash(tmp_path: Path) -> None:
    """The folder is outputs/experiment/YYYYmmdd-HHMMSS-6 hex."""
    journal = opened(tmp_path)
    day, clock, head = journal.run_id.split("-")
    assert (len(day), len(clock), head) == (8, 6, "abcdef")
    assert day.isdigit() and clock.isdigit()
    assert journal.folder == tmp_path / "case" / journal.run_id


def test_two_runs_of_one_config_never_share_a_folder(tmp_path: Path) -> None:
    """A second start in the same second waits for a name of its own."""
    assert len({opened(tmp_path).folder, opened(tmp_path).folder}) == 2


def test_a_run_is_running_until_it_is_closed(tmp_path: Path) -> None:
    """The state on disk says at any time how far the run came."""
    journal = opened(tmp_path)
    assert (state(journal)["state"], state(journal)["finished"]) == ("running", None)
    journal.close("finished")
    assert state(journal)["state"] == "finished"
    assert state(journal)["finished"] >= state(journal)["started"]


def test_a_row_is_in_the_file_before_the_run_ends(tmp_path: Path) -> None:
    """A row can be read by another process as soon as it was appended: a killed run loses none of it."""
    journal = opened(tmp_path)
    journal.append(row("a"))
    journal.append(row("b"))
    lines = (journal.folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    journal.close("interrupted")
    assert [json.loads(line)["item_id"] for line in lines] == ["a", "b"]


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    """Items, rows, probes, traces and state come back equal."""
    journal = opened(tmp_path)
    items = (Item("a", "p", "t", "k", "c", "g", {"x": [1]}), Item("b", "p"))
    rows = (
        row("a", gaps=(0.1, 0.2), times=Times(sent=1.0, end=2.0), tokens_in=3, cached_tokens=0, stats={"m": (1.0,)}),
        row("b", status="error", draft=None, served=None, error=RowError("timeout", "late", 2)),
    )
    probes = (Probe("one", "memory", {"bytes": 1.0}),)
    traces = {"one": ArmTrace(0, "now", {"saturated": False}, {"batch": 2}), "two": ArmTrace(1, "now", unavailable="x")}
    journal.write_items(items)
    for one in rows:
        journal.append(one)
    journal.write_probes(probes)
    journal.write_traces(traces)
    journal.close("finished")
    stored = load_run(journal.folder)
    assert (stored.items, stored.rows, stored.probes, stored.traces) == (items, rows, probes, traces)
    assert stored.run_id == journal.run_id
    assert stored.state["state"] == "finished"


ODD = ["half pair \ud835 end", "nul \u0000 inside", "emoji \U0001f600 ok", "line\u2028sep\rcr\nlf\x85", ""]


def test_any_text_survives_the_file(tmp_path: Path) -> None:
    """hc16: a lone surrogate, a NUL, an emoji and odd line ends come back as they went in; the file is strict UTF-8."""
    journal = opened(tmp_path)
    for number, text in enumerate(ODD):
        journal.append(row(f"i{number}", draft=text))
    journal.write_traces({})
    journal.close("finished")
    raw = (journal.folder / "rows.jsonl").read_bytes()
    assert len(raw.decode("utf-8", "strict").splitlines()) == len(ODD)
    assert [one.draft for one in load_run(journal.folder).rows] == ODD


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that breaks off leaves the earlier file as it was."""
    journal = opened(tmp_path)
    journal.write_text("a.json", "old")

    def broken(self: Path, text: str, **_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", broken)
    with pytest.raises(OutputError, match="No space left on device"):
        journal.write_text("a.json", "new")
    assert (journal.folder / "a.json").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("act", [lambda path: opened(path), lambda path: check_writable(path, "case")])
def test_an_output_folder_that_cannot_be_made_is_refused(tmp_path: Path, act: Any) -> None:
    """A folder under a plain file is named, with what to give instead."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match=r"file/case: cannot be written \(Not a directory\); give another"):
        act(tmp_path / "file")


def test_trying_a_folder_leaves_nothing_in_it(tmp_path: Path) -> None:
    """The check makes the experiment's folder and no file."""
    check_writable(tmp_path, "case")
    assert list((tmp_path / "case").iterdir()) == []


def test_unfinished_runs_are_those_of_the_same_rows_that_did_not_finish(tmp_path: Path) -> None:
    """Running and interrupted ones count, oldest first; finished ones, other keys and rubbish do not."""
    running = opened(tmp_path, config_hash="aaaaaa")
    stopped = opened(tmp_path, config_hash="bbbbbb")
    stopped.close("interrupted")
    opened(tmp_path, config_hash="cccccc").close("finished")
    opened(tmp_path, config_hash="dddddd", key="other")
    (tmp_path / "case/rubbish").mkdir()
    (tmp_path / "case/rubbish/run.json").write_text("{", encoding="utf-8")
    assert unfinished(tmp_path, "case", "key") == tuple(sorted([running.run_id, stopped.run_id]))
    assert unfinished(tmp_path, "nothing", "key") == ()


def test_a_run_is_found_by_its_folder_or_its_id(tmp_path: Path) -> None:
    """Both name the same folder; anything else is refused."""
    journal = opened(tmp_path)
    assert find_run(str(journal.folder), tmp_path) == journal.folder
    assert find_run(journal.run_id, tmp_path) == journal.folder
    with pytest.raises(StoredRunError, match=r"nothing: 0 runs of that name under .*; give the run's folder"):
        find_run("nothing", tmp_path)


def damaged(journal: Journal, name: str, text: str) -> Path:
    journal.write_items([Item("a", "p")])
    journal.append(row())
    journal.write_traces({})
    journal.close("finished")
    (journal.folder / name).write_text(text, encoding="utf-8")
    return journal.folder


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("run.json", "{", r"run\.json: cannot be read"),
        ("run.json", "[]", r"run\.json: not a JSON object"),
        (
            "run.json",
            '{"schema_version": 99}',
            r"run\.json: schema version 99 is unknown here \(this evalflow reads 1\)",
        ),
        ("run.json", "{}", r"run\.json: schema version None is unknown here"),
        ("rows.jsonl", "{\n", r"rows\.jsonl:1: not JSON"),
        ("rows.jsonl", "3\n", r"rows\.jsonl:1: not a JSON object"),
        ("rows.jsonl", '{"schema": 2}\n', r"rows\.jsonl:1: schema version 2 is unknown here"),
        ("rows.jsonl", '{"schema": 1}\n', r"rows\.jsonl:1: not a row of schema 1"),
        ("probes.jsonl", '{"schema": 1, "x": 1}\n', r"probes\.jsonl:1: not a probe of schema 1"),
        ("items.jsonl", '{"x": 1}\n', r"items\.jsonl:1: not an item"),
        ("arms.json", '{"one": {"x": 1}}', r"arms\.json: not what this evalflow wrote"),
        ("arms.json", "{", r"arms\.json: cannot be read"),
    ],
)
def test_a_damaged_file_is_refused_with_its_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    """What cannot be read is named with its file, its line where there is one, and what to do."""
    with pytest.raises(StoredRunError, match=said):
        load_run(damaged(opened(tmp_path), name, text))


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    """A folder that holds no run.json is no run."""
    with pytest.raises(StoredRunError, match=r"run\.json: not there; give the folder of a finished run"):
        load_run(tmp_path)
