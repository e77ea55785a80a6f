"""An extractive baseline for grounded reading. It understands nothing: what a model must beat to have read."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from evalflow.errors import DataError, ModelError
from evalflow.grounding.abstain import AUTHORED, authored, check_template
from evalflow.grounding.article import parse_article
from evalflow.grounding.citations import cite
from evalflow.grounding.prompt import parse_prompt
from evalflow.grounding.search import best_sentence, nearest_section
from evalflow.model.protocol import Model
from evalflow.record import Completion, Request, Times


@dataclass(frozen=True)
class Reader(Model):
    """Answers with the article's sentence that holds most of the question's weight, and cites its section.

    Under a share of `threshold` (0 to 1; see `grounding.search`) it abstains with the authored sentence. It reads the
    prompts of `GroundedReading` alone, and neither decoding nor the seed changes its answer. The default threshold was
    chosen on the shipped bank, where it answers 47 of 51 on-page questions and abstains on 20 of 26 off-page ones.
    """

    concurrency_free: ClassVar[bool] = True

    threshold: float = 0.4
    abstain: str | None = None

    def __post_init__(self) -> None:
        check_template(self._abstain)
        if not 0.0 <= self.threshold <= 1.0:
            raise ValueError(f"threshold is {self.threshold}; give a share from 0 to 1")

    def identity(self) -> Mapping[str, Any]:
        """That it is the extractive baseline, and its settings."""
        return {"model": "reader (extractive baseline)", "threshold": self.threshold, "abstain": self._abstain}

    @property
    def _abstain(self) -> str:
        return AUTHORED if self.abstain is None else self.abstain

    async def complete(self, request: Request) -> Completion:
        """The best sentence with its citation, or the abstain.

        Raises:
            ModelError: the prompt holds no article and question.
        """
        sent = time.monotonic()
        text = self._read(request)
        now = time.monotonic()
        times = Times(sent=sent, first_token=now, last_token=now, end=now)
        return Completion(text, "stop", len(request.prompt.split()), len(text.split()), "local", times=times)

    def _read(self, request: Request) -> str:
        try:
            written, question = parse_prompt(request.prompt)
            article = parse_article(request.item_id, written, "its article")
        except (ValueError, DataError) as fault:
            said = f"item {request.item_id!r}: {fault}"
            raise ModelError(f"reader: {said}; ask it the items of grounded reading", kind="unreadable") from None
        found = best_sentence(article, question)
        if found is None or found.share < self.threshold:
            return authored(self._abstain, nearest_section(article, question).id)
        return f"{found.sentence} {cite(found.section.id)}"
