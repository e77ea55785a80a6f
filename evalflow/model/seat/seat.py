"""A remote model behind an OpenAI-compatible endpoint, as an arm's model."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.model.scorer import TextScores
from evalflow.model.seat.body import Api, Isolation, Shape
from evalflow.model.seat.client import Client, Connection
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.identity import identity_of
from evalflow.model.seat.open_seat import OpenSeat
from evalflow.model.seat.patience import Retries, Timeouts
from evalflow.model.seat.probe import probe
from evalflow.model.seat.restraint import Breaker, Circuit, Pace, RateLimits
from evalflow.model.seat.scoring import PromptScores, Scoring, score_prompt, text_scores
from evalflow.price import Prices
from evalflow.record import Cache, Completion, Decoding, Request

FROM_ENV = "env:"
VARIABLE = re.compile("[A-Z_][A-Z0-9_]*")
SECRET_KEYS = ("api_key", "apikey", "authorization", "password", "secret", "access_token")
SECRET_HEADERS = ("auth", "key", "token", "secret", "cookie", "credential", "password")
"""A header whose name holds one of these is no setting for a config that is kept."""


@dataclass
class Seat(Model):
    """An OpenAI-compatible endpoint. `base_url` may end in `/v1` or be the server's root.

    `note` is whose seat it is and what it runs on, in the user's words; it is kept with the run. The key's value stays
    in the environment: `key_env` names the variable, `headers_env` those of other headers. `base_url` may be
    `env:NAME`, where NAME is a variable that holds it; with `hide_host` a hash then stands for it in all that is kept.
    `isolation` is how passes of one cache are kept apart: `cache_salt` (vLLM and hosted services of its kind),
    `cache_prompt` (llama.cpp: a cold request reads nothing from the cache and yet fills it), `marker` (a text before
    the prompt, whose tokens the prompt then costs), or `none`.
    `logprobs` asks for the likeliest tokens at each place; from 2 on, margins between the first two are known.
    `probe` says how much is asked before an arm: `full` (all that `Findings` holds), `brief` (what it accepts, and
    of a sampled arm whether it samples), `off`.
    `scoring` names how prompts are scored, which an arm that needs it proves aligned first. `cache_tokens` is what the
    seat's prefix cache holds, where you know it: the report holds the prompts against it.
    """

    note: str
    base_url: str | None = None
    hide_host: bool = False
    model: str | None = None
    """Its name; None takes the first that the seat lists."""
    api: Api = "chat"
    """Which of the two routes is asked: messages (`chat`) or plain text (`completions`)."""
    system: str | None = None
    """A system prompt before each."""
    stream: bool = True
    """Whether tokens are streamed; without it there is no first token to time."""
    isolation: Isolation = "none"
    logprobs: int | None = None
    key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """Other headers, kept with the run: nothing secret belongs here."""
    headers_env: Mapping[str, str] = field(default_factory=dict)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of each request, by the seat's own names."""
    connection: Connection = field(default_factory=Connection)
    """How it is reached: `ca_file`, `verify`, `proxy`, `trust_env`."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    """How long things may take."""
    retries: Retries = field(default_factory=Retries)
    """How often and how soon a request is sent again of which no part of an answer came."""
    limits: RateLimits = field(default_factory=RateLimits)
    """How much is sent per minute at most."""
    breaker: Breaker = field(default_factory=Breaker)
    """When a dead seat is left alone."""
    prices: Prices = field(default_factory=Prices)
    """What tokens cost, for `price` and the budget."""
    probe: Literal["full", "brief", "off"] = "full"
    scoring: Scoring = "off"
    cache_tokens: int | None = None

    def __post_init__(self) -> None:
        self._client: Client | None = None
        self._open: OpenSeat | None = None
        if not self.note.strip():
            raise ValueError("note is empty; say whose seat it is and what it runs on")
        self._check_url()
        secret = [name for name in self.headers if any(part in name.lower() for part in SECRET_HEADERS)]
        if secret:
            raise ValueError(f"headers holds {secret[0]}; name a variable by key_env or headers_env instead")
        self._check_names()
        if self.extra_body.get("n", 1) != 1:
            raise ValueError(f"extra_body asks for n = {self.extra_body['n']}; one answer is read, so leave n out")
        if self.cache_tokens is not None and self.cache_tokens < 1:
            raise ValueError(f"cache_tokens is {self.cache_tokens}; give at least 1, or null")
        if self.logprobs is not None and not 0 <= self.logprobs <= 20:
            raise ValueError(f"logprobs is {self.logprobs}; give 0 to 20, or null")

    def _check_names(self) -> None:
        """Variables are named, and no value of theirs is: it would be kept with the run."""
        named = [("key_env", self.key_env), ("base_url", self._url_variable)]
        for setting, name in [*named, *(("headers_env", variable) for variable in self.headers_env.values())]:
            if name is not None and not VARIABLE.fullmatch(name):
                said = f"{setting} is no name of an environment variable (capitals, digits, _)"
                raise ValueError(f"{said}; name the variable that holds the value, never the value")
        secret = [key for key in self.extra_body if key.lower().replace("-", "_") in SECRET_KEYS]
        if secret:
            raise ValueError(f"extra_body holds {secret[0]}; send a key by key_env or headers_env instead")

    def _check_url(self) -> None:
        if self.base_url is None:
            raise ValueError("base_url is missing; give it, such as http://127.0.0.1:8000/v1")
        if self.hide_host and self._url_variable is None:
            raise ValueError("hide_host is true with the URL in the config; give base_url as env:NAME")
        if self._url_variable is None:
            _checked_url(self.base_url, "base_url")

    paced: ClassVar[bool] = True
    isolated_by: ClassVar[str] = "set model.isolation (cache_salt, cache_prompt, marker)"

    @property
    def _url_variable(self) -> str | None:
        """The variable that holds the URL, where `base_url` names one."""
        return self.base_url[len(FROM_ENV) :] if self.base_url and self.base_url.startswith(FROM_ENV) else None

    @property
    def regimes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The cache regimes that it can offer: without isolation nobody can say that nothing was there before."""
        return ("cold", "warm") if self.isolation == "none" else ("cold", "isolated", "warm")

    def identity(self) -> Mapping[str, Any]:
        """Where it is and what is asked of it; what the seat says of itself is observed when it is started."""
        return {
            "model": self.model,
            "seat": self._shown_host(),
            "note": self.note,
            "api": self.api,
            "system": self.system,
            "stream": self.stream,
            "isolation": self.isolation,
            "logprobs": self.logprobs,
            "extra_body": dict(self.extra_body),
            "headers": dict(self.headers),
            "timeouts": dict(vars(self.timeouts)),
            "retries": dict(vars(self.retries)),
            "breaker": dict(vars(self.breaker)),
        }

    def missing(self) -> str | None:
        """A variable that the environment lacks."""
        try:
            self._headers()
            if self._url_variable is not None:
                self._url()
        except ModelError as fault:
            return str(fault)
        return None

    async def start(self) -> None:
        """Find the seat and its model.

        Raises:
            ModelError: it cannot be reached, refuses us, or has no such model.
        """
        self._client = Client(self._url(), self.connection, self.timeouts, self._headers(), self._secrets())
        try:
            before = await identity_of(self._client)
        except SeatError as fault:
            raise self._unusable(fault) from None
        name = self.model or next(iter(before.models), None)
        if name is None:
            raise ModelError(f"seat {self._shown_host()}: it lists no model; name one with model.model")
        shape = Shape(self.api, name, self.system, self.stream, self.isolation, self.logprobs, self.extra_body)
        pace, circuit = Pace(self.limits), Circuit(self.breaker)
        self._open = OpenSeat(self._client, shape, before, pace, circuit, self.retries, self._keys())

    async def prove(self, decoding: Decoding, cache: Cache) -> None:
        """Ask what the seat can do, and refuse an arm that it cannot be.

        Raises:
            ModelError: it does not answer, samples greedily, or scores prompts wrongly.
        """
        if self.probe == "off":
            return
        seat = self._started
        try:
            asked = probe(seat.ask, seat.client, seat.shape, self.probe == "full", not decoding.greedy, self.scoring)
            seat.accepted, findings = await asked
        except SeatError as fault:
            raise self._unusable(fault) from None
        seat.findings = findings
        if not decoding.greedy and findings.sampling_varies is False:
            said = f"seat {self._shown_host()}: at temperature 1 three seeds gave one text, so a sampled arm is greedy"
            raise ModelError(f"{said}; let the server sample (its generation config may forbid it), or use greedy")
        if self.scoring != "off" and findings.prompt_scoring != "aligned":
            said = f"seat {self._shown_host()}: its prompt scores are {findings.prompt_scoring}"
            why = f" ({findings.prompt_scoring_note})" if findings.prompt_scoring_note else ""
            raise ModelError(f"{said}{why}; set model.scoring=off, or use a seat that scores prompts")

    async def complete(self, request: Request) -> Completion:
        """The seat's answer, asked again where that may help.

        Raises:
            SeatError: there is none.
        """
        seat = self._started
        body = seat.shape.body(request, seat.accepted)
        completion = await seat.ask(seat.shape.path, body, f"{request.item_id}/{request.seed}")
        return _stopped(completion, request.decoding.stop)

    @property
    def scores_texts(self) -> bool:
        """Whether it was asked to score prompts."""
        return self.scoring != "off"

    async def score(self, text: str) -> PromptScores:
        """The log-probability of every token of a text but the first, by the seat itself.

        Raises:
            ModelError: `scoring` is off.
            SeatError: the seat did not score it.
        """
        if self.scoring == "off":
            raise ModelError("this seat was not asked to score; set model.scoring")
        return await score_prompt(self._started.client, self._started.shape, self.scoring, text)

    async def score_text(self, text: str) -> TextScores:
        """`score` as what a text-scoring arm keeps; the seat names its tokens by their texts, not by ids.

        Raises:
            ModelError, SeatError: as `score`.
        """
        return text_scores(text, await self.score(text))

    async def settle(self) -> None:
        """Read the seat's identity once more; another than before is a fault of the instrument.

        Raises:
            ModelError: it does not tell it any more.
        """
        if self._open is not None:
            self._open.after = await identity_of(self._open.client)
            if self._open.before.models and not self._open.after.models:
                raise ModelError("the seat does not list its models any more")

    def facts(self) -> Mapping[str, Any]:
        """See `OpenSeat.facts`; none before it was started."""
        if self._open is None:
            return {}
        held = {} if self.cache_tokens is None else {"cache_tokens": self.cache_tokens}
        return {**self._open.facts(), **held}

    def price(self, completion: Completion) -> float | None:
        """What an answer cost, by the prices given; None where none are, or tokens are not known."""
        return self.prices.of(completion)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    @property
    def _started(self) -> OpenSeat:
        assert self._open is not None, "not started"
        return self._open

    def _unusable(self, fault: SeatError) -> ModelError:
        todo = _todo(fault)
        if fault.status in (401, 403) and self.key_env is not None:
            todo = f"it refused the key in {self.key_env}: set another"
        return ModelError(f"seat {self._shown_host()}: {fault}; {todo}")

    def _url(self) -> str:
        url = self.base_url or ""
        if self._url_variable is not None:
            url = _from_environment(self._url_variable, "base_url")
            try:
                _checked_url(url, self._url_variable)
            except ValueError as fault:
                raise ModelError(f"model.base_url: {fault}") from None
        url = url.rstrip("/")
        return url if urlsplit(url).path else f"{url}/v1"

    def _shown_host(self) -> str | None:
        """The URL, or the hash that stands for it."""
        url = self.base_url if self._url_variable is None else os.environ.get(self._url_variable)
        return f"sha256:{hashlib.sha256((url or '').encode()).hexdigest()[:16]}" if self.hide_host else url

    def _headers(self) -> dict[str, str]:
        named = {name: _from_environment(variable, "headers_env") for name, variable in self.headers_env.items()}
        key = None if self.key_env is None else _from_environment(self.key_env, "key_env")
        return {**self.headers, **named, **({} if key is None else {"authorization": f"Bearer {key}"})}

    def _secrets(self) -> list[str]:
        """What no message may say."""
        parts = urlsplit(self._url())
        port = [] if parts.port is None else [f":{parts.port}"]
        return [*self._keys(), *([parts.netloc, parts.hostname or "", *port] if self.hide_host else [])]

    def _keys(self) -> list[str]:
        named = [*self.headers_env.values(), *([self.key_env] if self.key_env else [])]
        return [os.environ.get(name, "").strip() for name in named]


