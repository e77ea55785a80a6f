"""A remote seat from the command line: each way to fail has its class and its exit code, each claim its proof."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evalflow.arm import Arm
from evalflow.dataset.prompts import Prompts
from evalflow.model.seat.seat import Seat
from evalflow.model.seat.stub import StubSeat, StubSettings, served_apart
from evalflow.record import Completion, Decoding, Item, Request
from evalflow.runner.parts import PlannedArm
from evalflow.runner.walk import walk
from tests.conftest import Cli, Ran
from tests.model.seat.odd_server import Asked, Wire, in_thread, odd

SHARED = ["dataset.words=200", "dataset.shared=180", "dataset.group=6"]
"""Prompts of 200 words, of which six have 180 in common: 176 of those are whole blocks of 16."""


def load(cli: Cli, url: str, *more: str, limit: int = 100) -> Ran:
    line = ["experiment=load", "tracking=none", "summary=json", f"model.base_url={url}", f"limit={limit}"]
    # what is tested here is not whether this machine has other work
    return cli(*line, "concurrency=6", "runner.lag_limit_s=30", *more)


def summaries(ran: Ran) -> dict[str, Any]:
    """The lines of JSON that were printed, by arm."""
    told = [json.loads(line) for line in ran.out.splitlines() if line.startswith("{")]
    return {one["arm"]: one for one in told}


def kinds(ran: Ran) -> dict[str, int]:
    """How many rows failed, by class."""
    return dict(Counter(row["error"]["kind"] for row in ran.rows if row["error"] is not None))


FAILING = {
    "sse_error": "stream_error",
    "cut": "cut",
    "empty": "no_tokens",
    "http429": "http_429",
    "http500": "http_500",
    "http503": "http_503",
    "no_finish": "cut",
    "garbage": "bad_reply",
    "stall": "stalled",
}


@pytest.mark.parametrize("mode", FAILING)
def test_of_100_requests_28_fail_and_are_counted_by_class(cli: Cli, mode: Any) -> None:
    """None is taken for an answer, none is left out, and the gate on errors decides the exit code."""
    with in_thread(StubSeat(StubSettings(tokens=4, fail_share=0.28, fail_mode=mode))) as stub:
        ran = load(cli, stub.url, "model.timeouts.between_tokens_s=0.1")
        assert stub.truth.requests == 101, "the probe's one, and no retry"
    assert (ran.code, kinds(ran)) == (1, {FAILING[mode]: 28})
    told = summaries(ran)["load"]
    assert (told["n"], told["incomplete"], told["verdict"]) == (100, 28, "fail")
    figures = ran.report["arms"]["load"]["figures"]
    assert figures["n/error_share"]["value"] == pytest.approx(0.28)
    assert (figures["lat/ttft_s/p50"]["n_scored"], figures["lat/ttft_s/p50"]["n_error"]) == (72, 28)
    assert all(row["draft"] is None for row in ran.rows if row["error"])


def test_a_whole_answer_without_usage_and_done_is_an_answer(cli: Cli) -> None:
    """It has its finish reason; what its tokens were is counted by chunks for 28 of 100, and marked so."""
    settings = StubSettings(tokens=4, continuous_usage=False, fail_share=0.28, fail_mode="no_done")
    with in_thread(StubSeat(settings)) as stub:
        ran = load(cli, stub.url)
    assert (ran.code, kinds(ran), summaries(ran)["load"]["incomplete"]) == (0, {}, 0)
    assert Counter(row["tokens_source"] for row in ran.rows) == {"usage": 72, "chunks": 28}
    assert {row["tokens_in"] for row in ran.rows if row["tokens_source"] == "chunks"} == {None}


def test_connections_lost_before_an_answer_are_sent_again_once(cli: Cli) -> None:
    """Every row is answered, and says how often it was asked."""
    with in_thread(StubSeat(StubSettings(tokens=4, fail_share=0.1, fail_mode="drop"))) as stub:
        ran = load(cli, stub.url, "concurrency=1")
        again = sum(row["attempts"] - 1 for row in ran.rows)
        assert (ran.code, kinds(ran)) == (0, {})
        assert stub.truth.failed == again > 0


def test_a_seat_that_is_gone_in_the_middle_ends_in_order(cli: Cli) -> None:
    """After some lost connections the rest is not asked; the run ends, each row has its class, and the gate fails."""

    async def serve(asked: Asked, wire: Wire) -> None:
        await (wire.answer() if asked.number <= 11 else _lost(wire))

    with odd(serve) as server:
        ran = load(cli, server.url, "concurrency=1")
        assert len(server.posts) == 11 + 8
    assert (ran.code, kinds(ran)) == (1, {"reset": 4, "seat_down": 86})


async def _lost(wire: Wire) -> None:
    wire.reset()


def test_the_first_token_is_the_first_with_text(cli: Cli) -> None:
    """Headers, role and two empty chunks come at once, the first token after 20 ms: none of them is taken for it."""
    settings = StubSettings(ttft_s=0.02, itl_s=0.001, tokens=4, empty_chunks=2, early_role=True)
    with in_thread(StubSeat(settings)) as stub:
        ran = load(cli, stub.url, limit=20)
    for row in ran.rows:
        times = row["times"]
        assert times["first_token"] - times["sent"] >= 0.02 - 1e-4
        assert times["first_byte"] < times["first_token"]


def test_time_per_token_where_a_chunk_holds_four(cli: Cli) -> None:
    """Of 16 tokens in chunks of 4, twelve come after the first chunk: (last - first) / 12, worked out from the rows."""
    with in_thread(StubSeat(StubSettings(ttft_s=0.01, itl_s=0.002, tokens=16, tokens_per_chunk=4))) as stub:
        ran = load(cli, stub.url, limit=20)
    assert {tuple(row["chunk_tokens"]) for row in ran.rows} == {(4, 4, 4, 4)}
    by_hand = [(row["times"]["last_token"] - row["times"]["first_token"]) / 12 for row in ran.rows]
    figure = ran.report["arms"]["load"]["figures"]["lat/tpot_s/p50"]["value"]
    assert figure == pytest.approx(statistics.median(by_hand), rel=0.05)


def test_reasoning_is_tokens_and_is_not_seen(cli: Cli) -> None:
    """Eight of sixteen tokens are reasoning: the first of them is the first token, the ninth the first visible one."""
    with in_thread(StubSeat(StubSettings(ttft_s=0.01, itl_s=0.002, tokens=16, reasoning=8))) as stub:
        ran = load(cli, stub.url, limit=20)
    for row in ran.rows:
        assert row["reasoning_tokens"] == 8
        unseen = sum(row["gaps"][:8])
        assert unseen > 0
        assert row["times"]["first_visible"] - row["times"]["first_token"] == pytest.approx(unseen, abs=1e-6)
        assert row["draft"] == " tok" * 8


def test_a_seat_that_never_counts_is_counted_by_chunks(cli: Cli) -> None:
    """And its prompts' tokens are unknown, not 0."""
    with in_thread(StubSeat(StubSettings(tokens=5, usage=False, continuous_usage=False))) as stub:
        ran = load(cli, stub.url, limit=10)
    assert {(row["tokens_out"], row["tokens_source"], row["tokens_in"]) for row in ran.rows} == {(5, "chunks", None)}
    assert ran.report["instrument"]["seats"]["load"]["findings"]["stream_usage"] is False


