"""What a model is: the one protocol for local and remote ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from evalflow.record import Cache, Completion, Decoding, Request


class Model(Protocol):
    """Anything that answers prompts. The runner calls `start`, `prove`, `measure`, `warm`, `complete` (many at
    once), `settle`, `facts`, `close`.

    A model is a dataclass whose fields are its settings in YAML. Building one must be cheap and load nothing: the
    plan builds it to check it. Classes may inherit the defaults below or write their own.
    """

    regimes: ClassVar[tuple[str, ...]] = ("cold",)
    """The cache regimes that it can offer; one without a prompt cache is always cold."""

    isolated_by: ClassVar[str] = "use a model that caches prompts"
    """What to do for a regime that it does not offer."""

    paced: ClassVar[bool] = False
    """Whether it may hold a request back for a limit of its own, so that the time counts from its own `sent`; of any
    other model it counts from when it was asked."""

    concurrency_free: ClassVar[bool] = False
    """Whether its answers are the same at any concurrency, as shown by a test; an unfinished run may then be resumed
    at another one."""

    recorded: ClassVar[bool] = False
    """Whether its answers were recorded elsewhere: then neither decoding nor the sampling seed decide one, a row has
    no times, and a request holds the digest of its item (`Request.content`), by which one question is told from
    another."""

    def identity(self) -> Mapping[str, Any]:
        """What makes this model the one it is (weights' digest, seat's URL and name); part of the resume key."""
        ...

    def missing(self) -> str | None:
        """What it needs and is not here (a file, a variable of the environment), and what to do; None where nothing is.

        Asked before anything is started, so that what can be known then costs nothing.
        """
        return None

    def gives(self) -> Sequence[str] | None:
        """The names of the scores that come with its answers (`Completion.given`); None where they cannot be known."""
        return ()

    def remarks(self) -> Sequence[str]:
        """What a reader of its rows has to know beforehand, such as that a recording is not whole."""
        return ()

    async def start(self) -> None:
        """Load weights, open connections.

        Raises:
            ModelError: the model cannot be started.
        """

    async def prove(self, decoding: Decoding, cache: Cache) -> None:
        """Show, once started, that it can be what an arm asks: sampled where that is asked, of this cache regime.

        Raises:
            ModelError: it cannot.
        """
        return

    async def complete(self, request: Request) -> Completion:
        """Answer one request. May be called while others are in flight.

        Raises:
            ModelError: this request has no answer; the runner records an error row.
        """
        ...

    def about(self, request: Request) -> Mapping[str, Any]:
        """What a row of this request holds beside its answer or error, as plain values: what a judge graded, say."""
        return {}

    def graded_by(self) -> Mapping[str, Any] | None:
        """Who grades, where its answers are grades: all that makes two judges differ; None where it answers itself."""
        return None

    async def warm(self, request: Request) -> None:
        """Have a group's shared prefix read into the cache; `request` holds it as its prompt, and one token to write.

        Raises:
            ModelError: it was not read, which is counted and ends nothing.
        """
        await self.complete(request)

    async def measure(self, probe: str) -> Sequence[Mapping[str, float]] | None:
        """Measure the arm itself (`fixed_length`, `memory`); None where this model has no such measurement."""
        return None

    async def settle(self) -> None:
        """Look once more, after the last answer and before `facts`: is the model still the one that it was?"""
        return

    def facts(self) -> Mapping[str, Any]:
        """What the model observed about itself while it answered, such as its mean batch size.

        `instrument_fault` among them says why none of its figures can be read: it was not one model throughout.
        """
        return {}

    def price(self, completion: Completion) -> float | None:
        """What an answer cost, in the unit of the model's own prices; None where that is not known."""
        return None

    async def close(self) -> None:
        """Release what `start` took."""
