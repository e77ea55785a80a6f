"""The stub of a seat: it does what it was told, and knows what it did."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from typing import Any

import httpx
import pytest

from evalflow.model.seat.stub import StubSeat, StubSettings, served_apart

SEVEN_WORDS = "one two three four five six seven"


def asked(stream: bool = True, prompt: str = SEVEN_WORDS, **more: Any) -> dict[str, Any]:
    options = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    return {"model": "stub", "messages": [{"role": "user", "content": prompt}], **options, **more}


def client(**settings: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(verify=False, trust_env=False, **settings)  # loading certificates takes its time


def events(response: httpx.Response) -> list[dict[str, Any]]:
    """The JSON of each event but the last, which is [DONE]."""
    lines = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def text_of(told: list[dict[str, Any]]) -> list[str]:
    deltas = [choice["delta"] for event in told for choice in event["choices"]]
    return [delta["content"] for delta in deltas if delta.get("content")]


def run(settings: StubSettings, *bodies: dict[str, Any], path: str = "/chat/completions") -> tuple[StubSeat, list[Any]]:
    """The stub after these requests, one after another, and its replies."""

    async def act() -> tuple[StubSeat, list[Any]]:
        async with StubSeat(settings) as seat, client() as one:
            return seat, [await one.post(seat.url + path, json=body) for body in bodies]

    return asyncio.run(act())


def test_a_stream_has_role_tokens_finish_and_usage() -> None:
    """Five tokens in chunks of two come as 2, 2 and 1; the finish reason is in the last, usage in an event without
    choices."""
    _, (reply,) = run(StubSettings(tokens=5, tokens_per_chunk=2, word=" a"), asked())
    told = events(reply)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert told[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert text_of(told) == [" a a", " a a", " a"]
    assert [event["choices"][0]["finish_reason"] for event in told[:-1]] == [None, None, None, "stop"]
    assert told[-1]["choices"] == []
    assert told[-1]["usage"] == {
        "prompt_tokens": 7,
        "completion_tokens": 5,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def test_usage_comes_only_where_asked_for() -> None:
    """Without stream_options there is none; running usage counts up chunk by chunk."""
    _, (silent, running, never) = run(
        StubSettings(tokens=4, tokens_per_chunk=2),
        asked(stream_options=None),
        asked(stream_options={"include_usage": True, "continuous_usage_stats": True}),
        asked(stream_options={"include_usage": True}),
    )
    assert not any("usage" in event for event in events(silent))
    assert [event["usage"]["completion_tokens"] for event in events(running) if "usage" in event] == [2, 4, 4]
    assert [event["usage"]["completion_tokens"] for event in events(never) if "usage" in event] == [4]


def test_reasoning_comes_first_and_is_counted() -> None:
    """Three of eight tokens are reasoning, under a field of their own."""
    _, (reply,) = run(StubSettings(tokens=8, reasoning=3), asked())
    deltas = [event["choices"][0]["delta"] for event in events(reply)[:-1]]
    assert ["reasoning_content" in delta for delta in deltas[1:]] == [True] * 3 + [False] * 5
    assert events(reply)[-1]["usage"]["completion_tokens_details"] == {"reasoning_tokens": 3}


def test_a_reply_in_one_piece() -> None:
    """Without streaming, chat and plain completions each answer in their own shape."""
    _, (chat,) = run(StubSettings(tokens=2, word="x"), asked(stream=False))
    _, (plain,) = run(StubSettings(tokens=2, word="x"), {"prompt": "a b c"}, path="/completions")
    assert chat.json()["choices"][0]["message"] == {"role": "assistant", "content": "xx"}
    assert plain.json()["choices"][0]["text"] == "xx"
    assert plain.json()["usage"]["prompt_tokens"] == 3


def test_odd_chunks_are_sent_as_told() -> None:
    """Empty chunks stand before the first token, and the finish reason may come in a chunk without content."""
    _, (reply,) = run(StubSettings(tokens=1, empty_chunks=2, finish_chunk=True), asked())
    choices = [event["choices"][0] for event in events(reply)[:-1]]
    assert [choice["delta"].get("content") for choice in choices] == ["", "", "", " tok", None]
    assert [choice["finish_reason"] for choice in choices] == [None, None, None, None, "stop"]


def test_as_many_tokens_as_allowed() -> None:
    """The request's limit counts where the stub honours it."""
    _, replies = run(StubSettings(tokens=9, honor_max_tokens=True), asked(max_tokens=2), asked(max_completion_tokens=3))
    assert [len(text_of(events(reply))) for reply in replies] == [2, 3]
    assert all(events(reply)[-2]["choices"][0]["finish_reason"] == "length" for reply in replies)