def test_what_was_found_out_is_part_of_the_instrument(cli: Cli) -> None:
    """And connections are used again: six workers open six."""
    with in_thread(StubSeat(StubSettings(ttft_s=0.005, cache_block=16))) as stub:
        ran = load(cli, stub.url, "model.probe=full", limit=60)
        assert stub.truth.connections == summaries(ran)["load"]["connections"] == 6
    told = ran.report["instrument"]["seats"]["load"]
    assert told["identity"]["models"] == ["stub"]
    assert (told["findings"]["cache_step"], told["findings"]["sampling_varies"]) == (16, False)


def test_a_sampled_arm_on_a_greedy_seat_is_unavailable(cli: Cli) -> None:
    """The run could not complete, and says why."""
    with in_thread(StubSeat(StubSettings())) as stub:
        ran = load(cli, stub.url, "model.probe=full", "arms.load.decoding.temperature=1.0", limit=5)
    assert ran.code == 3
    assert "three seeds gave one text" in ran.report["arms"]["load"]["unavailable"]


def test_a_seat_that_changes_meanwhile_is_no_instrument(cli: Cli) -> None:
    """Its version was another at the end: every figure is undefined, no gate can be read, and the exit code is 2."""

    async def serve(asked: Asked, wire: Wire) -> None:
        await wire.answer(usage={"prompt_tokens": 3, "completion_tokens": 1})

    async def who(asked: Asked, wire: Wire) -> None:
        if asked.path.endswith("/models"):
            await wire.told({"data": [{"id": "m"}]})
        else:
            await wire.told({"version": "1" if len(server.posts) < 5 else "2"})

    with odd(serve, gets=who) as server:
        ran = load(cli, server.url, limit=10)
    assert ran.code == 2
    arm = ran.report["arms"]["load"]
    assert "its version was 1, is 2" in arm["facts"]["instrument_fault"]
    assert {figure["value"] for figure in arm["figures"].values()} == {None}
    assert {gate["outcome"] for gate in ran.report["gates"].values()} == {"unreadable"}


