"""Banks of short questions: what an item is made of, and every refusal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evalflow.dataset.protocol import collect
from evalflow.dataset.question_bank import QuestionBank
from evalflow.errors import DataError

QUESTIONS: list[dict[str, Any]] = [
    {"id": "fr", "question": "Capital of France?", "answer": "Paris"},
    {"id": "open", "question": "When does it open?", "answer": "at ten", "context": "museum"},
    {"id": "it", "question": "Capital of Italy?", "answer": "Rome", "context": None, "subject": "geography"},
    {"id": "shut", "question": "When does it shut?", "answer": "at five", "context": "museum"},
]
BANK: dict[str, Any] = {
    "name": "ours",
    "floor": {"floor": 3},
    "contexts": {"museum": "The museum is open from ten to five."},
    "questions": QUESTIONS,
}
CHOICE: dict[str, Any] = {
    "id": "hard",
    "question": "Which {number}?",
    "choices": ["one", "two", "three", "four"],
    "answer": "C",
}


def written(folder: Path, name: str, value: Any) -> str:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def bank_of(folder: Path, control: list[Any] | None = None, bank: Any = BANK, **settings: Any) -> QuestionBank:
    """A bank written to `folder`, its negative control too where there is one."""
    if control is not None:
        settings["control"] = written(folder, "control.json", {"questions": control})
    return QuestionBank(written(folder, "bank.json", bank), **settings)


def refused(dataset: QuestionBank) -> str:
    """Why a bank is refused, without the folder that it lies in."""
    with pytest.raises(DataError) as fault:
        dataset.items()
    return re.sub(r"^.*/(?=\w+\.json)", "", str(fault.value))


def test_questions_on_a_context_come_first_then_facts_then_controls(tmp_path: Path) -> None:
    """Within each, in the bank's order; keys that are no part of a question are passed over."""
    items = collect(bank_of(tmp_path, [CHOICE]))
    assert [(item.id, item.kind, item.target) for item in items] == [
        ("open", "context", "at ten"),
        ("shut", "context", "at five"),
        ("fr", "fact", "Paris"),
        ("it", "fact", "Rome"),
        ("hard", "control", "three"),
    ]


def test_questions_of_one_context_share_a_prefix_and_an_error_bar(tmp_path: Path) -> None:
    """The context stands before the question; a fact is on its own."""
    items = {item.id: item for item in bank_of(tmp_path).items()}
    assert items["open"].prompt == "The museum is open from ten to five.\n\nWhen does it open?"
    assert [(items[one].cluster, items[one].prefix_group) for one in ("open", "shut", "fr")] == [
        ("museum", "museum"),
        ("museum", "museum"),
        ("", ""),
    ]
    assert items["fr"].prompt == "Capital of France?"


def test_a_choice_is_asked_with_all_of_its_words_and_looked_for_by_the_right_one(tmp_path: Path) -> None:
    """Listed in order, without letters; braces inside a question are text."""
    item = bank_of(tmp_path, [CHOICE]).items()[-1]
    assert item.prompt == "Which {number}?\n- one\n- two\n- three\n- four"
    assert item.target == "three"


def test_prompts_are_the_users(tmp_path: Path) -> None:
    """Each kind has a template of its own."""
    own = {
        "fact_prompt": "Q: {question}",
        "context_prompt": "{context}|{question}",
        "control_prompt": "{choices}|{question}",
    }
    items = {item.id: item.prompt for item in bank_of(tmp_path, [CHOICE], **own).items()}
    assert items["fr"] == "Q: Capital of France?"
    assert items["open"] == "The museum is open from ten to five.|When does it open?"
    assert items["hard"] == "- one\n- two\n- three\n- four|Which {number}?"


@pytest.mark.parametrize(
    ("cut", "left"),
    [
        ({}, ["open", "shut", "fr", "it", "hard", "hard2"]),
        ({"facts": 1}, ["open", "shut", "fr", "hard", "hard2"]),
        ({"facts": 0, "controls": 1}, ["open", "shut", "hard"]),
        ({"controls": 0}, ["open", "shut", "fr", "it"]),
        ({"facts": 99, "controls": 99}, ["open", "shut", "fr", "it", "hard", "hard2"]),
    ],
)
def test_facts_and_controls_can_be_cut_short(tmp_path: Path, cut: dict[str, int], left: list[str]) -> None:
    """The first of each list stay; questions on a context are never cut, for their group is what is measured."""
    control = [CHOICE, {**CHOICE, "id": "hard2"}]
    assert [item.id for item in bank_of(tmp_path, control, **cut).items()] == left


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fact_prompt": "Answer!"}, "fact_prompt asks for nothing; ask for question"),
        ({"fact_prompt": "{question} {context}"}, "fact_prompt asks for context, question; ask for question"),
        ({"context_prompt": "{question}"}, "context_prompt asks for question; ask for context question"),
        ({"control_prompt": "{choices}"}, "control_prompt asks for choices; ask for question choices"),
        ({"facts": -1}, "facts is -1; give at least 0, or null for all"),
        ({"controls": -2}, "controls is -2; give at least 0, or null for all"),
    ],
)
def test_a_setting_that_asks_nothing_sensible_is_refused(settings: dict[str, Any], said: str) -> None:
    """Key first, before any file is read."""
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        QuestionBank("nowhere.json", **settings)


