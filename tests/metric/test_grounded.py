"""Shares of what was served, on the drafts labelled by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evalflow.metric.grounded import (
    Abstained,
    AbstainExact,
    Answered,
    DraftAbstainExact,
    FiguresNotVerbatim,
    FlaggedNotVerbatim,
    GateFired,
    Partial,
    PassedEveryGate,
    Uncited,
)
from evalflow.metric.protocol import Answer, Metric
from tests.grounding.mill import LABELLED, mill_item
from tests.metric.by_hand import row
from tests.serving.test_grounded import SERVING

LABELS = {label["id"]: label for label in LABELLED["drafts"]}
PER_ROW = [
    Answered(),
    Partial(),
    PassedEveryGate(),
    Abstained(),
    GateFired("figures"),
    FiguresNotVerbatim(),
    Uncited(),
    FlaggedNotVerbatim(),
]


def served(draft: str, question: str = "How wide are the wheels?", **changes: Any) -> Answer:
    """A draft, served and scored as a run would do it."""
    item = mill_item(question)
    one = SERVING.serve(item, draft)
    return Answer(item, replace(row(draft, served=one.text, detail={"serving": one.detail}), **changes))


def labelled(label: dict[str, Any]) -> Answer:
    return served(label["draft"], label["question"])


def ids(metric: Metric) -> set[str]:
    """The labelled drafts of which a metric holds."""
    return {name for name, label in LABELS.items() if metric.stats(labelled(label)) == (1.0,)}


def where(**wanted: Any) -> set[str]:
    return {name for name, label in LABELS.items() if all(label[key] == value for key, value in wanted.items())}


def test_outcomes_are_counted_as_labelled():
    """Answered is everything but the abstains, which the model's words or a gate brought about."""
    assert ids(Answered()) == where(outcome="draft") | where(outcome="partial")
    assert ids(Partial()) == where(outcome="partial")
    assert ids(PassedEveryGate()) == where(outcome="draft")
    assert ids(Abstained("gate")) == where(source="gate")
    assert ids(Abstained("model")) == where(source="model")
    assert ids(Abstained()) == where(outcome="abstained")
    assert (len(ids(Partial())), len(ids(Abstained("model"))), len(ids(PassedEveryGate()))) == (7, 4, 7)


@pytest.mark.parametrize("gate", ["figures", "citations", "redaction", "blocked", "names"])
def test_a_gate_that_fired_is_counted(gate: str):
    """Alone or beside another; one that was not asked says nothing."""
    assert ids(GateFired(gate)) == {name for name, label in LABELS.items() if gate in label["fires"]}
    assert GateFired("tone").stats(labelled(LABELS["figures"])) is None


def test_a_gate_says_what_fired_it():
    """Its findings are the row's detail; a row on which it did not fire has none."""
    assert GateFired("figures").detail(labelled(LABELS["figures"])) == {"not_in_article": ["1768"]}
    assert GateFired("names").detail(labelled(LABELS["figures"])) == {}
    assert GateFired("names").detail(Answer(mill_item("?"), row(None))) == {}


def test_figures_and_citations_are_the_drafts():
    """Counted whatever was served: a partial release has hidden the figure, not unwritten it."""
    assert ids(FiguresNotVerbatim()) == {name for name, label in LABELS.items() if "figures" in label["fires"]}
    assert FiguresNotVerbatim().detail(labelled(LABELS["figures+blocked"])) == {
        "not_in_article": ["1799"],
        "figures": 2,
    }
    assert ids(Uncited()) == {
        "citations-none",
        "citations-of-no-section",
        "figures+citations",
        "citations+blocked",
        "citations+names",
        "refusal-without-a-citation",
        "abstain-naming-no-section",
        "empty",
    }


def test_what_is_served_is_verbatim_what_its_flag_says():
    """On every labelled draft; and every abstain is the authored sentence to the letter."""
    assert ids(FlaggedNotVerbatim()) == set()
    assert ids(AbstainExact()) == where(outcome="abstained")


