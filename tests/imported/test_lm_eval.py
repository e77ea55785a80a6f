import json
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import DataError
from evalflow.imported.log import open_log
from evalflow.imported.sample import Choice
from tests.imported.by_hand import lines_in, samples_of, weighed, written

CHOICES = ["Paris", "Rome", "Oslo"]


def one_of(tmp_path: Path, *lines: dict[str, Any]) -> Any:
    (sample,) = samples_of(lines_in(tmp_path / "samples.jsonl", *lines))
    return sample


def test_a_text_that_was_written_is_what_the_filter_left(tmp_path: Path) -> None:
    """With the prompt as sent, the task's scores, and the hashes of document and target."""
    sample = one_of(tmp_path, written(filtered_resps=["Because"], f1=[0, 1], metrics=["exact_match", "f1"]))
    assert (sample.id, sample.repeat, sample.prompt, sample.target) == ("0", 0, "Why?", "Because.")
    assert (sample.answer, sample.scores) == ("Because", {"exact_match": 1.0})
    assert sample.unread == {"f1": "a list, no number"}
    assert (sample.fields, sample.finish_reason) == ({"doc_hash": "d", "target_hash": "t"}, None)


def test_the_likeliest_choice_is_the_answer_and_the_target_is_a_text(tmp_path: Path) -> None:
    """The first of equals; a number is the place of the right choice, as the tool writes it."""
    line = weighed([-3.5, -1.25, -1.25], ["Capital?"] * 3, [f" {one}" for one in CHOICES], target="2")
    sample = one_of(tmp_path, line)
    assert (sample.answer, sample.target, sample.prompt) == ("Rome", "Oslo", "Capital?")


@pytest.mark.parametrize(
    ("target", "single", "several"),
    [
        *[(1, "Rome", None), ("Oslo", "Oslo", None), ("7", "7", None), (None, None, None), (["Oslo"], "Oslo", None)],
        *[("[0, 2]", None, ["Paris", "Oslo"]), ([0, 2], None, ["Paris", "Oslo"]), ("[1]", "Rome", None)],
    ],
    ids=str,
)
def test_targets_of_every_kind(target: Any, single: str | None, several: list[str] | None, tmp_path: Path) -> None:
    """Numbers, texts and lists of them; several are none of them."""
    sample = one_of(tmp_path, weighed([-1, -2, -3], ["?"] * 3, CHOICES, target=target))
    assert (sample.target, sample.fields.get("targets")) == (single, several)


def test_choices_in_the_prompts_are_numbered(tmp_path: Path) -> None:
    """As in Winogrande, where what follows is the same for all."""
    sample = one_of(tmp_path, weighed([-3, -1], ["He ran as Al", "He ran as Bo"], [" was late."] * 2))
    assert (sample.answer, sample.prompt) == ("1", "He ran as Al")


def test_choices_without_a_question_have_no_say(tmp_path: Path) -> None:
    """They stand behind the others, for mutual information."""
    sample = one_of(tmp_path, weighed([-2, -3, -0.1, -0.2], ["?", "?", "", ""], [" a", " b", " a", " b"]))
    assert sample.answer == "a"


def test_a_weight_that_is_nan_is_an_error(tmp_path: Path) -> None:
    """Nothing is the likeliest then, whatever the tool made of it."""
    sample = one_of(tmp_path, weighed([-2, float("nan")], ["?"] * 2, [" a", " b"]))
    assert (sample.answer, sample.error) == ("", "a log-probability is NaN, so that no choice is the likeliest")


def test_one_continuation_is_the_answer_where_the_model_would_have_written_it(tmp_path: Path) -> None:
    """As in LAMBADA; else it wrote something that nobody recorded."""
    line = weighed([-1], ["The end of the"], [" world"], target=" world")
    assert one_of(tmp_path, line).answer == ""
    assert one_of(tmp_path, {**line, "filtered_resps": [["-1", "True"]]}).answer == "world"


def test_a_text_that_was_weighed_whole_has_no_answer_and_no_scores(tmp_path: Path) -> None:
    """Its scores are pairs that only mean something over all texts."""
    line = written(arguments={"gen_args_0": {"arg_0": "A text."}}, filtered_resps=["-9.5"], word_perplexity=[-9.5, 2])
    sample = one_of(tmp_path, {**line, "metrics": ["word_perplexity"]})
    assert (sample.prompt, sample.answer, sample.scores) == ("A text.", "", {})