WARM = ["+arm@arms.warm=warm", "+arm@arms.isolated=isolated", "model.isolation=cache_salt", *SHARED]
HIT = ["+gates.hit={figure: cache/hit_share, arm: warm, floor: 0.9}"]
FAST = ["+gates.fast={figure: lat/ttft_s/p50, arm: warm, ceiling: 60.0}"]


def test_cold_isolated_and_warm_are_what_they_claim(cli: Cli) -> None:
    """Isolated rows share nothing and hit nothing, first reads of a cold arm too; of warm ones nine in ten hit."""
    with in_thread(StubSeat(StubSettings(tokens=2, cache_block=16))) as stub:
        ran = load(cli, stub.url, *WARM, *HIT, *FAST, limit=24)
    assert ran.code == 0, ran.out
    arms = ran.report["arms"]
    assert {name: arm["claims"]["cache"] for name, arm in arms.items()} == dict.fromkeys(arms, "held")
    shares = {name: arm["figures"]["cache/hit_share"]["value"] for name, arm in arms.items()}
    assert (shares["isolated"], shares["warm"] > 0.9) == (0.0, True)
    firsts = [row["cached_tokens"] for row in ran.rows if row["arm"] == "load" and int(row["item_id"][1:]) % 6 == 0]
    assert firsts == [0, 0, 0, 0]
    assert {row["cached_tokens"] for row in ran.rows if row["arm"] == "warm"} == {176}


def test_a_warm_arm_that_never_hits_has_no_times(cli: Cli) -> None:
    """The seat reports 0 cached tokens throughout: the claim is broken, times are unreadable, and so is the run."""
    with in_thread(StubSeat(StubSettings(tokens=2, cache_block=0))) as stub:
        ran = load(cli, stub.url, *WARM, *FAST, limit=12)
    assert ran.code == 2
    warm = ran.report["arms"]["warm"]
    assert warm["claims"]["cache"] == "broken"
    assert warm["figures"]["lat/ttft_s/p50"]["value"] is None
    assert "not what it claims" in ran.report["gates"]["fast"]["reason"]


def test_a_hit_that_nobody_reports_is_unknown(cli: Cli) -> None:
    """Nothing is said of cached tokens: no claim can be decided, and the gate on hits is unreadable, never passed."""
    with in_thread(StubSeat(StubSettings(tokens=2, cache_block=16, cached="absent"))) as stub:
        ran = load(cli, stub.url, *WARM, *HIT, limit=12)
    assert ran.code == 2
    assert {arm["claims"]["cache"] for arm in ran.report["arms"].values()} == {"cannot_say"}
    assert ran.report["gates"]["hit"]["outcome"] == "unreadable"
    assert ran.report["arms"]["warm"]["figures"]["cache/hit_share"]["value"] is None


def bank() -> tuple[Item, ...]:
    """Eight groups of six, in turn: the first of every group, then the second of every group, and so on."""
    items = Prompts(n=48, words=200, shared=180, group=6).items()
    return tuple(sorted(items, key=lambda item: int(item.id[1:]) % 6))


def hit_share(walked: list[Request], warmed: list[bool]) -> float:
    """Ask in this order a seat whose cache holds two groups; the share of the rows (not of what warms) that hit."""

    async def act(url: str) -> list[Completion]:
        seat = Seat(note="a test's", base_url=url, probe="off", isolation="cache_salt")
        await seat.start()
        answers = [await seat.complete(request) for request in walked]
        await seat.close()
        return answers

    with in_thread(StubSeat(StubSettings(tokens=1, cache_block=16, cache_blocks=2 * 13))) as stub:
        answers = asyncio.run(act(stub.url))
    rows = [answer for answer, warms in zip(answers, warmed, strict=True) if not warms]
    return sum(2 * (row.cached_tokens or 0) >= (row.tokens_in or 0) for row in rows) / len(rows)


def test_a_corpus_larger_than_the_cache_is_warmed_group_by_group() -> None:
    """To warm all groups first and then walk the bank measures a cold cache under the name of a warm one."""
    items, decoding = bank(), Decoding(max_tokens=1)
    planned = PlannedArm("warm", Arm(cache="warm"), Seat(note="a test's", base_url="http://127.0.0.1:9/v1"), decoding)
    blocks = [(block.warm, list(block.steps)) for block in walk(planned, items, 0, "salt")]
    warms = [warm for warm, _ in blocks if warm is not None]
    in_bank_order = {step.item.id: step.request for _, steps in blocks for step in steps}
    rows = [in_bank_order[item.id] for item in items]
    assert (len(warms), len(rows)) == (8, 48)
    naive = hit_share([*warms, *rows], [True] * 8 + [False] * 48)
    ours: list[tuple[Request, bool]] = []
    for warm, steps in blocks:
        ours += [(warm, True)] if warm is not None else []
        ours += [(step.request, False) for step in steps]
    assert naive < 0.05
    assert hit_share([request for request, _ in ours], [warms for _, warms in ours]) > 0.9


