"""Arms that score texts: what each needs, and what is wrong with it before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from evalflow.model.forced import Forced
from evalflow.runner.plan import Plan, build_plan
from evalflow.scoring import Scoring
from tests.conftest import config, faults_of
from tests.runner.scored_texts import ARMS, SCORING, TINY, text_config, text_plan

pytestmark = pytest.mark.usefixtures("home")
NO_SCORING = "it is of an experiment that scores texts, and this one has no scoring; compose +scoring=teacher_forced"


def forced(plan: Plan, arm: str) -> Forced:
    model = plan.arms[arm].model
    assert isinstance(model, Forced)
    return model


def test_every_arm_of_a_scoring_walks_texts() -> None:
    """Alone, or with the reference that it names, each by its own model and settings."""
    plan = text_plan(arms={"ref": {"model": {"dtype": "float32"}}, "one": {"reference": "ref"}})
    alone, beside = forced(plan, "ref"), forced(plan, "one")
    assert alone.reference is None and beside.reference is not None
    assert [side.model.dtype for side in (beside.candidate, beside.reference)] == ["float64", "float32"]
    assert plan.arms["one"].scoring == Scoring(window=96)
    assert plan.arms["one"].reference is not None
    assert plan.arms["one"].reference.name == "ref"


def test_each_walk_has_a_reference_of_its_own() -> None:
    """One arm that closes it takes it from no other."""
    plan = text_plan(arms={"ref": {}, "one": {"reference": "ref"}, "two": {"reference": "ref"}})
    models = {id(side.model) for arm in plan.arms for side in forced(plan, arm)._sides}
    assert len(models) == 5


def test_an_arm_has_its_own_way_of_scoring() -> None:
    """Laid over the experiment's key by key; the reference keeps the one of its arm."""
    arms = {"ref": {"scoring": {"batch": 4}}, "one": {"reference": "ref", "scoring": {"path": "tokens"}}}
    plan = text_plan(arms=arms)
    walk = forced(plan, "one")
    assert walk.candidate.scoring == Scoring(window=96, path="tokens")
    assert walk.reference is not None and walk.reference.scoring == Scoring(window=96, batch=4)


def test_how_an_arm_scored_is_among_its_conditions() -> None:
    """The reference's with it, whole; an arm that answers has neither."""
    conditions = text_plan().arms["one"].conditions()
    assert conditions["scoring"]["window"] == 96
    assert conditions["reference"]["model"] == conditions["model"]
    assert conditions["reference"]["reference"] is None
    plain = build_plan(config()).arms["one"].conditions()
    assert (plain["scoring"], plain["reference"]) == (None, None)


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        ({"ref": {}, "one": {"reference": "reff"}}, "arms.one.reference: there is no arm reff; did you mean ref?"),
        ({"one": {"reference": "one"}}, "arms.one.reference: it is the arm itself; name another"),
        (
            {"ref": {}, "one": {"reference": "ref"}, "two": {"reference": "one"}},
            "arms.two.reference: one has a reference of its own; name one that has none",
        ),
        (
            {"ref": {}, "one": {"reference": "ref", "scoring": {"window": 1}}},
            "arms.one.scoring.window: it is 1; give at least 2 tokens: one to see, one to score",
        ),
        (
            {"ref": {}, "one": {"scoring": {"windw": 8}}},
            "arms.one.scoring.windw: Scoring has no such key; did you mean window?",
        ),
        (
            {"ref": {}, "one": {"scoring": {"path": "slow"}}},
            "arms.one.scoring.path: 'slow' is no choice; choose from chunks, tokens, whole",
        ),
    ],
)
def test_references_and_scorings_that_cannot_be(arms: dict[str, Any], expected: str) -> None:
    """One line each, with what there is to choose from."""
    assert faults_of(text_config(arms=arms)) == [expected]


@pytest.mark.parametrize("circle", [{"one": {"reference": "two"}, "two": {"reference": "one"}}])
def test_two_arms_cannot_be_each_others_reference(circle: dict[str, Any]) -> None:
    """Both are told."""
    assert [said.split(";")[0] for said in faults_of(text_config(arms=circle))] == [
        "arms.one.reference: two has a reference of its own",
        "arms.two.reference: one has a reference of its own",
    ]


@pytest.mark.parametrize("key", ["reference", "scoring"])
def test_without_a_scoring_an_arm_has_neither(key: str) -> None:
    """An experiment whose arms answer would pass over them in silence."""
    arm = {"reference": {"reference": "ref"}, "scoring": {"scoring": {"path": "tokens"}}}[key]
    faults = faults_of(text_config(arms={"ref": {}, "one": arm}, scoring=None, metrics={}))
    assert faults == [f"arms.one.{key}: {NO_SCORING}, or drop it"]


