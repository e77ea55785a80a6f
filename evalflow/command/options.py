"""The flags that every command takes, and a parser that answers as the rest of the house does."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn, TextIO

from evalflow.errors import EvalflowError, ExitCode, UsageError

TOLD_HOW = ("--json", "--full")
"""How a run, a sweep, or one that is scored or merged is told; other commands have a `--json` of their own."""


@dataclass(frozen=True)
class Options:
    """Our own flags; everything else on the line is a command's words, overrides, or Hydra's.

    `voice` is no flag: it is how much a run says for itself, and as a job of a sweep it says little or nothing.
    """

    folders: tuple[Path, ...] = ()
    allow: tuple[str, ...] = ()
    quiet: bool = False
    debug: bool = False
    json: bool = False
    full: bool = False
    voice: Literal["whole", "brief", "none"] = "whole"

    @property
    def notices(self) -> bool:
        """Whether to say what goes on beside the answer."""
        return not self.quiet and self.voice != "none"

    @property
    def aside(self) -> TextIO:
        """Where it is said: standard output, unless that is a document."""
        return sys.stderr if self.json else sys.stdout


def options_of(line: Sequence[str]) -> tuple[Options, list[str]]:
    """The flags of a command line, and its other words.

    Raises:
        UsageError: a flag lacks its value.
    """
    parser = argparse.ArgumentParser(prog="evalflow", add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--config-dir", action="append", default=[], type=Path)
    parser.add_argument("--allow", action="append", default=[])
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--debug", action="store_true")
    try:
        known, rest = parser.parse_known_args(list(line))
    except argparse.ArgumentError as fault:
        raise UsageError(f"command line: {fault}; see evalflow --help") from None
    allow = (*known.allow, *allowed_by_environment())
    return Options(tuple(known.config_dir), allow, known.quiet, known.debug), rest


def told_how(words: Sequence[str], options: Options) -> tuple[Options, list[str]]:
    """The options with how to tell what comes out, and the words without it.

    Raises:
        UsageError: it is to be told in two ways.
    """
    asked = [word for word in TOLD_HOW if word in words]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)}: the one is a document, the other tables; give one of them")
    told = replace(options, json="--json" in asked, full="--full" in asked)
    return told, [word for word in words if word not in TOLD_HOW]


def allowed_by_environment() -> list[str]:
    """The module prefixes that EVALFLOW_ALLOW names."""
    return [prefix for prefix in os.environ.get("EVALFLOW_ALLOW", "").replace(":", ",").split(",") if prefix]


def place(word: str) -> Path:
    """The path that a word names.

    Raises:
        ArgumentTypeError: it is empty, which would be the working folder, asked for by nobody.
    """
    if not word:
        raise argparse.ArgumentTypeError("it is empty; name a path")
    return Path(word)


class Told(EvalflowError):  # noqa: N818 - no error
    """A command has said what it was asked about itself, and there is nothing more to do."""

    exit_code = ExitCode.PASS


class CommandParser(argparse.ArgumentParser):
    """The words of one command: `takes` in words, and `about` it. What is wrong with them is a UsageError."""

    def __init__(self, name: str, takes: str, about: str | None) -> None:
        super().__init__(prog=f"evalflow {name}", add_help=False, allow_abbrev=False)
        self._name, self._takes, self._about = name, takes, about

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The words as named values.

        Raises:
            Told: help was asked for, and printed.
            UsageError: a word is wrong.
        """
        if "--help" in words or "-h" in words:
            print(f"{self._about}\n\nIt takes {self._takes}.")
            raise Told
        return self.parse_args(list(words))

    def error(self, message: str) -> NoReturn:
        """Refuse the words.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"{self._name}: {message}; it takes {self._takes}")
