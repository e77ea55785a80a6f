"""What asking a seat costs, beside the smallest honest loops over the same connections, in the same run.

The seat is the stub in a process of its own, at full speed: what is measured is the client. All ask the same: 16 tokens
in 16 events with running usage, each event decoded. A figure is the marginal CPU of a request: the CPU (ms, user and
system, of all threads) between a short and a long run over the requests between, so that no start is in it; the median
of three rounds, in which each takes its turn. `evalflow` is the whole command: the prompts, the rows on disk, the
figures and the report are in it. Times to the first token are held against what a slower stub wrote them at.

Ends with 1 where the command's marginal CPU is more than three times that of the bare aiohttp loop.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import httpx
import numpy as np
from httpx_aiohttp import AiohttpTransport
from rich.console import Console

from evalflow.model.seat.client import Client, Connection
from evalflow.model.seat.patience import Timeouts
from evalflow.model.seat.stub import StubSettings, served_apart

SAY = Console(highlight=False, soft_wrap=True).print
MOST = 10 / 3  # times the bare loop's CPU: 0.5 ms where that took 0.15, with every row kept, read back and scored
SHORT, LONG = 100, 1300  # requests
ROUNDS = 3
CONCURRENCY = (6, 64)
BODY: dict[str, Any] = {
    "model": "stub",
    "messages": [{"role": "user", "content": "word " * 32}],
    "max_tokens": 16,
    "temperature": 0.0,
    "top_p": 1.0,
    "seed": 0,
    "stream": True,
    "stream_options": {"include_usage": True, "continuous_usage_stats": True},
}
PATH = "/chat/completions"

Ttfts = list[float]
Ask = Callable[[], Awaitable[float]]


class Reading:
    """The events of one reply, cut at line ends and decoded; when its first text came (s, monotonic)."""

    def __init__(self) -> None:
        self.first = 0.0
        self._rest = b""

    def take(self, chunk: bytes) -> None:
        """Decode what the chunk completes."""
        stamp = time.monotonic()
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data: ") and line != b"data: [DONE]":
                choices = json.loads(line[6:])["choices"]
                if not self.first and choices and choices[0]["delta"].get("content"):
                    self.first = stamp


async def in_flight(ask: Ask, n: int, concurrency: int) -> Ttfts:
    """The times to the first token (s) of `n` requests, `concurrency` at a time."""
    left, found = iter(range(n)), []

    async def worker() -> None:
        for _ in left:
            found.append(await ask())

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return found


async def bare_aiohttp(url: str, n: int, concurrency: int) -> Ttfts:
    """The smallest loop: one aiohttp session."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask() -> float:
            sent, reading = time.monotonic(), Reading()
            async with session.post(url + PATH, json=BODY) as response:
                async for chunk in response.content.iter_any():
                    reading.take(chunk)
            return reading.first - sent

        return await in_flight(ask, n, concurrency)


async def httpx_aiohttp(url: str, n: int, concurrency: int) -> Ttfts:
    """The same through httpx's client, with aiohttp's connections behind it."""

    def session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async with httpx.AsyncClient(transport=AiohttpTransport(client=session, verify=False), timeout=None) as client:

        async def ask() -> float:
            sent, reading = time.monotonic(), Reading()
            async with client.stream("POST", url + PATH, json=BODY) as response:
                async for chunk in response.aiter_raw():
                    reading.take(chunk)
            return reading.first - sent

        return await in_flight(ask, n, concurrency)


async def own_client(url: str, n: int, concurrency: int) -> Ttfts:
    """evalflow's client alone: stamps, gaps, usage and faults, and nothing of a run."""
    client = Client(url, Connection(), Timeouts(), {}, [])

    async def ask() -> float:
        times = (await client.ask(PATH, BODY)).times
        assert times.first_token is not None and times.sent is not None
        return times.first_token - times.sent

    try:
        return await in_flight(ask, n, concurrency)
    finally:
        await client.close()


Loop = Callable[[str, int, int], Any]
LOOPS: dict[str, Loop] = {
    "bare aiohttp loop (the limit)": bare_aiohttp,
    "httpx over aiohttp, a loop": httpx_aiohttp,
    "Client.ask, a loop": own_client,
}
BARE = next(iter(LOOPS))
WHOLE = "evalflow experiment=load"


