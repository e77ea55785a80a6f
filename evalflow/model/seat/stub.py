"""A stub of a seat: an OpenAI-compatible server of stated speed and stated faults, which knows what it really did.

`python -m evalflow.model.seat.stub --ttft-s 0.05 --itl-s 0.005` serves on the loopback address until it is ended,
and prints its URL. It speaks as much HTTP/1.1 as clients of such servers send, with the standard library alone.

    POST /v1/chat/completions, /v1/completions    streamed or whole
    GET  /v1/models, /health
    POST /reset_prefix_cache, /flush_cache        empty the simulated prefix cache
    GET  /stub/stats                              what happened so far, see `Truth`
    POST /stub/reset                              forget it
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, get_args, get_type_hints

from evalflow.errors import ModelError
from evalflow.model.seat.stub_reply import Reply, Script
from evalflow.model.seat.stub_settings import FailMode, StubSettings, Truth

__all__ = ["StubSeat", "StubSettings", "Truth", "main", "served_apart"]

_PARENT_TICK_S = 0.5
_STATUS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}
_DOCUMENTED = {
    *("model", "messages", "prompt", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature"),
    *("top_p", "seed", "stop", "n", "user", "logprobs", "top_logprobs"),
}
"""Fields of a request that OpenAI itself documents, as far as a run sends them."""


class StubSeat:
    """The stub in this process: `async with StubSeat(StubSettings()) as seat`, then `seat.url` and `seat.truth`."""

    def __init__(self, settings: StubSettings | None = None) -> None:
        self.settings = settings or StubSettings()
        self.truth = Truth()
        self.url = ""
        self.scripts: dict[Hashable, Script] = {}
        self._cache: OrderedDict[int, None] = OrderedDict()
        self._open: set[Connection] = set()

    async def __aenter__(self) -> StubSeat:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self, loop), "127.0.0.1", self.settings.port, backlog=4096
        )
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in tuple(self._open):
            connection.close()
        await self._server.wait_closed()

    def opened(self, connection: Connection) -> None:
        """A client has connected."""
        self._open.add(connection)
        self.truth.connections += 1

    def lost(self, connection: Connection) -> None:
        """A connection is gone."""
        self._open.discard(connection)

    def fails(self) -> FailMode | None:
        """How the request that has just been counted fails; None where it does not."""
        share, count = self.settings.fail_share, self.truth.requests
        return self.settings.fail_mode if int(count * share + 1e-9) > int((count - 1) * share + 1e-9) else None

    def empty_cache(self) -> None:
        """Forget every prompt."""
        self._cache.clear()

    def count_prompt(self, body: Mapping[str, Any]) -> tuple[int, int]:
        """Tokens of a prompt, of which so many were cached; a token is a word. The prompt is in the cache from now on.

        Whole blocks are cached, each with all before it. The last token is never taken from the cache, for it is what
        the first new one is computed from.
        """
        words, size = _prompt(body).split(), self.settings.cache_block
        if size < 1:
            return len(words), 0
        hit, held = 0, body.get("cache_prompt") is not False
        block = hash(str(body.get("cache_salt", "")))
        for start in range(0, len(words) - len(words) % size, size):
            block = hash((block, *words[start : start + size]))
            held = held and block in self._cache
            hit += size * held
            self._cache[block] = None
            self._cache.move_to_end(block)
        while len(self._cache) > self.settings.cache_blocks:
            self._cache.popitem(last=False)
        return len(words), min(hit, max(len(words) - 1, 0))


class Connection(asyncio.Protocol):
    """One client: requests in, one after another, and their replies out."""

    def __init__(self, seat: StubSeat, loop: asyncio.AbstractEventLoop) -> None:
        self.seat, self.loop = seat, loop
        self._waiting = b""
        self._reply: Reply | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.seat.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.seat.lost(self)
        if self._reply is not None:
            self._reply.stop()
            self._ended()
            self.seat.truth.aborted += 1

    def close(self) -> None:
        """End it now, whatever is under way."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while self._reply is None and not self.transport.is_closing():
            head, found, rest = self._waiting.partition(b"\r\n\r\n")
            _, told, length = head.lower().partition(b"content-length:")
            n_body = int(length.partition(b"\r\n")[0]) if told else 0
            if not found or len(rest) < n_body:
                return
            self._waiting = rest[n_body:]
            self._route(head.decode("latin-1"), rest[:n_body])

    def send(self, value: Any, status: int = 200, extra: str = "") -> None:
        """A whole reply of JSON."""
        body = json.dumps(value).encode()
        head = f"HTTP/1.1 {status} {_STATUS.get(status, 'Service Unavailable')}\r\ncontent-type: application/json\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n{extra}\r\n".encode() + body)

    def done(self, reply: Reply, answered: bool) -> None:
        """The reply under way is finished; the next request may have come meanwhile."""
        truth, now = self.seat.truth, time.monotonic()
        self._ended()
        truth.last = now
        if not answered:
            truth.failed += 1
            return
        truth.answered += 1
        truth.e2e_s.append(now - reply.arrived)
        if reply.first is not None and reply.last is not None:
            truth.ttft_s.append(reply.first - reply.arrived)
            after = reply.n_tokens - min(self.seat.settings.tokens_per_chunk, reply.n_tokens)
            if after:
                truth.tpot_s.append((reply.last - reply.first) / after)
        if self._waiting:
            self.loop.call_soon(self.data_received, b"")

    def _ended(self) -> None:
        self._reply = None
        self.seat.truth.in_flight -= 1

    def _route(self, head: str, body: bytes) -> None:
        path = head.split(" ", 2)[1].partition("?")[0]
        if path.endswith("/completions"):
            return self._answer(head, body, chat="chat" in path)
        if path == "/stub/stats":
            return self.send(self.seat.truth.told())
        if path.endswith("/models"):
            model = {"id": self.seat.settings.model, "object": "model", "owned_by": "stub"}
            return self.send({"object": "list", "data": [model]})
        if path in ("/reset_prefix_cache", "/flush_cache"):
            self.seat.empty_cache()
        elif path == "/stub/reset":
            self.seat.truth = Truth(in_flight=self.seat.truth.in_flight)
        elif path != "/health":
            return self.send({"error": {"message": f"{path} is not served"}}, 404)
        return self.send({"status": "ok"})

    def _answer(self, head: str, body: bytes, chat: bool) -> None:
        arrived, truth, settings = time.monotonic(), self.seat.truth, self.seat.settings
        try:
            asked = json.loads(body)
        except ValueError:
            asked = None
        if not isinstance(asked, dict):
            return self.send({"error": {"message": "the body is no JSON object"}}, 400)
        truth.requests += 1
        truth.in_flight += 1
        truth.in_flight_max = max(truth.in_flight_max, truth.in_flight)
        truth.first = arrived if truth.first is None else truth.first
        truth.bodies.append(asked)
        truth.heads.append(head)
        fails = self.seat.fails()
        reply = self._reply = Reply(self, asked, chat, arrived, fails)
        strange = sorted(set(asked) - _DOCUMENTED | set(asked.get("stream_options") or ()) - {"include_usage"})
        if settings.strict and strange:
            self.send({"error": {"message": f"unknown field: {strange[0]}", "param": strange[0]}}, 400)
            self.done(reply, answered=False)
        elif fails == "drop":
            self.done(reply, answered=False)
            self.transport.abort()
        elif fails is not None and fails.startswith("http"):
            status = int(fails[4:])
            error = {"message": "the stub fails as told", "type": "server_error", "code": status}
            self.send({"error": error}, status, "retry-after: 0\r\n" if status in (429, 503) else "")
            self.done(reply, answered=False)
        else:
            reply.begin()
        return None


