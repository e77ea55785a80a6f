"""A run's folder: written as the run goes, read back whole, refused when it is not ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import ExitCode, OutputError, OutputLostError, StoredRunError
from evalflow.record import Item, Probe, Row, RowError, Times, fingerprints
from evalflow.runner.journal import ArmTrace, Journal, check_writable, config_digest, open_run
from evalflow.runner.stored_config import to_yaml
from evalflow.runner.stored_run import find_run, load_run, unfinished

ONE = (Item("a", "p", "t", "k", "c", "g", {"x": [1]}), Item("b", "p"))
CONFIG: dict[str, Any] = {"dataset": {"path": "x"}, "seed": 1, "arms": {"one": {}}, "gates": {"g": {"floor": 0.5}}}


def opened(
    outputs: Path,
    experiment: str = "case",
    config_hash: str = "abcdef0123",
    key: str = "key",
    items: tuple[Item, ...] = ONE,
) -> Journal:
    facts = {
        "resume_key": key,
        "part": None,
        "fingerprints": fingerprints(items),
        "config_digest": config_digest(CONFIG),
        "environment": {},
    }
    journal = open_run(outputs, experiment, config_hash, facts)
    journal.write_text("config.yaml", to_yaml(CONFIG))
    journal.write_items(items)
    return journal


def row(journal: Journal, name: str = "a", **fields: Any) -> Row:
    settings = {"session": "s", "arm": "one", "seed": 0, "status": "ok", "draft": "x", "served": "x"}
    return Row(**{"run_id": journal.run_id, **settings, "item_id": name, **fields})


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
    journal.append(row(journal, "a"))
    journal.append(row(journal, "b"))
    lines = (journal.folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    journal.close("interrupted")
    assert [json.loads(line)["item_id"] for line in lines] == ["a", "b"]


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    """Items, rows, probes, traces and state come back equal."""
    journal = opened(tmp_path)
    times = Times(sent=1.0, end=2.0)
    rows = (
        row(journal, "a", gaps=(0.1, 0.2), times=times, tokens_in=3, cached_tokens=0, stats={"m": (1.0,)}),
        row(journal, "b", status="error", draft=None, served=None, error=RowError("timeout", "late", 2)),
    )
    probes = (Probe("one", "memory", {"bytes": 1.0}),)
    traces = {"one": ArmTrace(0, "now", {"saturated": False}, {"batch": 2}), "two": ArmTrace(1, "now", unavailable="x")}
    for one in rows:
        journal.append(one)
    journal.write_probes(probes)
    journal.write_traces(traces)
    journal.close("finished")
    stored = load_run(journal.folder)
    assert (stored.items, stored.rows, stored.probes, stored.traces) == (ONE, rows, probes, traces)
    assert stored.run_id == journal.run_id
    assert stored.state["state"] == "finished"


ODD = ["half pair \ud835 end", "nul \u0000 inside", "emoji \U0001f600 ok", "line\u2028sep\rcr\nlf\x85", ""]


def test_any_text_survives_the_file(tmp_path: Path) -> None:
    """hc16: a lone surrogate, a NUL, an emoji and odd line ends come back as they went in; the file is strict UTF-8."""
    journal = opened(tmp_path)
    for number, text in enumerate(ODD):
        journal.append(row(journal, f"i{number}", draft=text))
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
    for number, text in enumerate(("[]", "3", "null", '"key"', "[" * 100_000, '{"resume_key": "key"}', "\ud800")):
        (tmp_path / f"case/rubbish{number}").mkdir()
        (tmp_path / f"case/rubbish{number}/run.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    (tmp_path / "case/rubbish_folder/run.json").mkdir(parents=True)
    assert unfinished(tmp_path, "case", "key") == tuple(sorted([running.run_id, stopped.run_id]))
    assert unfinished(tmp_path, "nothing", "key") == ()


@pytest.mark.parametrize(
    ("command", "named"),
    [("import time; time.sleep(60)  # evalflow", False), ("import time; time.sleep(60)", True), ("", True)],
)
def test_a_run_whose_process_is_still_at_work_is_not_unfinished(tmp_path: Path, command: str, named: bool) -> None:
    """Another evalflow that is alive is left unmentioned; a dead process, or a number given again, is unfinished."""
    journal = opened(tmp_path)
    process = subprocess.Popen([sys.executable, "-c", command])
    try:
        if not command:
            process.wait(timeout=30)
        set_state(journal.folder, pid=process.pid)
        deadline = time.monotonic() + 10
        while command and b"sleep" not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
            assert time.monotonic() < deadline
        assert unfinished(tmp_path, "case", "key") == ((journal.run_id,) if named else ())
        set_state(journal.folder, state="interrupted")
        assert unfinished(tmp_path, "case", "key") == (journal.run_id,)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("pid", [None, "7", -1, 0, 10**30, True])
def test_a_running_run_of_an_unknown_process_is_unfinished(tmp_path: Path, pid: Any) -> None:
    """A number that names no process cannot be at work."""
    journal = opened(tmp_path)
    set_state(journal.folder, pid=pid)
    assert unfinished(tmp_path, "case", "key") == (journal.run_id,)


def set_state(folder: Path, **changes: Any) -> None:
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


def test_a_run_is_found_by_its_folder_or_its_id(tmp_path: Path) -> None:
    """Both name the same folder; anything else is refused."""
    journal = opened(tmp_path)
    assert find_run(str(journal.folder), tmp_path) == journal.folder
    assert find_run(journal.run_id, tmp_path) == journal.folder
    with pytest.raises(StoredRunError, match=r"nothing: 0 runs of that name under .*; give the run's folder"):
        find_run("nothing", tmp_path)


def whole(outputs: Path) -> Journal:
    """A finished run of two rows."""
    journal = opened(outputs)
    for name in "ab":
        journal.append(row(journal, name))
    journal.write_traces({"one": ArmTrace(0, "now", {"saturated": False, "loop_lag_p99_s": None})})
    journal.close("finished")
    assert [one.item_id for one in load_run(journal.folder).rows] == ["a", "b"]
    return journal


FILES = ("run.json", "config.yaml", "items.jsonl", "rows.jsonl", "probes.jsonl", "arms.json")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("run.json", "{", r"run\.json: cannot be read"),
        ("run.json", "[]", r"run\.json: not a JSON object"),
        ("run.json", "[" * 100_000, r"run\.json: cannot be read \(nested too deep\)"),
        (
            "run.json",
            '{"schema_version": 99}',
            r"run\.json: schema version 99 is unknown here \(this evalflow reads 1\)",
        ),
        ("run.json", "{}", r"run\.json: schema version None is unknown here"),
        ("run.json", '{"schema_version": true}', r"run\.json: schema version True is unknown here"),
        ("run.json", '{"schema_version": 1}', r"run\.json: not what this evalflow wrote \(it has no run_id\)"),
        ("rows.jsonl", "{\n", r"rows\.jsonl:1: not JSON"),
        ("rows.jsonl", "3\n", r"rows\.jsonl:1: not a JSON object"),
        ("rows.jsonl", "\n" + "[" * 100_000 + "\n", r"rows\.jsonl:2: not JSON"),
        ("rows.jsonl", '{"schema": ' + "1" * 5000 + "}\n", r"rows\.jsonl:1: not JSON"),
        ("rows.jsonl", '{"schema": 2}\n', r"rows\.jsonl:1: schema version 2 is unknown here"),
        ("rows.jsonl", '{"schema": 1.0}\n', r"rows\.jsonl:1: schema version 1.0 is unknown here"),
        ("rows.jsonl", '{"schema": 1}\n', r"rows\.jsonl:1: not a row of schema 1"),
        ("probes.jsonl", '{"schema": 1, "x": 1}\n', r"probes\.jsonl:1: not a probe of schema 1"),
        ("probes.jsonl", '{"schema": 1, "arm": "one", "name": "memory", "values": 5}\n', r"values is 5"),
        ("probes.jsonl", '{"schema": 1', r"probes\.jsonl:1: not JSON"),
        ("items.jsonl", '{"x": 1}\n', r"items\.jsonl:1: not an item"),
        ("items.jsonl", '{"id": 5, "prompt": "x"}\n', r"items\.jsonl:1: not an item \(id is 5\)"),
        ("items.jsonl", "", r"items\.jsonl: these are not the items that were asked; restore it"),
        ("items.jsonl", '{"id": "a", "prompt": "p"}\n', r"items\.jsonl: these are not the items"),
        ("config.yaml", "", r"config\.yaml: no YAML mapping"),
        ("config.yaml", "gates: {}\n", r"config\.yaml: one of dataset, model, .* is not what the rows were made with"),
        ("config.yaml", "seed: .nan\n", r"config\.yaml: one of dataset"),
        ("config.yaml", "seed: 2020-01-01\n", r"config\.yaml: one of dataset"),
        ("arms.json", '{"one": {"x": 1}}', r"arms\.json: not what this evalflow wrote"),
        ("arms.json", '{"one": 5}', r"arms\.json: not what this evalflow wrote"),
        ("arms.json", '{"one": {"order": 0, "started": "now", "driver": 5}}', r"arms\.json: .*driver is 5"),
        ("arms.json", '{"one": {"order": "x", "started": "now"}}', r"arms\.json: .*order is 'x'"),
        ("arms.json", "[]", r"arms\.json: not a JSON object"),
        ("arms.json", "{", r"arms\.json: cannot be read"),
    ],
)
def test_a_damaged_file_is_refused_with_its_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    """What cannot be read is named with its file, its line where there is one, and what to do."""
    journal = whole(tmp_path)
    (journal.folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(StoredRunError, match=said):
        load_run(journal.folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("become", ["absent", "folder", "binary"])
def test_every_file_of_a_run_must_be_there(tmp_path: Path, name: str, become: str) -> None:
    """None of them is optional, however little it holds."""
    journal = whole(tmp_path)
    path = journal.folder / name
    path.unlink()
    if become == "folder":
        path.mkdir()
    if become == "binary":
        path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(StoredRunError, match=rf"{name}.*; (restore|give)"):
        load_run(journal.folder)


@pytest.mark.parametrize("name", ["rows.jsonl", "probes.jsonl", "arms.json"])
def test_a_run_that_was_just_opened_has_every_file(tmp_path: Path, name: str) -> None:
    """What is not there was lost; what was not reached yet is empty."""
    journal = opened(tmp_path)
    assert (journal.folder / name).exists()
    assert load_run(journal.folder).rows == ()


@pytest.mark.parametrize("name", ["run_id", "experiment", "part", "fingerprints", "config_digest", "environment"])
@pytest.mark.parametrize("value", [5, [], "absent"])
def test_a_state_without_what_is_needed_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    """A key of run.json that is not there, or of another type, is named."""
    journal = whole(tmp_path)
    state = json.loads((journal.folder / "run.json").read_text(encoding="utf-8"))
    if value == "absent":
        del state[name]
    else:
        state[name] = value
    (journal.folder / "run.json").write_text(json.dumps(state), encoding="utf-8")
    with pytest.raises(StoredRunError, match=rf"run\.json: not what this evalflow wrote \(.*{name}"):
        load_run(journal.folder)


@pytest.mark.parametrize(
    ("name", "value"), [("run_id", "latest"), ("state", "done"), ("started", None), ("finished", 5)]
)
def test_a_state_with_another_value_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    """An id that is none, an unknown state, and times that are no text."""
    journal = whole(tmp_path)
    set_state(journal.folder, **{name: value})
    with pytest.raises(StoredRunError, match=rf"run\.json: .*{name}"):
        load_run(journal.folder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"run_id": "20200101-000000-abcdef"}, "a row of run '20200101-000000-abcdef', not of"),
        ({"status": "banana"}, "status is 'banana'"),
        ({"status": ["ok"]}, "status is"),
        ({"draft": 5}, "draft is 5"),
        ({"draft": None}, "status ok without a draft"),
        ({"status": "error"}, "status error without an error"),
        ({"seed": "0"}, "seed is '0'"),
        ({"seed": True}, "seed is True"),
        ({"item_id": ["a"]}, "item_id is"),
        ({"cluster": ["a"]}, "cluster is"),
        ({"times": {"sent": "x"}}, "times is"),
        ({"times": None}, "not a row"),
        ({"error": "boom"}, "not a row"),
        ({"error": {}}, "not a row"),
        ({"tokens_in": 1.5}, "tokens_in is 1.5"),
        ({"gaps": ["x"]}, "gaps is"),
        ({"finish_reason": "tired"}, "finish_reason is 'tired'"),
        ({"stats": {"m": ["x"]}}, "stats is"),
        ({"detail": {"m": 5}}, "detail is"),
    ],
)
def test_a_row_of_wrong_types_is_refused_with_its_line(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    """Every field is held against its type, and the row's run against the folder's."""
    journal = whole(tmp_path)
    path = journal.folder / "rows.jsonl"
    first, second = path.read_text(encoding="utf-8").splitlines()
    path.write_text(f"{first}\n{json.dumps({**json.loads(second), **changes})}\n", encoding="utf-8")
    with pytest.raises(StoredRunError, match=rf"rows\.jsonl:2: .*{said}.*; restore the file"):
        load_run(journal.folder)


def test_a_row_that_was_cut_off_is_as_one_that_never_came(tmp_path: Path) -> None:
    """The last line without its end was being written when the process died; an earlier such line is damage."""
    journal = whole(tmp_path)
    path = journal.folder / "rows.jsonl"
    text = path.read_bytes()
    for cut in (text[:-1], text[:-40], text + b"\0" * 500, text + b'{"schema"'):
        path.write_bytes(cut)
        kept = [one.item_id for one in load_run(journal.folder).rows]
        assert kept == (["a"] if len(cut) < len(text) else ["a", "b"])
    path.write_bytes(text[:40] + b"\n" + text)
    with pytest.raises(StoredRunError, match=r"rows\.jsonl:1: not JSON"):
        load_run(journal.folder)


def test_a_row_that_is_there_twice_counts_once_and_two_of_one_key_are_refused(tmp_path: Path) -> None:
    """Equal copies of a row are one; another answer under the same key is a file that somebody mixed."""
    journal = whole(tmp_path)
    path = journal.folder / "rows.jsonl"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text.splitlines()[0] + "\n", encoding="utf-8")
    assert len(load_run(journal.folder).rows) == 2
    path.write_text(text + text.splitlines()[0].replace('"draft":"x"', '"draft":"y"') + "\n", encoding="utf-8")
    with pytest.raises(StoredRunError, match=r"rows\.jsonl:3: another row than the first of arm one, seed 0, item 'a'"):
        load_run(journal.folder)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda c: c.update(gates={}), True),
        (lambda c: c.update(metrics={"m": {}}, comparisons={}, tracking=None, runner={}), True),
        (lambda c: c.update(seed=2), False),
        (lambda c: c["arms"].update(two={}), False),
        (lambda c: c.update(limit=3), False),
        (lambda c: c["dataset"].update(path="y"), False),
        (lambda c: c.update(model={"x": 1}, decoding={}), False),
        (lambda c: c.update(where={"kind": "x"}), False),
        (lambda c: c.update(shard={"index": 0, "of": 2}), False),
    ],
)
def test_only_what_decides_no_row_may_be_edited(tmp_path: Path, change: Callable[[Any], None], same: bool) -> None:
    """Gates, metrics and the like may change before a run is scored again; what the rows were made with may not."""
    journal = whole(tmp_path)
    config = json.loads(json.dumps(CONFIG))
    change(config)
    journal.write_text("config.yaml", to_yaml(config))
    if same:
        assert len(load_run(journal.folder).rows) == 2
        return
    with pytest.raises(
        StoredRunError, match=r"config\.yaml: one of .* is not what the rows were made with; restore it"
    ):
        load_run(journal.folder)


def test_an_item_that_was_edited_is_refused(tmp_path: Path) -> None:
    """Another target, order or number of items is not what was asked."""
    journal = whole(tmp_path)
    for items in ((replace(ONE[0], target="z"), ONE[1]), (replace(ONE[0], prompt="z"), ONE[1]), ONE[::-1], ONE[:1]):
        journal.write_items(items)
        with pytest.raises(StoredRunError, match=r"items\.jsonl: these are not the items that were asked; restore it"):
            load_run(journal.folder)


def full(*_: object, **__: object) -> Any:
    raise OSError(28, "No space left on device")


def test_what_cannot_be_written_once_rows_come_is_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the start it is a matter of usage (64); a row, a trace and the closing are 3, and say what to do."""
    journal = opened(tmp_path)
    journal.append(row(journal))
    monkeypatch.setattr(os, "fsync", full)
    journal._synced = -10.0
    monkeypatch.setattr(Path, "write_text", full)
    acts: list[Callable[[], Any]] = [
        lambda: journal.append(row(journal, "b")),
        lambda: journal.write_traces({}),
        lambda: journal.write_probes([]),
        lambda: journal.close("finished"),
        lambda: journal.close("finished"),
    ]
    for act in acts:
        with pytest.raises(OutputLostError, match=r"cannot be written any more \(No space left.*\); make room") as lost:
            act()
        assert lost.value.exit_code == ExitCode.INCOMPLETE
    with pytest.raises(OutputError) as refused:
        journal.write_items(ONE)
    assert refused.value.exit_code == ExitCode.USAGE


def test_rows_that_cannot_be_forced_to_the_disk_leave_no_finished_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is called finished only where its rows are safe."""
    journal = opened(tmp_path)
    journal.append(row(journal))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputLostError):
        journal.close("finished")
    assert state(journal)["state"] == "interrupted"


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    """A folder that holds no run.json is no run."""
    with pytest.raises(StoredRunError, match=r"run\.json: not there; give the folder of a finished run"):
        load_run(tmp_path)
