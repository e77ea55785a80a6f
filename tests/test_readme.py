"""What the README says, carried out."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from evalflow.cli import COMMANDS as COMMANDS_KNOWN
from evalflow.cli import main
from evalflow.model.seat.seat import Seat

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.split("  #")[0].split()[1:]
    for title in ("## Changing it", "## Scoring texts")
    for line in README.split(title)[1].split("```")[1].splitlines()
    if line.startswith("evalflow ") and "DIR" not in line
]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder that the commands run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_of_the_readme_makes_a_plan(words, elsewhere, capsys):
    """Each line of the README's list composes; here it stops before running."""
    assert main([*words, *([] if "--help" in words else ["dry_run=true"])]) == 0
    printed = capsys.readouterr().out
    assert "requests" in printed or "exit codes" in printed


def test_the_readmes_commands_are_found():
    """The list is read from the README, and is not empty."""
    assert len(COMMANDS) >= 14


def test_the_readmes_own_experiment_ends_as_it_says(elsewhere, capsys):
    """Two questions cannot show a margin of 0.1: exit code 2, and the gate says why."""
    block = re.search(r"```yaml\n# my/experiment/capitals.yaml\n(.*?)```", README, re.S)
    assert block
    (elsewhere / "my" / "experiment").mkdir(parents=True)
    (elsewhere / "my" / "experiment" / "capitals.yaml").write_text(block[1], encoding="utf-8")
    lines = re.findall(r"`(\{\"id\".*?\})`", README)
    (elsewhere / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command = re.search(r"run `evalflow (--config-dir my .*?)`", README)
    assert command and len(lines) == 2
    assert main([*shlex.split(command[1]), "tracking=none"]) == 2
    assert "beyond this run's reach" in capsys.readouterr().out


def test_its_two_first_commands_are_the_makefiles():
    """`make demo` and `make test` stand at the top, and exist."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in README[:200]
        assert re.search(rf"^{target}:", makefile, re.M)


def test_the_readmes_model_runs(elsewhere, monkeypatch):
    """The class of the README stands where a model does, and answers."""
    block = re.search(r"```python\n# my_package/parrot.py\n(.*?)```", README, re.S)
    assert block
    (elsewhere / "my_package").mkdir()
    (elsewhere / "my_package" / "parrot.py").write_text(block[1], encoding="utf-8")
    monkeypatch.syspath_prepend(str(elsewhere))
    (elsewhere / "d.jsonl").write_text('{"id": "a", "input": "hey ", "target": "hey hey"}\n', encoding="utf-8")
    experiment = """# @package _global_
# A parrot.
defaults:
  - /arm@arms.one: greedy
  - /metric@metrics.exact: exact_match
  - override /dataset: jsonl
  - override /model: parrot
  - _self_
name: parrot
dataset: {path: d.jsonl}
model: {times: 2}
gates: {right: {figure: quality/exact, floor: 1.0}}
"""
    for name, text in {"experiment": experiment, "model": "_target_: my_package.parrot.Parrot\n"}.items():
        (elsewhere / "my" / name).mkdir(parents=True)
        (elsewhere / "my" / name / "parrot.yaml").write_text(text, encoding="utf-8")
    words = ["--config-dir", "my", "--allow", "my_package", "experiment=parrot", "tracking=none"]
    assert main(words) == 0


def test_the_readmes_python_runs(elsewhere, monkeypatch):
    """The lines of "From Python", as printed: a smoke run is unreadable, its rows are a frame, its tables files."""
    block = re.search(r"## From Python\n```python\n(.*?)```", README, re.S)
    assert block
    place: dict[str, object] = {}
    exec(block[1], place)
    assert place["run"].exit_code == 2
    assert len(place["rows"]) == 5 * (1 + 1 + 2 + 1)
    assert place["same"].report == place["run"].report
    assert sorted(path.name for path in (elsewhere / "tables").iterdir()) == [
        "comparisons.csv",
        "figures.csv",
        "gates.csv",
        "rows.csv",
    ]


def test_every_command_of_the_readme_is_there(capsys):
    """The table of commands and the usage name the same ones, and each is a module of its own."""
    table = set(re.findall(r"^\| `evalflow (\w+) ", README, re.M))
    assert table and table <= set(COMMANDS_KNOWN)
    assert main(["--help"]) == 0
    usage = capsys.readouterr().out
    assert all(f"evalflow {name}" in usage for name in COMMANDS_KNOWN)
    assert all((ROOT / "evalflow" / "command" / f"{name}.py").is_file() for name in COMMANDS_KNOWN)


def test_contributings_metric_is_whole():
    """The class and the test that CONTRIBUTING prints run as printed."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    metric, test = re.findall(r"```python\n(.*?)```", text, re.S)
    place: dict[str, object] = {}
    exec(metric, place)
    # the module does not exist here: what it would hold was just executed
    exec("\n".join(line for line in test.splitlines() if "ends_with_full_stop import" not in line), place)
    place["test_a_full_stop_at_the_end_counts"]()


def test_the_readmes_bank_is_asked(elsewhere, capsys):
    """The bank as printed, beside an article that answers its first question and not its second."""
    block = re.search(r"```json\n(.*?)```", README, re.S)
    assert block
    (elsewhere / "bank.json").write_text(block[1], encoding="utf-8")
    (elsewhere / "articles").mkdir()
    kiln = "# Kiln\n\n## Firing {#firing}\nThe kiln is fired at 1,240 degrees for two days.\n\n## Wood {#wood}\nOak.\n"
    (elsewhere / "articles" / "kiln.md").write_text(kiln, encoding="utf-8")
    words = ["experiment=grounded", "dataset.bank=bank.json", "dataset.articles=articles", "tracking=none"]
    assert main(words) == 0
    assert "off_page_abstained" in capsys.readouterr().out


def test_every_key_of_the_readmes_table_of_a_seat_is_one():
    """The table names every setting of a seat, and no other."""
    table = README.split("| `model.` key | meaning |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == {one.name for one in fields(Seat)}
