"""What a request to a seat holds, and which of it a seat has been found to accept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalflow.record import Request

Api = Literal["chat", "completions"]
Isolation = Literal["none", "cache_salt", "cache_prompt", "marker"]


@dataclass(frozen=True)
class Accepted:
    """Optional fields that a seat took at the first try. What it refused is not sent again."""

    include_usage: bool = True
    running_usage: bool = True
    max_tokens_field: str = "max_tokens"
    seed: bool = True

    def without(self) -> tuple[Accepted, ...]:
        """What to try after a refusal, one by one: each asks for less."""
        return (
            Accepted(self.include_usage, False, self.max_tokens_field),
            Accepted(False, False, self.max_tokens_field),
            Accepted(self.include_usage, False, "max_completion_tokens"),
            Accepted(False, False, self.max_tokens_field, seed=False),
        )


@dataclass(frozen=True)
class Shape:
    """How the requests of one seat are built."""

    api: Api
    model: str
    system: str | None
    stream: bool
    isolation: Isolation
    logprobs: int | None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The route, after the base URL."""
        return "/chat/completions" if self.api == "chat" else "/completions"

    def body(self, request: Request, accepted: Accepted) -> dict[str, Any]:
        """The JSON of one request. What is configured as `extra` stands over everything else."""
        decoding = request.decoding
        body: dict[str, Any] = {"model": self.model, **self._question(self.prompt(request))}
        body[accepted.max_tokens_field] = decoding.max_tokens
        body |= {"temperature": decoding.temperature, "top_p": decoding.top_p}
        if accepted.seed:
            body["seed"] = request.seed
        if decoding.stop:
            body["stop"] = list(decoding.stop)
        if self.stream:
            body["stream"] = True
            if accepted.include_usage:
                running = {"continuous_usage_stats": True} if accepted.running_usage else {}
                body["stream_options"] = {"include_usage": True, **running}
        if self.logprobs is not None:
            body |= {"logprobs": True, "top_logprobs": self.logprobs} if self.api == "chat" else {}
            body |= {"logprobs": self.logprobs} if self.api == "completions" else {}
        return {**body, **self._isolated(request), **self.extra}

    def prompt(self, request: Request) -> str:
        """The prompt as sent: with the marker before it, where that is what keeps the passes of a cache apart."""
        if self.isolation != "marker" or not request.cache_salt:
            return request.prompt
        return f"[{request.cache_salt}]\n{request.prompt}"

    def _question(self, prompt: str) -> dict[str, Any]:
        if self.api == "completions":
            return {"prompt": prompt if self.system is None else f"{self.system}{prompt}"}
        system = [] if self.system is None else [{"role": "system", "content": self.system}]
        return {"messages": [*system, {"role": "user", "content": prompt}]}

    def _isolated(self, request: Request) -> dict[str, Any]:
        if self.isolation == "cache_salt" and request.cache_salt:
            return {"cache_salt": request.cache_salt}
        if self.isolation == "cache_prompt":
            return {"cache_prompt": request.cache == "warm"}
        return {}