def test_a_strict_seat_refuses_what_is_not_documented() -> None:
    """It names the field, as OpenAI does, and takes the same request without it."""
    _, (refused, running, taken) = run(
        StubSettings(strict=True),
        asked(cache_salt="s"),
        asked(stream_options={"include_usage": True, "continuous_usage_stats": True}),
        asked(),
    )
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "cache_salt")
    assert (running.status_code, running.json()["error"]["param"]) == (400, "continuous_usage_stats")
    assert taken.status_code == 200


def test_the_cache_holds_whole_blocks_of_a_prefix() -> None:
    """Of a prompt of 7 words in blocks of 3, read again, 6 are cached; of one that differs in its 5th word, 3."""
    other = SEVEN_WORDS.replace("five", "5")
    seat, replies = run(
        StubSettings(cache_block=3),
        asked(),
        asked(),
        asked(prompt=other),
        asked(cache_salt="b"),
        asked(cache_prompt=False),
    )
    details = [events(reply)[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] for reply in replies]
    assert details == [0, 6, 3, 0, 0]
    assert seat.count_prompt(asked(prompt="one two three")) == (3, 2)  # the last token is always computed
    assert seat.count_prompt(asked(prompt="a b c d", cache_prompt=False)) == (4, 0)
    assert seat.count_prompt(asked(prompt="a b c d")) == (4, 3)  # it read nothing, and was read
    seat.empty_cache()
    assert seat.count_prompt(asked()) == (7, 0)


def test_a_full_cache_forgets_the_oldest() -> None:
    """Two blocks fit: after two prompts of one block each and a third, the first is gone and the second is not."""
    seat = StubSeat(StubSettings(cache_block=2, cache_blocks=2))
    found = [seat.count_prompt({"prompt": f"{word} x y"})[1] for word in ("a", "b", "c", "b", "a")]
    assert found == [0, 0, 0, 2, 0]


@pytest.mark.parametrize(("cached", "details"), [("absent", False), ("null", None), ("counted", 0)])
def test_three_states_of_cached_tokens(cached: Any, details: Any) -> None:
    """Not said, said to be null, and 0 are three things."""
    _, (reply,) = run(StubSettings(cached=cached), asked())
    usage = events(reply)[-1]["usage"]
    told = usage["prompt_tokens_details"]["cached_tokens"] if "prompt_tokens_details" in usage else False
    assert (type(told), told) == (type(details), details)


@pytest.mark.parametrize(
    ("mode", "shows"),
    [
        ("http500", lambda reply: reply.status_code == 500 and "message" in reply.json()["error"]),
        ("http503", lambda reply: reply.status_code == 503 and reply.headers["retry-after"] == "0"),
        ("http429", lambda reply: reply.status_code == 429 and reply.headers["retry-after"] == "0"),
        ("sse_error", lambda reply: '"error"' in reply.text and reply.text.count(" tok") == 2),
        ("no_done", lambda reply: '"stop"' in reply.text and "[DONE]" not in reply.text and "usage" not in reply.text),
        ("no_finish", lambda reply: '"stop"' not in reply.text and "[DONE]" not in reply.text),
        ("empty", lambda reply: " tok" not in reply.text and '"completion_tokens": 4' in reply.text),
        ("garbage", lambda reply: "data: {no JSON" in reply.text),
        ("cut", None),
        ("drop", None),
    ],
)
def test_it_fails_as_told(mode: Any, shows: Any) -> None:
    """Each way to fail looks on the wire as its name says; a reply without [DONE] but with a finish reason is whole."""
    settings = StubSettings(tokens=4, fail_share=1.0, fail_mode=mode)
    if shows is None:
        with pytest.raises(httpx.TransportError):
            run(settings, asked())
        return
    seat, (reply,) = run(settings, asked())
    assert shows(reply)
    whole = mode == "no_done"
    assert (seat.truth.answered, seat.truth.failed, seat.truth.in_flight) == (int(whole), int(not whole), 0)


def test_failures_are_spread_evenly() -> None:
    """28 % of 50 requests are 14, whatever the order, and never more than two in a row."""
    seat, replies = run(StubSettings(fail_share=0.28), *[asked()] * 50)
    failed = [reply.status_code == 500 for reply in replies]
    assert (sum(failed), seat.truth.failed, seat.truth.answered) == (14, 14, 36)
    assert "11" not in "".join(str(int(one)) for one in failed)


def test_a_stall_lasts_until_the_client_goes() -> None:
    """Half the tokens come and then nothing; when the client leaves, the request is noted as aborted."""

    async def act() -> StubSeat:
        async with StubSeat(StubSettings(tokens=4, fail_share=1.0, fail_mode="stall")) as seat:
            with pytest.raises(httpx.ReadTimeout):
                async with client(timeout=0.2) as one:
                    await one.post(f"{seat.url}/chat/completions", json=asked())
            while seat.truth.in_flight:
                await asyncio.sleep(0.01)
            return seat

    assert asyncio.run(act()).truth.aborted == 1


