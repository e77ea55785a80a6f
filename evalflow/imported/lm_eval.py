"""The samples of lm-evaluation-harness: `samples_TASK_DATE.jsonl`, as `--log_samples` writes them.

A line is a document under one of the task's filters, with its requests (`arguments`), what came back (`resps`), what
the filter made of that (`filtered_resps`), and the task's scores by name. Beside it may lie `results_DATE.json`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evalflow.errors import DataError
from evalflow.imported.json_text import object_of, read_text
from evalflow.imported.sample import Answers, Choice, Log, Sample, split_scores
from evalflow.record import digest
from evalflow.text_lines import read_lines

TOOL = "lm-evaluation-harness"
_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl")
_REMEDY = "restore the file, or write it again with --log_samples"
_OWN = (
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash"),
)
"""Keys of a line that are no scores."""
_KEPT = ("model_dtype", "model_revision", "model_sha", "model_num_parameters", "gen_kwargs", "limit", "random_seed")
"""Of the run's settings those that say what answered and how; the model's arguments may hold a key."""


@dataclass(frozen=True)
class _File:
    """A file of samples; `known` is what its table of results says, `prefixed` whether ids need the task's name."""

    path: Path
    task: str
    known: Mapping[str, Any]
    prefixed: bool


class _Read(NamedTuple):
    """What a line comes to: its answers, one a repeat, or why there are none."""

    prompt: str
    target: str | None
    targets: Sequence[str]
    answers: Sequence[str]
    error: str | None = None


def lm_eval_files(folder: Path) -> list[Path]:
    """The files of samples in a folder, or in the one folder within it that has some.

    Raises:
        DataError: several folders within have some: they are of several models.
    """
    found = sorted(folder.glob("samples_*.jsonl")) or sorted(folder.glob("*/samples_*.jsonl"))
    parents = sorted({path.parent for path in found})
    if len(parents) > 1:
        said = ", ".join(parent.name for parent in parents)
        raise DataError(f"{folder}: it holds the samples of several models ({said}); name one of its folders")
    return found


def is_lm_eval(first: Mapping[str, Any]) -> bool:
    """Whether an object is a line of samples."""
    return "doc_id" in first and "arguments" in first and "filtered_resps" in first


def read_lm_eval(paths: Sequence[Path], choice: Choice) -> Log:
    """The log of files of samples, one a task; a file whose name tells no task is of the one that is wanted.

    Raises:
        DataError: two files are of one task, none is of the wanted one, or a table of results is no JSON; others come
            from `samples`.
    """
    files: list[_File] = []
    tasks = {path: named["task"] if (named := _NAME.fullmatch(path.name)) else choice.task or "" for path in paths}
    if choice.task is not None and choice.task not in tasks.values():
        said = f"no samples of task {choice.task!r} are there"
        raise DataError(f"{paths[0].parent}: {said}; choose from {', '.join(sorted(set(tasks.values())))}")
    paths = [path for path in paths if choice.task in (None, tasks[path])]
    for path in paths:
        named = _NAME.fullmatch(path.name)
        task, date = tasks[path], named["date"] if named else ""
        twice = next((one.path for one in files if one.task == task), None)
        if twice is not None:
            raise DataError(f"{path}: {twice.name} is of the same task; name one of the files")
        table = path.with_name(f"results_{date}.json")
        known = object_of(read_text(table), str(table), _REMEDY) if named and table.is_file() else {}
        files.append(_File(path, task, known, len(paths) > 1))
    first = files[0].known
    effective = [_inside(one.known, "n-samples", one.task, "effective") for one in files]
    counts = [count for count in effective if isinstance(count, int)]
    return Log(
        tool=TOOL,
        version=_text_or_none(first.get("lm_eval_version")),
        model=_text_or_none(first.get("model_name")),
        settings=_settings(files),
        files=tuple(one.path for one in files),
        samples=partial(_samples, files, choice.filter, choice.answer),
        planned=sum(counts) if len(counts) == len(files) else None,
    )


