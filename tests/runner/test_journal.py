"""A run's folder: written as the run goes, read back whole, refused when it is not ours."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import ExitCode, OutputError, OutputLostError, StoredRunError
from evalflow.record import Item, Probe, Row, RowError, Times, digest, fingerprints, to_json
from evalflow.runner.journal import Journal, check_writable, config_digest, open_run, reopen_run, write_run
from evalflow.runner.lock import hold, is_held
from evalflow.runner.stored_config import from_yaml, to_yaml
from evalflow.runner.stored_run import find_run, load_run, peek, run_folders
from evalflow.runner.trace import ArmTrace
from evalflow.whole_file import replace_text

ONE = (Item("a", "p", "t", "k", "c", "g", {"x": [1]}), Item("b", "p"))
CONFIG: dict[str, Any] = {"dataset": {"path": "x"}, "seed": 1, "arms": {"one": {}}, "gates": {"g": {"floor": 0.5}}}


def opened(outputs: Path, items: tuple[Item, ...] = ONE, config: dict[str, Any] = CONFIG, **facts: Any) -> Journal:
    known = {
        "resume_key": "key",
        "conditions": {"seed": 1},
        "part": None,
        "shard": None,
        "fingerprints": fingerprints(items),
        "environment": {"python": "3"},
        "sweep_id": None,
        "swept": {},
        "shared": False,
        "calibration": None,
    }
    return open_run(outputs, "case", config, items, {**known, **facts})


def trace(session: str = "s", **known: Any) -> ArmTrace:
    return ArmTrace(session, 0, "now", 1, **known)


def row(journal: Journal, name: str = "a", **fields: Any) -> Row:
    settings = {"session": "s", "arm": "one", "seed": 0, "status": "ok", "draft": "x", "served": "x"}
    return Row(**{"run_id": journal.run_id, **settings, "item_id": name, **fields})


def state(journal: Journal) -> dict[str, Any]:
    return dict(json.loads((journal.folder / "run.json").read_text(encoding="utf-8")))


def test_a_runs_id_is_its_time_and_the_head_of_its_configs_digest(tmp_path: Path) -> None:
    """The folder is outputs/experiment/YYYYmmdd-HHMMSS-6 hex."""
    journal = opened(tmp_path, config={"seed": 1})
    day, clock, head = journal.run_id.split("-")
    # printf '{"seed":1}' | sha256sum
    assert (len(day), len(clock), head) == (8, 6, "fbe47f")
    assert day.isdigit() and clock.isdigit()
    assert journal.folder == tmp_path / "case" / journal.run_id


def test_two_runs_of_one_config_never_share_a_folder(tmp_path: Path) -> None:
    """A second start in the same second waits for a name of its own."""
    assert len({opened(tmp_path).folder, opened(tmp_path).folder}) == 2


def test_a_run_is_running_until_it_is_closed(tmp_path: Path) -> None:
    """The state on disk says at any time how far the run came, and so does its session's."""
    journal = opened(tmp_path)
    assert (state(journal)["state"], state(journal)["finished"]) == ("running", None)
    (session,) = state(journal)["sessions"]
    assert (session["session"], session["state"], session["finished"]) == (journal.session, "running", None)
    assert (session["pid"], session["environment"]) == (os.getpid(), {"python": "3"})
    journal.close("finished")
    (session,) = state(journal)["sessions"]
    assert state(journal)["state"] == session["state"] == "finished"
    assert state(journal)["finished"] == session["finished"] >= session["started"] == state(journal)["started"]