def test_a_fault_of_the_experiments_scoring_is_told_once() -> None:
    """Where it lies, however many arms share it; an arm's own is told beside it."""
    (said,) = faults_of(text_config(scoring={**SCORING, "batch": 0}))
    assert said == "scoring.batch: it is 0; give at least 1"
    (said,) = faults_of(text_config(scoring={**SCORING, "bacth": 1}))
    assert said.startswith("scoring.bacth: ")


def test_a_class_that_is_no_scoring_is_refused() -> None:
    """As every part of another kind is."""
    faults = faults_of(text_config(scoring={"_target_": "evalflow.record.Decoding"}))
    assert faults[0].split(";")[0].endswith("Decoding is no scoring")


SCRIPTED = {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "right"}


def test_a_model_that_scores_no_texts_is_refused() -> None:
    """Whichever arm it is of."""
    faults = faults_of(text_config(arms={"ref": {}, "one": {"model": SCRIPTED, "reference": "ref"}}))
    assert faults == ["arms.one.model: Scripted scores no texts; use tiny_gpt, hf, a recording, or a seat"]


def test_a_reference_that_scores_no_texts_is_told_once() -> None:
    """At its own arm, however many are walked beside it."""
    arms = {"ref": {"model": SCRIPTED}, "one": {"reference": "ref"}, "two": {"reference": "ref"}}
    assert faults_of(text_config(arms=arms)) == [
        "arms.ref.model: Scripted scores no texts; use tiny_gpt, hf, a recording, or a seat"
    ]


def test_a_reference_that_cannot_be_built_is_told_once() -> None:
    """Its own fault, and none of the arms that name it."""
    arms = {"ref": {"model": {"dtype": "int4"}}, "one": {"reference": "ref"}, "two": {"reference": "ref"}}
    (said,) = faults_of(text_config(arms=arms))
    assert said.startswith("arms.ref.model")


def test_a_seat_scores_texts() -> None:
    """By its prompts' own scores, alone or beside a model that gives logits."""
    seat = {"_target_": "evalflow.model.seat.seat.Seat", "note": "n", "base_url": "http://127.0.0.1:9/v1"}
    plan = text_plan(arms={"ref": {}, "one": {"model": {**seat, "scoring": "echo"}, "reference": "ref"}})
    walk = forced(plan, "one")
    assert (walk.candidate.gives_logits, walk.reference and walk.reference.gives_logits) == (False, True)


@pytest.mark.parametrize(
    "changed",
    [
        {"scoring": {**SCORING, "window": 95}},
        {"scoring": {**SCORING, "bos": "none"}},
        {"arms": {"ref": {}, "one": {}}},
        {"arms": {"ref": {"model": {"dtype": "float32"}}, "one": {"reference": "ref"}}},
        {"arms": {"ref": {}, "one": {"reference": "ref", "scoring": {"path": "tokens"}}}},
        {"arms": {"ref": {}, "one": {"reference": "ref"}}, "model": {**TINY, "checkpoint": "short"}},
    ],
)
def test_what_can_change_a_scored_row_changes_the_resume_key(changed: dict[str, Any]) -> None:
    """The windows, the path, the reference and its model."""
    assert text_plan(**changed).resume_key() != text_plan(arms=ARMS).resume_key()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"seeds": [0, 1]}, "arms.one.seeds: a text that is scored has no seed to vary; give one"),
        ({"rate": 2.0}, "arms.one.rate: texts are scored one at a time, at no rate; drop it"),
    ],
)
def test_what_an_arm_that_scores_texts_cannot_have(changed: dict[str, Any], said: str) -> None:
    """More seeds would count each position again, as if it were more evidence."""
    assert faults_of(text_config(arms={"ref": {}, "one": {"reference": "ref", **changed}})) == [said]


def test_texts_are_scored_one_at_a_time() -> None:
    """Whatever concurrency is asked for: a text that waits for another would run out of its own time."""
    plan = text_plan(arms={"ref": {"concurrency": 8}})
    assert plan.arms["ref"].arm.concurrency == 1


def test_copies_of_a_text_are_told() -> None:
    """Two items of one prompt are noted, unless they share a cluster."""
    items = [{"id": name, "input": "same", "target": "x"} for name in "ab"]
    assert any("1 texts occur more than once" in note for note in text_plan(items).notes)
    assert text_plan([{**item, "cluster": "c"} for item in items]).notes == ()
