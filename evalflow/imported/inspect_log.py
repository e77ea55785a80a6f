"""The logs of Inspect: one JSON text (`.json`), or a zip of JSON members (`.eval`)."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from evalflow.errors import DataError
from evalflow.imported.json_text import members, object_of, read_text
from evalflow.imported.sample import Log, Sample, split_scores
from evalflow.record import FinishReason, digest

TOOL = "inspect_ai"
VERSION = 2
"""The version of the log's format."""
_CONVERT = "convert it with `inspect log convert --to json`"
_REMEDY = f"restore the file, or {_CONVERT}"
MOST_UNPACKED = 64 * 1024**2
"""Bytes to which any zip may unpack; one that comes to more may do so by `MOST_TIMES` its size, as text hardly does."""
MOST_TIMES = 200
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""What texts are worth as scores, as Inspect's own `value_to_float` has it: grades as written, words in any case."""
_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}


def is_inspect(head: Mapping[str, Any]) -> bool:
    """Whether an object is a log's head."""
    return "eval" in head and "status" in head and "version" in head


def read_inspect(path: Path, task: str | None = None) -> Log:
    """The log of a file.

    Raises:
        DataError: it cannot be read, or is of another version or task; what is wrong with a sample comes from
            `samples`.
    """
    head = _zip_head(path) if zipfile.is_zipfile(path) else head_of(path)
    if not is_inspect(head):
        raise DataError(f"{path}: no log of Inspect (no version, status and eval); {_REMEDY}")
    if head["version"] != VERSION:
        raise DataError(f"{path}: a log of version {head['version']!r:.20}, not {VERSION}; {_CONVERT}")
    about, plan = _mapping(head["eval"]), _mapping(head.get("plan"))
    config, dataset = _mapping(about.get("config")), _mapping(about.get("dataset"))
    if task not in (None, about.get("task")):
        raise DataError(f"{path}: its task is {about.get('task')!r}, not {task!r}; name that one, or none")
    n, epochs = dataset.get("samples"), config.get("epochs") or 1
    remarks = []
    if head["status"] != "success":
        told = _mapping(head.get("error")).get("message")
        remarks.append(f"the log's status is {head['status']}{f': {_line(told)}' if told else ''}")
    version = _mapping(about.get("packages")).get(TOOL)
    settings = {
        "task": about.get("task"),
        "task_version": about.get("task_version"),
        "solver": about.get("solver"),
        "steps": [_mapping(step).get("solver") for step in plan.get("steps") or ()],
        "generation": {**_mapping(about.get("model_generate_config")), **_mapping(plan.get("config"))},
        "epochs": epochs,
    }
    return Log(
        tool=TOOL,
        version=None if version is None else str(version),
        model=None if about.get("model") is None else str(about["model"]),
        settings={key: value for key, value in settings.items() if value not in (None, {}, [])},
        files=(path,),
        samples=partial(_samples, path, str(about.get("task") or "")),
        planned=n * epochs if isinstance(n, int) and isinstance(epochs, int) else None,
        remarks=tuple(remarks),
    )


def head_of(path: Path) -> dict[str, Any]:
    """What comes before the samples in a JSON text.

    Raises:
        DataError: it cannot be read, or is no object.
    """
    head = {}
    for key, value in members(read_text(path), "samples", str(path), _REMEDY):
        if key == "samples":
            break
        head[key] = value
    return head


def _zip_head(path: Path) -> dict[str, Any]:
    """The header, or of a log that was not finished what it began with."""
    with _zipped(path) as archive:
        names = archive.namelist()
        name = next((one for one in ("header.json", "_journal/start.json") if one in names), None)
        if name is None:
            raise DataError(f"{path}: a zip without a log's header; give a log of Inspect")
        head = object_of(_member(archive, name, path), f"{path}/{name}", _REMEDY)
    return head if "status" in head else {**head, "status": "started"}


def _samples(path: Path, task: str) -> Iterator[Sample]:
    seen: dict[tuple[str, int], str] = {}
    for where, raw in _raw(path):
        sample = _sample(raw, where, task)
        if (sample.id, sample.repeat) in seen:
            said = f"sample {sample.id!r}, epoch {sample.repeat + 1} is already {seen[sample.id, sample.repeat]}"
            raise DataError(f"{where}: {said}; give the log as Inspect wrote it")
        seen[sample.id, sample.repeat] = where
        yield sample


def _raw(path: Path) -> Iterator[tuple[str, Any]]:
    if not zipfile.is_zipfile(path):
        values = (value for key, value in members(read_text(path), "samples", str(path), _REMEDY) if key == "samples")
        for number, value in enumerate((one for one in values if one is not None), start=1):
            yield f"{path}: sample {number}", value
        return
    with _zipped(path) as archive:
        for name in archive.namelist():
            if name.startswith("samples/") and name.endswith(".json"):
                yield f"{path}/{name}", object_of(_member(archive, name, path), f"{path}/{name}", _REMEDY)