def command(url: str, n: int, concurrency: int) -> tuple[float, dict[str, Any]]:
    """The whole command in a process of its own: its CPU (s), and its summary."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        words = ["experiment=load", "tracking=none", "summary=json", "--quiet", f"model.base_url={url}"]
        words += ["model.note=stub", f"limit={n}", f"concurrency={concurrency}", f"runner.outputs={folder}"]
        ended = subprocess.run(
            [sys.executable, "-m", "evalflow", *words], cwd=folder, capture_output=True, text=True, check=False
        )
    lines = ended.stdout.splitlines()
    if not lines or not lines[-1].startswith("{"):
        raise SystemExit(f"evalflow said no summary (exit code {ended.returncode}): {ended.stderr[-500:]}")
    told = dict(json.loads(lines[-1]))
    if told["incomplete"] or told["n"] != n:
        raise SystemExit(f"evalflow answered {told['n']} requests of {n}, {told['incomplete']} of them not")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, told


def cpu_of(name: str, url: str, n: int, concurrency: int) -> float:
    """The CPU (s) that one contender spends on `n` requests."""
    if name == WHOLE:
        return command(url, n, concurrency)[0]
    began = time.process_time()
    asyncio.run(LOOPS[name](url, n, concurrency))
    return time.process_time() - began


def marginal(url: str, concurrency: int) -> dict[str, list[float]]:
    """Marginal CPU (ms a request) of each contender, round by round."""
    found: dict[str, list[float]] = {name: [] for name in (*LOOPS, WHOLE)}
    for _ in range(ROUNDS):
        for name in found:
            short, long = (cpu_of(name, url, n, concurrency) for n in (SHORT, LONG))
            found[name].append(1e3 * (long - short) / (LONG - SHORT))
    return found


def told(url: str, path: str) -> Any:
    """What the stub says; the path begins at the server's root."""
    with urllib.request.urlopen(url.removesuffix("/v1") + path) as reply:
        return json.load(reply)


def costs(url: str) -> bool:
    """Print the table of CPU; whether the command keeps below its multiple everywhere."""
    kept = True
    for concurrency in CONCURRENCY:
        SAY(f"{concurrency} in flight, marginal CPU of a request")
        found = marginal(url, concurrency)
        for name, rounds in found.items():
            ratios = [mine / bare for mine, bare in zip(rounds, found[BARE], strict=True)]
            ratio = statistics.median(ratios)
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            SAY(f"  {statistics.median(rounds):6.3f} ms  {ratio:5.2f} x ({spread})  {name}")
            kept &= name != WHOLE or ratio <= MOST
    return kept


def first_tokens(n: int = 640, concurrency: int = 64) -> None:
    """Print how far times to the first token are from the stub's own, at 50 ms and 5 ms a token."""
    with served_apart(StubSettings(ttft_s=0.05, itl_s=0.005)) as url:
        SAY(f"time to the first token at {concurrency} in flight, less what the stub wrote it at: p50, p95")
        for name in (*LOOPS, WHOLE):
            told(url, "/stub/reset")
            if name == WHOLE:
                summary = command(url, n, concurrency)[1]
                seen = [summary["ttft_p50"], summary["ttft_p95"]]
            else:
                ttfts = asyncio.run(LOOPS[name](url, n, concurrency))
                seen = [1e3 * float(one) for one in np.quantile(ttfts, [0.5, 0.95])]
            true = [1e3 * float(one) for one in np.quantile(told(url, "/stub/stats")["ttft_s"], [0.5, 0.95])]
            off = "  ".join(f"{mine - own:+6.2f} ms of {own:5.2f}" for mine, own in zip(seen, true, strict=True))
            SAY(f"  {off}  {name}")


def main() -> int:
    """Both tables; 1 where the command costs more than its multiple of the bare loop."""
    with served_apart(StubSettings()) as url:
        kept = costs(url)
    first_tokens()
    SAY(f"evalflow at {MOST:.2f} times the bare loop or less: {kept}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
