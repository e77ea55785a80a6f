"""The command line run in process in a folder of its own, and experiments that are plain mappings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalflow.cli import main
from evalflow.command.options import Options
from evalflow.command.run import carry
from evalflow.errors import ConfigError
from evalflow.runner.plan import Plan, build_plan

ITEMS = tuple({"id": name, "input": f"question {name}", "target": "right"} for name in "abcdef")
"""Six questions; the right answer to each is `right`."""


@dataclass(frozen=True)
class Ran:
    """What one command line gave; `folder` is the newest run's."""

    code: int
    out: str
    err: str
    folder: Path | None

    @property
    def report(self) -> dict[str, Any]:
        assert self.folder is not None, f"no run: {self.err}"
        return dict(json.loads((self.folder / "report.json").read_text(encoding="utf-8")))

    @property
    def rows(self) -> list[dict[str, Any]]:
        assert self.folder is not None, f"no run: {self.err}"
        return [json.loads(line) for line in (self.folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]

    @property
    def faults(self) -> list[str]:
        """The lines of standard error."""
        return self.err.splitlines()


Cli = Callable[..., Ran]
Lab = Callable[..., Ran]


def config(items: Sequence[Mapping[str, Any]] = ITEMS, **parts: Any) -> dict[str, Any]:
    """A plain, composed config over `items` (written to the current folder); `parts` replace its keys.

    It has one arm of the scripted model, which is right everywhere, one metric and no gate.
    """
    Path("items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items), encoding="utf-8")
    return {
        "name": "case",
        "dataset": {"_target_": "evalflow.dataset.jsonl.Jsonl", "path": "items.jsonl"},
        "model": {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "right"},
        "decoding": {"_target_": "evalflow.record.Decoding"},
        "runner": {"_target_": "evalflow.runner.settings.Runner"},
        "arms": {"one": {}},
        "metrics": {"exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"}},
        **parts,
    }


def plan_of(items: Sequence[Mapping[str, Any]] = ITEMS, **parts: Any) -> Plan:
    """The plan of `config(...)`, with the stand-ins allowed."""
    return build_plan(config(items, **parts), ("tests",))


def faults_of(plain: Mapping[str, Any]) -> list[str]:
    """What is wrong with a plain config, as printed."""
    with pytest.raises(ConfigError) as refused:
        build_plan(plain, ("tests",))
    return [str(fault) for fault in refused.value.faults]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and no prefix allowed by the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVALFLOW_ALLOW", raising=False)
    return tmp_path


@pytest.fixture
def cli(home: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`cli("key=value", ...)`: one command line, run in process in `home`."""

    def run(*words: str) -> Ran:
        capsys.readouterr()
        code = main(list(words))
        said = capsys.readouterr()
        return Ran(code, said.out, said.err, newest(home))

    return run


@pytest.fixture
def lab(home: Path, capsys: pytest.CaptureFixture[str]) -> Lab:
    """`lab(items, **parts)`: run the experiment of `config(...)`, from the plan on as the command line does."""

    def run(items: Sequence[Mapping[str, Any]] = ITEMS, **parts: Any) -> Ran:
        capsys.readouterr()
        done = carry(plan_of(items, **parts), Options(allow=("tests",)))
        said = capsys.readouterr()
        return Ran(0 if done is None else done.exit_code, said.out, said.err, newest(home))

    return run


@pytest.fixture
def experiment(home: Path) -> Callable[..., list[str]]:
    """`experiment(items, **parts)`: write `config(...)` as an experiment with a model option; the words that run it."""

    def write(items: Sequence[Mapping[str, Any]] = ITEMS, **parts: Any) -> list[str]:
        plain = config(items, **parts)
        options = {"/dataset": "jsonl", "/model": "mine", "/tracking": "none"}
        plain["defaults"] = [*({f"override {group}": option} for group, option in options.items()), "_self_"]
        model = yaml.safe_dump(plain.pop("model"))
        whole = f"# @package _global_\n{yaml.safe_dump(plain, sort_keys=False)}"
        for name, text in {f"experiment/{plain['name']}": whole, "model/mine": model}.items():
            path = home / "conf" / f"{name}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return ["--config-dir", "conf", "--allow", "tests", f"experiment={plain['name']}"]

    return write


def newest(home: Path) -> Path | None:
    """The folder of the last run under `home`, if any."""
    runs = sorted(home.glob("outputs/*/*/run.json"), key=lambda path: path.stat().st_mtime_ns)
    return runs[-1].parent if runs else None