def _checked_url(url: str, name: str) -> None:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError(f"{name} is no URL; give one such as http://127.0.0.1:8000/v1") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or any(map(str.isspace, url)):
        raise ValueError(f"{name} is no http:// or https:// URL; give one such as http://127.0.0.1:8000/v1")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError(f"{name} has a port that is none; give one such as http://127.0.0.1:8000/v1") from None
    if parts.username is not None or parts.query:
        raise ValueError(f"{name} holds a user or a query; keys go into the environment (key_env)")


def _from_environment(variable: str, setting: str) -> str:
    """A variable's value, without the blanks and line ends that copying leaves around it."""
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ModelError(f"model.{setting}: the environment has no {variable}; set it")
    if not (value.isascii() and value.isprintable()):
        raise ModelError(f"model.{setting}: {variable} holds characters that no header can carry; set it anew")
    return value


def _stopped(completion: Completion, stop: tuple[str, ...]) -> Completion:
    """The answer without a stop string and what follows it: some seats leave it in the text."""
    ends = [place for string in stop if (place := completion.text.find(string)) >= 0]
    return replace(completion, text=completion.text[: min(ends)]) if ends else completion


def _todo(fault: SeatError) -> str:
    """What to do about a seat that could not be used at all."""
    if fault.status in (401, 403):
        return "name the variable that holds its key with model.key_env"
    if fault.status == 404:
        return "mend model.base_url (most end in /v1) or model.model"
    if fault.kind in ("connect", "connect_timeout", "reset"):
        return "start it, or mend model.base_url"
    if fault.kind == "tls":
        return "name its certificates with model.connection.ca_file"
    return "mend the seat, or the request (model.extra_body)"
