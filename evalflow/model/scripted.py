"""A model that answers from a table: for tests, tutorials and trying a config without a model."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.record import Completion, Request, Times, digest


@dataclass(frozen=True)
class Scripted(Model):
    """Answers `answers[item id]`, else that of the first text of `by_text` that stands in the prompt, else `otherwise`.

    A request with none of them is an error row.

    `{seed}` in an answer becomes the request's sampling seed, so that a sampled arm can be told from a greedy one.
    A greedy request sees 0 there. `delay_s` is how long each answer takes, `delays` overrules it by item id.
    `calls` is a file that each call is noted in as it begins: a line with its item id and sampling seed.
    """

    concurrency_free: ClassVar[bool] = True

    answers: Mapping[str, str] = field(default_factory=dict)
    otherwise: str | None = None
    by_text: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    delays: Mapping[str, float] = field(default_factory=dict)
    calls: str | None = None

    def identity(self) -> Mapping[str, Any]:
        """The table's digest."""
        table = [dict(self.answers), self.otherwise, *([list(self.by_text.items())] if self.by_text else [])]
        return {"model": "scripted", "table": digest(table)}

    async def complete(self, request: Request) -> Completion:
        """The scripted answer.

        Raises:
            ModelError: the table has none for this item.
        """
        sent = time.monotonic()
        if self.calls is not None:
            with Path(self.calls).open("a", encoding="utf-8") as calls:
                calls.write(f"{json.dumps([request.item_id, request.seed])}\n")
        await asyncio.sleep(self.delays.get(request.item_id, self.delay_s))
        told = next((said for text, said in self.by_text.items() if text in request.prompt), self.otherwise)
        text = self.answers.get(request.item_id, told)
        if text is None:
            raise ModelError(f"scripted: no answer for item {request.item_id!r}; add one or give otherwise")
        said = text.replace("{seed}", "0" if request.decoding.greedy else str(request.seed))
        now = time.monotonic()
        times = Times(sent=sent, first_token=now, last_token=now, end=now)
        return Completion(said, "stop", len(request.prompt.split()), len(said.split()), "local", times=times)
