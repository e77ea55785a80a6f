"""One HTTP client per seat: httpx in front, aiohttp's connections behind, every foreign error mapped here.

httpx's own pool walks through all connections for each request: at 64 in flight it reported a p95 of 2.4 s where 52 ms
were true, so it is not used.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from evalflow.errors import ModelError
from evalflow.model.seat.events import MOST_BYTES, Events
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.hidden import Hidden
from evalflow.model.seat.patience import Timeouts, retry_after
from evalflow.model.seat.reply import Reply, words_of
from evalflow.record import Completion

ERROR_BYTES = 64 * 1024
"""How much of a refusal is read, for its words."""
END_S = 1.0
"""How long the end of a body is waited for once all is said (s): the connection can then be used again."""
WORDS_S = 5.0
"""How long those words are waited for (s): the status has said the rest."""


@dataclass(frozen=True)
class Connection:
    """How a seat is reached. `ca_file` holds the certificates that are trusted instead of the system's (PEM).

    `proxy` is a proxy's URL; those that the environment names are used where `trust_env` says so.
    """

    verify: bool = True
    """Whether the certificate of an https seat is checked."""
    ca_file: str | None = None
    proxy: str | None = None
    trust_env: bool = False

    def __post_init__(self) -> None:
        if not self.verify and self.ca_file is not None:
            raise ValueError("ca_file is given although verify is false; drop one of them")
        if self.proxy is not None and not self.proxy.startswith(("http://", "https://")):
            raise ValueError(f"proxy is {self.proxy!r}; give a URL such as http://127.0.0.1:3128")
        if self.proxy is not None and urlsplit(self.proxy).username is not None:
            raise ValueError("proxy holds a user's name; let the environment name it, with trust_env")

    def tls(self) -> ssl.SSLContext | bool:
        """What the peer's certificate is held against.

        Raises:
            ModelError: the file of certificates cannot be read.
        """
        if not self.verify:
            return False
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ssl.SSLError) as fault:
            raise ModelError(f"model.connection.ca_file: {self.ca_file} cannot be read ({fault})") from None


class Client:
    """Asks one seat. Open it inside the event loop that it is used in."""

    def __init__(
        self,
        base_url: str,
        connection: Connection,
        timeouts: Timeouts,
        headers: Mapping[str, str],
        secrets: Sequence[str],
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.n_connections = 0
        self._timeouts = timeouts
        self._hidden = Hidden(secrets)
        # packed bytes would be held back by whoever packs them, and the stamps with them
        asked = {"accept": "text/event-stream, application/json", "accept-encoding": "identity"}
        self._headers = {"content-type": "application/json", **asked, **headers}
        self._tls = connection.tls() if self.base_url.startswith("https:") else False
        self._urls: dict[str, httpx.URL] = {}
        self._limits = {"timeout": {"connect": timeouts.connect_s}}
        proxy = connection.proxy or (_proxy_of(self.base_url) if connection.trust_env else None)
        # the session has a context of its own, so that the transport need not load one; the client above it would add
        # cookies, redirects and a parsed address to each request, which is a third of its cost
        self._transport = AiohttpTransport(
            client=self._session, verify=False, proxy=httpx.Proxy(proxy) if proxy else None
        )

    def _session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0, ssl=self._tls, keepalive_timeout=75.0, socket_factory=self._opened_socket
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
        )

    def _opened_socket(self, address: tuple[Any, ...]) -> socket.socket:
        """A socket, counted: aiohttp's own tracing would count connections too, at a twentieth of a request's cost."""
        self.n_connections += 1
        family, kind, protocol, *_ = address
        return socket.socket(family, kind, protocol)

    async def get(self, path: str, limit_s: float | None = None) -> tuple[int, Any]:
        """Status and JSON (None where it is none) of a GET; a path with two slashes begins at the server's root.

        Raises:
            SeatError: nothing came back.
        """
        url = f"{self.base_url.removesuffix('/v1')}{path[1:]}" if path.startswith("//") else self.base_url + path
        request = httpx.Request("GET", url, headers=self._headers, extensions=self._limits)
        return await self._in_one_piece(request, limit_s or self._timeouts.first_token_s)

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        """Status and JSON (None where it is none) of a POST whose reply comes in one piece, whatever the status.

        Raises:
            SeatError: nothing came back.
        """
        return await self._in_one_piece(self._request(path, body), self._timeouts.total_s)

    async def ask(self, path: str, body: Mapping[str, Any]) -> Completion:
        """The answer to one request, its stamps taken as the network gave it.

        Raises:
            SeatError: there is none, and why.
        """
        request = self._request(path, body)
        loop = asyncio.get_running_loop()
        reply = Reply(time.monotonic())
        over = loop.time() + self._timeouts.total_s
        with self._mapped(reply, over, self._timeouts.total_s):
            async with (
                asyncio.timeout_at(min(over, loop.time() + self._timeouts.first_token_s)) as limit,
                self._answer(request) as response,
            ):
                reply.headers = time.monotonic()
                if response.status_code != 200:
                    limit.reschedule(over)
                    raise await _refusal(response)
                if "event-stream" in response.headers.get("content-type", ""):
                    await self._stream(response, reply, limit, over)
                else:
                    limit.reschedule(over)
                    reply.take_whole(await _read(response, MOST_BYTES, reply))
        with self._mapped(reply, over, self._timeouts.total_s):
            return reply.completion(time.monotonic())

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.aclose()

    async def _in_one_piece(self, request: httpx.Request, limit_s: float) -> tuple[int, Any]:
        over = asyncio.get_running_loop().time() + limit_s
        with self._mapped(Reply(time.monotonic()), over, limit_s):
            async with asyncio.timeout_at(over), self._answer(request) as response:
                body = await _read(response, MOST_BYTES)
        with contextlib.suppress(ValueError, RecursionError):
            return response.status_code, self._hidden.value(json.loads(body))
        return response.status_code, None

    async def _stream(self, response: httpx.Response, reply: Reply, limit: asyncio.Timeout, over: float) -> None:
        """Read to the very end of the body, so that the connection can be used again."""
        events, loop = Events(), asyncio.get_running_loop()
        async for chunk in _chunks(response):
            stamp = time.monotonic()
            if reply.first_byte is None:
                reply.first_byte = stamp
            for event in events.feed(chunk):
                reply.take(event, stamp)
            if reply.done:
                limit.reschedule(min(over, loop.time() + END_S))
            elif reply.begun:
                limit.reschedule(min(over, loop.time() + self._timeouts.between_tokens_s))
        if events.open and reply.finish is None and not reply.done:
            raise SeatError("cut", "the reply ended in the middle of an event")

    def _request(self, path: str, body: Mapping[str, Any]) -> httpx.Request:
        content = json.dumps(body, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
        if path not in self._urls:
            self._urls[path] = httpx.URL(self.base_url + path)
        return httpx.Request("POST", self._urls[path], content=content, headers=self._headers, extensions=self._limits)

    @contextlib.asynccontextmanager
    async def _answer(self, request: httpx.Request) -> AsyncIterator[httpx.Response]:
        response = await self._transport.handle_async_request(request)
        try:
            if response.status_code == 407:  # no seat says so, only a proxy
                raise SeatError("proxy", "the proxy refused: it wants a user and a password (status 407)", 407)
            yield response
        finally:
            await response.aclose()

    @contextlib.contextmanager
    def _mapped(self, reply: Reply, over: float, within_s: float) -> Iterator[None]:
        """Foreign errors as failures by name. Their words may hold a key, which is taken out."""
        try:
            yield
        except SeatError as fault:
            raise self._told(fault, reply) from None
        except TimeoutError:
            if reply.done:
                return  # all is said; a body that does not end costs its connection alone
            raise self._told(self._late(reply, over, within_s), reply) from None
        except (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError) as fault:
            raise self._told(self._lost(fault, reply), reply) from None

    def _told(self, fault: SeatError, reply: Reply) -> SeatError:
        told = SeatError(fault.kind or "", self._hidden.words(str(fault)), fault.status, fault.wait_s)
        told.sent = reply.sent
        return told

    def _late(self, reply: Reply, over: float, within_s: float) -> SeatError:
        limits = self._timeouts
        if asyncio.get_running_loop().time() >= over:
            return SeatError("total_timeout", f"no end within {within_s:g} s")
        if reply.begun:
            return SeatError("stalled", f"no further token within {limits.between_tokens_s:g} s")
        return SeatError("first_token_timeout", f"no token within {limits.first_token_s:g} s")

    def _lost(self, fault: BaseException, reply: Reply) -> SeatError:
        cause = fault.__cause__ if isinstance(fault, httpx.HTTPError) and fault.__cause__ else fault
        said = " ".join(str(cause).split()) or type(cause).__name__
        if isinstance(cause, aiohttp.ClientSSLError | ssl.SSLError):
            return SeatError("tls", f"no secure connection: {_tls_reason(cause)}")
        if isinstance(cause, aiohttp.ClientHttpProxyError):
            return SeatError("proxy", f"the proxy refused: status {cause.status}", cause.status)
        if isinstance(cause, aiohttp.ClientProxyConnectionError):
            return SeatError("proxy", f"no connection to the proxy: {_reason(cause)}")
        if isinstance(cause, aiohttp.ConnectionTimeoutError):
            return SeatError("connect_timeout", f"no connection within {self._timeouts.connect_s:g} s")
        if isinstance(cause, aiohttp.ClientConnectorError):
            return SeatError("connect", f"no connection: {_reason(cause)}")
        if isinstance(fault, httpx.DecodingError):
            return SeatError("bad_reply", f"the reply is packed in a way that cannot be undone: {said}")
        if isinstance(cause, aiohttp.ClientResponseError):
            return SeatError("bad_reply", f"the reply is no HTTP: {' '.join(cause.message.split())}")
        if reply.first_byte is None and reply.headers is None:
            return SeatError("reset", f"the connection was lost before the answer began: {said}")
        return SeatError("cut", f"the connection was lost in the middle of the reply: {said}")


def _reason(fault: aiohttp.ClientConnectorError) -> str:
    """Why there is no connection, as the system says it: aiohttp's own words name host and port."""
    under = fault.os_error
    if under.errno is None:
        return under.strerror or type(under).__name__
    return os.strerror(under.errno) if under.errno > 0 else under.strerror or type(under).__name__


