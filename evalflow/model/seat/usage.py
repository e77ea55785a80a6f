"""What a seat says about tokens, whoever built it. Unknown is None, never 0.

Source of the names: the vendors' references as of 2026 (OpenAI, vLLM, SGLang, llama.cpp, Anthropic, DeepSeek, Gemini,
Bedrock, Cohere); Anthropic's and Bedrock's cached tokens lie beside the prompt's, the others' inside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

INSIDE = (
    ("usage", "prompt_tokens_details", "cached_tokens"),
    ("usage", "input_tokens_details", "cached_tokens"),
    ("usage", "prompt_cache_hit_tokens"),
    ("usage", "cached_tokens"),
    ("usageMetadata", "cachedContentTokenCount"),
    ("timings", "cache_n"),
)
"""Where cached tokens stand that the prompt's count contains."""
BESIDE = (
    (("usage", "cache_read_input_tokens"), ("usage", "cache_creation_input_tokens")),
    (("usage", "cacheReadInputTokens"), ("usage", "cacheWriteInputTokens")),
)
"""Where cached tokens stand that the prompt's count leaves out, and those written to the cache, left out too."""
PROMPT = (
    ("usage", "prompt_tokens"),
    ("usage", "input_tokens"),
    ("usage", "inputTokens"),
    ("usageMetadata", "promptTokenCount"),
)
OUTPUT = (
    ("usage", "completion_tokens"),
    ("usage", "output_tokens"),
    ("usage", "outputTokens"),
    ("usageMetadata", "candidatesTokenCount"),
)
REASONING = (
    ("usage", "completion_tokens_details", "reasoning_tokens"),
    ("usage", "output_tokens_details", "reasoning_tokens"),
)
"""Where reasoning stands that the output's count contains."""
THOUGHTS = ("usageMetadata", "thoughtsTokenCount")
"""Where reasoning stands that the output's count leaves out."""
MOST_TOKENS = 10**9
_ABSENT = object()


@dataclass(frozen=True)
class Usage:
    """Token counts of one reply. `cached_source` names the field that spoke of cached tokens, be it to say null."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cached_tokens: int | None = None
    cached_source: str | None = None
    reasoning_tokens: int | None = None


def usage_of(reply: Mapping[str, Any]) -> Usage:
    """The counts of a reply's object, or of the last event that had any."""
    tokens_in, tokens_out = _first(reply, PROMPT), _first(reply, OUTPUT)
    cached, source = _cached(reply)
    for read, written in BESIDE:
        if source == ".".join(read) and tokens_in is not None:
            tokens_in += (cached or 0) + (count_of(_at(reply, written)) or 0)
    reasoning, thoughts = _first(reply, REASONING), count_of(_at(reply, THOUGHTS))
    if reasoning is None and thoughts is not None:
        reasoning = thoughts
        tokens_out = None if tokens_out is None else tokens_out + thoughts
    if cached is not None and tokens_in is not None and cached > tokens_in:
        cached = None  # more than there were: whatever it counts, it is not what was read from the cache
    return Usage(tokens_in, tokens_out, cached, source, reasoning)


def _cached(reply: Mapping[str, Any]) -> tuple[int | None, str | None]:
    """Cached tokens and the field that counts them; where none does, the first that speaks of them."""
    source = None
    for path in (*INSIDE, *(read for read, _ in BESIDE)):
        found = _at(reply, path)
        if found is _ABSENT:
            continue
        if count_of(found) is not None:
            return count_of(found), ".".join(path)
        source = source or ".".join(path)
    return None, source


def _first(reply: Mapping[str, Any], paths: tuple[tuple[str, ...], ...]) -> int | None:
    return next((count for path in paths if (count := count_of(_at(reply, path))) is not None), None)


def _at(node: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(node, Mapping) or key not in node:
            return _ABSENT
        node = node[key]
    return node


def count_of(value: Any) -> int | None:
    """A count of tokens; what is no whole number from 0 to a thousand million counts nothing."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None
