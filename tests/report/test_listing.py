"""Runs as records and as a table."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from evalflow.report.listing import print_experiments, print_names, print_removals, print_runs, run_record, size
from evalflow.runner.inventory import Entry, entry_of
from evalflow.runner.removal import Removal
from tests.runner.kept_run import kept

RUN_ID = "20261130-100000-abcdef"


def console(width: int = 160) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, markup=False)


def printed(out: Console) -> list[str]:
    assert isinstance(out.file, io.StringIO)
    return [line.rstrip() for line in out.file.getvalue().splitlines() if line.strip()]


def listed(entries: list[Entry], width: int = 160) -> list[str]:
    out = console(width)
    print_runs([run_record(entry, None) for entry in entries], out)
    return printed(out)


def test_a_record_holds_what_is_known(tmp_path: Path) -> None:
    """Every key is there for every run, and None stands for what nobody knows."""
    folder = kept(tmp_path, RUN_ID, "fail", "interrupted", n_rows=5, part="shard 0 of 2", sweep_id="s")
    told = {
        "run_id": RUN_ID,
        "experiment": "case",
        "folder": str(folder),
        "state": "interrupted",
        "verdict": "fail",
        "exit_code": 1,
        "n_rows": 5,
        "n_planned": 6,
        "part": "shard 0 of 2",
        "sweep_id": "s",
        "tracked": "logged",
        "started": "2026-11-30T10:00:00.000+00:00",
        "finished": "2026-11-30T10:00:01.000+00:00",
        "n_sessions": 1,
        "damage": None,
    }
    assert run_record(entry_of(folder), "logged") == told
    (folder / "run.json").unlink()
    damaged = run_record(entry_of(folder), None)
    assert [*damaged] == [*told]
    known = {key: value for key, value in damaged.items() if value is not None}
    assert known.pop("damage").endswith("give the folder of a finished run")
    assert known == {"run_id": RUN_ID, "experiment": "case", "folder": str(folder), "state": "damaged"}


def test_a_run_is_a_line(tmp_path: Path) -> None:
    """Its verdict has its exit code beside it, its rows what was planned; columns that nobody needs are not there."""
    heading, line = listed([entry_of(kept(tmp_path, RUN_ID, "fail", n_rows=4))])
    assert heading.split() == ["run", "experiment", "state", "verdict", "rows", "note"]
    assert line.split() == [RUN_ID, "case", "finished", "fail", "(1)", "4/6", "not", "tracked"]
    heading, line = listed([entry_of(kept(tmp_path, "20261129-100000-abcdef", None))])
    assert heading.split() == ["run", "experiment", "state", "verdict", "rows", "note"]
    assert "not scored" in line


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (None, "; not tracked"),
        ("kept out", "; not tracked"),
        ("logged", ""),
        ("failed", "; tracking failed"),
        ("logging", "; tracking not ended"),
    ],
)
def test_a_note_says_what_is_special(tmp_path: Path, mark: str | None, said: str) -> None:
    """Which part of the dataset it asked and what became of tracking, beside the end of its sweep's id."""
    entry = entry_of(kept(tmp_path, RUN_ID, None, part="smoke run: limit 5", sweep_id="20261130-100000-aaaaaa"))
    out = console()
    print_runs([run_record(entry, mark)], out)
    assert printed(out)[-1].endswith(f"6/6   aaaaaa  smoke run: limit 5{said}")


def test_what_is_damaged_is_told_below(tmp_path: Path) -> None:
    """In the list by its state alone, and then with its reason on a line of its own."""
    folder = kept(tmp_path, RUN_ID)
    (folder / "run.json").write_text("{", encoding="utf-8")
    *_, line, said = listed([entry_of(folder)])
    assert line.split() == [RUN_ID, "case", "damaged"]
    assert said.startswith(f"damaged: {folder}/run.json: cannot be read (")


