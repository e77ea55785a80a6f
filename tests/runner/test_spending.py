"""A budget: what ends a run in order, what is kept of it, and how it goes on."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.record import Completion, Request
from evalflow.runner.settings import Budget
from tests.conftest import ITEMS, Lab, Ran, config, faults_of

SCRIPTED = "evalflow.model.scripted.Scripted"
GATES = {"floor": {"figure": "quality/exact", "floor": 0.5}}


@dataclass(frozen=True)
class Priced(Model):
    """Right answers at a price each; `odd` gives something else as the price, or raises instead."""

    each: float = 0.5
    odd: str = ""

    def identity(self) -> Mapping[str, Any]:
        return {"model": "priced"}

    async def complete(self, request: Request) -> Completion:
        return Completion("right", "stop")

    def price(self, completion: Completion) -> Any:
        if self.odd == "raises":
            raise RuntimeError("no price list")
        return {"": self.each, "nan": math.nan, "text": "0.5", "negative": -self.each}[self.odd]


@dataclass(frozen=True)
class Trying(Model):
    """Fails at everything, after three attempts."""

    def identity(self) -> Mapping[str, Any]:
        return {"model": "trying"}

    async def complete(self, request: Request) -> Completion:
        raise ModelError("no luck", "http_503", 3)


def scripted(**settings: Any) -> dict[str, Any]:
    """A question has two words and its answer one: three tokens an answer. Calls are noted as they begin."""
    return {"_target_": SCRIPTED, "otherwise": "right", "calls": "calls.jsonl", **settings}


def here(name: str, **settings: Any) -> dict[str, Any]:
    return {"_target_": f"tests.runner.test_spending.{name}", **settings}


def runner(**budget: float) -> dict[str, Any]:
    return {"_target_": "evalflow.runner.settings.Runner", "budget": budget}


def items(ran: Ran) -> str:
    """The items that have a row, in the order of the file."""
    return "".join(row["item_id"] for row in ran.rows)


def called() -> str:
    """The items that were asked, in that order."""
    return "".join(json.loads(line)[0] for line in Path("calls.jsonl").read_text(encoding="utf-8").splitlines())


def words(limit: str, name: str) -> str:
    return f"runner.budget.{name}={limit} is spent; resume=RUN goes on with another"


@pytest.mark.parametrize(
    ("budget", "model", "kept", "said"),
    [
        ({"requests": 2}, scripted(), "ab", words("2", "requests")),
        ({"requests": 4}, here("Trying"), "ab", words("4", "requests")),  # 3, then 6
        ({"tokens": 7}, scripted(), "abc", words("7", "tokens")),  # 3, 6, then 9
        ({"price": 1.0}, here("Priced"), "ab", words("1", "price")),
        ({"price": 1.2}, here("Priced"), "abc", words("1.2", "price")),
        ({"requests": 5, "tokens": 3}, scripted(), "a", words("3", "tokens")),
    ],
)
def test_a_budget_ends_a_run_in_order(
    lab: Lab, budget: dict[str, float], model: dict[str, Any], kept: str, said: str
) -> None:
    """The rows so far stand, nothing more is asked, and the run is incomplete with the budget as the reason."""
    ran = lab(model=model, runner=runner(**budget), gates=GATES)
    assert items(ran) == kept
    assert (ran.code, ran.report["verdict"], ran.report["exit_code"]) == (3, "incomplete", 3)
    (reason,) = ran.report["reasons"]
    assert reason.startswith(f"arm one did not finish: it has {len(kept)} of 6 rows") and said in reason
    if model["_target_"] == SCRIPTED:
        assert called() == kept


def test_a_wall_time_ends_a_run_too(lab: Lab) -> None:
    """Item c takes longer than there is: it is answered, and d is never asked."""
    ran = lab(model=scripted(delays={"c": 0.25}), runner=runner(wall_s=0.2), gates=GATES)
    assert "d" not in called()
    assert items(ran) == called()
    assert ran.code == 3
    assert words("0.2", "wall_s") in ran.report["reasons"][0]


def test_what_is_in_flight_is_finished(lab: Lab) -> None:
    """Two at a time and a budget of three: the fourth was already asked when the third came, and no fifth is."""
    ran = lab(model=scripted(delay_s=0.01), arms={"one": {"concurrency": 2}}, runner=runner(requests=3))
    assert sorted(items(ran)) == list(called()) == list("abcd")
    assert {row["status"] for row in ran.rows} == {"ok"}


def test_an_open_loop_sends_nothing_more(lab: Lab) -> None:
    """What was due after the budget was spent is never sent."""
    arms = {"one": {"rate": 20.0, "arrivals": "constant"}}
    ran = lab(model=scripted(), arms=arms, runner=runner(requests=2))
    assert items(ran) == called() == "ab"
    assert ran.code == 3


def test_a_budget_is_the_runs_and_not_an_arms(lab: Lab) -> None:
    """The first arm takes six of eight requests, the second the other two, and the third is not even begun."""
    arms = {"one": {}, "two": {}, "three": {}}
    ran = lab(model=scripted(), arms=arms, runner=runner(requests=8), gates=GATES)
    assert items(ran) == "abcdef" + "ab"
    for reason, begun in zip(ran.report["reasons"], ("arm two did not finish: it has 2", "arm three"), strict=True):
        assert reason.startswith(begun) and words("8", "requests") in reason
    assert ran.report["arms"]["one"]["figures"]["quality/exact"]["value"] == 1.0


def test_a_budget_that_is_just_enough_ends_nothing(lab: Lab) -> None:
    """Six questions and six requests: the run is complete, and its gates decide."""
    ran = lab(model=scripted(), runner=runner(requests=6), gates=GATES)
    assert (ran.code, ran.report["verdict"], ran.report["reasons"]) == (0, "pass", [])


def test_without_a_budget_nothing_is_counted(lab: Lab) -> None:
    """No limit is the default, and a model that knows no price has none."""
    assert Budget() == Budget(requests=None, tokens=None, price=None, wall_s=None)
    assert lab(model=here("Priced", odd="raises"), gates=GATES).code == 0


def test_a_run_that_was_cut_short_goes_on_when_it_is_named(lab: Lab) -> None:
    """`resume=RUN` asks what is missing and nothing twice; a budget is a session's, so that each has its own."""
    first = lab(model=scripted(), runner=runner(requests=4), gates=GATES)
    assert first.folder is not None and (first.code, items(first)) == (3, "abcd")
    again = lab(model=scripted(), runner=runner(requests=1), gates=GATES, resume=first.folder.name)
    assert (again.code, again.folder, items(again)) == (3, first.folder, "abcde")
    whole = lab(model=scripted(), runner=runner(), gates=GATES, resume=first.folder.name)
    assert (whole.code, whole.folder, items(whole)) == (0, first.folder, "abcdef")
    assert called() == "abcdef"
    assert whole.report["reasons"] == []


