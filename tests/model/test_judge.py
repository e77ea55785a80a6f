"""A judge asks about stored answers, and is the model that it asks in everything else."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from evalflow.errors import ModelError
from evalflow.model.judge import Judge
from evalflow.model.protocol import Model
from evalflow.model.scripted import Scripted
from evalflow.record import Cache, Completion, Decoding, Request
from tests.graded import RUBRIC, finished, scripted

pytestmark = pytest.mark.usefixtures("home")


@dataclass(frozen=True)
class Told(Model):
    """Notes what it is told and asked."""

    regimes: ClassVar[tuple[str, ...]] = ("cold", "isolated", "warm")
    paced: ClassVar[bool] = True
    concurrency_free: ClassVar[bool] = True
    calls: list[Any] = field(default_factory=list, compare=False)
    lacks: str | None = None

    def identity(self) -> Mapping[str, Any]:
        return {"model": "told"}

    def missing(self) -> str | None:
        return self.lacks

    async def start(self) -> None:
        self.calls.append("start")

    async def prove(self, decoding: Decoding, cache: Cache) -> None:
        self.calls.append(("prove", decoding, cache))

    async def complete(self, request: Request) -> Completion:
        self.calls.append(request)
        return Completion("Rating: 4", "stop", 7, 2)

    async def measure(self, probe: str) -> Sequence[Mapping[str, float]] | None:
        return [{probe: 1.0}]

    async def settle(self) -> None:
        self.calls.append("settle")

    def facts(self) -> Mapping[str, Any]:
        return {"told": len(self.calls)}

    def price(self, completion: Completion) -> float | None:
        return 0.5

    async def close(self) -> None:
        self.calls.append("close")


@pytest.fixture
def run(home: Path) -> Path:
    """Arm `one` is right; `two` has an empty answer to a, an error on c, and passes 1 and 3."""
    two = {"model": scripted(answers={"a": "", "b": "near"}, otherwise=None), "seeds": [3, 1]}
    return finished(arms={"one": {}, "two": two})


def judge(run: Path | str, arm: str = "one", **changes: Any) -> Judge:
    return Judge(**{"run": str(run), "arm": arm, "rubric": RUBRIC, "judge": Told(), **changes})


def asked(item: str, repeat: int = 0, prompt: str | None = None) -> Request:
    return Request(item, f"question {item}" if prompt is None else prompt, Decoding(), 42, repeat=repeat)


def test_it_asks_the_model_about_the_stored_answer(run: Path) -> None:
    """With the rubric filled in, and the request's own seed, decoding and salt; the reply is its answer."""
    one = judge(run)
    reply = asyncio.run(one.complete(asked("b")))
    (request,) = one._judge.calls
    first, _, rest = request.prompt.partition("\n")
    assert (first, rest.splitlines()[1]) == ("Asked: question b", "right")
    assert request == Request("b", request.prompt, Decoding(), 42)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("Rating: 4", 7, 2)


def test_it_says_whose_answer_a_row_grades(run: Path) -> None:
    """The pass of the request's own seed, or the one that it is set to."""
    about = judge(run, "two").about(asked("b", repeat=3))
    assert about == {"run": run.name, "arm": "two", "seed": 3, "answer": "near"}
    assert judge(run, "two", seed=1).about(asked("b", repeat=7))["seed"] == 1
    assert judge(run, "two").about(asked("c", repeat=3))["answer"] is None


@pytest.mark.parametrize(
    ("request_", "kind", "said"),
    [
        (asked("a", 3), "empty_answer", "the answer to grade is empty"),
        (asked("c", 3), "no_answer", "there is no answer to grade (ModelError: scripted: no answer for item 'c'"),
        (asked("b", 0), "not_answered", "has no row of seed 0 for it; its passes are 1, 3: set seeds, or model.seed"),
        (asked("z", 3), "other_item", "has no such item; compose dataset=graded_run of this run"),
        (asked("b", 3, "another"), "other_item", "was asked another prompt for it; compose dataset=graded_run"),
    ],
)
def test_what_cannot_be_graded_is_not_asked_about(run: Path, request_: Request, kind: str, said: str) -> None:
    """Each is a failure with its own class, and the model never hears of it."""
    two = judge(run, "two")
    with pytest.raises(ModelError) as refused:
        asyncio.run(two.complete(request_))
    assert refused.value.kind == kind
    assert said in str(refused.value)
    assert two._judge.calls == []


