"""What the README says of what is there; its blocks are carried out by `tests/docs`."""

from __future__ import annotations

import re
from pathlib import Path

from evalflow.cli import COMMANDS, main
from evalflow.errors import ExitCode
from tests.docs.page import blocks

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readmes_commands_are_found():
    """Its blocks are read as commands, and none is skipped."""
    found = blocks("README.md", README)
    commands = [line for block in found for line in block.commands if line.startswith("evalflow")]
    assert len(commands) >= 13
    assert [block.where for block in found if block.skipped] == []


def test_it_is_short():
    """What takes longer is in docs/."""
    assert len(README.splitlines()) < 200


def test_its_two_first_commands_are_the_makefiles():
    """`make demo` and `make test` stand at the top, and exist."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in README[:200]
        assert re.search(rf"^{target}:", makefile, re.M)


def test_every_link_of_the_readme_leads_somewhere():
    """Each relative path is a file of this repository."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_every_experiment_is_in_the_readme():
    """The table has what ships, and nothing else."""
    named = set(re.findall(r"^\| \[`(\w+)`\]\(docs/experiments/", README, re.M))
    assert named == {path.stem for path in (ROOT / "conf" / "experiment").glob("*.yaml")}


def test_every_command_of_the_readme_is_there(capsys):
    """The table of commands and the usage name all of them, and each is a module of its own."""
    assert set(re.findall(r"^\| \[?`evalflow (\w+)[ `]", README, re.M)) == set(COMMANDS)
    assert main(["--help"]) == 0
    usage = capsys.readouterr().out
    assert all(f"evalflow {name}" in usage for name in COMMANDS)
    assert all((ROOT / "evalflow" / "command" / f"{name}.py").is_file() for name in COMMANDS)


def test_its_exit_codes_are_all():
    """Each code that a process can end with."""
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.M)} == {int(code) for code in ExitCode}


def test_contributings_metric_is_whole():
    """The class and the test that CONTRIBUTING prints run as printed."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    metric, test = re.findall(r"```python\n(.*?)```", text, re.S)
    place: dict[str, object] = {}
    exec(metric, place)
    # the module does not exist here: what it would hold was just executed
    exec("\n".join(line for line in test.splitlines() if "ends_with_full_stop import" not in line), place)
    place["test_a_full_stop_at_the_end_counts"]()
