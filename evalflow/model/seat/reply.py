"""One reply of a seat, put together from what came when; and whether it is a whole answer."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalflow.model.seat.events import Event
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.usage import Usage, count_of, usage_of
from evalflow.record import Completion, FinishReason, Times, Token

FINISHED: Mapping[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
BROKEN_OFF = ("error", "abort", "cancelled")
"""Reasons for which a reply ended that leave it without an answer."""
USAGE_KEYS = ("usage", "usageMetadata", "timings")
HIDDEN = ("reasoning_content", "reasoning", "tool_calls", "function_call")
"""Parts of a message that are tokens and no text."""
_SCAN = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
"""What `decode` does for a whole text, less its own Python: there is an event per token."""
SHOWN = 200
"""Characters of a seat's own words that a message carries."""


class Reply:
    """Takes the parts of one reply in order; `completion` is what they came to."""

    def __init__(self, sent: float) -> None:
        self.sent = sent
        self.headers: float | None = None
        self.first_byte: float | None = None
        self.first_visible: float | None = None
        self.done = False
        self.finish: str | None = None
        self._hidden = False
        self._text: list[str] = []
        self._stamps: list[float] = []
        self._so_far: list[int | None] = []
        self._tokens: list[Token] = []
        self._counts: dict[str, Any] = {}

    @property
    def begun(self) -> bool:
        """Whether a token has come."""
        return bool(self._stamps)

    def take(self, event: Event, stamp: float) -> None:
        """One event of a stream, read at `stamp` (s, monotonic).

        Raises:
            SeatError: `stream_error` or `bad_reply`.
        """
        if self.done:
            return  # nothing belongs to a reply after its end
        if event.data == b"[DONE]":
            self.done = True
            return
        told = as_object(event.data)
        if event.type == b"error" or told.get("error") is not None or told.get("type") == "error":
            raise SeatError("stream_error", f"the reply broke off with an error: {words_of(told)}")
        self._count(told)
        choice = _choice(told)
        if choice is None:
            return
        delta = choice.get("delta")
        part = delta if isinstance(delta, dict) else {"content": choice.get("text")}
        content = part.get("content")
        visible = content if isinstance(content, str) else _text(content)
        if visible or _hidden(part):
            self._stamps.append(stamp)
            self._so_far.append(_so_far(told.get("usage")))
            self._text.append(visible)
            if visible and self.first_visible is None:
                self.first_visible = stamp
        if choice.get("logprobs") is not None:
            self._tokens += tokens_of(choice["logprobs"])
        self._end(choice)

    def take_whole(self, body: bytes) -> None:
        """A reply that came in one piece, which says nothing of when its tokens came.

        Raises:
            SeatError: `stream_error` or `bad_reply`.
        """
        told = as_object(body)
        if told.get("error") is not None:
            raise SeatError("stream_error", f"status 200 with an error: {words_of(told)}")
        self._count(told)
        choice = _choice(told)
        if choice is None:
            raise SeatError("bad_reply", f"a reply without choices: {_short(body)}")
        message = choice.get("message")
        part = message if isinstance(message, Mapping) else {"content": choice.get("text")}
        self._text.append(_text(part.get("content")))
        self._hidden = _hidden(part)
        self._tokens += tokens_of(choice.get("logprobs"))
        self._end(choice)
        self.done = True

    def completion(self, end: float) -> Completion:
        """The answer.

        Raises:
            SeatError: it is none: `cut`, `stream_error`, `no_tokens`.
        """
        if self.finish in BROKEN_OFF:
            raise SeatError("stream_error", f"the reply ended with finish_reason {self.finish}")
        if self.finish is None and not self.done:
            raise SeatError("cut", "the reply ended without finish_reason and without [DONE]")
        usage, text = usage_of(self._counts), "".join(self._text)
        written = bool(self._stamps) or bool(text) or self._hidden
        # a model may end at once, with its end token alone; then it says so, and counts no more than that one
        if not written and (self.finish is None or (usage.tokens_out or 0) > 1 or usage.tokens_out is None):
            said = "" if usage.tokens_out is None else f" (its usage says {usage.tokens_out})"
            raise SeatError("no_tokens", f"a complete reply without one token{said}")
        chunks = len(self._stamps)
        if written and not usage.tokens_out:  # a count of none beside a text is no count
            usage = replace(usage, tokens_out=None)
        counted = usage.tokens_out is not None
        return Completion(
            text=text,
            finish_reason=None if self.finish is None else FINISHED.get(self.finish, "other"),
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out if counted else chunks or None,
            tokens_source="usage" if counted else "chunks" if chunks else None,
            cached_tokens=usage.cached_tokens,
            cached_source=usage.cached_source,
            times=self._times(end),
            gaps=tuple(b - a for a, b in zip(self._stamps, self._stamps[1:], strict=False)) if chunks else None,
            chunk_tokens=self._chunk_tokens(usage),
            reasoning_tokens=usage.reasoning_tokens,
            tokens=tuple(self._tokens) or None,
        )

    def _end(self, choice: Mapping[str, Any]) -> None:
        """Note why it ended; some seats say "" until it does."""
        if choice.get("finish_reason"):
            self.finish = str(choice["finish_reason"])

    def _count(self, told: Mapping[str, Any]) -> None:
        for key in USAGE_KEYS:
            if key in told and told[key] is not None:
                self._counts[key] = told[key]

    def _times(self, end: float) -> Times:
        return Times(
            sent=self.sent,
            headers=self.headers,
            first_byte=self.first_byte,
            first_token=self._stamps[0] if self._stamps else None,
            first_visible=self.first_visible,
            last_token=self._stamps[-1] if self._stamps else None,
            end=end,
        )

    def _chunk_tokens(self, usage: Usage) -> tuple[int, ...] | None:
        """Tokens in each chunk of text: by the seat's running count, or one each where that adds up.

        A count that stands still or runs back tells nothing, nor does the sum beside it. The end token is counted by
        some seats and carries no text, hence the one that may be left over. Where the seat counts nothing,
        `tokens_source` says that chunks are taken for tokens.
        """
        chunks = len(self._stamps)
        so_far = [count for count in self._so_far if count is not None]
        if chunks and len(so_far) == chunks:
            in_each = tuple(b - a for a, b in zip([0, *so_far], so_far, strict=False))
            return in_each if min(in_each) > 0 else None
        if chunks and (usage.tokens_out is None or usage.tokens_out - chunks in (0, 1)):
            return (1,) * chunks
        return None


