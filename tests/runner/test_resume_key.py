"""The resume key, field by field: what makes a config changes the key, or is on the list of what cannot matter.

A field that is new to one of these classes has no entry here, and the test says so until somebody has decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest

from evalflow.arm import Arm
from evalflow.dataset.protocol import Shard
from evalflow.model.reader import Reader
from evalflow.model.scripted import Scripted
from evalflow.model.seat.client import Connection
from evalflow.model.seat.patience import Retries, Timeouts
from evalflow.model.seat.restraint import Breaker, RateLimits
from evalflow.model.seat.seat import Seat
from evalflow.model.tiny_gpt.model import TinyGPT
from evalflow.price import Prices
from evalflow.record import Decoding
from evalflow.runner.parts import Experiment
from evalflow.runner.plan import ARM_CANNOT_MATTER, CANNOT_MATTER, Plan
from evalflow.runner.settings import Runner
from evalflow.scoring import Scoring
from tests.conftest import plan_of

pytestmark = pytest.mark.usefixtures("home")
SCRIPTED = {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "right"}
WARMED = {"_target_": "tests.stand_ins.Warmed"}
TINY = {"_target_": "evalflow.model.tiny_gpt.model.TinyGPT"}
SCORING = "evalflow.scoring.Scoring"
PAIR = {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}


def arm(**changes: Any) -> dict[str, Any]:
    """A config whose first arm is of a model that can be warmed, with `changes`."""
    return {"arms": {"one": {"model": WARMED, **changes}, "two": {}}}


def decoding(**changes: Any) -> dict[str, Any]:
    return {"decoding": {"_target_": "evalflow.record.Decoding", "temperature": 0.5, **changes}}


def scored(**changes: Any) -> dict[str, Any]:
    """A config that scores texts, with `changes` to its first arm."""
    return {"scoring": {"_target_": SCORING}, "model": TINY, "arms": {"one": changes, "two": {}}}


def scoring(**changes: Any) -> dict[str, Any]:
    return {**scored(), "scoring": {"_target_": SCORING, **changes}}


def runner(**changes: Any) -> dict[str, Any]:
    return {"runner": {"_target_": "evalflow.runner.settings.Runner", **changes}}


BASE = {**arm(), **decoding()}
CHANGES: Mapping[type, Mapping[str, dict[str, Any]]] = {
    Experiment: {
        "name": {"name": "other"},
        "dataset": {
            "dataset": {"_target_": "evalflow.dataset.jsonl.Jsonl", "path": "items.jsonl", "prompt": "{input}!"}
        },
        "model": {"model": {**SCRIPTED, "otherwise": "wrong"}},
        "decoding": decoding(max_tokens=9),
        "runner": runner(timeout_s=9.0),
        "tracking": {"tracking": {"_target_": "evalflow.tracking.untracked.Untracked"}},
        "serving": {"serving": {"_target_": "evalflow.serving.grounded.Grounded"}},
        "scoring": scored(),
        "summary": {"summary": "json"},
        "description": {"description": "words"},
        "seed": {"seed": 1},
        "step": {"step": 150},
        "concurrency": {"concurrency": 8},
        # what chooses items matters by the items alone: these choose all of them
        "limit": {"limit": 6},
        "where": {"where": {"id": list("abcdef")}},
        "shard": {"shard": {"index": 0, "of": 1}},
        "resume": {"resume": "new"},
        "dry_run": {"dry_run": True},
        "arms": {"arms": {"one": {"model": WARMED}, "two": {}, "three": {}}},
        "metrics": {"metrics": {"m": {"_target_": "evalflow.metric.contains.Contains"}}},
        "comparisons": {"comparisons": {"c": PAIR}},
        "gates": {"gates": {"g": {"figure": "quality/exact", "floor": 0.5}}},
        "limits": {"limits": ["it shows little"]},
    },
    Arm: {
        "model": arm(model=SCRIPTED),
        "decoding": arm(decoding={"temperature": 0.7}),
        "seeds": arm(seeds=[0, 1]),
        "concurrency": arm(concurrency=2),
        "rate": arm(rate=5.0),
        "arrivals": arm(rate=5.0, arrivals="constant"),
        "cache": arm(cache="warm"),
        "hit_floor": arm(cache="warm", hit_floor=0.5),
        "hit_ceiling": arm(hit_ceiling=0.5),
        "scoring": scored(scoring={"window": 32}),
        "reference": scored(reference="two"),
        "control": arm(control=True),
        "optional": arm(optional=True),
    },
    Decoding: {
        "temperature": decoding(temperature=0.6),
        "top_p": decoding(top_p=0.9),
        "max_tokens": decoding(max_tokens=9),
        "stop": decoding(stop=["\n"]),
    },
    Scoring: {
        "window": scoring(window=32),
        "stride": scoring(stride=16),
        "bos": scoring(bos="first"),
        "walk": scoring(walk="llama_cpp"),
        "path": scoring(path="tokens"),
        "chunk": scoring(path="chunks", chunk=8),
        "batch": scoring(batch=2),
        "backwards": scoring(backwards=True),
        "free_run": scoring(free_run=4),
        "free_from": scoring(free_run=4, free_from=8),
    },
    Runner: {
        "outputs": runner(outputs="elsewhere"),
        "timeout_s": runner(timeout_s=9.0),
        "start_timeout_s": runner(start_timeout_s=9.0),
        "lag_limit_s": runner(lag_limit_s=0.5),
        "progress": runner(progress=False),
        "budget": runner(budget={"requests": 100}),
    },
    Shard: {
        "index": {"shard": {"index": 1, "of": 3}},
        "of": {"shard": {"index": 0, "of": 2}},
    },
}
"""A change of each field of each class that makes a config."""
SCORED_FIRST = ("window", "stride", "bos", "walk", "path", "batch", "backwards", "free_run")
UNDER: Mapping[tuple[type, str], dict[str, Any]] = {
    (Shard, "index"): {"shard": {"index": 0, "of": 3}},
    (Shard, "of"): {"shard": {"index": 0, "of": 3}},
    (Arm, "arrivals"): arm(rate=5.0),
    (Arm, "hit_floor"): arm(cache="warm"),
    (Arm, "scoring"): scored(),
    (Arm, "reference"): scored(),
    **{(Scoring, name): scoring() for name in SCORED_FIRST},
    (Scoring, "chunk"): scoring(path="chunks"),
    (Scoring, "free_from"): scoring(free_run=4),
}
"""Where a field can only be changed beside others that are not the default."""
LISTED: Mapping[type, tuple[str, ...]] = {
    Experiment: tuple(CANNOT_MATTER["root"].split()),
    # claims, held against the rows when they are scored
    Arm: tuple({*ARM_CANNOT_MATTER, "hit_floor", "hit_ceiling"} - {"hits_between"}),
    Decoding: (),
    Scoring: (),
    Runner: tuple(CANNOT_MATTER["runner"].split()),
    Shard: (),
}
"""The fields that cannot matter, by the lists that the plan goes by."""


def plan(**parts: Any) -> Plan:
    return plan_of(**{**BASE, **parts})


def names(kind: type) -> list[str]:
    return [one.name for one in fields(kind) if one.init]


@pytest.mark.parametrize("kind", CHANGES, ids=lambda kind: kind.__name__)
def test_every_field_has_been_decided(kind: type) -> None:
    """A field that was added, renamed or dropped must be decided here, and no list names one that is not there."""
    assert list(CHANGES[kind]) == names(kind)
    assert set(LISTED[kind]) <= set(names(kind))


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, changes in CHANGES.items() for name in changes])
def test_a_field_changes_the_key_or_is_listed(kind: type, name: str) -> None:
    """Both ways: what is not listed changes the key, and what is listed does not."""
    before = plan(**UNDER.get((kind, name), {}))
    after = plan(**{**UNDER.get((kind, name), {}), **CHANGES[kind][name]})
    assert before.config != after.config
    assert (before.resume_key() == after.resume_key()) == (name in LISTED[kind])


@pytest.mark.parametrize(
    "change", [{"limit": 5}, {"where": {"id": ["a", "b"]}}, {"shard": {"index": 0, "of": 2}}, {"items": "fedcba"}]
)
def test_the_items_are_in_the_key_however_they_were_chosen(change: dict[str, Any]) -> None:
    """Fewer items, or the same in another order, are other rows."""
    if "items" in change:
        change = {"items": [{"id": name, "input": f"question {name}", "target": "right"} for name in change["items"]]}
    assert plan(**change).resume_key() != plan().resume_key()


def test_every_condition_of_an_arm_is_in_the_key_or_listed() -> None:
    """What a report says of an arm's conditions is what its rows depend on, but for what is listed."""
    made = plan()
    for name, planned in made.arms.items():
        kept = {key for key in made.conditions()["arms"][name] if key != "place"}
        free = {"concurrency"} if planned.model.concurrency_free else set()
        assert kept | set(ARM_CANNOT_MATTER) | free == set(planned.conditions())
        assert not kept & ({*ARM_CANNOT_MATTER} | free)