def _settings(files: Sequence[_File]) -> dict[str, Any]:
    """What the answers were made under, as far as the tables of results tell."""
    known = files[0].known
    run = {key: value for key in _KEPT if (value := _inside(known, "config", key)) not in (None, "", {}, [])}
    whole = {key: known[key] for key in ("chat_template_sha", "system_instruction_sha") if known.get(key)}
    tasks = {
        one.task: {
            "version": _inside(one.known, "versions", one.task),
            "n_shot": _inside(one.known, "n-shot", one.task),
            "repeats": _inside(one.known, "configs", one.task, "repeats"),
            "generation": _inside(one.known, "configs", one.task, "generation_kwargs"),
        }
        for one in files
        if one.known
    }
    return {**run, **whole, **({"tasks": tasks} if tasks else {})}


def _samples(files: Sequence[_File], wanted: str | None, answer: Answers) -> Iterator[Sample]:
    known: set[str] = set()
    for file in files:
        filters = _filters(file.path)
        known |= set(filters)
        if len(filters) > 1 and wanted is None:
            raise DataError(f"{file.path}: its documents are under {len(filters)} filters; {_choose(filters)}")
    if wanted is not None and wanted not in known:
        said = f"no document is under the filter {wanted!r}"
        raise DataError(f"{files[0].path}: {said}; {_choose(sorted(known))}")
    for file in files:
        filters = _filters(file.path)
        chosen = wanted if wanted in filters else filters[0]
        if len(filters) > 1 and wanted not in filters:
            raise DataError(f"{file.path}: it has no filter {wanted!r}; {_choose(filters)}")
        yield from _of_file(file, chosen, answer)


def _choose(filters: Sequence[str]) -> str:
    return f"choose {' or '.join(f'dataset.filter={name}' for name in filters)}"


def _filters(path: Path) -> list[str]:
    """The filters of a file, in order of first appearance; cheap, for no line is understood beyond its filter."""
    found: dict[str, None] = {}
    for where, line in read_lines(path):
        row = object_of(line, where, _REMEDY)
        if not is_lm_eval(row):
            raise DataError(f"{where}: no sample of {TOOL} (no doc_id, arguments and filtered_resps); {_REMEDY}")
        found[str(row.get("filter", "none"))] = None
    if not found:
        raise DataError(f"{path}: it has no samples; {_REMEDY}")
    return list(found)


def _of_file(file: _File, chosen: str, answer: Answers) -> Iterator[Sample]:
    placed: dict[str, str] = {}
    for where, line in read_lines(file.path):
        row = object_of(line, where, _REMEDY)
        if str(row.get("filter", "none")) != chosen:
            continue
        document = str(row["doc_id"])
        if document in placed:
            said = f"document {document} is already on {placed[document]}"
            raise DataError(f"{where}: {said}; give the samples of one run")
        placed[document] = where
        item = f"{file.task}/{document}" if file.prefixed else document
        yield from _of_line(row, where, item, file.task, answer)


def _of_line(row: Mapping[str, Any], where: str, item: str, task: str, answer: Answers) -> Iterator[Sample]:
    read = _understood(row, where, answer)
    names = row.get("metrics")
    given = {name: row.get(name) for name in (names if isinstance(names, list) else row) if name not in _OWN}
    scores, unread = split_scores({str(name): value for name, value in given.items()})
    fields: dict[str, Any] = {key: row[key] for key in ("doc_hash", "target_hash") if isinstance(row.get(key), str)}
    if "doc_hash" not in fields:
        fields["doc_hash"] = digest(_finite(row.get("doc")))
    if read.targets:
        fields["targets"] = list(read.targets)
    for repeat, text in enumerate(read.answers):
        # what the tool made of all repeats together is of no single one: it stands with the first, once
        own = (scores, unread) if repeat == 0 else ({}, {})
        yield Sample(where, item, task, repeat, read.prompt, read.target, text, fields, *own, error=read.error)


