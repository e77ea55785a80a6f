"""A folder in which a page is carried out, block by block, as its reader would."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from evalflow.cli import COMMANDS, main
from evalflow.cli import HYDRA_FLAGS as VIEWS
from evalflow.gate import Gate
from evalflow.runner.stored_run import run_folders
from tests.docs.page import ROOT, Block

SEAT = "http://127.0.0.1:8000"
ASKED_FOR_HELP = ("ui", "calibrate")
"""One serves until Ctrl-C, the other measures this machine for a minute."""
COMPOSED: set[tuple[str, ...]] = set()
"""Plans that were made before, and read nothing but what ships: other pages may show the same line."""
VALUED = ("--config-dir", "--allow")


@dataclass
class Workshop:
    """The folder, the runs that lay there before, the address of a stub seat, and what was printed last."""

    folder: Path
    seat: str
    before: Sequence[str] = ()
    printed: str = ""
    executed: int = 0
    place: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    written: list[Block] = field(default_factory=list)

    def carry_out(self, block: Block) -> None:
        """What a block is for; an AssertionError says where and how it did not come out."""
        if block.skipped is not None:
            return
        if block.printed:
            self._check_printed(block)
        elif block.file is not None:
            self._write(block)
        elif block.language in ("", "sh"):
            self._run(block)
        elif block.language == "python":
            exec(compile(block.text, block.where, "exec"), self.place)
            self.executed += 1
        elif block.language in ("yaml", "json", "toml"):
            self._parse(block)

    def compose_what_was_written(self) -> None:
        """Each experiment that a page wrote into a folder of configs makes a plan."""
        packages = {str(block.file).partition("/")[0] for block in self.written if block.language == "python"}
        allowed = [word for package in sorted(packages) for word in ("--allow", package)]
        for block in self.written:
            folder, _, name = str(block.file).rpartition("/experiment/")
            if folder and name.endswith(".yaml"):
                self._evalflow(block, ["--config-dir", folder, *allowed, f"experiment={name[:-5]}", "dry_run=true"], 0)

    def _write(self, block: Block) -> None:
        path = self.folder / str(block.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text.partition("\n")[2] if block.named_by_itself else block.text, encoding="utf-8")
        self.written.append(block)

    def _parse(self, block: Block) -> None:
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
        else:
            read = yaml.safe_load(block.text)
            gates = read.get("gates") if isinstance(read, Mapping) else None
            for node in gates.values() if isinstance(gates, Mapping) else ():
                Gate(**{key: value for key, value in node.items() if not str(value).startswith("${")})
            for line in _commands_in(read):
                self._evalflow(block, self._as_tested(shlex.split(line)[1:], block), block.exit_code)
        self.executed += 1

    def _run(self, block: Block) -> None:
        outputs = []
        for line in block.commands:
            if line.startswith("evalflow"):
                words = shlex.split(self._filled_in(line))[1:]
                outputs.append(self._evalflow(block, self._as_tested(words, block), block.exit_code))
            else:
                _check_shown(line, block.where)
        self.printed = "".join(outputs)

    def _filled_in(self, line: str) -> str:
        """A line with the runs that it means in place of their stand-ins."""
        made = [path.name for path in run_folders(Path("outputs"))]
        runs = [*self.before, *(name for name in made if name not in self.before)]
        sweeps = sorted(path.name for path in Path("outputs/.sweeps").glob("*") if path.is_dir())
        named = {"RUN": runs[-1:], "OLD": runs[-2:-1], "SWEEP": sweeps[-1:]}
        for name, found in named.items():
            line = re.sub(rf"\b{name}\b", found[0] if found else name, line)
        return line.replace(SEAT, self.seat)

    def _as_tested(self, words: list[str], block: Block) -> list[str]:
        """The words of a command as they are run here."""
        command = _command(words)
        if command in ASKED_FOR_HELP:
            return [command, "--help"]
        if command is not None or {"--help", "-h", "--version"} & set(words) or any(_is_view(word) for word in words):
            return words
        if not block.really:
            return [*words, "dry_run=true"]
        return words if any(word.startswith("tracking") for word in words) else [*words, "tracking=none"]

    def _evalflow(self, block: Block, words: list[str], exit_code: int) -> str:
        known = tuple(words)
        if known in COMPOSED:
            self.executed += 1
            return ""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
        said = out.getvalue() + err.getvalue()
        assert code == exit_code, f"{block.where}: evalflow {' '.join(words)} ended with {code}:\n{said}"
        self.executed += 1
        if "dry_run=true" in words and not any(
            re.search(r"path|config-dir|resume|dataset\.|127", word) for word in words
        ):
            COMPOSED.add(known)
        return said

    def _check_printed(self, block: Block) -> None:
        printed = " ".join(self.printed.split())
        for line in block.text.splitlines():
            pieces = [re.escape(" ".join(piece.split())) for piece in line.split("...")]
            assert re.search(r".*?".join(pieces), printed), f"{block.where}: nobody printed: {line}\n{self.printed}"


def _commands_in(read: Any) -> list[str]:
    """The commands of ours that a pipeline's YAML has; one that a shell has yet to fill in is none."""
    if isinstance(read, Mapping | list):
        inside = read.values() if isinstance(read, Mapping) else read
        return [line for one in inside for line in _commands_in(one)]
    return [read] if isinstance(read, str) and read.startswith("evalflow ") and "$" not in read else []


def _command(words: Sequence[str]) -> str | None:
    """Which command it is; None for an experiment."""
    rest = [word for before, word in zip(["", *words], words, strict=False) if before not in VALUED]
    first = next((word for word in rest if not word.startswith("--") or word in ("--help", "--version")), None)
    return first if first in COMMANDS else None


def _is_view(word: str) -> bool:
    return word.split("=")[0] in VIEWS


def _check_shown(line: str, where: str) -> None:
    """A line that is no command of ours: what it names of this repository has to exist."""
    if made := re.match(r"make (\w[\w-]*)", line):
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{made[1]}:", makefile, re.M), f"{where}: there is no make {made[1]}"
    for extras in re.findall(r"evalflow\[([\w,]+)\]", line):
        known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
        assert set(extras.split(",")) <= set(known), f"{where}: there is no extra {extras}"


def forget_modules(folder: Path) -> None:
    """Let go of what a page's own modules left behind, so that the next page finds its own."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]
