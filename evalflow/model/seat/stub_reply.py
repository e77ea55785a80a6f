"""One answer of the stub of a seat: its events, and the moments at which they are due."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from evalflow.model.seat.stub_settings import FailMode, Json, StubSettings

_SCRIPTS = 1024
_SPARE_S = 2e-5  # a deadline nearer than this has come: no timer is as fine
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


@dataclass(frozen=True)
class Script:
    """A streamed reply: what goes before the first token, the chunks as (tokens, bytes), and the end."""

    before: bytes
    chunks: tuple[tuple[int, bytes], ...]
    end: bytes

    @cached_property
    def whole(self) -> bytes:
        """Chunks and end in one piece."""
        return b"".join(chunk for _, chunk in self.chunks) + self.end


class Seat(Protocol):
    """What a reply needs of the stub."""

    settings: StubSettings
    scripts: dict[Any, Script]

    def count_prompt(self, body: Json) -> tuple[int, int]:
        """Tokens of a prompt, and how many of them were cached."""
        ...


class Line(Protocol):
    """What a reply needs of the connection that it goes out by."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport

    @property
    def seat(self) -> Seat:
        """The stub."""
        ...

    def send(self, value: Any, status: int = 200, extra: str = "") -> None:
        """A whole reply of JSON."""
        ...

    def done(self, reply: Reply, answered: bool) -> None:
        """The reply is finished."""
        ...

    def close(self) -> None:
        """End the connection now."""
        ...


