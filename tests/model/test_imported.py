import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.dataset.imported import Imported as Questions
from evalflow.errors import DataError, ModelError
from evalflow.model.imported import Imported
from evalflow.record import Completion, Decoding, Item, Request, content_of, digest
from tests.imported.by_hand import INSPECT, inspect_log, inspect_sample, lines_in, written


def ask(model: Imported, item: Item, repeat: int = 0) -> Completion:
    request = Request(item.id, item.prompt, Decoding(), 7, repeat=repeat, content=content_of(item))
    return asyncio.run(model.complete(request))


def refused(model: Imported, item: Item, repeat: int = 0) -> ModelError:
    with pytest.raises(ModelError) as fault:
        ask(model, item, repeat)
    assert "\n" not in str(fault.value)
    return fault.value


def good() -> dict[str, Item]:
    return {item.id: item for item in Questions(str(INSPECT / "good.json")).items()}


def test_the_questions_are_those_of_the_log_once_each() -> None:
    """In its order, with their task as their kind; two epochs of a question are one."""
    items = good()
    assert list(items) == ["capital-france", "capital-germany", "capital-italy", "capital-spain"]
    assert {item.kind for item in items.values()} == {"facts"}
    assert items["capital-spain"].target == "Madrid"


def test_a_question_that_changes_from_repeat_to_repeat_is_refused(tmp_path: Path) -> None:
    """One id is one question."""
    path = tmp_path / "log.json"
    path.write_text(json.dumps(inspect_log(inspect_sample(), inspect_sample(epoch=2, target="No."))), encoding="utf-8")
    with pytest.raises(DataError, match=r"sample 2: repeat 2 of '1' has another prompt or target than the first; "):
        Questions(str(path)).items()


def test_an_answer_comes_with_the_tools_scores_and_tokens() -> None:
    """A seed is an epoch, from 0. What hit its cache says nothing of an arm's claim, and is left out."""
    model, italy = Imported(str(INSPECT / "good.json")), good()["capital-italy"]
    first, second = ask(model, italy), ask(model, italy, 1)
    assert (first.text, first.given) == ("It is Rome.", {"includes": 1.0, "brevity": 1 / 3})
    assert (second.text, second.given) == ("Milan", {"includes": 0.0, "brevity": 1.0})
    assert (first.tokens_in, first.tokens_out, first.tokens_source, first.cached_tokens) == (12, 3, "usage", None)
    assert model.facts() == {"answers_in_log": 8, "answers_used": 2}


def test_what_the_log_lacks_is_an_error_that_says_what_it_has() -> None:
    """An item, or a repeat."""
    model, italy = Imported(str(INSPECT / "good.json")), good()["capital-italy"]
    absent = refused(model, replace(italy, id="facts/capital-italy"))
    assert (absent.kind, "its ids are like 'capital-france'" in str(absent)) == ("no_output", True)
    third = refused(model, italy, 2)
    assert (third.kind, "it has 2 answers for item 'capital-italy', and none for seed 2" in str(third)) == (
        "no_output",
        True,
    )


def test_an_answer_to_another_question_is_never_paired() -> None:
    """Another prompt, target or task under the same id; `same` loosens it step by step."""
    path, italy = str(INSPECT / "good.json"), good()["capital-italy"]
    asked_otherwise, graded_otherwise = replace(italy, prompt="Rome?"), replace(italy, target="Milan")
    told = [refused(Imported(path), one) for one in (asked_otherwise, graded_otherwise, replace(italy, kind="x"))]
    assert {one.kind for one in told} == {"other_question"}
    assert "another prompt" in str(told[0]) and "set model.same=document" in str(told[0])
    assert "another document, target or task" in str(told[1])
    assert ask(Imported(path, same="document"), asked_otherwise).text == "It is Rome."
    assert refused(Imported(path, same="document"), graded_otherwise).kind == "other_question"
    assert ask(Imported(path, same="id"), graded_otherwise).text == "It is Rome."


