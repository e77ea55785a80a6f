"""The records that flow through a run, and how they are written as JSON lines.

Records are frozen; nothing downstream edits one, it makes another. Times are seconds on a monotonic clock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Literal

from evalflow.columns import Columns
from evalflow.strict_json import plain

SCHEMA_VERSION = 1

Status = Literal["ok", "empty", "truncated", "error", "unscored"]
FinishReason = Literal["stop", "length", "content_filter", "tool_calls", "other"]
Cache = Literal["cold", "isolated", "warm"]
Outcome = Literal["pass", "fail", "unreadable", "skipped"]
Conclusion = Literal["better", "worse", "not shown", "identical", "undefined"]
RunVerdict = Literal["pass", "fail", "unreadable", "incomplete"]


@dataclass(frozen=True)
class Item:
    """One question of a dataset.

    Its three groupings mean different things: `prefix_group` shares a prompt prefix (the cache's unit),
    `cluster` is statistically dependent (the error bar's unit), `kind` is for breakdown and `where`.
    """

    id: str
    prompt: str
    target: str | None = None
    kind: str = ""
    cluster: str = ""
    prefix_group: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dependence(self) -> str:
        """The cluster, or the item itself where it declares none (marked, for an id may be a cluster's name)."""
        return self.cluster or f"\0{self.id}"


@dataclass(frozen=True)
class Decoding:
    """How text is drawn from a model. Temperature 0 is greedy.

    `max_tokens` counts generated tokens; `stop` are strings that end the text and are not part of it.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 256
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature is {self.temperature}; give a finite number of at least 0")
        if not 0.0 < self.top_p <= 1.0:
            raise ValueError(f"top_p is {self.top_p}; give a number above 0 and at most 1")
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}; give at least 1")

    @property
    def greedy(self) -> bool:
        """Whether the text is the same whatever the seed."""
        return self.temperature == 0.0


@dataclass(frozen=True)
class Request:
    """What a model is asked: one prompt, drawn one way, with one sampling seed (31 bits).

    Requests of different `cache_salt` must not share cached prefixes. No part of it may reach the answer. `cache` is
    the arm's regime: a model that can only switch its cache on and off switches it by that. `repeat` is the arm's own
    seed, of which pass it is. `content` is the digest of the item but for its prompt (`content_of`), which a
    model that is `recorded` is told, and no other.
    """

    item_id: str
    prompt: str
    decoding: Decoding
    seed: int
    cache_salt: str = ""
    cache: Cache = "cold"
    repeat: int = 0
    content: str = ""


@dataclass(frozen=True)
class Token:
    """One generated token as text, its log-probability (nats), and that of the likeliest token less the second's."""

    text: str
    logprob: float
    margin: float | None = None


@dataclass(frozen=True)
class Times:
    """When one request passed each point (s, monotonic); None where the model cannot say."""

    scheduled: float | None = None
    sent: float | None = None
    headers: float | None = None
    first_byte: float | None = None
    first_token: float | None = None
    first_visible: float | None = None
    last_token: float | None = None
    end: float | None = None


@dataclass(frozen=True)
class Completion:
    """What a model answered. Unknown counts are None, never 0.

    `gaps` (s) lie between the chunks that carried text, and `chunk_tokens` are the tokens in each of those chunks, one
    more than there are gaps. `reasoning_tokens` are a part of `tokens_out`. `columns` hold what a scored text's
    positions got. `given` are scores that the answer came with, by name, as of another tool that recorded it.
    """

    text: str
    finish_reason: FinishReason | None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_source: Literal["usage", "chunks", "local"] | None = None
    cached_tokens: int | None = None
    cached_source: str | None = None
    times: Times = Times()
    gaps: tuple[float, ...] | None = None
    attempts: int = 1
    chunk_tokens: tuple[int, ...] | None = None
    reasoning_tokens: int | None = None
    tokens: tuple[Token, ...] | None = None
    columns: Columns | None = None
    given: Mapping[str, float] | None = None


@dataclass(frozen=True)
class RowError:
    """Why a request has no answer."""

    kind: str
    message: str
    attempts: int = 1


@dataclass(frozen=True)
class Row:
    """What one arm produced for one item under one seed: the only raw record.

    `draft` is what the model wrote and `served` what its reader gets, which scoring decides. `stats` holds each
    metric's statistics (None: the metric excludes this row) and `detail` its reasons; both are empty until then.
    `given` are scores that the answer came with, None where there are none.
    """

    run_id: str
    session: str
    arm: str
    seed: int
    item_id: str
    status: Status
    draft: str | None
    served: str | None
    prefix_group: str = ""
    cluster: str = ""
    kind: str = ""
    error: RowError | None = None
    finish_reason: FinishReason | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_source: str | None = None
    cached_tokens: int | None = None
    cached_source: str | None = None
    times: Times = Times()
    gaps: tuple[float, ...] | None = None
    chunk_tokens: tuple[int, ...] | None = None
    reasoning_tokens: int | None = None
    tokens: tuple[Token, ...] | None = None
    columns: Columns | None = None
    given: Mapping[str, float] | None = None
    seed_sent: int | None = None
    attempts: int = 1
    stats: Mapping[str, tuple[float, ...] | None] = field(default_factory=dict)
    detail: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    schema: int = SCHEMA_VERSION

    @property
    def key(self) -> tuple[str, int, str]:
        """What a row is the answer to: (arm, seed, item id)."""
        return (self.arm, self.seed, self.item_id)

    @property
    def dependence(self) -> str:
        """The cluster, or the item itself where it declares none (marked, for an id may be a cluster's name)."""
        return self.cluster or f"\0{self.item_id}"


@dataclass(frozen=True)
class Probe:
    """One measurement of an arm itself, apart from its answers: a repeat of the fixed-length protocol, its memory."""

    arm: str
    name: str
    values: Mapping[str, float]
    session: str = ""
    schema: int = SCHEMA_VERSION


@dataclass(frozen=True)
class Figure:
    """A named number with its denominator and interval; `value` is None with a `reason` where it is undefined.

    `n_sessions` counts the sessions that a time or speed was taken in (over one it is no one measurement); None of
    any other figure, and where nothing was scored.
    """

    value: float | None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    level: float | None = None
    method: str | None = None
    n_total: int = 0
    n_scored: int = 0
    n_excluded: int = 0
    n_error: int = 0
    reason: str | None = None
    metric_version: int = 1
    n_sessions: int | None = None

    def __post_init__(self) -> None:
        assert (self.value is None) == (self.reason is not None), "undefined needs a reason, and only it has one"


@dataclass(frozen=True)
class Delta:
    """Candidate minus reference on the items that both answered.

    `p` is the test that gates (over clusters where items are dependent), `p_items` the same test over items, and
    `p_mid` the mid-p of a sign test. `bootstrap` ends are percentiles, `bca` ends corrected for bias and skewness.
    `bound_low` and `bound_high` are one-sided bounds at `level`, for claims with a margin. `mde` is the smallest
    difference that a t-test could have shown here; `words` says the whole in a sentence. `n_sessions` is as a figure's.
    """

    delta: float | None
    reference_value: float | None = None
    candidate_value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    method: str | None = None
    bound_low: float | None = None
    bound_high: float | None = None
    bootstrap_low: float | None = None
    bootstrap_high: float | None = None
    bca_low: float | None = None
    bca_high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    p_items: float | None = None
    p_mid: float | None = None
    test: str | None = None
    wins: int = 0
    losses: int = 0
    ties: int = 0
    n_pairs: int = 0
    n_clusters: int = 0
    unpaired: tuple[str, ...] = ()
    mde: float | None = None
    higher_is_better: bool = True
    conclusion: Conclusion = "undefined"
    words: str = ""
    reason: str | None = None
    n_sessions: int | None = None

    def __post_init__(self) -> None:
        assert (self.delta is None) == (self.reason is not None), "undefined needs a reason, and only it has one"


@dataclass(frozen=True)
class GateResult:
    """What one gate decided, on which figure, and which rows decided it: the worst first, of `n_rows` in all.

    `noise_floor` is the same figure of an A/A arm: the reference's own model held against itself.
    """

    outcome: Outcome
    expected: Literal["pass", "fail"]
    figure: str
    value: float | None
    bound: str
    threshold: str
    denominator: int | None
    arm: str | None = None
    comparison: str | None = None
    rows: tuple[str, ...] = ()
    n_rows: int = 0
    reason: str | None = None
    report_only: bool = False
    on_fail: str | None = None
    noise_floor: float | None = None


def to_json(record: Any) -> str:
    """One line of JSON for a record. ASCII only, so that any string (lone surrogates too) survives the round trip.

    A number that is not finite is refused: undefined is None with a reason, never NaN in a file.
    """
    return _LINE.encode(vars(record))


def _inside(value: Any) -> Any:
    """A record inside a record as JSON, or what else is no plain value."""
    return vars(value) if is_dataclass(value) else plain(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=plain)
_LINE = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_inside)


def digest(value: Any) -> str:
    """SHA-256 (64 hex digits) of the canonical JSON of `value`: sorted keys, no spaces, ASCII."""
    return hashlib.sha256(_CANONICAL.encode(value).encode()).hexdigest()


def fingerprints(items: Iterable[Item]) -> dict[str, str]:
    """Three digests of a dataset, which every comparison rests on.

    `content_fp` is the set of items (any order), `ordered_fp` the sequence, `request_fp` the prompts as sent.
    """
    listed = list(items)
    contents = [content_of(item) for item in listed]
    return {
        "content_fp": digest(sorted(contents)),
        "ordered_fp": digest(contents),
        "request_fp": digest([item.prompt for item in listed]),
    }


def content_of(item: Item) -> str:
    """The digest of what an item is, whose prompt is left out: it is the template's."""
    return digest({**vars(item), "prompt": None})