class Reply:
    """One answer on its way: its events, and the moments at which they are due."""

    def __init__(self, connection: Line, asked: Json, chat: bool, arrived: float, fails: FailMode | None) -> None:
        self.connection, self.settings = connection, connection.seat.settings
        self.asked, self.chat, self.arrived, self.fails = asked, chat, arrived, fails
        limit = asked.get("max_completion_tokens") or asked.get("max_tokens")
        self.n_tokens: int = limit if self.settings.honor_max_tokens and limit else self.settings.tokens
        self.finish = "length" if limit and limit <= self.n_tokens else "stop"
        self.n_prompt, self.n_cached = connection.seat.count_prompt(asked)
        self.first: float | None = None
        self.last: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._sent = 0
        self._due = arrived + self.settings.ttft_s + self.settings.prefill_s * (self.n_prompt - self.n_cached)

    def begin(self) -> None:
        """Send the reply as it falls due."""
        if not self.asked.get("stream"):
            self._at(self._due + self.settings.itl_s * (self.n_tokens - 1), self._whole)
            return
        self._script = self._scripted()
        self._before = _HEAD + self._script.before
        if self.settings.early_role:
            self._write(b"")
        if self.fails is None and not (self.settings.ttft_s or self.settings.itl_s or self.settings.prefill_s):
            self._at_once()
        else:
            self._step()

    def stop(self) -> None:
        """Send no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _at(self, due: float, act: Callable[[], None]) -> None:
        wait = due - time.monotonic()
        if wait <= _SPARE_S:
            act()
        else:
            self._timer = self.connection.loop.call_later(wait, self._at, due, act)

    def _whole(self) -> None:
        if self.fails not in (None, "empty"):  # of a reply in one piece no part can be wrong
            self._break_off()
            return
        text = "" if self.fails == "empty" else self.settings.word * self.n_tokens
        said: Json = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        reply = self._object({"index": 0, "finish_reason": self.finish, **said}, stream=False)
        self.connection.send({**reply, "usage": self._usage()} if self.settings.usage else reply)
        self.connection.done(self, answered=self.fails is None)

    def _scripted(self) -> Script:
        """What will be sent, made once for all requests that get the same."""
        options = self.asked.get("stream_options") or {}
        with_usage = bool(options.get("include_usage")) and self.settings.usage
        continuous = bool(options.get("continuous_usage_stats")) and self.settings.continuous_usage
        tokens = (self.n_prompt, self.n_cached, self.n_tokens)
        key = (self.chat, tokens, with_usage, continuous, self.finish, self.fails)
        scripts = self.connection.seat.scripts
        if key not in scripts:
            if len(scripts) >= _SCRIPTS:
                scripts.clear()
            before = event(self._chunk("", role=True)) if self.chat else b""
            before += event(self._chunk("")) * self.settings.empty_chunks
            scripts[key] = Script(before, tuple(self._cut_into_chunks(continuous)), self._ending(with_usage))
        return scripts[key]

    def _cut_into_chunks(self, continuous: bool) -> list[tuple[int, bytes]]:
        """The chunks that will be sent: (tokens, event)."""
        chunks, done = [], 0
        while done < self.n_tokens:
            n = min(self.settings.tokens_per_chunk, self.n_tokens - done)
            done += n
            finish = self.finish if done == self.n_tokens and not self._finish_apart else None
            chunk = self._chunk(self.settings.word * n, finish, reasoning=done <= self.settings.reasoning)
            if continuous:
                chunk["usage"] = {**self._usage(), "completion_tokens": done, "total_tokens": self.n_prompt + done}
            chunks.append((n, event(chunk)))
        if self.fails == "empty":
            return []
        return chunks[: max(len(chunks) // 2, 1)] if self.fails in ("cut", "sse_error", "garbage", "stall") else chunks

    @property
    def _finish_apart(self) -> bool:
        return self.settings.finish_chunk or self.fails in ("no_finish", "empty")

    def _ending(self, with_usage: bool) -> bytes:
        """All that follows the last chunk."""
        end = b""
        if self.settings.finish_chunk and self.fails not in ("no_finish", "empty"):
            end += event(self._chunk(None, self.finish))
        if self.fails == "sse_error":
            end += event({"error": {"message": "the stub fails as told", "type": "server_error", "code": 500}})
        if self.fails == "garbage":
            end += framed(b"data: {no JSON\n\n")
        if self.fails not in ("no_done", "no_finish"):
            if with_usage:
                end += event({**self._object(None), "choices": [], "usage": self._usage()})
            end += framed(b"data: [DONE]\n\n")
        return end + b"0\r\n\r\n"

    def _at_once(self) -> None:
        """All in one write: what is then measured is the client alone."""
        self.first = self.last = time.monotonic()
        self._write(self._script.whole)
        self.connection.done(self, answered=True)

    def _step(self) -> None:
        """Write every chunk that is due, and wait for the next."""
        for n, chunk in self._script.chunks[self._sent :]:
            if self._due - time.monotonic() > _SPARE_S:
                self._at(self._due, self._step)
                return
            self._write(chunk)
            self.last = time.monotonic()
            self.first = self.last if self.first is None else self.first
            self._due += self.settings.itl_s * n
            self._sent += 1
        if self.fails == "stall":
            return
        if self.fails == "cut":
            self._break_off()
            return
        self._write(self._script.end)
        self.connection.done(self, answered=self.fails in (None, "no_done"))

    def _break_off(self) -> None:
        self.connection.done(self, answered=False)
        self.connection.close()

    def _write(self, data: bytes) -> None:
        self.connection.transport.write(self._before + data)
        self._before = b""

    def _chunk(self, text: str | None, finish: str | None = None, role: bool = False, reasoning: bool = False) -> Json:
        if not self.chat:
            return self._object({"index": 0, "text": text or "", "finish_reason": finish})
        delta: Json = {"role": "assistant"} if role else {}
        if text is not None:
            delta["reasoning_content" if reasoning else "content"] = text
        return self._object({"index": 0, "delta": delta, "finish_reason": finish})

    def _object(self, choice: Json | None, stream: bool = True) -> Json:
        kind = ("chat.completion.chunk" if stream else "chat.completion") if self.chat else "text_completion"
        choices = [] if choice is None else [choice]
        return {"id": "stub", "object": kind, "created": 0, "model": self.settings.model, "choices": choices}

    def _usage(self) -> Json:
        n = self.n_tokens
        usage: Json = {"prompt_tokens": self.n_prompt, "completion_tokens": n, "total_tokens": self.n_prompt + n}
        if self.settings.cached != "absent":
            counted = self.n_cached if self.settings.cached == "counted" else None
            usage["prompt_tokens_details"] = {"cached_tokens": counted}
        if self.settings.reasoning:
            usage["completion_tokens_details"] = {"reasoning_tokens": min(self.settings.reasoning, n)}
        return usage


def event(value: Json) -> bytes:
    """One event of the stream, as a chunk of the body."""
    return framed(b"data: " + json.dumps(value).encode() + b"\n\n")


def framed(data: bytes) -> bytes:
    """Bytes as one chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)
