"""Token counts under the names of many vendors."""

from __future__ import annotations

from typing import Any

import pytest

from evalflow.model.seat.usage import Usage, count_of, usage_of

OPENAI = {"prompt_tokens": 1200, "completion_tokens": 30, "total_tokens": 1230}
LLAMA = {"cache_n": 24, "prompt_n": 18}

VENDORS: dict[str, tuple[dict[str, Any], Usage]] = {
    "OpenAI chat": (
        {"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": 1152}}},
        Usage(1200, 30, 1152, "usage.prompt_tokens_details.cached_tokens"),
    ),
    "OpenAI responses": (
        {
            "usage": {
                "input_tokens": 1200,
                "output_tokens": 30,
                "input_tokens_details": {"cached_tokens": 1152},
                "output_tokens_details": {"reasoning_tokens": 12},
            }
        },
        Usage(1200, 30, 1152, "usage.input_tokens_details.cached_tokens", 12),
    ),
    "reasoning": (
        {"usage": {**OPENAI, "completion_tokens_details": {"reasoning_tokens": 12}}},
        Usage(1200, 30, None, None, 12),
    ),
    "vLLM without its flag": (
        {"usage": {**OPENAI, "prompt_tokens_details": None}},
        Usage(1200, 30),
    ),
    "vLLM or SGLang, null": (
        {"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": None}}},
        Usage(1200, 30, None, "usage.prompt_tokens_details.cached_tokens"),
    ),
    "none cached": (
        {"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": 0}}},
        Usage(1200, 30, 0, "usage.prompt_tokens_details.cached_tokens"),
    ),
    "llama.cpp": (
        {
            "usage": {"prompt_tokens": 42, "completion_tokens": 8, "prompt_tokens_details": {"cached_tokens": 24}},
            "timings": LLAMA,
        },
        Usage(42, 8, 24, "usage.prompt_tokens_details.cached_tokens"),
    ),
    "llama.cpp before it counted in usage": (
        {"usage": {"prompt_tokens": 42, "completion_tokens": 8}, "timings": LLAMA},
        Usage(42, 8, 24, "timings.cache_n"),
    ),
    "a null beside a count": (
        {"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": None}}, "timings": LLAMA},
        Usage(1200, 30, 24, "timings.cache_n"),
    ),
    "Anthropic": (  # disjoint: 20 + 1152 + 28
        {
            "usage": {
                "input_tokens": 20,
                "cache_read_input_tokens": 1152,
                "cache_creation_input_tokens": 28,
                "output_tokens": 30,
            }
        },
        Usage(1200, 30, 1152, "usage.cache_read_input_tokens"),
    ),
    "Anthropic, written and not read": (  # 20 + 0 + 1180
        {
            "usage": {
                "input_tokens": 20,
                "cache_read_input_tokens": 0,
                "cache_creation_input_tokens": 1180,
                "output_tokens": 30,
            }
        },
        Usage(1200, 30, 0, "usage.cache_read_input_tokens"),
    ),
    "Anthropic, null": (
        {"usage": {"input_tokens": 20, "cache_read_input_tokens": None, "output_tokens": 30}},
        Usage(20, 30, None, "usage.cache_read_input_tokens"),
    ),
    "DeepSeek": (
        {"usage": {**OPENAI, "prompt_cache_hit_tokens": 1152, "prompt_cache_miss_tokens": 48}},
        Usage(1200, 30, 1152, "usage.prompt_cache_hit_tokens"),
    ),
    "Gemini": (  # thoughts stand beside the candidates: 18 + 12 were written
        {
            "usageMetadata": {
                "promptTokenCount": 1200,
                "cachedContentTokenCount": 1152,
                "candidatesTokenCount": 18,
                "thoughtsTokenCount": 12,
                "totalTokenCount": 1230,
            }
        },
        Usage(1200, 30, 1152, "usageMetadata.cachedContentTokenCount", 12),
    ),
    "Bedrock": (  # disjoint: 20 + 1152 + 28
        {"usage": {"inputTokens": 20, "outputTokens": 30, "cacheReadInputTokens": 1152, "cacheWriteInputTokens": 28}},
        Usage(1200, 30, 1152, "usage.cacheReadInputTokens"),
    ),
    "Cohere": (
        {"usage": {**OPENAI, "cached_tokens": 1152}},
        Usage(1200, 30, 1152, "usage.cached_tokens"),
    ),
    "nothing": ({}, Usage()),
}


@pytest.mark.parametrize("vendor", VENDORS)
def test_each_vendor_is_understood(vendor: str) -> None:
    """The same 1,200 tokens, 1,152 of them cached, under every name; null, absent and 0 stay apart."""
    reply, meant = VENDORS[vendor]
    assert usage_of(reply) == meant


@pytest.mark.parametrize("count", [True, False, -1, 8.0, "8", None, [8], {"n": 8}])
def test_what_is_no_count_counts_nothing(count: Any) -> None:
    """Only whole numbers of at least 0 are counts; a truth value is none."""
    usage = {"prompt_tokens": count, "completion_tokens": count, "prompt_tokens_details": {"cached_tokens": count}}
    assert usage_of({"usage": usage}) == Usage(cached_source="usage.prompt_tokens_details.cached_tokens")


def test_a_count_of_zero_is_a_count() -> None:
    """A seat may say 0, which is not the same as saying nothing."""
    assert usage_of({"usage": {"prompt_tokens": 0, "completion_tokens": 0}}) == Usage(0, 0)


@pytest.mark.parametrize("odd", [None, [], "usage", 7, {"prompt_tokens_details": []}])
def test_usage_of_another_shape_says_nothing(odd: Any) -> None:
    """A list, a string or a number where an object belongs."""
    assert usage_of({"usage": odd, "timings": odd}) == Usage()


def test_beside_a_prompt_that_is_not_counted_nothing_is_totalled() -> None:
    """Cached tokens alone are no prompt."""
    assert usage_of({"usage": {"cache_read_input_tokens": 5}}) == Usage(None, None, 5, "usage.cache_read_input_tokens")


def test_more_cached_than_there_were_is_not_known() -> None:
    """400 of 40 cannot be; the field that said so stays named, and as many as there were is possible."""
    told = {"prompt_tokens": 40, "prompt_tokens_details": {"cached_tokens": 400}}
    usage = usage_of({"usage": told})
    assert (usage.cached_tokens, usage.cached_source) == (None, "usage.prompt_tokens_details.cached_tokens")
    all_of_it = usage_of({"usage": {**told, "prompt_tokens_details": {"cached_tokens": 40}}})
    assert all_of_it.cached_tokens == 40


def test_a_count_beyond_reason_counts_nothing() -> None:
    """A thousand million tokens is the most that is believed."""
    assert count_of(10**9) == 10**9
    assert count_of(10**9 + 1) is None and count_of(10**400) is None
