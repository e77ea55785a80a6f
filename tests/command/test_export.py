"""`evalflow export`: a run's tables as files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import evalflow
from evalflow.errors import OutputError
from tests.conftest import ITEMS, Cli, Lab

GATE = {"floor": {"figure": "quality/exact", "arm": "one", "floor": 0.9}}
NAMES = ["rows.csv", "figures.csv", "comparisons.csv", "gates.csv"]
RAISING = {"_target_": "tests.stand_ins.Raising", "fails": ["b"]}


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_the_files_lie_in_the_runs_folder_and_are_printed(lab: Lab, cli: Cli, home: Path) -> None:
    """By the run's id or its folder: a path a line; the files hold what the report holds."""
    ran = lab(model=RAISING, gates=GATE)
    assert ran.folder is not None
    exported = cli("export", ran.folder.name)
    assert (exported.code, exported.err) == (0, "")
    folder = ran.folder.relative_to(home)
    assert exported.out.splitlines() == [str(folder / name) for name in NAMES]
    rows, figures, comparisons, gates = (read(folder / name) for name in NAMES)
    assert [row["item_id"] for row in rows] == [item["id"] for item in ITEMS]
    failed = rows[1]
    assert (failed["status"], failed["error_message"], failed["metric.exact"]) == ("error", "no luck with b", "")
    exact = next(one for one in figures if (one["figure"], one["breakdown"]) == ("quality/exact", ""))
    assert (exact["value"], exact["n_scored"], exact["n_error"]) == ("1.0", "5", "1")
    assert comparisons == []
    assert [gate["outcome"] for gate in gates] == ["unreadable"]
    before = {name: (folder / name).read_bytes() for name in NAMES}
    assert cli("export", str(folder)).code == 0
    assert {name: (folder / name).read_bytes() for name in NAMES} == before


def test_they_may_lie_elsewhere(lab: Lab, cli: Cli, home: Path) -> None:
    """`--to` names a folder, which is made; the run's own is left as it was."""
    ran = lab(gates=GATE)
    assert ran.folder is not None
    before = sorted(path.name for path in ran.folder.iterdir())
    exported = cli("export", ran.folder.name, "--to", "tables/für mich")
    assert exported.out.splitlines() == [f"tables/für mich/{name}" for name in NAMES]
    assert sorted(path.name for path in ran.folder.iterdir()) == before
    (home / "outputs").rename(home / "results")
    assert cli("--quiet", "export", ran.folder.name, "--outputs", "results", "--to", "again").out == ""
    assert len(read(home / "again" / "rows.csv")) == 6


def test_files_beside_them_are_left_alone(lab: Lab, cli: Cli, home: Path) -> None:
    """It replaces its own four names, and a link by a file."""
    ran = lab(gates=GATE)
    assert ran.folder is not None
    mine = home / "mine"
    mine.mkdir()
    (mine / "notes.csv").write_text("mine", encoding="utf-8")
    (home / "precious.csv").write_text("mine", encoding="utf-8")
    (mine / "rows.csv").symlink_to(home / "precious.csv")
    assert cli("export", ran.folder.name, "--to", "mine").code == 0
    assert sorted(path.name for path in mine.iterdir()) == sorted([*NAMES, "notes.csv"])
    assert (home / "precious.csv").read_text(encoding="utf-8") == "mine"
    assert not (mine / "rows.csv").is_symlink()


def test_a_folder_that_cannot_be_written_is_refused(lab: Lab, cli: Cli, home: Path) -> None:
    """One line, exit code 64."""
    ran = lab(gates=GATE)
    assert ran.folder is not None
    (home / "file").touch()
    refused = cli("export", ran.folder.name, "--to", "file")
    assert (refused.code, refused.out) == (64, "")
    assert refused.faults == ["evalflow: file: cannot be written (File exists); give another folder"]


def test_a_run_that_cannot_be_told_is_refused(lab: Lab, cli: Cli) -> None:
    """One that is not there, not scored, or of an unknown schema version; nothing is written for it."""
    assert cli("export", "20261130-000000-abcdef").code == 64
    ran = lab(gates=GATE)
    assert ran.folder is not None
    path = ran.folder / "report.json"
    report = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**report, "schema_version": 7}), encoding="utf-8")
    refused = cli("export", ran.folder.name)
    assert (refused.code, len(refused.faults)) == (64, 1)
    assert "schema version 7 is unknown here (this evalflow reads 1)" in refused.faults[0]
    path.unlink()
    assert cli("export", ran.folder.name).code == 64
    assert not any((ran.folder / name).exists() for name in NAMES)


@pytest.mark.parametrize("words", [[], ["a", "b"], ["a", "--to"], ["a", "--json"]])
def test_words_that_it_does_not_take_are_refused(cli: Cli, words: list[str]) -> None:
    """With what it takes, and exit code 64."""
    ran = cli("export", *words)
    assert (ran.code, ran.out, len(ran.faults)) == (64, "", 1)
    assert "it takes one run (its folder, or its id under outputs/ or --outputs DIR) and --to DIR" in ran.faults[0]


def test_a_file_is_whole_or_as_it_was(lab: Lab, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up leaves the earlier file."""
    ran = lab(gates=GATE)
    assert ran.folder is not None
    assert cli("export", ran.folder.name).code == 0
    before = (ran.folder / "rows.csv").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    refused = cli("export", ran.folder.name)
    assert refused.code == 64
    assert refused.faults[0].endswith("cannot be written (No space left on device); give another folder")
    assert (ran.folder / "rows.csv").read_bytes() == before


def test_a_folder_without_a_name_is_refused(lab: Lab, cli: Cli, home: Path) -> None:
    """It would be the working folder, which nobody asked for; from Python too."""
    ran = lab()
    assert ran.folder is not None
    before = sorted(home.iterdir())
    refused = cli("export", ran.folder.name, "--to", "")
    assert (refused.code, refused.out, len(refused.faults)) == (64, "", 1)
    assert "--to: it is empty; name a path" in refused.faults[0]
    with pytest.raises(OutputError, match="no name"):
        evalflow.load(ran.folder).to_csv("")
    assert sorted(home.iterdir()) == before