ABSTAIN = "The article does not answer this question; the nearest section is § {#history}."


@pytest.mark.parametrize(
    ("label", "text", "holds"),
    [
        ("refusal", ABSTAIN, False),
        ("refusal", ABSTAIN.replace("history", "nowhere"), True),
        ("refusal", ABSTAIN + "\n", True),
        ("refusal", ABSTAIN.replace("The", "the"), True),
        ("refusal", "I cannot answer this from the article § {#machinery}.", True),
        ("passes", "The mill was built in 1786 § {#history}", True),
        ("passes", ABSTAIN, True),
        ("passes", None, True),
        ("blocked", "The mill was built in 1786 § {#history}. For more, click here.", True),
        ("blocked", "", True),
    ],
)
def test_a_broken_instrument_is_counted(label: str, text: str | None, holds: bool):
    """An abstain that is not the sentence, an answer that is not the draft; another section of the article is fine."""
    answer = labelled(LABELS[label])
    broken = Answer(answer.item, replace(answer.row, served=text))
    assert FlaggedNotVerbatim().stats(broken) == (float(holds),)


def test_kept_sentences_have_to_be_the_drafts():
    """One that the draft does not have was put there by the instrument; so was an empty release."""
    answer = labelled(LABELS["blocked"])
    for kept in ["The mill was built in 1787 § {#history}."], []:
        serving = {**answer.row.detail["serving"], "kept": kept}
        invented = Answer(answer.item, replace(answer.row, served=" ".join(kept), detail={"serving": serving}))
        assert FlaggedNotVerbatim().stats(invented) == (1.0,)


def test_an_abstain_is_exact_whatever_section_it_names():
    """Over the abstains alone; a blank too many is another sentence, and so is a section of no article."""
    exact = AbstainExact()
    refused = labelled(LABELS["refusal"])

    def score(text: str) -> tuple[float, ...] | None:
        return exact.stats(Answer(refused.item, replace(refused.row, served=text)))

    assert score(ABSTAIN) == (1.0,)
    assert [score(text) for text in (f"{ABSTAIN} ", ABSTAIN.replace("history", "x"), "")] == [(0.0,)] * 3
    assert exact.stats(labelled(LABELS["passes"])) is None
    assert exact.stats(labelled(LABELS["blocked"])) is None


def test_the_model_may_have_written_the_abstain_itself():
    """Over its own refusals: exact or in other words; what a gate abstained is not its refusal."""
    exact = DraftAbstainExact()
    assert exact.stats(labelled(LABELS["abstain-as-authored"])) == (1.0,)
    assert exact.stats(labelled(LABELS["refusal"])) == (0.0,)
    assert exact.stats(labelled(LABELS["abstain-naming-no-section"])) is None
    assert exact.stats(labelled(LABELS["passes"])) is None


@pytest.mark.parametrize("metric", [*PER_ROW, AbstainExact(), DraftAbstainExact()], ids=lambda m: type(m).__name__)
def test_a_row_without_an_answer_or_serving_is_excluded(metric: Metric):
    """An error is no abstain, and a draft that nothing served was neither passed nor stopped."""
    assert metric.stats(Answer(mill_item("?"), row(None))) is None
    assert metric.stats(Answer(mill_item("?"), row("The mill."))) is None


@pytest.mark.parametrize("metric", PER_ROW, ids=lambda m: type(m).__name__)
def test_every_row_with_an_answer_is_scored(metric: Metric):
    """So that the run's coverage may count them; an empty answer too."""
    assert all(metric.stats(labelled(label)) in ((0.0,), (1.0,)) for label in LABELS.values())
    assert metric.figure is None


def test_what_must_not_be_counted_for_every_row_has_a_name_of_its_own():
    """The two that speak of abstains alone."""
    assert (AbstainExact.figure, DraftAbstainExact.figure) == ("quality/abstain_exact", "quality/draft_abstain_exact")