@pytest.mark.parametrize("key", ["id", "question", "answer"])
@pytest.mark.parametrize("value", [None, "", 7, ["a"]])
def test_a_question_needs_its_texts(tmp_path: Path, key: str, value: Any) -> None:
    """Absent, empty or no text: named by its number and key."""
    questions = [QUESTIONS[0], {**QUESTIONS[2], key: value}]
    said = refused(bank_of(tmp_path, bank={"questions": questions}))
    assert said == f"bank.json: question 2 has no {key}; give it one"


def test_a_question_is_an_object(tmp_path: Path) -> None:
    """A plain text in the list is no question."""
    assert refused(bank_of(tmp_path, bank={"questions": ["Why?"]})).startswith("bank.json: question 1 has no id")


@pytest.mark.parametrize("bank", [[], {}, {"questions": []}, {"questions": {}}, {"questions": None}, "text", 1])
def test_a_bank_has_a_list_of_questions(tmp_path: Path, bank: Any) -> None:
    """An empty one is none."""
    assert refused(bank_of(tmp_path, bank=bank)) == "bank.json: it has no list of questions; write an object with one"


@pytest.mark.parametrize("contexts", [[], "text", {"museum": 1}, {"museum": None}])
def test_contexts_are_texts_by_name(tmp_path: Path, contexts: Any) -> None:
    """Anything else is refused, although the questions are sound."""
    said = refused(bank_of(tmp_path, bank={**BANK, "contexts": contexts}))
    assert said == "bank.json: contexts is no mapping of texts; write {id: text}"


def test_a_context_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the question that asks about it; a bank without contexts has none."""
    lost = [*QUESTIONS, {**QUESTIONS[0], "id": "lost", "context": "castle"}]
    said = refused(bank_of(tmp_path, bank={**BANK, "questions": lost}))
    assert said == "bank.json: question 'lost' asks about context 'castle', which is not there; add it"
    assert "'museum', which is not there" in refused(bank_of(tmp_path, bank={"questions": QUESTIONS}))


def test_an_id_occurs_once_over_all_kinds(tmp_path: Path) -> None:
    """In one list, or in the bank and its control."""
    said = "bank.json: question id 'fr' occurs twice; make ids unique"
    assert refused(bank_of(tmp_path, bank={**BANK, "questions": [*QUESTIONS, QUESTIONS[0]]})) == said
    assert refused(bank_of(tmp_path, [{**CHOICE, "id": "fr"}])) == said


@pytest.mark.parametrize(
    "change",
    [
        {"answer": "E"},
        {"answer": "c"},
        {"answer": "three"},
        {"answer": "AB"},
        {"choices": ["one", "two", "three"]},
        {"choices": ["one", "two", "three", "four", "five"]},
    ],
)
def test_a_choice_has_four_choices_and_a_letter(tmp_path: Path, change: dict[str, Any]) -> None:
    """The letter is one of A to D; the choice's own text is no letter."""
    said = refused(bank_of(tmp_path, [CHOICE, {**CHOICE, "id": "odd", **change}]))
    assert said == "control.json: question 'odd' needs four choices and a letter of ABCD; mend it"


@pytest.mark.parametrize("choices", [None, [], "one two three four", [1, 2, 3, 4]])
def test_choices_are_a_list_of_texts(tmp_path: Path, choices: Any) -> None:
    """Named by the question's number in the control's file."""
    said = refused(bank_of(tmp_path, [{**CHOICE, "choices": choices}]))
    assert said == "control.json: question 1 has no choices; give it one"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Absent, no JSON, or no UTF-8: each with its path; the control's as well as the bank's."""
    assert refused(QuestionBank(str(tmp_path / "none.json"))).startswith("none.json: cannot be read (No such file")
    (tmp_path / "torn.json").write_text('{"questions": [', encoding="utf-8")
    assert refused(QuestionBank(str(tmp_path / "torn.json"))).startswith("torn.json: no UTF-8 JSON (")
    (tmp_path / "latin.json").write_bytes('{"questions": "é"}'.encode("latin-1"))
    assert refused(QuestionBank(str(tmp_path / "latin.json"))).startswith("latin.json: no UTF-8 JSON (")
    assert refused(QuestionBank(written(tmp_path, "bank.json", BANK), control=str(tmp_path / "none.json"))).startswith(
        "none.json"
    )