def test_everything_else_is_the_models(run: Path) -> None:
    """What it can be, costs, measures and notices."""
    one = judge(run)

    async def use() -> None:
        await one.start()
        await one.prove(Decoding(), "cold")
        await one.settle()
        await one.close()

    asyncio.run(use())
    assert one._judge.calls == ["start", ("prove", Decoding(), "cold"), "settle", "close"]
    assert (one.paced, one.concurrency_free, one.regimes) == (True, True, ("cold", "isolated"))
    assert asyncio.run(one.measure("memory")) == [{"memory": 1.0}]
    assert one.facts() == {"told": 4}
    assert one.price(Completion("x", "stop")) == 0.5
    plain = judge(run, judge=Scripted())
    assert (plain.paced, plain.concurrency_free, plain.regimes) == (False, True, ("cold",))


def test_its_identity_is_all_that_makes_a_grade_another(run: Path) -> None:
    """The model, the rubric, the pass and the answers; who grades are the first two alone."""
    one = judge(run)
    others = {
        "model": judge(run, judge=Scripted(otherwise="x")),
        "rubric": judge(run, rubric="Another: {answer}"),
        "arm": judge(run, "two"),
        "seed": judge(run, seed=0),
    }
    assert one.identity() == judge(run.name).identity()
    assert all(one.identity() != other.identity() for other in others.values())
    grader = {name: one.graded_by() == other.graded_by() for name, other in others.items()}
    assert grader == {"model": False, "rubric": False, "arm": True, "seed": True}


def test_a_run_that_is_gone_leaves_the_rest_of_its_identity(run: Path) -> None:
    """So that what it graded can be scored again; asked to run, it says what is missing."""
    grader = judge(run).graded_by()
    shutil.rmtree(run)
    gone = judge(run)
    assert gone.graded_by() == grader
    assert gone.identity()["graded"] == {"run": None, "arm": "one", "seed": None, "answers": None}
    assert gone.missing() is not None
    with pytest.raises(ModelError, match="there is no such run"):
        asyncio.run(gone.start())


def test_a_run_that_became_another_is_not_graded(run: Path) -> None:
    """Between the plan and the start: the answers must be those that the plan was made of."""
    one = judge(run, "two")
    one.identity()
    rows = (run / "rows.jsonl").read_text(encoding="utf-8")
    (run / "rows.jsonl").write_text(rows.replace('"draft":"near"', '"draft":"nearer"'), encoding="utf-8")
    with pytest.raises(ModelError, match="has other answers than when this was planned; start again"):
        asyncio.run(one.start())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"arm": "three"}, "has no arm three; choose from one, two"),
        ({"arm": "two", "seed": 0}, "has no pass of seed 0; choose from 1, 3"),
        ({"judge": Told(lacks="its key is not set; set it")}, "its key is not set; set it"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_started(run: Path, changes: dict[str, Any], said: str) -> None:
    """The arm, the pass, or what the model lacks."""
    told = judge(run, **changes).missing()
    assert told is not None
    assert said in told
    assert judge(run).missing() is None


def test_a_target_that_the_rubric_asks_for_must_be_there() -> None:
    """One item without it is enough."""
    run = finished([{"id": "a", "input": "x", "target": "y"}, {"id": "b", "input": "z"}], metrics={})
    told = judge(run, rubric="{target} {answer}").missing()
    assert told == "the rubric asks for {target}, and 1 items have none, 'b' first; write a rubric without it"
    assert judge(run).missing() is None


def test_a_run_that_serves_something_else_is_refused(run: Path) -> None:
    """A judge would read what no reader gets."""
    config = (run / "config.yaml").read_text(encoding="utf-8")
    (run / "config.yaml").write_text(f"{config}serving: {{_target_: x.Y}}\n", encoding="utf-8")
    told = judge(run).missing()
    assert told is not None
    assert "serves something else than its models wrote" in told


def test_what_is_no_model_is_refused(run: Path) -> None:
    """And so is a rubric that grades nothing."""
    with pytest.raises(ValueError, match="judge is str, which has no identity; give a model that answers"):
        judge(run, judge="gpt")
    with pytest.raises(ValueError, match=r"rubric has no \{answer\}"):
        judge(run, rubric="x")