def test_a_run_is_kept_from_others_from_its_first_moment(tmp_path: Path) -> None:
    """Its folder appears under its name with the lock held, which closing it does not give up."""
    journal = opened(tmp_path)
    assert is_held(journal.folder)
    journal.close("finished")
    assert is_held(journal.folder)
    journal.lock.release()
    assert not is_held(journal.folder)


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of its files cannot be written, nothing is left of the run."""
    written: list[str] = []

    def break_at(number: int) -> Callable[[Path, str], Path]:
        def write(path: Path, text: str) -> Path:
            written.append(path.name)
            assert not run_folders(tmp_path)
            if len(written) == number:
                raise OSError(28, "No space left on device")
            return replace_text(path, text)

        return write

    for number in range(1, 7):
        written.clear()
        monkeypatch.setattr("evalflow.runner.journal.replace_text", break_at(number))
        with pytest.raises(OutputError, match=r"case: cannot be written \(No space left on device\)") as refused:
            opened(tmp_path)
        assert refused.value.exit_code == ExitCode.USAGE
        assert list((tmp_path / "case").iterdir()) == []
    monkeypatch.setattr("evalflow.runner.journal.replace_text", break_at(0))
    written.clear()
    assert load_run(opened(tmp_path).folder).rows == ()
    assert sorted(written) == sorted(FILES)
    assert written[-1] == "run.json"


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
    traces = {
        "one": (trace("s"), trace("t", ended="then", driver={"saturated": False}, facts={"batch": 2})),
        "two": (trace("t", ended="then", unavailable="x"),),
    }
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


def set_state(folder: Path, **changes: Any) -> None:
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


def test_a_run_is_found_by_its_folder_or_its_id(tmp_path: Path) -> None:
    """Both name the same folder; anything else is refused."""
    journal = opened(tmp_path)
    assert find_run(str(journal.folder), tmp_path) == journal.folder
    assert find_run(journal.run_id, tmp_path) == journal.folder
    with pytest.raises(StoredRunError, match=r"nothing: there is no such run under .*; give the run's folder"):
        find_run("nothing", tmp_path)


def whole(outputs: Path) -> Journal:
    """A finished run of two rows."""
    journal = opened(outputs)
    for name in "ab":
        journal.append(row(journal, name))
    journal.write_traces({"one": (trace(ended="then", driver={"saturated": False, "loop_lag_p99_s": None}),)})
    journal.close("finished")
    assert [one.item_id for one in load_run(journal.folder).rows] == ["a", "b"]
    return journal


PART = '{"session": "s", "order": 0, "started": "now", "concurrency": 1}'
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
        ("arms.json", '{"one": [{"x": 1}]}', r"arms\.json: not what this evalflow wrote"),
        ("arms.json", '{"one": {"x": 1}}', r"arms\.json: not what this evalflow wrote"),
        ("arms.json", '{"one": [5]}', r"arms\.json: not what this evalflow wrote"),
        ("arms.json", '{"one": 5}', r"arms\.json: not what this evalflow wrote"),
        ("arms.json", f'{{"one": [{PART[:-1]}, "driver": 5}}]}}', r"arms\.json: .*driver is 5"),
        ("arms.json", f'{{"one": [{PART}, {PART.replace("0", "null")}]}}', r"arms\.json: .*order is None"),
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


STATE = (
    "run_id",
    "experiment",
    "resume_key",
    "conditions",
    "part",
    "shard",
    "fingerprints",
    "sweep_id",
    "swept",
    "shared",
    "started",
    "sessions",
)
SESSION = ("session", "started", "pid", "host", "config_digest", "environment")


@pytest.mark.parametrize(("of", "name"), [*(("run", name) for name in STATE), *(("session", name) for name in SESSION)])
@pytest.mark.parametrize("value", ["x", [], "absent"])
def test_a_state_without_what_is_needed_is_refused(tmp_path: Path, of: str, name: str, value: Any) -> None:
    """A key of run.json, or of a session in it, that is not there, or of another type, is named."""
    journal = whole(tmp_path)
    whole_state = state(journal)
    node = whole_state if of == "run" else whole_state["sessions"][0]
    if value == "absent":
        del node[name]
    else:
        node[name] = 5 if value == "x" and isinstance(node[name], str | None) else value
    (journal.folder / "run.json").write_text(json.dumps(whole_state), encoding="utf-8")
    with pytest.raises(StoredRunError, match=rf"run\.json: .*{name}.*; restore it"):
        load_run(journal.folder)
    assert peek(journal.folder) is None


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
    replace_text(journal.folder / "config.yaml", to_yaml(config))
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
        replace_text(journal.folder / "items.jsonl", "".join(f"{to_json(item)}\n" for item in items))
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


def test_rows_that_cannot_be_forced_to_the_disk_leave_no_finished_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is called finished only where its rows are safe."""
    journal = opened(tmp_path)
    journal.append(row(journal))
    fsync, calls = os.fsync, []

    def full_at_first(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            full()
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full_at_first)
    with pytest.raises(OutputLostError):
        journal.close("finished")
    assert state(journal)["state"] == "interrupted"


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    """A folder that holds no run.json is no run."""
    with pytest.raises(StoredRunError, match=r"run\.json: not there; give the folder of a finished run"):
        load_run(tmp_path)


