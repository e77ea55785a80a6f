"""The extractive baseline."""

from __future__ import annotations

import asyncio
import random

import pytest

from evalflow.errors import ModelError
from evalflow.grounding.prompt import INSTRUCTIONS, build_prompt
from evalflow.model.reader import Reader
from evalflow.record import Decoding, Request
from evalflow.serving.grounded import Grounded
from tests.grounding.mill import MILL, mill_item


def request(question: str, seed: int = 0, **decoding: float) -> Request:
    return Request("q", build_prompt(INSTRUCTIONS, MILL.text, question), Decoding(**decoding), seed)


def answer(question: str, reader: Reader | None = None) -> str:
    return asyncio.run((reader or Reader()).complete(request(question))).text


def test_the_best_sentence_is_answered_with_its_section():
    """To the letter, over a line break of the article too."""
    assert answer("How far across are the wheels?") == (
        "Two wheels, each 5.5 m across, drive six pairs of stones. § {#machinery}"
    )
    assert answer("When did a turbine replace the north wheel?") == (
        "In 1902 a turbine replaced the north wheel and raised the output by 38%. § {#machinery}"
    )


def test_under_the_threshold_it_abstains():
    """With the authored sentence for the nearest section; at threshold 0 it always answers, at 1 only on all words."""
    question = "Which composer visited the mill on a Sunday in winter?"
    assert answer(question) == (
        "The article does not answer this question; the nearest section is "
        "§ {#2-2826-over-56-metered-calls-against-38-49-of-caps}."
    )
    assert answer(question, Reader(threshold=0.0)).startswith("The mill is open from Tuesday to Sunday")
    own = Reader(threshold=1.0, abstain="Nothing; see § {#section}.")
    assert answer("How many pairs of wheels?", own).startswith("Two wheels")
    assert answer("How many pairs of oars?", own) == "Nothing; see § {#machinery}."


def test_its_answers_pass_the_gates():
    """What it says is in the article, so that its answer is served and its abstain is a refusal."""
    for question, outcome in (("How far across are the wheels?", "draft"), ("Who sang?", "abstained")):
        detail = Grounded().serve(mill_item(question), answer(question)).detail
        assert (detail["outcome"], detail["fired"]) == (outcome, {})


def test_its_answers_do_not_depend_on_concurrency_seed_or_decoding():
    """The same texts one after another and all at once, in any order: it may say that it is free of concurrency."""
    questions = ["How far across are the wheels?", "Who was the engineer?", "Who sang?", "Is entry free for children?"]
    alone = {question: answer(question) for question in questions}

    async def together() -> list[tuple[str, str]]:
        asked = [question for question in questions for _ in range(5)]
        random.Random(0).shuffle(asked)
        requests = [request(question, seed=i, temperature=1.0) for i, question in enumerate(asked)]
        said = await asyncio.gather(*(Reader().complete(one) for one in requests))
        return [(question, completion.text) for question, completion in zip(asked, said, strict=True)]

    assert Reader.concurrency_free
    assert all(text == alone[question] for question, text in asyncio.run(together()))


def test_it_says_that_it_is_a_baseline():
    """With its settings, so that another threshold is another model."""
    assert Reader(0.3).identity()["model"] == "reader (extractive baseline)"
    assert Reader(0.3).identity() != Reader(0.4).identity() != Reader(0.4, "No; § {#section}").identity()


@pytest.mark.parametrize("prompt", ["What is the capital?", build_prompt("Read.", "# No ids", "Who?")])
def test_another_prompt_is_an_error(prompt: str):
    """One without an article and a question, or without a section to cite."""
    with pytest.raises(ModelError, match=r"^reader: item 'q': .*; ask it the items of grounded reading$") as failed:
        asyncio.run(Reader().complete(Request("q", prompt, Decoding(), 0)))
    assert failed.value.kind == "unreadable"


@pytest.mark.parametrize(
    ("settings", "said"), [({"threshold": 1.1}, "threshold is 1.1; give"), ({"abstain": ""}, "abstain is ''; give")]
)
def test_settings_that_cannot_be_meant_are_refused(settings, said):
    """On building."""
    with pytest.raises(ValueError, match=said):
        Reader(**settings)