def _sample(raw: Any, where: str, task: str) -> Sample:
    if not isinstance(raw, dict) or raw.get("id") is None or not isinstance(raw.get("epoch"), int):
        raise DataError(f"{where}: it has no id or no epoch; {_REMEDY}")
    output, usage = _mapping(raw.get("output")), _mapping(_mapping(raw.get("output")).get("usage"))
    answer, reason = _answer(output)
    error, limit = _mapping(raw.get("error")).get("message"), _mapping(raw.get("limit")).get("type")
    if error is None and not output.get("choices") and limit is not None:
        error = f"ended by the {limit} limit before there was an answer"
    elif limit is not None:  # what it had by then is not all that it would have been
        reason = "length"
    targets = raw.get("target")
    listed = [str(one) for one in targets] if isinstance(targets, list) else []
    single = listed[0] if len(listed) == 1 else None if isinstance(targets, list) or targets is None else str(targets)
    scores, unread = split_scores(_scores(_mapping(raw.get("scores"))))
    read = [usage.get(key) for key in ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")]
    counted = [count for count in read if isinstance(count, int)]
    return Sample(
        where=where,
        id=str(raw["id"]),
        task=task,
        repeat=raw["epoch"] - 1,
        prompt=_prompt(raw),
        target=single,
        answer=answer,
        fields={"targets": listed} if len(listed) > 1 else {},
        scores=scores,
        unread=unread,
        error=None if error is None else _why(error),
        finish_reason=reason,
        tokens_in=sum(counted) if isinstance(usage.get("input_tokens"), int) else None,
        tokens_out=_whole(usage.get("output_tokens")),
        reasoning_tokens=_whole(usage.get("reasoning_tokens")),
    )


def _answer(output: Mapping[str, Any]) -> tuple[str, FinishReason | None]:
    """What the model wrote last, and why it stopped."""
    choices = output.get("choices")
    first = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
    completion = output.get("completion")
    text = completion if isinstance(completion, str) else _content(_mapping(first.get("message")).get("content"))
    said = first.get("stop_reason")
    return text, None if said is None else _REASONS.get(str(said), "other")


def _prompt(raw: Mapping[str, Any]) -> str:
    """The sample's input, a chat as its messages one after another, with its choices below."""
    given = raw.get("input")
    if isinstance(given, list):
        turns = [_mapping(one) for one in given]
        text = "\n\n".join(f"{turn.get('role', 'user')}: {_content(turn.get('content'))}" for turn in turns)
    else:
        text = "" if given is None else str(given)
    choices = raw.get("choices")
    return "\n".join([text, *(f"- {one}" for one in choices)]) if isinstance(choices, list) and choices else text


def _content(content: Any) -> str:
    """A message's text; of a part that is none (a picture) its kind, and so much that another is told from it."""
    if not isinstance(content, list):
        return "" if content is None else str(content)
    parts = [_mapping(part) for part in content]
    return "".join(
        str(part.get("text", "")) if part.get("type") == "text" else f"[{part.get('type')} {digest(part)[:8]}]"
        for part in parts
        if part.get("type") != "reasoning"
    )


def _scores(given: Mapping[str, Any]) -> dict[str, Any]:
    """Each scorer's value as a number where it is one; one of several values has each under `scorer/key`."""
    found: dict[str, Any] = {}
    for name, score in given.items():
        value = _mapping(score).get("value")
        if isinstance(value, Mapping):
            found |= {f"{name}/{key}": _number(part) for key, part in value.items()}
        else:
            found[name] = _number(value)
    return found


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    known = _GRADES.get(value, _WORDS.get(value.lower()))
    if known is not None:
        return known
    try:
        return float(value)
    except ValueError:
        return value


def _zipped(path: Path) -> zipfile.ZipFile:
    try:
        archive, size = zipfile.ZipFile(path), path.stat().st_size
    except (OSError, zipfile.BadZipFile) as fault:
        raise DataError(f"{path}: not a whole zip ({fault}); {_REMEDY}") from None
    unpacked = sum(one.file_size for one in archive.infolist())
    if unpacked > max(MOST_UNPACKED, MOST_TIMES * size):
        archive.close()
        said = f"it would unpack to {unpacked:,} bytes, {unpacked // size:,} times its size, which no log does"
        raise DataError(f"{path}: {said}; {_REMEDY}")
    return archive


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> str:
    """The text of a member.

    Raises:
        DataError: it is packed in a way that this Python does not know (Inspect's default, zstd, before 3.14), damaged,
            or no UTF-8.
    """
    try:
        with archive.open(name) as member:
            return member.read(archive.getinfo(name).file_size).decode("utf-8")  # no more than it was taken for
    except (NotImplementedError, RuntimeError):
        raise DataError(f"{path}: it is packed in a way that this Python cannot unpack; {_CONVERT}") from None
    except (OSError, zipfile.BadZipFile, EOFError, ValueError) as fault:
        raise DataError(f"{path}/{name}: damaged ({fault}); {_REMEDY}") from None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _line(text: Any) -> str:
    return " ".join(str(text).split())


def _why(error: Any) -> str:
    """What a sample failed with; of one that Inspect itself gave up, no address of a scope that is gone."""
    said = _line(error)
    return "cancelled by the tool before it had an answer" if said.startswith("CancelledError") else said
