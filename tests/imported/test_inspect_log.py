import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import DataError
from evalflow.imported.log import log_files, open_log
from tests.imported.by_hand import INSPECT, inspect_log, inspect_sample, samples_of


def kept(tmp_path: Path, *samples: dict[str, Any], **changes: Any) -> Path:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(inspect_log(*samples, **changes), indent=2), encoding="utf-8")
    return path


def test_a_log_of_the_tool_itself_tells_who_answered_what() -> None:
    """Its head, each sample once an epoch, and the tokens with those from the cache; grades are numbers."""
    log = open_log(str(INSPECT / "good.json"))
    assert (log.tool, log.version, log.model, log.planned) == ("inspect_ai", "0.3.285", "mockllm/model", 8)
    assert log.settings["steps"] == ["fragile", "generate"] and log.settings["epochs"] == 2
    by = {(sample.id, sample.repeat): sample for sample in log.samples()}
    assert len(by) == 8
    rome, milan, spain = by["capital-italy", 0], by["capital-italy", 1], by["capital-spain", 0]
    assert (rome.answer, rome.scores) == ("It is Rome.", {"includes": 1.0, "brevity": 1 / 3})
    assert (milan.answer, milan.scores) == ("Milan", {"includes": 0.0, "brevity": 1.0})
    assert (rome.prompt, rome.target, rome.task) == (
        "Question: What is the capital of Italy?\nShort answer:",
        "Rome",
        "facts",
    )
    assert (rome.tokens_in, rome.tokens_out) == (12, 3)
    assert (rome.finish_reason, by["capital-germany", 0].finish_reason) == ("stop", "length")
    assert by["capital-germany", 1].answer == "Berlin — 柏林"
    assert spain.scores["includes"] == 0.0


def test_a_score_that_the_scorer_could_not_give_is_left_out() -> None:
    """The tool writes NaN for it, which is no number and not 0."""
    spain = next(sample for sample in samples_of(INSPECT / "worse.json") if sample.id == "capital-spain")
    assert (spain.scores, spain.unread) == ({"includes": 0.0}, {"brevity": "not finite"})
    assert spain.answer == ""


def test_a_sample_that_broke_has_the_tools_own_message() -> None:
    """It has no answer; the others have theirs."""
    samples = samples_of(INSPECT / "errored.json")
    assert [sample.error for sample in samples if sample.id == "capital-italy"] == [
        "RuntimeError('the tool broke')"
    ] * 2
    assert all(sample.error is None and sample.scores for sample in samples if sample.id != "capital-italy")


def test_a_log_that_was_not_finished_gives_what_it_has_and_says_so() -> None:
    """One whole sample, and two that were broken off, of eight."""
    log = open_log(str(INSPECT / "stopped.json"))
    assert log.remarks == ("the log's status is error: RuntimeError('the tool broke')",)
    assert log.planned == 8
    assert sorted((sample.id, sample.error is None) for sample in log.samples()) == [
        ("capital-france", True),
        ("capital-germany", False),
        ("capital-italy", False),
    ]


@pytest.mark.parametrize(
    ("value", "score"),
    [
        *[("C", 1.0), ("I", 0.0), ("P", 0.5), ("N", 0.0), (True, 1.0), (3, 3.0), ("0.25", 0.25), ("Yes", 1.0)],
        *[("c", None), ("B", None), ("nan", None), (None, None), ([1, 2], None), (10**400, None)],
    ],
    ids=str,
)
def test_what_a_value_is_worth(value: Any, score: float | None, tmp_path: Path) -> None:
    """Grades and words as the tool has them; what is no number is left out with a reason, where the tool says 0."""
    path = kept(tmp_path, inspect_sample(scores={"match": {"value": value}}))
    (sample,) = samples_of(path)
    assert sample.scores.get("match") == score
    assert ("match" in sample.unread) == (score is None)


def test_a_scorer_of_several_values_has_a_score_for_each(tmp_path: Path) -> None:
    """Each under the scorer's name and its own."""
    path = kept(tmp_path, inspect_sample(scores={"both": {"value": {"a": "C", "b": 0.25}}}))
    assert samples_of(path)[0].scores == {"both/a": 1.0, "both/b": 0.25}


def test_a_chat_is_one_text_and_so_is_an_answer_in_parts(tmp_path: Path) -> None:
    """Pictures are told apart, thoughts are no answer, and choices stand below the question."""
    parts = [{"type": "text", "text": "Look: "}, {"type": "image", "image": "data:AAAA"}]
    output = {"choices": [{"message": {"content": [{"type": "reasoning", "reasoning": "hm"}, parts[0]]}}]}
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    path = kept(tmp_path, inspect_sample(input=chat, choices=["red", "blue"], output=output))
    (sample,) = samples_of(path)
    before, _, after = sample.prompt.partition("[image ")
    assert (before, after[8:]) == ("system: Be brief.\n\nuser: Look: ", "]\n- red\n- blue")
    assert sample.answer == "Look: "


def test_several_targets_are_none_of_them(tmp_path: Path) -> None:
    """A list of one is that one; no metric that needs the target can take one of two for it."""
    one, two = (inspect_sample(id=i, target=target) for i, target in ((1, ["a"]), (2, ["a", 7])))
    first, second = samples_of(kept(tmp_path, one, two))
    assert (first.target, first.fields) == ("a", {})
    assert (second.target, second.fields) == (None, {"targets": ["a", "7"]})


