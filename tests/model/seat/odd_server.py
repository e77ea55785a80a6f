"""A server that misbehaves as told, over real sockets; and servers in a thread, for commands with a loop of their own.

A behaviour answers one request: `async def behave(asked, wire)`. What it does not say goes to `GET`s as a seat would.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

S = TypeVar("S")


@dataclass(frozen=True)
class Asked:
    """One request as it came; `number` counts those of its path from 1, `of_connection` those of its connection."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    number: int
    of_connection: int
    connection: int


class Wire:
    """The way back to one client."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Bytes, as they are."""
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int = 200, kind: str = "text/event-stream", **more: str) -> None:
        """Status and headers of a chunked reply."""
        lines = [f"HTTP/1.1 {status} Odd", f"content-type: {kind}", "transfer-encoding: chunked"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def chunk(self, data: bytes) -> None:
        """One chunk; none of it is the end."""
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def token(self, text: str = " tok", finish: str | None = None) -> None:
        """One event of a chat."""
        await self.event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})

    async def event(self, value: Any) -> None:
        """One event with a value as its data."""
        await self.chunk(b"data: " + json.dumps(value).encode() + b"\n\n")

    async def whole(self, body: bytes, status: int = 200, kind: str = "application/json", **more: str) -> None:
        """A reply in one piece."""
        lines = [f"HTTP/1.1 {status} Odd", f"content-type: {kind}", f"content-length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
        await self.send("\r\n".join([*lines, "", ""]).encode() + body)

    async def told(self, value: Any, status: int = 200, **more: str) -> None:
        """A reply of JSON."""
        await self.whole(json.dumps(value).encode(), status, **more)

    async def answer(self, text: str = "right", usage: Mapping[str, Any] | None = None) -> None:
        """A whole, good stream of one token."""
        await self.head()
        await self.token(text, "stop")
        if usage is not None:
            await self.event({"choices": [], "usage": usage})
        await self.chunk(b"data: [DONE]\n\n")
        await self.send(b"0\r\n\r\n")

    def reset(self) -> None:
        """End the connection without a word."""
        self.writer.transport.abort()

    async def silence(self) -> None:
        """Say nothing more until the client goes."""
        while not self.writer.transport.is_closing():
            await asyncio.sleep(0.01)


Behaviour = Callable[[Asked, Wire], Awaitable[None]]


async def as_a_seat(asked: Asked, wire: Wire) -> None:
    """What a plain seat says to a GET: its one model, and that it has no other route."""
    listed = {"data": [{"id": "odd"}]}
    await (wire.told(listed) if asked.path.endswith("/models") else wire.told({"error": "not found"}, 404))


@dataclass
class OddServer:
    """Serves while it is open; `gets` answers what is no POST."""

    behave: Behaviour
    gets: Behaviour = as_a_seat
    tls: ssl.SSLContext | None = None
    url: str = ""
    n_connections: int = 0
    asked: list[Asked] = field(default_factory=list)
    faults: list[BaseException] = field(default_factory=list)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def posts(self) -> list[Asked]:
        """The requests for an answer."""
        return [one for one in self.asked if one.method == "POST"]

    async def __aenter__(self) -> OddServer:
        self._writers: set[asyncio.StreamWriter] = set()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self.tls)
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in tuple(self._writers):
            writer.transport.abort()
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        self._writers.add(writer)
        try:
            await self._serve(reader, writer, self.n_connections)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went
        except Exception as fault:  # noqa: BLE001 - a behaviour of a test; the test shall see it
            self.faults.append(fault)
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        wire, n = Wire(writer), 0
        while not writer.transport.is_closing():
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            method, path, _ = head[0].split(" ")
            n += 1
            number = 1 + sum(one.path == path for one in self.asked)
            asked = Asked(method, path, headers, json.loads(body) if body else {}, number, n, connection)
            self.asked.append(asked)
            await (self.behave if method == "POST" else self.gets)(asked, wire)


@contextlib.contextmanager
def in_thread(server: AbstractAsyncContextManager[S]) -> Iterator[S]:
    """A server in a thread with a loop of its own, while the block lasts."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def within(act: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(act, loop).result(10)

    try:
        opened = within(server.__aenter__())
        try:
            yield opened
        finally:
            within(server.__aexit__(None, None, None))
            within(_rest())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextlib.contextmanager
def odd(behave: Behaviour, **parts: Any) -> Iterator[OddServer]:
    """An odd server in a thread. A behaviour that raised fails the test."""
    with in_thread(OddServer(behave, **parts)) as server:
        yield server
    assert not server.faults, server.faults


async def _rest() -> None:
    """End what is still under way in this loop."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for _ in range(3):  # what was aborted is closed by the loop itself
        await asyncio.sleep(0)