def _tls_reason(fault: aiohttp.ClientSSLError | ssl.SSLError) -> str:
    """What is wrong with the certificate or the handshake, without the address that aiohttp puts before it."""
    under = getattr(fault, "certificate_error", getattr(fault, "os_error", fault))
    return str(getattr(under, "verify_message", None) or getattr(under, "reason", None) or type(under).__name__)


def _chunks(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body as it comes; unpacked, of a server that packs it unasked."""
    packed = response.headers.get("content-encoding", "identity").lower() != "identity"
    return response.aiter_bytes() if packed else response.aiter_raw()


async def _refusal(response: httpx.Response) -> SeatError:
    """A status that is no success, with as much of its words as comes soon."""
    content, status = b"", response.status_code
    with contextlib.suppress(httpx.HTTPError, aiohttp.ClientError, OSError):  # a late or broken body: the status stands
        async with asyncio.timeout(WORDS_S):
            async for chunk in _chunks(response):
                content += chunk
                if len(content) > ERROR_BYTES:
                    break
    wait_s = retry_after(response.headers.get("retry-after"))
    return SeatError(f"http_{status}", f"status {status}: {_said(response, content)}", status, wait_s)


def _said(response: httpx.Response, content: bytes) -> str:
    if 300 <= response.status_code < 400:
        return f"a redirect to {response.headers.get('location', 'nowhere')}, which is not followed"
    try:
        told = json.loads(content)
        said = words_of(told) if isinstance(told, dict) else str(told)[:200]
    except (ValueError, RecursionError):
        said = " ".join(content[:200].decode("utf-8", "replace").split())
    return said or "no message"


async def _read(response: httpx.Response, most: int, reply: Reply | None = None) -> bytes:
    """The body, up to `most` bytes.

    Raises:
        SeatError: `oversized`.
    """
    parts: list[bytes] = []
    size = 0
    async for chunk in _chunks(response):
        if reply is not None and reply.first_byte is None:
            reply.first_byte = time.monotonic()
        parts.append(chunk)
        size += len(chunk)
        if size > most:
            raise SeatError("oversized", f"a reply of more than {most // 2**20} MiB")
    return b"".join(parts)


def _proxy_of(url: str) -> str | None:
    """The proxy that the environment names for a URL."""
    from urllib.request import getproxies, proxy_bypass

    host = urlsplit(url).hostname or ""
    return None if proxy_bypass(host) else getproxies().get(urlsplit(url).scheme)