def test_a_count_that_is_not_known_is_no_zero(tmp_path: Path) -> None:
    """Rows or a plan that cannot be read are a question mark."""
    folder = kept(tmp_path, RUN_ID, conditions={})
    (folder / "rows.jsonl").unlink()
    assert "?/?" in listed([entry_of(folder)])[-1]


def test_a_name_cannot_drive_the_terminal(tmp_path: Path) -> None:
    """Control characters, half pairs and markup are shown as what they are."""
    line = listed([entry_of(kept(tmp_path, RUN_ID, experiment="[bold]\x1b[2J\udc80"))])[-1]
    assert "[bold]\\x1b[2J\\udc80" in line


@pytest.mark.parametrize("width", [60, 80])
def test_it_fits_a_narrow_terminal(tmp_path: Path, width: int) -> None:
    """What is long is folded; nothing is cut off, and an id stays on its line."""
    entry = entry_of(kept(tmp_path, RUN_ID, "unreadable", experiment="an_experiment_of_a_long_name", part="limit 5"))
    lines = listed([entry], width)
    assert max(map(len, lines)) <= width
    (first,) = [place for place, line in enumerate(lines) if line.startswith(RUN_ID)]
    told = "".join("".join(lines[first:]).split())
    assert sorted(told) == sorted(f"{RUN_ID}an_experiment_of_a_long_namefinishedunreadable(2)6/6limit5;nottracked")


def test_no_runs_are_no_table() -> None:
    """Whoever calls says so in words."""
    assert listed([]) == []


def test_experiments_have_a_line_each() -> None:
    """The name, then what it is for."""
    out = console()
    print_experiments([("one", "The first."), ("longer_name", "The second."), ("bare", "")], out)
    assert printed(out) == ["one          The first.", "longer_name  The second.", "bare"]


def test_a_run_of_a_sweep_is_a_line_of_80_columns(tmp_path: Path) -> None:
    """Of an experiment of a short name, tracked as runs are."""
    entry = entry_of(kept(tmp_path, RUN_ID, "unreadable", experiment="tiny_gpt", sweep_id="20261130-100000-aaaaaa"))
    out = console(80)
    print_runs([run_record(entry, "logged")], out)
    assert [line.split()[0] for line in printed(out)] == ["run", RUN_ID]


def test_experiments_may_be_told_by_name_alone() -> None:
    """In as few lines as they take, with who says the rest."""
    out = console(60)
    print_names([("one", "The first."), ("two\x1b", "The second.")], out)
    assert " ".join("".join(printed(out)).split()) == (
        "experiments: one, two\\x1b (evalflow --help says what each is for)"
    )


def test_what_would_go_has_a_line_each(tmp_path: Path) -> None:
    """The folder, what it is, what it answered, and its size."""
    entry = entry_of(kept(tmp_path / "o", RUN_ID, "fail"))
    out = console(200)
    found = [
        Removal("left-over", Path("o/case/.gone-x"), 0),
        Removal("run", Path("o/case") / RUN_ID, 1_234_567, entry),
        Removal("run", Path("o/case/other"), 12, Entry(Path("o/case/other"), "unfinished", {})),
        Removal("sweep", Path("o/.sweeps/s"), 999),
    ]
    print_removals(found, out)
    _, *lines = printed(out)
    assert [line.split() for line in lines] == [
        ["o/case/.gone-x", "left-over", "0", "B"],
        [f"o/case/{RUN_ID}", "run,", "finished", "fail", "1.2", "MB"],
        ["o/case/other", "run,", "unfinished", "-", "12", "B"],
        ["o/.sweeps/s", "sweep", "999", "B"],
    ]


@pytest.mark.parametrize(
    ("n_bytes", "told"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1949, "1.9 kB"),
        (99_940, "99.9 kB"),
        (99_960, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (5_000_000_000, "5.0 GB"),
        (7 * 10**16, "70000 TB"),
    ],
)
def test_a_size_is_told_in_three_digits(n_bytes: int, told: str) -> None:
    """In the unit that fits it; there is none above a terabyte."""
    assert size(n_bytes) == told
