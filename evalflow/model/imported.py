"""Answers that another tool recorded, where a model would stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal

from evalflow.errors import EvalflowError, ModelError
from evalflow.imported.log import log_digest, log_files, open_log
from evalflow.imported.sample import Choice, Sample
from evalflow.model.protocol import Model
from evalflow.record import Completion, Request, content_of, digest

Same = Literal["prompt", "document", "id"]
NAMED = 4
"""Tasks whose scores are named; the others are counted."""


@dataclass(frozen=True)
class Recorded:
    """What is kept of a log: each answer by (item id, repeat), and what it says of itself.

    `unread` counts the scores that are no number, by name and reason.
    """

    identity: Mapping[str, Any]
    answers: Mapping[tuple[str, int], _Answer]
    scores: tuple[str, ...]
    unread: Mapping[str, int]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class _Answer:
    """An answer, and digests of what it answers: the prompt and the item but for its prompt."""

    completion: Completion
    error: str | None
    prompt: str
    content: str


@dataclass(frozen=True)
class Imported(Model):
    """Answers an item with what a log of lm-evaluation-harness or Inspect holds for its id; a seed is a repeat.

    Seed 0 is the first repeat (Inspect's epoch 1). What the log lacks, or the tool noted as an error, is an error row.
    So is an answer to another question than the dataset's under that id: with `same` as `prompt` the prompt, the
    document and the target must be the dataset's; `document` lets prompts differ, as where two models have chat
    templates of their own; `id` takes the id's word for it. Neither decoding nor the arm's temperature change anything,
    and no times are known.

    `task` chooses among a folder's tasks, and `filter` among lm-eval's filters where a task has several. Its text is
    then what the filter left (`answer: filtered`), which is what lm-eval scored, or what the model wrote (`written`),
    every repeat of it; of several choices it is the likeliest. An Inspect log has neither, and the text is what the
    model wrote last.
    """

    concurrency_free: ClassVar[bool] = True
    recorded: ClassVar[bool] = True

    path: str
    task: str | None = None
    filter: str | None = None
    answer: Literal["filtered", "written"] = "filtered"
    same: Same = "prompt"
    _counts: Counter[str] = field(default_factory=Counter, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Choice(self.task, self.filter, self.answer)
        if self.same not in ("prompt", "document", "id"):
            raise ValueError(f"same is {self.same!r}; choose from prompt, document, id")

    def identity(self) -> Mapping[str, Any]:
        """The tool, its version and the model as the log names them, its settings, and a digest of the log."""
        try:
            known = self._recorded().identity
        except EvalflowError:  # `missing` says it, before anything is started
            known = {"model": "imported", "log": None}
        return {**known, "task": self.task, "filter": self.filter, "answer": self.answer, "same": self.same}

    def missing(self) -> str | None:
        """What is wrong with the log."""
        try:
            self._recorded()
        except EvalflowError as fault:
            return str(fault)
        return None

    def gives(self) -> tuple[str, ...] | None:
        """The names of the scores that come with the answers; None where the log cannot be read."""
        try:
            return self._recorded().scores
        except EvalflowError:
            return None

    def given(self, score: str) -> Mapping[tuple[str, int], float]:
        """(item id, repeat) -> that score, of the answers that come with it; none where the log cannot be read."""
        try:
            answers = self._recorded().answers
        except EvalflowError:
            return {}
        told = {key: one.completion.given or {} for key, one in answers.items() if one.error is None}
        return {key: scores[score] for key, scores in told.items() if score in scores}

    def remarks(self) -> tuple[str, ...]:
        """What a reader has to know of the log: that it was not finished, or lacks samples."""
        try:
            return self._recorded().remarks
        except EvalflowError:
            return ()

    async def complete(self, request: Request) -> Completion:
        """The recorded answer, with the tool's scores of it.

        Raises:
            ModelError: there is none (`no_output`), it is of another question (`other_question`), or the tool noted an
                error (`recorded_error`).
        """
        recorded = self._recorded()
        found = recorded.answers.get((request.item_id, request.repeat))
        if found is None:
            raise ModelError(self._absent(request, recorded), "no_output")
        self._counts["asked"] += 1
        if self.same == "prompt" and digest(request.prompt) != found.prompt:
            said = f"{self.path}: item {request.item_id!r} was asked with another prompt than the dataset's"
            cure = "import runs of one prompt, or set model.same=document where only the chat templates differ"
            raise ModelError(f"{said}; {cure}", "other_question")
        if self.same != "id" and request.content != found.content:
            said = f"{self.path}: item {request.item_id!r} has another document, target or task than the dataset's"
            raise ModelError(f"{said}; import runs of one dataset", "other_question")
        if found.error is not None:
            raise ModelError(found.error, "recorded_error")
        return found.completion

    def facts(self) -> Mapping[str, Any]:
        """How many answers the log holds, how many of them were asked for, and which scores were no number."""
        recorded = self._recorded()
        told: dict[str, Any] = {"answers_in_log": len(recorded.answers), "answers_used": self._counts["asked"]}
        if recorded.unread:
            told["scores_left_out"] = dict(recorded.unread)
        return told

    def _recorded(self) -> Recorded:
        found = [(one, one.stat()) for one in log_files(self.path) if one.is_file()]
        states = tuple((str(one), state.st_size, state.st_mtime_ns) for one, state in found)
        return _recorded(self.path, Choice(self.task, self.filter, self.answer), states)

    def _absent(self, request: Request, recorded: Recorded) -> str:
        repeats = sum(item == request.item_id for item, _ in recorded.answers)
        if repeats:
            said = f"it has {repeats} answers for item {request.item_id!r}, and none for seed {request.repeat}"
            cure = "give the arm fewer seeds, or answer=written where a filter kept one of several"
            return f"{self.path}: {said}; {cure}"
        other = next(iter(recorded.answers))[0]
        return f"{self.path}: it has no answer for item {request.item_id!r} (its ids are like {other!r}); leave it out"


@lru_cache(maxsize=8)
def _recorded(path: str, choice: Choice, states: tuple[Any, ...]) -> Recorded:  # noqa: ARG001
    """A log, read once per state of its files.

    Raises:
        DataError: as `open_log` and its samples.
    """
    log = open_log(path, choice)
    answers: dict[tuple[str, int], _Answer] = {}
    names: dict[str, None] = {}
    unread: Counter[str] = Counter()
    by_task: dict[str, set[str]] = {}
    for sample in log.samples():
        answers[sample.id, sample.repeat] = _kept(sample)
        names |= dict.fromkeys([*sample.scores, *sample.unread])
        by_task.setdefault(sample.task, set()).update(sample.scores, sample.unread)
        unread.update(f"{name}: {why}" for name, why in sample.unread.items())
    if not answers:
        raise ModelError(f"{path}: it holds no sample; give a log with some")
    remarks = [f"{path}: {remark}" for remark in log.remarks]
    if log.planned is not None and len(answers) < log.planned:
        remarks.append(f"{path}: {len(answers)} of {log.planned} samples are there")
    if len(set(map(frozenset, by_task.values()))) > 1:
        listed = [f"{task}: {', '.join(sorted(scores)) or 'none'}" for task, scores in sorted(by_task.items())]
        told = "; ".join(listed[:NAMED]) + (f"; and {len(listed) - NAMED} more" if len(listed) > NAMED else "")
        remarks.append(f"{path}: a score is of the tasks that have it ({told}); dataset.task=NAME keeps one task")
    identity = {
        "model": "imported",
        "tool": log.tool,
        "version": log.version,
        "name": log.model,
        "log": log_digest(log),
        "settings": dict(log.settings),
    }
    return Recorded(identity, answers, tuple(names), dict(unread), tuple(remarks))


def _kept(sample: Sample) -> _Answer:
    """What hit the other tool's cache is left out: it would be held against the regime that the arm claims."""
    completion = Completion(
        sample.answer,
        sample.finish_reason,
        tokens_in=sample.tokens_in,
        tokens_out=sample.tokens_out,
        tokens_source=None if sample.tokens_out is None else "usage",
        reasoning_tokens=sample.reasoning_tokens,
        given=sample.scores or None,
    )
    return _Answer(completion, sample.error, digest(sample.prompt), content_of(sample.item))