def test_the_key_is_over_these_conditions_and_no_others() -> None:
    """Items, root seed, time limit, and each arm at its place."""
    found = plan().conditions()
    assert set(found) == {"dataset", "seed", "timeout_s", "arms"}
    assert set(found["dataset"]) == {"content_fp", "ordered_fp", "request_fp"}
    assert [one["place"] for one in found["arms"].values()] == [0, 1]


def test_the_order_of_the_arms_is_in_the_key() -> None:
    """An arm is measured after those before it."""
    turned = {"arms": dict(reversed(list(BASE["arms"].items())))}
    assert plan(**turned).resume_key() != plan().resume_key()


@pytest.mark.parametrize(
    ("model", "free"),
    [
        (SCRIPTED, True),
        ({"_target_": "evalflow.model.tiny_gpt.model.TinyGPT"}, True),
        (WARMED, False),
        ({"_target_": "tests.stand_ins.Fixed"}, False),
    ],
)
def test_concurrency_is_in_the_key_unless_the_model_is_free_of_it(model: dict[str, Any], free: bool) -> None:
    """Only a model whose answers were shown to be the same at any level says so; any other's may differ."""
    keys = {plan_of(model=model, arms={"one": {"concurrency": level}}).resume_key() for level in (1, 2)}
    assert len(keys) == (1 if free else 2)