def test_answers_without_a_price_cannot_be_held_to_one(lab: Lab) -> None:
    """A scripted answer has no price: after the first the run ends, rather than spend what nobody counts."""
    ran = lab(model=scripted(), runner=runner(price=100.0), gates=GATES)
    assert (ran.code, items(ran)) == (3, "a")
    assert "runner.budget.price cannot be kept: 1 answered without a price (model.prices)" in ran.report["reasons"][0]


@pytest.mark.parametrize("odd", ["raises", "nan", "text", "negative"])
def test_a_price_that_is_none_is_not_known(lab: Lab, odd: str) -> None:
    """A price is the model's own code: whatever it gives, the answer is kept and the run ends in order."""
    ran = lab(model=here("Priced", odd=odd), runner=runner(price=100.0), gates=GATES)
    assert (ran.code, items(ran)) == (3, "a")
    assert "1 answered without a price" in ran.report["reasons"][0]


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"requests": 0}, "runner.budget.requests: it is 0; give a number above 0, or null for no limit"),
        ({"price": -1.0}, "runner.budget.price: it is -1.0; give a number above 0, or null for no limit"),
        ({"wall_s": 0.0}, "runner.budget.wall_s: it is 0.0; give a number above 0, or null for no limit"),
        ({"euros": 5}, "runner.budget.euros: Budget has no such key; choose from price, requests, tokens, wall_s"),
    ],
)
@pytest.mark.usefixtures("home")
def test_a_budget_of_nothing_is_refused(budget: dict[str, float], said: str) -> None:
    """Zero is no limit that a run could be meant to have; no limit is null."""
    assert faults_of(config(ITEMS, runner=runner(**budget))) == [said]


@dataclass(frozen=True)
class Uncounted(Model):
    """Right answers that say nothing of their tokens."""

    def identity(self) -> Mapping[str, Any]:
        return {"model": "uncounted"}

    async def complete(self, request: Request) -> Completion:
        return Completion("right", "stop")


def test_tokens_that_are_not_known_end_a_run_whose_tokens_are_budgeted(lab: Lab) -> None:
    """They are not taken for none: the budget could then never be kept."""
    ran = lab(arms={"one": {}}, model={"_target_": f"{__name__}.Uncounted"}, runner=runner(tokens=10), gates=GATES)
    assert ran.report["verdict"] == "incomplete"
    assert "1 answered without a count" in ran.report["reasons"][0]