def _prompt(body: Mapping[str, Any]) -> str:
    """The words of a request, of its messages or its plain prompt."""
    if "messages" not in body:
        return str(body.get("prompt", ""))
    contents = [message.get("content") for message in body["messages"]]
    parts = [[{"text": content}] if isinstance(content, str) else content or [] for content in contents]
    return " ".join(str(part.get("text", "")) for content in parts for part in content)


@contextlib.contextmanager
def served_apart(settings: StubSettings) -> Iterator[str]:
    """The stub in a process of its own, which shares no interpreter with what is measured: its URL.

    Raises:
        ModelError: it did not start.
    """
    words = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(settings).items()]
    line = [sys.executable, "-m", "evalflow.model.seat.stub", f"--parent={os.getpid()}", *words]
    process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        if not url:
            raise ModelError(f"the stub of a seat did not start (exit code {process.wait()}); run {' '.join(line[:3])}")
        yield url
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def main(words: Sequence[str] | None = None) -> int:
    """Serve until Ctrl-C or a termination signal, or until the parent that is named ends."""
    parser = argparse.ArgumentParser("python -m evalflow.model.seat.stub", description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--parent", type=int, default=None, help="id of the process that starts it, to end with that")
    hints = get_type_hints(StubSettings)
    for one in fields(StubSettings):
        kind = hints[one.name]
        choices = get_args(kind) or None
        read = _flag if kind is bool else str if choices else kind
        parser.add_argument(f"--{one.name.replace('_', '-')}", type=read, default=one.default, choices=choices)
    asked = vars(parser.parse_args(words))
    parent = asked.pop("parent")
    try:
        settings = StubSettings(**asked)
    except ValueError as fault:
        parser.error(str(fault))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(settings, parent))
    return 0


async def _serve(settings: StubSettings, parent: int | None) -> None:
    async with StubSeat(settings) as seat:
        sys.stdout.write(f"{seat.url}\n")
        sys.stdout.flush()
        while parent is None or os.getppid() == parent:
            await asyncio.sleep(_PARENT_TICK_S)


def _flag(word: str) -> bool:
    """`true` or `false`, however it is spelt."""
    if word.lower() not in ("true", "false"):
        raise ValueError(word)
    return word.lower() == "true"


if __name__ == "__main__":
    sys.exit(main())