def test_tokens_are_on_time_and_the_truth_says_when() -> None:
    """A token is never early: TTFT is at least 30 ms and 10 ms for each of 4 uncached words, then 4 ms a token; what a
    client sees is no less."""

    async def act() -> tuple[StubSeat, float]:
        settings = StubSettings(ttft_s=0.03, prefill_s=0.01, itl_s=0.004, tokens=6)
        async with StubSeat(settings) as seat, client() as one:
            sent = time.monotonic()
            await one.post(f"{seat.url}/chat/completions", json=asked(prompt="a b c d"))
            return seat, time.monotonic() - sent

    seat, took = asyncio.run(act())
    ((ttft,), (tpot,), (e2e,)) = seat.truth.ttft_s, seat.truth.tpot_s, seat.truth.e2e_s
    assert ttft >= 0.07 - 1e-4
    assert ttft + 5 * tpot >= 0.09 - 1e-4
    assert ttft + 5 * tpot <= e2e <= took
    assert seat.truth.first is not None and seat.truth.last == pytest.approx(seat.truth.first + e2e, abs=0.01)


def test_one_connection_serves_many_requests_at_their_own_pace() -> None:
    """A client that keeps its connection opens one; six clients at once are six in flight."""

    async def act() -> StubSeat:
        async with StubSeat(StubSettings(ttft_s=0.05)) as seat:
            async with client() as one:
                for _ in range(3):
                    await one.post(f"{seat.url}/chat/completions", json=asked())
                assert (seat.truth.connections, seat.truth.in_flight_max) == (1, 1)
                sent = [one.post(f"{seat.url}/chat/completions", json=asked()) for _ in range(6)]
                await asyncio.gather(*sent)
            return seat

    truth = asyncio.run(act()).truth
    assert (truth.connections, truth.in_flight_max) == (6, 6)


def test_its_routes_and_what_it_saw() -> None:
    """It lists its model, is healthy, tells the truth, forgets it when asked, and kept the last bodies and headers."""

    async def act() -> None:
        async with StubSeat(StubSettings(model="m")) as seat, client() as one:
            root = seat.url.removesuffix("/v1")
            assert (await one.get(f"{seat.url}/models")).json()["data"][0]["id"] == "m"
            assert (await one.get(f"{root}/health")).status_code == 200
            assert (await one.get(f"{root}/nothing")).status_code == 404
            assert (await one.post(f"{seat.url}/chat/completions", content=b"{")).status_code == 400
            await one.post(f"{seat.url}/chat/completions", json=asked(), headers={"authorization": "Bearer k"})
            assert seat.truth.bodies[-1] == asked()
            assert "authorization: Bearer k" in seat.truth.heads[-1]
            told = (await one.get(f"{root}/stub/stats")).json()
            assert (told["requests"], told["answered"], len(told["ttft_s"])) == (1, 1, 1)
            await one.post(f"{root}/stub/reset")
            assert (await one.get(f"{root}/stub/stats")).json()["requests"] == 0

    asyncio.run(act())


def test_in_a_process_of_its_own_it_is_the_same() -> None:
    """Its settings reach it as words, and it is gone when the block ends."""
    settings = StubSettings(tokens=3, word=" b", fail_share=0.0, strict=True, cached="null")
    with served_apart(settings) as url:
        request = urllib.request.Request(f"{url}/chat/completions", json.dumps(asked(stream=False)).encode())
        with urllib.request.urlopen(request, timeout=5) as reply:
            told = json.load(reply)
        assert told["choices"][0]["message"]["content"] == " b b b"
        assert told["usage"]["prompt_tokens_details"] == {"cached_tokens": None}
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"{url}/models", timeout=5)


def test_it_ends_with_its_parent() -> None:
    """A parent that is killed takes the stub with it."""
    code = (
        "import sys, time\nfrom evalflow.model.seat.stub import StubSettings, served_apart\n"
        "with served_apart(StubSettings()) as url:\n    print(url, flush=True)\n    time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        url = parent.stdout.readline().strip()
        parent.kill()
        parent.wait()
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=1):
                time.sleep(0.1)
        except OSError:
            return
    pytest.fail("the stub outlived its parent")


@pytest.mark.parametrize("wrong", [{"fail_share": 1.5}, {"tokens": 0}, {"tokens_per_chunk": 0}])
def test_settings_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    """A share is one, and there is a token to send."""
    with pytest.raises(ValueError, match=r"; give "):
        StubSettings(**wrong)