def test_older_versions_list_arguments_and_name_no_metrics(tmp_path: Path) -> None:
    """What is no part of every line is a score then, and numbers stand where texts do now."""
    line = weighed([-2, -1], ["?"] * 2, [" a", " b"], target=1)
    old = {**line, "arguments": [["?", " a"], ["?", " b"]], "filtered_resps": [[-2.0, False], [-1.0, True]]}
    for key in ("metrics", "filter", "doc_hash", "target_hash"):
        del old[key]
    sample = one_of(tmp_path, {**old, "acc_norm": 0.0})
    assert (sample.answer, sample.target, sample.scores) == (
        "b",
        "b",
        {"exact_match": 1.0, "acc": 1.0, "acc_norm": 0.0},
    )
    assert len(sample.fields["doc_hash"]) == 64


def test_repeats_are_those_that_the_filter_left_or_all_that_were_written(tmp_path: Path) -> None:
    """The scores are of all of them together, and stand with the first."""
    path = lines_in(tmp_path / "samples.jsonl", written(resps=[[" a", " b", " c"]], filtered_resps=[" a"]))
    assert [(one.repeat, one.answer, one.scores) for one in samples_of(path)] == [(0, " a", {"exact_match": 1.0})]
    assert [(one.repeat, one.answer, one.scores) for one in samples_of(path, answer="written")] == [
        (0, " a", {"exact_match": 1.0}),
        (1, " b", {}),
        (2, " c", {}),
    ]
    kept = lines_in(tmp_path / "kept.jsonl", written(resps=[[" a", " b"]], filtered_resps=[["A", "B"]]))
    assert [(one.repeat, one.answer) for one in samples_of(kept)] == [(0, "A"), (1, "B")]


def test_a_filter_has_to_be_chosen_where_there_are_several(tmp_path: Path) -> None:
    """Each document has a line under each; a name that is none is met with those that are."""
    path = lines_in(tmp_path / "samples.jsonl", written(filter="strict", filtered_resps=["A"]), written(filter="loose"))
    with pytest.raises(DataError, match=r"under 2 filters; choose dataset.filter=strict or dataset.filter=loose$"):
        samples_of(path)
    assert [one.answer for one in samples_of(path, filter="strict")] == ["A"]
    with pytest.raises(DataError, match=r"filter 'lose'; choose dataset.filter=loose or dataset.filter=strict$"):
        samples_of(path, filter="lose")


def test_scores_that_are_no_finite_number_are_left_out_with_the_reason(tmp_path: Path) -> None:
    """NaN and Infinity are JSON to the tool."""
    names = ["a", "b", "c", "d"]
    sample = one_of(
        tmp_path,
        written(metrics=names, a=float("nan"), b=float("-inf"), c="yes", d=True) | {"doc": {"x": float("nan")}},
    )
    assert (sample.scores, sample.unread) == (
        {"d": 1.0},
        {"a": "not finite", "b": "not finite", "c": "a str, no number"},
    )


DATE = "2026-11-30T10-16-14.146347"