def test_runs_are_listed_oldest_first_and_rubbish_is_none(tmp_path: Path) -> None:
    """A folder that is not called as a run is, is none; one whose run.json cannot be read is listed and is empty."""
    first, second = opened(tmp_path), opened(tmp_path, config={**CONFIG, "seed": 9})
    for name in ("rubbish", ".new-12345678", "20200101-000000-xxxxxx"):
        (tmp_path / "case" / name).mkdir()
        (tmp_path / f"case/{name}/run.json").write_text("{}", encoding="utf-8")
    assert run_folders(tmp_path) == run_folders(tmp_path, "case") == sorted([first.folder, second.folder])
    assert run_folders(tmp_path, "other") == run_folders(tmp_path / "nothing") == []
    assert (peek(first.folder) or {})["run_id"] == first.run_id
    for text in ("[]", "3", "null", '"key"', "[" * 100_000, '{"resume_key": "key"}', "\ud800", "", "{}"):
        (first.folder / "run.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        assert peek(first.folder) is None
    (first.folder / "run.json").unlink()
    assert run_folders(tmp_path) == [second.folder]
    assert peek(first.folder) is None


def again(journal: Journal, config: dict[str, Any] = CONFIG) -> Journal:
    """The run of an earlier journal, opened by another session."""
    journal.lock.release()
    stored = load_run(journal.folder)
    facts = {"environment": {"python": "4"}, "part": None, "shard": None}
    return reopen_run(journal.folder, stored.state, config, facts, hold(journal.folder))


def test_a_second_session_adds_to_the_rows_and_tells_its_own_story(tmp_path: Path) -> None:
    """Rows are appended, the run is running again, and each session keeps when, where and how it went."""
    first = opened(tmp_path)
    first.append(row(first, "a", session=first.session))
    first.close("interrupted")
    second = again(first)
    assert (second.run_id, second.session != first.session) == (first.run_id, True)
    assert [one["state"] for one in state(second)["sessions"]] == ["interrupted", "running"]
    assert (state(second)["state"], state(second)["finished"]) == ("running", None)
    second.append(row(second, "b", session=second.session))
    second.close("finished")
    stored = load_run(second.folder)
    assert [(one.item_id, one.session) for one in stored.rows] == [("a", first.session), ("b", second.session)]
    assert [one["state"] for one in stored.state["sessions"]] == ["interrupted", "finished"]
    assert [one["environment"] for one in stored.state["sessions"]] == [{"python": "3"}, {"python": "4"}]
    assert stored.state["started"] == stored.state["sessions"][0]["started"]
    assert stored.state["finished"] == stored.state["sessions"][1]["finished"]


@pytest.mark.parametrize("torn", [b'{"schema":1,"arm', b"\xff\xfe", b"\0" * 500, b"{}"])
def test_what_was_being_written_when_a_session_died_is_taken_away(tmp_path: Path, torn: bytes) -> None:
    """The next row begins a line of its own, so that nothing whole is lost to half a line."""
    first = opened(tmp_path)
    first.append(row(first, "a"))
    first.close("interrupted")
    with (first.folder / "rows.jsonl").open("ab") as rows:
        rows.write(torn)
    second = again(first)
    second.append(row(second, "b"))
    second.close("finished")
    assert [one.item_id for one in load_run(second.folder).rows] == ["a", "b"]


def test_a_session_that_answers_by_another_config_keeps_the_earlier_one(tmp_path: Path) -> None:
    """What made the earlier rows stays beside the new config, under its session's name, and either is known."""
    first = opened(tmp_path)
    first.close("interrupted")
    other = {**CONFIG, "arms": {"one": {"concurrency": 4}}}
    second = again(first, other)
    assert from_yaml(second.folder / "config.yaml") == other
    assert from_yaml(second.folder / f"config.{first.session}.yaml") == CONFIG
    replace_text(second.folder / "config.yaml", to_yaml(CONFIG))  # as it is where the process dies before the new one
    assert len(load_run(second.folder).state["sessions"]) == 2
    replace_text(second.folder / "config.yaml", to_yaml({**CONFIG, "seed": 3}))
    with pytest.raises(StoredRunError, match=r"config\.yaml: one of .* is not what the rows were made with"):
        load_run(second.folder)


def test_a_session_that_judges_otherwise_has_its_own_gates(tmp_path: Path) -> None:
    """Gates decide no row: the new session's hold, and there is no second config to keep."""
    first = opened(tmp_path)
    second = again(first, {**CONFIG, "gates": {}})
    assert from_yaml(second.folder / "config.yaml")["gates"] == {}
    assert [path.name for path in second.folder.glob("config*")] == ["config.yaml"]


def test_a_run_that_cannot_be_opened_again_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a matter of usage, nothing was asked, and the lock is free for the next."""
    first = opened(tmp_path)
    first.close("interrupted")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"cannot be written \(No space left on device\)") as refused:
        again(first)
    assert refused.value.exit_code == ExitCode.USAGE
    assert not is_held(first.folder)


def test_a_whole_run_is_written_at_once_under_an_id_of_its_own(tmp_path: Path) -> None:
    """Records that are there become a run's: each row is of the new run, and nobody holds it."""
    old = whole(tmp_path)
    stored = load_run(old.folder)
    config = {**CONFIG, "seed": 2}
    sessions = [{**one, "config_digest": config_digest(config)} for one in stored.state["sessions"]]
    probes = (Probe("one", "m", {"x": 1.0}),)
    state = {**stored.state, "sessions": sessions}
    folder = write_run(tmp_path, config, ONE, stored.rows, probes, stored.traces, state)
    copy = load_run(folder)
    assert folder == tmp_path / "case" / copy.run_id
    assert (folder != old.folder, folder.name[-6:], is_held(folder)) == (True, digest(config)[:6], False)
    assert copy.rows == tuple(replace(one, run_id=folder.name) for one in stored.rows)
    assert (copy.items, copy.probes, copy.traces) == (ONE, probes, stored.traces)
    assert load_run(old.folder) == stored
