"""How the stub of a seat answers, and what it notes of what it did."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

FailMode = Literal[
    "http429", "http500", "http503", "drop", "cut", "sse_error", "no_done", "no_finish", "empty", "garbage", "stall"
]
Cached = Literal["absent", "null", "counted"]
Json = dict[str, Any]

_KEPT = 256


@dataclass(frozen=True)
class StubSettings:
    """How the stub answers. Times in s: a request's n-th token is due `ttft_s + (n - 1) itl_s` after its arrival.

    Speed: `prefill_s` is added per prompt token (a word) that was not cached. `tokens` come `tokens_per_chunk` at a
    time, each the text `word`, the first `reasoning` of them as reasoning; `honor_max_tokens` sends as many as the
    request allows. The finish reason is `length` where the tokens reach what it allows, else `stop`.

    Shape: `empty_chunks` before the first token, `early_role` for headers and role before it is due, `finish_chunk` for
    a finish reason in a chunk of its own. `usage` and `continuous_usage` are sent where the request asks for them;
    `strict` answers 400 to fields that OpenAI does not document.

    Cache: blocks of `cache_block` words (0: none), at most `cache_blocks` of them; a request's `cache_salt` keeps them
    apart, and with `cache_prompt` false it reads none of them but fills them. `cached` says how cached tokens are told:
    not at all, as null, or as counted.

    Failure: a share `fail_share` of the requests, spread evenly, fails as `fail_mode` says. `http…` is a status (429
    and 503 with Retry-After 0), `drop` the connection closed unanswered, `cut` the same after half the tokens,
    `sse_error` an error object then, `garbage` an event that is no JSON then, `stall` nothing more then; `no_done` is a
    whole reply without usage and [DONE], `no_finish` one without its finish reason too, `empty` usage and [DONE] alone.
    """

    port: int = 0
    model: str = "stub"
    ttft_s: float = 0.0
    itl_s: float = 0.0
    prefill_s: float = 0.0
    tokens: int = 16
    tokens_per_chunk: int = 1
    word: str = " tok"
    honor_max_tokens: bool = False
    reasoning: int = 0
    empty_chunks: int = 0
    early_role: bool = False
    finish_chunk: bool = False
    usage: bool = True
    continuous_usage: bool = True
    strict: bool = False
    cached: Cached = "counted"
    cache_block: int = 0
    cache_blocks: int = 1_000_000
    fail_share: float = 0.0
    fail_mode: FailMode = "http500"

    def __post_init__(self) -> None:
        if not 0.0 <= self.fail_share <= 1.0:
            raise ValueError(f"fail_share is {self.fail_share}; give a share from 0 to 1")
        if self.tokens < 1 or self.tokens_per_chunk < 1:
            raise ValueError(f"tokens is {self.tokens}, {self.tokens_per_chunk} per chunk; give at least 1 of each")


@dataclass
class Truth:
    """What the stub saw and did. Times in s, monotonic; of each request that was streamed whole, in order of its end.

    TTFT runs from the last byte of the request to the writing of its first token, TPOT from that to the last over the
    tokens after the first chunk. `bodies` and `heads` are of the last requests for an answer.
    """

    requests: int = 0
    answered: int = 0
    failed: int = 0
    aborted: int = 0
    connections: int = 0
    in_flight: int = 0
    in_flight_max: int = 0
    first: float | None = None
    last: float | None = None
    ttft_s: list[float] = field(default_factory=list)
    tpot_s: list[float] = field(default_factory=list)
    e2e_s: list[float] = field(default_factory=list)
    bodies: deque[Json] = field(default_factory=lambda: deque(maxlen=_KEPT))
    heads: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def told(self) -> Json:
        """As a JSON object, without the requests' own words."""
        return {name: value for name, value in asdict(self).items() if name not in ("bodies", "heads")}