def as_object(body: bytes) -> dict[str, Any]:
    """The JSON object that a body or an event is.

    Raises:
        SeatError: `bad_reply`.
    """
    try:
        text = body.decode("utf-8").strip()
        told, end = _SCAN(text, 0)
        if end != len(text):
            raise ValueError("more follows")
    except UnicodeDecodeError as fault:
        raise SeatError("bad_reply", f"no UTF-8 at byte {fault.start}: {_short(body)}") from None
    except (ValueError, StopIteration, RecursionError):
        raise SeatError("bad_reply", f"no JSON: {_short(body)}") from None
    if not isinstance(told, dict):
        raise SeatError("bad_reply", f"JSON, but no object: {_short(body)}")
    return told


def words_of(told: Mapping[str, Any]) -> str:
    """What an error object says, in the shapes of the servers that are known: `error`, `detail`, a bare message."""
    error = told.get("error", told.get("detail", told))
    if isinstance(error, Mapping):
        error = error.get("message", error)
    if isinstance(error, list):
        error = "; ".join(map(_placed, error))
    said = error if isinstance(error, str) else json.dumps(error)
    return " ".join(said.split())[:SHOWN]


def _placed(one: Any) -> str:
    """One entry of a list of faults: where, and what."""
    if not isinstance(one, Mapping):
        return str(one)
    where = one.get("loc")
    return f"{'.'.join(map(str, where)) if isinstance(where, list) else ''} {one.get('msg', '')}".strip()


def tokens_of(logprobs: Any) -> list[Token]:
    """The tokens of a choice's `logprobs`, in the shape of chat or of completions; none of anything else."""
    if not isinstance(logprobs, Mapping):
        return []
    if isinstance(logprobs.get("content"), list):
        listed = [entry for entry in logprobs["content"] if isinstance(entry, Mapping)]
        return [
            Token(str(entry.get("token", "")), float(entry["logprob"]), _margin(_listed(entry.get("top_logprobs"))))
            for entry in listed
            if is_number(entry.get("logprob"))
        ]
    texts, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(texts, list) or not isinstance(values, list):
        return []
    tops = logprobs.get("top_logprobs")
    tops = tops if isinstance(tops, list) and len(tops) == len(texts) else [None] * len(texts)
    return [
        Token(str(text), float(value), _margin(_beside(top, value) if isinstance(top, Mapping) else _listed(top)))
        for text, value, top in zip(texts, values, tops, strict=False)
        if is_number(value)
    ]


def _beside(top: Mapping[str, Any], drawn: float) -> list[Any]:
    """The likeliest of a mapping, which holds the drawn token too: of two, the lesser may be there for that alone."""
    values = list(top.values())
    return [] if len(values) == 2 and drawn < max(filter(is_number, values), default=drawn) else values


def _listed(top: Any) -> list[Any]:
    return [one.get("logprob") for one in top if isinstance(one, Mapping)] if isinstance(top, list) else []


def _margin(values: Sequence[Any]) -> float | None:
    """The likeliest log-probability less the second's (nats); None where fewer than two are given."""
    best = sorted((float(value) for value in values if is_number(value)), reverse=True)
    return best[0] - best[1] if len(best) > 1 and math.isfinite(best[0] - best[1]) else None


def is_number(value: Any) -> bool:
    """Whether a JSON value is a finite number that a float can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _choice(told: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first choice; an event without one carries usage, or nothing."""
    choices = told.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and choice.get("index", 0) == 0:
            return choice
    return None


def _text(content: Any) -> str:
    """Visible text: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def _hidden(part: Mapping[str, Any]) -> bool:
    """Whether a part carries tokens that are no visible text: reasoning, under either name, or a tool call's."""
    return any(part.get(name) for name in HIDDEN)


def _so_far(usage: Any) -> int | None:
    """The running count of output tokens, where an event brought one."""
    return count_of(usage.get("completion_tokens")) if isinstance(usage, dict) else None


def _short(body: bytes) -> str:
    return " ".join(body[:SHOWN].decode("utf-8", "replace").split()) or "nothing"