def test_a_limit_cuts_an_answer_and_without_one_is_an_error(tmp_path: Path) -> None:
    """So the share of cut answers counts it."""
    cut = inspect_sample(id=1, limit={"type": "token", "limit": 5})
    none = inspect_sample(id=2, limit={"type": "time", "limit": 5}, output={"choices": [], "completion": ""})
    first, second = samples_of(kept(tmp_path, cut, none))
    assert (first.finish_reason, first.error) == ("length", None)
    assert second.error == "ended by the time limit before there was an answer"


def test_a_zip_of_plain_json_is_read_as_the_text_is(tmp_path: Path) -> None:
    """A log that was not finished has only what it began with for a head."""
    path = tmp_path / "log.eval"
    head = inspect_log(inspect_sample())
    (sample,) = head.pop("samples")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(head))
        archive.writestr("summaries.json", "[]")
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    assert [one.answer for one in samples_of(path)] == ["Because."]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": head["eval"], "plan": {}}))
    log = open_log(str(path))
    assert (log.remarks, list(log.samples())) == (("the log's status is started",), [])


def test_a_zip_that_unpacks_to_far_more_than_a_log_is_refused(tmp_path: Path) -> None:
    """By what it says of itself, before a byte is unpacked; and no member is unpacked beyond that."""
    path, n = tmp_path / "log.eval", 65 * 1024**2
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(inspect_log()))
        archive.writestr("samples/1_epoch_1.json", b"0" * n)
    with pytest.raises(
        DataError, match=r"log\.eval: it would unpack to 68,1\d\d,\d\d\d bytes, .* times its size, which"
    ):
        open_log(str(path))
    raw = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = raw.rindex(mark) + at
        raw[place : place + 4] = (1000).to_bytes(4, "little")  # it says that it is small
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"1_epoch_1\.json: damaged"):
        samples_of(path)


def test_a_zip_that_this_python_cannot_unpack_says_what_to_do(tmp_path: Path) -> None:
    """The tool packs with zstd; the method's number is all that a reader sees of it."""
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
    raw = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = raw.index(mark) + at
        raw[place : place + 2] = (93).to_bytes(2, "little")
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"log\.eval: .* unpack; convert it with `inspect log convert --to json`$"):
        open_log(str(path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"version": 2, "status": "success", "eval": {}, "samples": [{"id": 1,', "not whole JSON"),
        ('{"version": 2, "status": "success", "eval": {}', "not whole JSON"),
        ('{"version": 3, "status": "success", "eval": {}}', "a log of version 3, not 2"),
        ('{"results": {}, "configs": {}}', "a table of results, without the answers"),
        ('{"a": 1}', "of no known tool"),
        ("[1]", "not whole JSON"),
        ("", "it is empty"),
        ("[" * 100_000, "nested|recursion|not whole JSON"),
    ],
)
def test_what_is_no_log_is_refused_in_one_line(text: str, said: str, tmp_path: Path) -> None:
    """Half a log, one of a later version, another tool's file, and nothing at all."""
    path = tmp_path / "log.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said) as refused:
        samples_of(path)
    assert str(refused.value).startswith(str(path)) and "; " in str(refused.value) and "\n" not in str(refused.value)


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    """With the place."""
    path = tmp_path / "log.json"
    path.write_bytes(
        json.dumps(inspect_log(inspect_sample(input="caf?")), ensure_ascii=False).encode().replace(b"?", b"\xe9")
    )
    with pytest.raises(DataError, match=r"log\.json.*: not UTF-8"):
        samples_of(path)


def test_a_sample_that_is_there_twice_or_has_no_id_is_refused(tmp_path: Path) -> None:
    """Which one would answer is not for us to say."""
    with pytest.raises(DataError, match=r"sample 2: sample '1', epoch 1 is already .*sample 1; "):
        samples_of(kept(tmp_path, inspect_sample(), inspect_sample()))
    with pytest.raises(DataError, match=r"sample 1: it has no id or no epoch; "):
        samples_of(kept(tmp_path, inspect_sample(id=None)))


def test_a_log_without_samples_has_none(tmp_path: Path) -> None:
    """As with `--no-log-samples`, where the tool writes null or leaves the key out."""
    assert samples_of(kept(tmp_path, samples=None)) == []


def test_a_folder_of_one_log_is_that_log(tmp_path: Path) -> None:
    """Of several, one has to be named."""
    kept(tmp_path, inspect_sample())
    assert len(samples_of(tmp_path)) == 1
    (tmp_path / "other.eval").touch()
    with pytest.raises(DataError, match="it holds 2 logs of Inspect; name one of them"):
        samples_of(tmp_path)


def test_of_a_folder_only_what_the_tools_write_is_looked_at(tmp_path: Path) -> None:
    """By name, in it and in the folders within it: what lies deeper or is called otherwise may be anything."""
    logs = ["a.eval", "b.json", "samples_t_1.jsonl", "within/results_1.json", "within/samples_t_1.jsonl"]
    others = ["c.jsonl", "d.txt", "within/e.json", "within/deep/samples_t_1.jsonl", "within/deep/f.json"]
    for name in [*logs, *others]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / "pipe.json")
    assert log_files(str(tmp_path)) == [tmp_path / name for name in logs]
    assert log_files(str(tmp_path / "a.eval")) == [tmp_path / "a.eval"]


def test_a_device_or_a_pipe_is_no_log(tmp_path: Path) -> None:
    """It is refused before it is read, which might never end."""
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path / "pipe.json", Path("/dev/zero")):
        with pytest.raises(DataError, match="it is no file but a device or a pipe; give"):
            open_log(str(path))
    with pytest.raises(DataError, match="it holds no log"):
        open_log(str(tmp_path))