def test_a_sample_that_broke_is_an_error_with_the_tools_words() -> None:
    """So is one that was broken off when the log ended; what is missing is said beforehand."""
    error = refused(Imported(str(INSPECT / "errored.json")), good()["capital-italy"])
    assert (error.kind, str(error)) == ("recorded_error", "RuntimeError('the tool broke')")
    stopped = Imported(str(INSPECT / "stopped.json"))
    assert [one.partition(": ")[2] for one in stopped.remarks()] == [
        "the log's status is error: RuntimeError('the tool broke')",
        "3 of 8 samples are there",
    ]
    cancelled = refused(stopped, good()["capital-germany"])
    assert (cancelled.kind, str(cancelled)) == ("recorded_error", "cancelled by the tool before it had an answer")
    assert Imported(str(INSPECT / "good.json")).remarks() == ()


def test_tasks_with_scores_of_their_own_are_told(tmp_path: Path) -> None:
    """A reader learns which task has which score, and how to keep to one; of one task, or of equal ones, nothing."""
    date = "2026-11-30T10-16-14.146347"
    for task, score in (("sums", "acc"), ("words", "f1")):
        lines_in(tmp_path / f"samples_{task}_{date}.jsonl", written(metrics=[score], **{score: 1.0}))
    said = f"{tmp_path}: a score is of the tasks that have it (sums: acc; words: f1); dataset.task=NAME keeps one task"
    assert Imported(str(tmp_path)).remarks() == (said,)
    assert Imported(str(tmp_path), task="sums").remarks() == ()
    lines_in(tmp_path / f"samples_words_{date}.jsonl", written(metrics=["acc"], acc=0.0))
    assert Imported(str(tmp_path)).remarks() == ()


def test_scores_that_are_no_number_are_counted_by_reason() -> None:
    """Two epochs of one question have a brevity that is NaN."""
    worse = Imported(str(INSPECT / "worse.json"))
    assert worse.facts()["scores_left_out"] == {"brevity: not finite": 2}
    assert worse.gives() == ("includes", "brevity")
    assert ask(worse, good()["capital-spain"]).given == {"includes": 0.0}


def test_the_identity_is_the_tool_the_model_and_the_log() -> None:
    """And the settings that the answers were made under; two logs of one model differ by their digest."""
    one, other = (Imported(str(INSPECT / f"{name}.json")).identity() for name in ("good", "worse"))
    assert (one["tool"], one["version"], one["name"]) == ("inspect_ai", "0.3.285", "mockllm/model")
    assert one["settings"]["generation"] == {"max_connections": 1}
    assert one["log"] != other["log"] and len(one["log"]) == 64
    assert digest(dict(one)) == digest(dict(Imported(str(INSPECT / "good.json")).identity()))


@pytest.mark.parametrize(("text", "said"), [(None, "there is no such file"), ("", "it is empty"), ("{", "not whole")])
def test_a_log_that_cannot_be_read_is_missing_before_anything_starts(
    text: str | None, said: str, tmp_path: Path
) -> None:
    """Its identity can be had all the same, so that the fault is told once, by its own words."""
    path = tmp_path / "log.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    model = Imported(str(path))
    assert said in (model.missing() or "")
    assert (model.identity()["log"], model.gives(), model.remarks()) == (None, None, ())


def test_a_log_that_has_changed_is_read_again(tmp_path: Path) -> None:
    """As after a new run of the other tool under the same name."""
    item = Item("0", "Why?", "Because.", fields={"doc_hash": "d", "target_hash": "t"})
    path = lines_in(tmp_path / "s.jsonl", written(filtered_resps=["old"]))
    assert ask(Imported(str(path)), item).text == "old"
    lines_in(path, written(filtered_resps=["newer"]))
    assert ask(Imported(str(path)), item).text == "newer"


def test_a_log_of_nothing_is_refused(tmp_path: Path) -> None:
    """As Inspect writes where samples were not logged."""
    path = tmp_path / "log.json"
    path.write_text(json.dumps(inspect_log()), encoding="utf-8")
    assert Imported(str(path)).missing() == f"{path}: it holds no sample; give a log with some"


@pytest.mark.parametrize("settings", [{"answer": "raw"}, {"same": "none"}])
def test_a_setting_that_is_no_choice_is_refused(settings: dict[str, Any]) -> None:
    """With those that are."""
    with pytest.raises(ValueError, match="choose from"):
        Imported("x", **settings)