def test_a_folder_holds_one_models_tasks(tmp_path: Path) -> None:
    """Their names stand before the ids; a task with one filter needs no choice; the tables tell of the model."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for task in ("sums_easy", "sums"):
        lines_in(folder / f"samples_{task}_{DATE}.jsonl", written(filter="loose" if task == "sums" else "none"))
    known = {
        "lm_eval_version": "0.4.13",
        "model_name": "mine",
        "config": {"model_dtype": "torch.float32", "model_args": "api_key=secret", "limit": None},
        "n-samples": {"sums": {"effective": 1}, "sums_easy": {"effective": 2}},
        "configs": {"sums": {"repeats": 1, "generation_kwargs": {"until": ["x"]}}},
    }
    (folder / f"results_{DATE}.json").write_text(json.dumps(known), encoding="utf-8")
    log = open_log(str(folder), Choice(filter="loose"))
    assert [(one.id, one.task) for one in log.samples()] == [("sums/0", "sums"), ("sums_easy/0", "sums_easy")]
    assert (log.version, log.model, log.planned) == ("0.4.13", "mine", 3)
    assert log.settings["model_dtype"] == "torch.float32" and "secret" not in str(log.settings)
    assert log.settings["tasks"]["sums"]["generation"] == {"until": ["x"]}
    assert [one.id for one in samples_of(tmp_path, filter="loose")] == ["sums/0", "sums_easy/0"]
    assert [(one.id, one.task) for one in samples_of(tmp_path, task="sums_easy")] == [("0", "sums_easy")]
    with pytest.raises(DataError, match=r"no samples of task 'sum' are there; choose from sums, sums_easy$"):
        samples_of(tmp_path, task="sum")


def test_a_folder_of_several_models_or_of_two_runs_is_refused(tmp_path: Path) -> None:
    """Which of them is meant is not for us to say."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        lines_in(tmp_path / name / f"samples_sums_{DATE}.jsonl", written())
    with pytest.raises(DataError, match=r"several models \(one, two\); name one of its folders"):
        open_log(str(tmp_path))
    lines_in(tmp_path / "one" / "samples_sums_2026-12-01T10-16-14.146347.jsonl", written())
    with pytest.raises(DataError, match=r"is of the same task; name one of the files"):
        open_log(str(tmp_path / "one"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[:-20], r"samples\.jsonl:2: not JSON"),
        (lambda text: "", r"samples\.jsonl: it is empty"),
        (lambda text: "\n \n", r"samples\.jsonl: it is empty"),
        (lambda text: '{"a": 1}\n', r"samples\.jsonl:1: no sample of lm-evaluation-harness"),
        (lambda text: text + '{"a": 1}\n', r"samples\.jsonl:3: no sample of lm-evaluation-harness"),
        (lambda text: text + "[1]\n", r"samples\.jsonl:3: a list, not an object"),
        (lambda text: text + text, r"samples\.jsonl:3: document 0 is already on .*samples\.jsonl:1"),
        (
            lambda text: text.replace('"filtered_resps": [" ', '"filtered_resps": [], "x": [" '),
            "no requests or no resp",
        ),
    ],
)
def test_what_is_no_whole_file_of_samples_is_refused_with_its_line(change: Any, said: str, tmp_path: Path) -> None:
    """Half a last line, an empty file, another tool's lines, and a document that is there twice."""
    path = lines_in(tmp_path / "samples.jsonl", written(), written(doc_id=1))
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(DataError, match=said) as refused:
        samples_of(path)
    assert "; " in str(refused.value) and "\n" not in str(refused.value)


def test_a_weight_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """So are fewer of them than choices."""
    line = weighed([-1, -2], ["?"] * 2, [" a", " b"])
    for back, said in (([["-1"], ["-2"]], "no .log-probability, greedy."), ([["-1", "False"]], "2 requests have 1")):
        with pytest.raises(DataError, match=said):
            one_of(tmp_path, {**line, "filtered_resps": back})


def test_a_file_that_is_not_utf_8_or_is_not_there_is_named(tmp_path: Path) -> None:
    """With its line."""
    path = lines_in(tmp_path / "samples.jsonl", written())
    path.write_bytes(path.read_bytes() + b"\xff\n")
    with pytest.raises(DataError, match=r"samples\.jsonl:2: not UTF-8"):
        samples_of(path)
    with pytest.raises(DataError, match="there is no such file or folder; give samples_"):
        open_log(str(tmp_path / "absent.jsonl"))
    (tmp_path / "void").mkdir()
    with pytest.raises(DataError, match="it holds no log; give samples_"):
        open_log(str(tmp_path / "void"))


def test_any_text_survives(tmp_path: Path) -> None:
    """Half a pair of surrogates, NUL, other scripts, and a line that ends in the middle of an answer."""
    text = "half \ud835 nul \x00 北京 \u2028 \r\n end"
    assert one_of(tmp_path, written(filtered_resps=[text], target=text)).answer == text


def test_a_chat_in_json_is_a_prompt(tmp_path: Path) -> None:
    """A served model's prompt stands alone in a list."""
    chat = '[{"role": "user", "content": "Why?"}]'
    sample = one_of(tmp_path, written(arguments={"gen_args_0": {"arg_0": [chat], "arg_1": {"until": []}}}))
    assert sample.prompt == chat


def test_samples_are_read_one_after_another(tmp_path: Path) -> None:
    """A file of many megabytes is never held whole: the first sample is there before the rest has been understood."""
    import tracemalloc

    path = tmp_path / "samples.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for i in range(400):
            file.write(f"{json.dumps(written(doc_id=i, doc={'text': 'x' * 50_000}))}\n")
    tracemalloc.start()
    try:
        n = sum(len(one.answer) > 0 for one in open_log(str(path)).samples())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (n, path.stat().st_size > 20_000_000) == (400, True)
    assert peak < 5_000_000