def _understood(row: Mapping[str, Any], where: str, answer: Answers) -> _Read:
    """A line by the kind of its requests: a text to write, choices to weigh, or one text to weigh."""
    asked, resps, filtered = _requests(row["arguments"]), row.get("resps"), row["filtered_resps"]
    if not asked or not isinstance(filtered, list) or not isinstance(resps, list) or not resps or not filtered:
        raise DataError(f"{where}: it has no requests or no responses; {_REMEDY}")
    prompt, target = _text(asked[0][0]), row.get("target")
    if len(asked[0]) > 1 and isinstance(asked[0][1], Mapping):
        answers = _texts(resps[0] if answer == "written" else filtered[0])
        return _Read(prompt, *_targets(target), answers)
    if len(asked[0]) == 1:  # a text that was weighed whole: nothing was asked, and nothing answered
        return _Read(prompt, *_targets(target), [""])
    weights = [_weight(one, where) for one in filtered]
    if len(weights) != len(asked):
        raise DataError(f"{where}: {len(asked)} requests have {len(weights)} responses; {_REMEDY}")
    if len(asked) == 1:
        return _Read(prompt, *_targets(target), [_text(asked[0][1]).strip() if weights[0][1] else ""])
    return _chosen(prompt, target, asked, weights)


def _chosen(prompt: str, target: Any, asked: Sequence[Sequence[Any]], weights: Sequence[tuple[float, bool]]) -> _Read:
    """The likeliest of several choices, by the sum of its log-probabilities; of equals the first.

    Where the choices stand in the prompts and what follows is always the same, a choice's number is its text. The
    weights of the choices without a question (for `acc_mutual_info`) come after those of the choices, and have no say.
    """
    half = len(asked) // 2
    bare = len(asked) % 2 == 0 and all(_text(one[0]) == "" for one in asked[half:]) and _text(asked[0][0]) != ""
    n = half if bare else len(asked)
    texts = [_text(one[1]).strip() for one in asked[:n]]
    choices = [str(place) for place in range(n)] if len(set(texts)) == 1 else texts
    sums = [weight for weight, _ in weights[:n]]
    right, several = _targets(target, choices)
    if any(math.isnan(weight) for weight in sums):
        return _Read(prompt, right, several, [""], "a log-probability is NaN, so that no choice is the likeliest")
    return _Read(prompt, right, several, [choices[sums.index(max(sums))]])


def _targets(target: Any, choices: Sequence[str] = ()) -> tuple[str | None, Sequence[str]]:
    """The target as a text, or (None, all of them) where there are several; a number of a choice is that choice.

    lm-eval writes every target as a text: a list of numbers of choices can be known again there, a list of texts not.
    """
    if choices and isinstance(target, str) and re.fullmatch(r"\[\s*\d+(,\s*\d+)*\s*\]", target):
        target = [int(number) for number in re.findall(r"\d+", target)]
    if isinstance(target, list):
        told = [_choice(one, choices) for one in target]
        return (told[0], ()) if len(told) == 1 else (None, told)
    return (None if target is None else _choice(target, choices)), ()


def _choice(target: Any, choices: Sequence[str]) -> str:
    text = _text(target)
    place = int(text) if re.fullmatch(r"\d{1,9}", text) else len(choices)
    return choices[place] if place < len(choices) else text


def _requests(arguments: Any) -> list[list[Any]]:
    """Each request's arguments: newer versions number them by name, older ones list them."""
    requests = arguments.values() if isinstance(arguments, Mapping) else arguments
    if not isinstance(arguments, Mapping | list):
        return []
    listed = [list(one.values()) if isinstance(one, Mapping) else one for one in requests]
    return listed if all(isinstance(one, list) and one for one in listed) else []


def _weight(response: Any, where: str) -> tuple[float, bool]:
    """The log-probability of a continuation, and whether the model would have written it."""
    try:
        weight, greedy = response
        return float(weight), str(greedy) == "True"
    except (TypeError, ValueError):
        raise DataError(f"{where}: {response!r:.60} is no (log-probability, greedy); {_REMEDY}") from None


def _texts(answers: Any) -> list[str]:
    return [_text(one) for one in answers] if isinstance(answers, list) and answers else [_text(answers)]


def _text(value: Any) -> str:
    """A value as a text; a chat that was written as JSON stands alone in a list."""
    if isinstance(value, list) and len(value) == 1:
        return _text(value[0])
    return value if isinstance(value, str) else str(value)


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def _inside(known: Mapping[str, Any], *keys: str) -> Any:
    value: Any = known
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _finite(value: Any) -> Any:
    """A document of which a digest can be taken: NaN and the like as texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(part) for key, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list) else value
