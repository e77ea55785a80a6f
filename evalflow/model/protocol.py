"""What a model is: the one protocol for local and remote ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from evalflow.record import Completion, Request


class Model(Protocol):
    """Anything that answers prompts. The runner calls `start`, `measure`, `complete` (many at once), `facts`, `close`.

    A model is a dataclass whose fields are its settings in YAML. Building one must be cheap and load nothing: the
    plan builds it to check it. Classes may inherit the defaults below or write their own.
    """

    regimes: ClassVar[tuple[str, ...]] = ("cold",)
    """The cache regimes that it can offer; one without a prompt cache is always cold."""

    concurrency_free: ClassVar[bool] = False
    """Whether its answers are the same at any concurrency, as shown by a test; an unfinished run may then be resumed
    at another one."""

    def identity(self) -> Mapping[str, Any]:
        """What makes this model the one it is (weights' digest, seat's URL and name); part of the resume key."""
        ...

    async def start(self) -> None:
        """Load weights, open connections.

        Raises:
            ModelError: the model cannot be started.
        """

    async def complete(self, request: Request) -> Completion:
        """Answer one request. May be called while others are in flight.

        Raises:
            ModelError: this request has no answer; the runner records an error row.
        """
        ...

    async def measure(self, probe: str) -> Sequence[Mapping[str, float]] | None:
        """Measure the arm itself (`fixed_length`, `memory`); None where this model has no such measurement."""
        return None

    def facts(self) -> Mapping[str, Any]:
        """What the model observed about itself while it answered, such as its mean batch size."""
        return {}

    async def close(self) -> None:
        """Release what `start` took."""
