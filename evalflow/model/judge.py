"""A model that grades the answers of a finished run, by asking another model about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from evalflow.errors import ModelError, StoredRunError
from evalflow.model.protocol import Model
from evalflow.model.rubric import Rubric
from evalflow.record import Cache, Completion, Decoding, Request
from evalflow.stored_answers import StoredAnswer, StoredAnswers, stored_answers

_NEEDS = ("identity", "missing", "start", "prove", "complete", "settle", "facts", "price", "close", "measure")


@dataclass
class Judge(Model):
    """Asks the model `judge` to grade what `arm` of a finished `run` (folder or id) answered, and gives its reply.

    `rubric` is the text that it is asked with (`evalflow.model.rubric.Rubric`). A pass of this arm grades the pass of
    the same seed; with `seed` every pass grades that one, so that the judge's own spread shows. An answer that was an
    error or empty is not asked about: it is an error row here too, never a grade. Drafts are graded as they were
    written. Whatever else is asked of it is asked of the model `judge`.
    """

    isolated_by: ClassVar[str] = "use a judge that offers it (none can be warm: items share no prefix of a rubric)"

    run: str
    arm: str
    rubric: str
    judge: object
    seed: int | None = None
    outputs: str = "outputs"

    def __post_init__(self) -> None:
        absent = [name for name in _NEEDS if not hasattr(self.judge, name)]
        if absent:
            raise ValueError(
                f"judge is {type(self.judge).__name__}, which has no {absent[0]}; give a model that answers"
            )
        self._judge: Any = self.judge
        self._rubric = Rubric(self.rubric)
        self._answers: StoredAnswers | None = None

    @property
    def regimes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the model but `warm`."""
        return tuple(one for one in getattr(self._judge, "regimes", Model.regimes) if one != "warm")

    @property
    def paced(self) -> bool:  # type: ignore[override]
        """Whether the model is."""
        return bool(getattr(self._judge, "paced", False))

    @property
    def concurrency_free(self) -> bool:  # type: ignore[override]
        """Whether the model is."""
        return bool(getattr(self._judge, "concurrency_free", False))

    def identity(self) -> Mapping[str, Any]:
        """The model, the rubric, and what is graded: a digest of questions and answers, None where they are gone."""
        graded: dict[str, Any] = {"run": None, "arm": self.arm, "seed": self.seed, "answers": None}
        try:
            answers = self._known()
        except StoredRunError:
            pass  # as of weights that are not there: `missing` says so, and a run that is scored again needs none
        else:
            there = self.arm in answers.arms
            graded |= {"run": answers.run_id, "answers": answers.digest_of(self.arm) if there else None}
        return {"model": "judge", **self.graded_by(), "graded": graded}

    def graded_by(self) -> Mapping[str, Any]:
        """The model, and the digest of the rubric."""
        return {"judge": dict(self._judge.identity()), "rubric": self._rubric.digest}

    def missing(self) -> str | None:
        """The run or its arm or pass, a target that the rubric asks for, or what the model lacks."""
        try:
            why = self._why_not(self._known())
        except StoredRunError as fault:
            return str(fault)
        told: str | None = self._judge.missing()
        return why or told

    async def start(self) -> None:
        """Start the model.

        Raises:
            ModelError: it cannot be started, or the run is not what was planned with.
        """
        try:
            now = stored_answers(self.run, Path(self.outputs))
        except StoredRunError as fault:
            raise ModelError(str(fault)) from None
        planned = self._answers
        if why := self._why_not(now):
            raise ModelError(why)
        if planned is not None and planned.digest_of(self.arm) != now.digest_of(self.arm):
            raise ModelError(f"run {now.run_id} has other answers than when this was planned; start again")
        self._answers = now
        await self._judge.start()

    async def prove(self, decoding: Decoding, cache: Cache) -> None:
        """Have the model show what it can be."""
        await self._judge.prove(decoding, cache)

    async def complete(self, request: Request) -> Completion:
        """What the model replies when it is asked about the stored answer.

        Raises:
            ModelError: there is nothing to grade, or the model has no answer.
        """
        answers = self._known()
        item, answer = answers.by_id.get(request.item_id), self._answer(request)
        if item is None or item.prompt != request.prompt:
            said = "has no such item" if item is None else "was asked another prompt for it"
            raise ModelError(f"run {answers.run_id} {said}; compose dataset=graded_run of this run", "other_item")
        if answer is None:
            passes = ", ".join(map(str, answers.seeds(self.arm)))
            said = f"arm {self.arm} of run {answers.run_id} has no row of seed {self._seed(request)} for it"
            raise ModelError(f"{said}; its passes are {passes}: set seeds, or model.seed", "not_answered")
        if answer.text is None:
            raise ModelError(f"there is no answer to grade ({answer.why or answer.status})", "no_answer")
        if not answer.text.strip():
            raise ModelError("the answer to grade is empty", "empty_answer")
        prompt = self._rubric.filled(item.prompt, item.target, answer.text)
        completion: Completion = await self._judge.complete(replace(request, prompt=prompt))
        return completion

    def about(self, request: Request) -> Mapping[str, Any]:
        """Whose answer it is that a row grades, and the answer."""
        answer = self._answer(request)
        text = None if answer is None else answer.text
        return {"run": self._known().run_id, "arm": self.arm, "seed": self._seed(request), "answer": text}

    async def measure(self, probe: str) -> Sequence[Mapping[str, float]] | None:
        """The model's own measurement."""
        measured: Sequence[Mapping[str, float]] | None = await self._judge.measure(probe)
        return measured

    async def settle(self) -> None:
        """Let the model look at itself."""
        await self._judge.settle()

    def facts(self) -> Mapping[str, Any]:
        """The model's own."""
        facts: Mapping[str, Any] = self._judge.facts()
        return facts

    def price(self, completion: Completion) -> float | None:
        """The model's own."""
        price: float | None = self._judge.price(completion)
        return price

    async def close(self) -> None:
        """Close the model."""
        await self._judge.close()

    def _known(self) -> StoredAnswers:
        """The run as it was when it was first looked at."""
        if self._answers is None:
            self._answers = stored_answers(self.run, Path(self.outputs))
        return self._answers

    def _seed(self, request: Request) -> int:
        return request.repeat if self.seed is None else self.seed

    def _answer(self, request: Request) -> StoredAnswer | None:
        return self._known().arms[self.arm].get((self._seed(request), request.item_id))

    def _why_not(self, answers: StoredAnswers) -> str | None:
        """Why an arm of a run cannot be graded, and what to do."""
        if answers.serves:
            said = f"run {answers.run_id} serves something else than its models wrote, which is all that a judge reads"
            return f"{said}; grade a run without serving"
        if self.arm not in answers.arms:
            return f"run {answers.run_id} has no arm {self.arm}; choose from {', '.join(sorted(answers.arms))}"
        if self.seed is not None and self.seed not in answers.seeds(self.arm):
            passes = ", ".join(map(str, answers.seeds(self.arm)))
            return f"arm {self.arm} of run {answers.run_id} has no pass of seed {self.seed}; choose from {passes}"
        lacking = [item.id for item in answers.items if item.target is None]
        if lacking and "target" in self._rubric.places:
            said = f"the rubric asks for {{target}}, and {len(lacking)} items have none, {lacking[0]!r:.60} first"
            return f"{said}; write a rubric without it"
        return None