def test_an_open_loop_goes_on_while_the_seat_stalls(cli: Cli) -> None:
    """Fifty a second are sent although nothing is answered for 0.4 s, and each has waited since it was due."""
    until = asyncio.Event()

    async def serve(asked: Asked, wire: Wire) -> None:
        if asked.number == 2:  # the first after the probe
            asyncio.get_running_loop().call_later(0.4, until.set)
        if asked.number > 1:
            await until.wait()
        await wire.answer()

    with odd(serve) as server:
        ran = load(cli, server.url, "arms.load.rate=50", "arms.load.arrivals=constant", "concurrency=1", limit=15)
    assert ran.code == 0, ran.out
    rows = sorted(ran.rows, key=lambda row: row["item_id"])
    first = rows[0]["times"]["scheduled"]
    for number, row in enumerate(rows):
        times = row["times"]
        assert times["scheduled"] == pytest.approx(first + number / 50, abs=1e-6)
        assert times["end"] - times["scheduled"] >= 0.4 - number / 50 - 0.005
    assert ran.report["arms"]["load"]["driver"]["in_flight_max"] == 15
    e2e = statistics.median(row["times"]["end"] - row["times"]["scheduled"] for row in rows)
    assert ran.report["arms"]["load"]["figures"]["lat/e2e_s/p50"]["value"] == pytest.approx(e2e, rel=0.05)


def test_latency_counts_from_when_a_request_was_due(cli: Cli) -> None:
    """A client that holds itself to 1200 a minute sends the tenth request 0.45 s late, if all were due at once."""
    with in_thread(StubSeat(StubSettings(tokens=1))) as stub:
        more = ["arms.load.rate=100000", "model.limits.requests_per_minute=1200"]
        ran = load(cli, stub.url, *more, limit=10)
    rows = sorted(ran.rows, key=lambda row: row["times"]["sent"])
    for number, row in enumerate(rows):
        assert row["times"]["sent"] - row["times"]["scheduled"] >= 0.05 * number - 0.005
    assert ran.report["arms"]["load"]["figures"]["lat/e2e_s/p50"]["value"] >= 0.2


WATCHED = """
import sys, time
from evalflow.cli import main

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "mlflow"):
            print("wanted", name, time.monotonic(), flush=True)
            raise ImportError(name + " is kept out by a test")

sys.meta_path.insert(0, Finder())
print("ended", main(sys.argv[1:]), *sorted(sys.modules))
"""
"""A command line whose first wish for torch or mlflow is noted (s, monotonic) and refused."""


@pytest.mark.parametrize("tracking", ["none", "mlflow"])
def test_a_load_wants_no_torch_and_mlflow_only_afterwards(home: Path, tracking: str) -> None:
    """What a load needs is an HTTP client: its tracker is imported when the last answer has come."""
    with served_apart(StubSettings(tokens=2)) as url:
        line = ["experiment=load", f"tracking={tracking}", f"model.base_url={url}", "limit=5"]
        ran = subprocess.run([sys.executable, "-c", WATCHED, *line], capture_output=True, text=True, check=True)
    told = [words.split() for words in ran.stdout.splitlines()]
    ended = next(words for words in told if words[:1] == ["ended"])
    wanted = [(words[1], float(words[2])) for words in told if words[:1] == ["wanted"]]
    assert ended[1] == "0", ran.stdout + ran.stderr
    assert {"torch", "mlflow", "transformers", "pandas"}.isdisjoint(ended)
    assert {name for name, _ in wanted} == (set() if tracking == "none" else {"mlflow"})
    rows = next(home.glob("outputs/load/*/rows.jsonl")).read_text(encoding="utf-8").splitlines()
    last = max(json.loads(row)["times"]["end"] for row in rows)
    assert all(at > last for _, at in wanted)


def test_what_is_missing_is_told_before_anything_is_started(cli: Cli, home: Path) -> None:
    """A variable that the environment lacks is one line and exit code 64, with no run; an optional arm is skipped."""
    line = ["experiment=load", "model.base_url=http://127.0.0.1:9/v1", "model.key_env=NO_SUCH_KEY", "tracking=none"]
    ran = cli(*line)
    said = "evalflow: arms.load: model.key_env: the environment has no NO_SUCH_KEY; set it"
    assert (ran.code, ran.err.strip()) == (64, said)
    assert not list(home.glob("outputs/load/*"))
    assert cli(*line, "+arms.load.optional=true").code == 2


def test_a_model_that_the_seat_does_not_list_is_noted(cli: Cli) -> None:
    """The stub answers to any name, and lists one of its own."""
    with in_thread(StubSeat(StubSettings(tokens=4))) as stub:
        ran = load(cli, stub.url, "model.model=nope", limit=3)
    assert any("asked for the model nope, which its seat answered to" in note for note in ran.report["notes"])