def test_a_model_of_somebody_elses_that_says_nothing_is_not_free() -> None:
    """A class may have the methods of a model without deriving from it."""
    model = {"_target_": "tests.runner.test_resume_key.Foreign"}
    keys = {plan_of(model=model, arms={"one": {"concurrency": level}}).resume_key() for level in (1, 2)}
    assert len(keys) == 2


class Foreign:
    """A model by its methods alone."""

    def identity(self) -> dict[str, Any]:
        return {"model": "foreign"}

    missing = start = prove = warm = complete = measure = settle = facts = price = close = identity


MODEL_CHANGES: Mapping[type, Mapping[str, Any]] = {
    Scripted: {
        "answers": {"a": "wrong"},
        "otherwise": "wrong",
        "by_text": {"question": "wrong"},
        "delay_s": 0.5,
        "delays": {"a": 0.5},
        "calls": "calls.jsonl",
    },
    TinyGPT: {
        "checkpoint": "short",
        "retrain": True,
        "max_batch": 1,
        "threads": 2,
        "dtype": "float64",
        "steps": 300,
        "kept_in": "elsewhere",
    },
    Reader: {"threshold": 0.5, "abstain": "It does not say; see § {#section}."},
    Seat: {
        "note": "another desk",
        "base_url": "http://127.0.0.1:8/v1",
        "hide_host": True,
        "model": "small",
        "api": "completions",
        "system": "Be short.",
        "stream": False,
        "isolation": "marker",
        "logprobs": 2,
        "key_env": "KEY",
        "headers": {"x-team": "a"},
        "headers_env": {"x-team": "TEAM"},
        "extra_body": {"top_k": 5},
        "connection": Connection(verify=False),
        "timeouts": Timeouts(connect_s=1.0),
        "retries": Retries(attempts=1),
        "limits": RateLimits(requests_per_minute=60),
        "breaker": Breaker(failures=2),
        "prices": Prices(input_per_million=1.0, output_per_million=1.0),
        "probe": "off",
        "scoring": "echo",
        "cache_tokens": 1000,
    },
}
"""Another value of each setting of each model that ships."""
MODEL_NEEDS: Mapping[type, dict[str, Any]] = {Seat: {"note": "a desk", "base_url": "http://127.0.0.1:9/v1"}}
"""What cannot be left out of a model."""
MODEL_UNDER: Mapping[tuple[type, str], dict[str, Any]] = {
    (Seat, "hide_host"): {"base_url": "env:SEAT"},
}
"""What else changes with a setting. `SEAT` names the very URL of `MODEL_NEEDS`."""
MODEL_CANNOT_MATTER: Mapping[type, set[str]] = {
    Scripted: {"delay_s", "delays", "calls"},
    TinyGPT: {"max_batch", "kept_in"},
    Reader: set(),
    Seat: {"key_env", "headers_env", "connection", "limits", "prices", "probe", "scoring", "cache_tokens"},
}
"""How long an answer takes, where calls are noted or checkpoints kept, how many are computed at once, by what way and
at what pace a seat is reached, and what is asked of it before: no text depends on them."""


@pytest.mark.parametrize("kind", MODEL_CHANGES, ids=lambda kind: kind.__name__)
def test_a_setting_of_a_model_is_in_its_identity_or_listed(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same both ways for the models that ship, whose identity is in the key."""
    monkeypatch.setenv("SEAT", MODEL_NEEDS[Seat]["base_url"])
    assert list(MODEL_CHANGES[kind]) == names(kind)
    needs = MODEL_NEEDS.get(kind, {})
    before = kind(**needs).identity()
    after = {
        name: kind(**{**needs, **MODEL_UNDER.get((kind, name), {}), name: value}).identity()
        for name, value in MODEL_CHANGES[kind].items()
    }
    assert {name for name, identity in after.items() if identity == before} == MODEL_CANNOT_MATTER[kind]
