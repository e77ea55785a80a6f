"""The client over real sockets: whatever a server does, the answer is whole or its failure has a name, in time."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalflow.model.seat.client import Client, Connection
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.patience import Timeouts
from evalflow.model.seat.stub import StubSeat, StubSettings
from evalflow.record import Completion
from tests.model.seat.odd_server import Asked, Wire, in_thread, odd
from tests.model.seat.proxy import Proxy
from tests.model.seat.secured import Authority

PATH = "/chat/completions"
BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
SOON = {"connect_s": 2.0, "first_token_s": 0.3, "between_tokens_s": 0.3, "total_s": 0.8}
"""Limits that a test can wait for (s)."""
LATEST_S = 4.0
"""By then every one of those has passed, and a client that still waits waits for ever."""


def asked_of(url: str, times: int = 1, connection: Connection | None = None, **limits: float) -> list[Completion]:
    """One client's answers, one after another."""

    async def act() -> list[Completion]:
        client = Client(url, connection or Connection(), Timeouts(**{**SOON, **limits}), {}, [])
        try:
            async with asyncio.timeout(LATEST_S):
                return [await client.ask(PATH, BODY) for _ in range(times)]
        finally:
            await client.close()

    return asyncio.run(act())


def failure_at(url: str, connection: Connection | None = None, **limits: float) -> SeatError:
    with pytest.raises(SeatError) as failed:
        asked_of(url, 1, connection, **limits)
    return failed.value


def failure(behave: Callable[[Asked, Wire], Any], **limits: float) -> SeatError:
    """How one request to a server that behaves so fails."""
    with odd(behave) as server:
        return failure_at(server.url, **limits)


def unused_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def test_a_port_that_nobody_listens_on_is_no_connection() -> None:
    """The system's reason is told, and neither host nor port."""
    port = unused_port()
    failed = failure_at(f"http://127.0.0.1:{port}/v1")
    assert (failed.kind, str(failed), failed.may_pass) == ("connect", "no connection: Connection refused", True)


def test_a_host_that_nobody_knows_is_no_connection() -> None:
    """A name of the reserved domain `invalid` has no address."""
    failed = failure_at("http://nobody.invalid/v1")
    assert failed.kind == "connect"
    assert "name" in str(failed).lower() and "nobody" not in str(failed)


def test_a_host_that_does_not_answer_is_given_up_in_time() -> None:
    """A listener whose queue is full leaves the handshake unanswered."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        time.sleep(0.05)
        failed = failure_at(f"http://127.0.0.1:{full.getsockname()[1]}/v1", connect_s=0.2, first_token_s=2.0)
    assert (failed.kind, str(failed)) == ("connect_timeout", "no connection within 0.2 s")


async def good(asked: Asked, wire: Wire) -> None:
    await wire.answer()


def test_certificates_are_checked(tmp_path: Path) -> None:
    """One of an authority unknown to us is refused; named by ca_file, or unchecked as told, it serves."""
    authority = Authority.made_in(tmp_path)
    with odd(good, tls=authority.context()) as server:
        failed = failure_at(server.url)
        assert (failed.kind, failed.may_pass) == ("tls", False)
        assert str(failed) == "no secure connection: unable to get local issuer certificate"
        assert asked_of(server.url, 1, Connection(ca_file=str(authority.file)))[0].text == "right"
        assert asked_of(server.url, 1, Connection(verify=False))[0].text == "right"


def test_a_certificate_of_another_host_is_refused(tmp_path: Path) -> None:
    """It is of an authority that is trusted, and not of the host that was asked."""
    authority = Authority.made_in(tmp_path, host="seat.example")
    with odd(good, tls=authority.context()) as server:
        failed = failure_at(server.url, Connection(ca_file=str(authority.file)))
    assert (failed.kind, "not valid for" in str(failed)) == ("tls", True)


def test_a_seat_that_speaks_no_tls_is_told_apart() -> None:
    """https to a plain port fails in the handshake."""

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async def act() -> SeatError:
        async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            client = Client(f"https://127.0.0.1:{port}/v1", Connection(), Timeouts(**SOON), {}, [])
            with pytest.raises(SeatError) as failed:
                await client.ask(PATH, BODY)
            await client.close()
            return failed.value

    failed = asyncio.run(act())
    assert (failed.kind, str(failed)) == ("tls", "no secure connection: WRONG_VERSION_NUMBER")


@pytest.mark.parametrize("secure", [False, True])
def test_through_a_proxy(tmp_path: Path, secure: bool) -> None:
    """A plain seat is asked for by its whole URL, a secure one through a tunnel."""
    authority = Authority.made_in(tmp_path)
    trust = {"ca_file": str(authority.file)} if secure else {}
    with odd(good, tls=authority.context() if secure else None) as server, in_thread(Proxy()) as proxy:
        answers = asked_of(server.url, 2, Connection(proxy=proxy.url, **trust))
    assert [answer.text for answer in answers] == ["right", "right"]
    assert proxy.asked[0].startswith("CONNECT 127.0.0.1:" if secure else f"POST {server.url}{PATH}")


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize(("status", "kind"), [(407, "proxy"), (502, "http_502")])
def test_a_proxy_that_refuses_is_no_seat_that_fails(secure: bool, status: int, kind: str) -> None:
    """407 is a proxy's own, and so is all that it says to CONNECT; of another status nobody can say whose it is."""
    scheme = "https" if secure else "http"
    with in_thread(Proxy(refuses=status)) as proxy:
        failed = failure_at(f"{scheme}://127.0.0.1:9/v1", Connection(proxy=proxy.url))
    assert failed.kind == ("proxy" if secure else kind)
    assert str(status) in str(failed)


def test_a_proxy_that_is_not_there() -> None:
    """It is the proxy that cannot be reached, not the seat."""
    failed = failure_at("http://127.0.0.1:9/v1", Connection(proxy=f"http://127.0.0.1:{unused_port()}"))
    assert (failed.kind, str(failed)) == ("proxy", "no connection to the proxy: Connection refused")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_proxies_of_the_environment_only_where_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """`trust_env` takes the environment's proxy, with its user, and leaves out the hosts of NO_PROXY."""
    with odd(good) as server, in_thread(Proxy(user="u:p")) as proxy:
        for name in ("no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//u:p@"))
        asked_of(server.url)
        assert proxy.asked == []
        asked_of(server.url, 1, Connection(trust_env=True))
        assert len(proxy.asked) == 1
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        asked_of(server.url, 1, Connection(trust_env=True))
        assert len(proxy.asked) == 1


REFUSALS = {
    "openai": {"error": {"message": "no such thing", "type": "invalid_request_error", "code": None}},
    "bare": {"error": "no such thing"},
    "vllm": {"object": "error", "message": "no such thing", "code": 404},
    "detail": {"detail": "no such thing"},
    "fastapi": {"detail": [{"loc": ["body", "seed"], "msg": "no such thing", "type": "extra_forbidden"}]},
}


@pytest.mark.parametrize("shape", REFUSALS)
@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
def test_a_refusal_has_its_status_and_the_servers_words(status: int, shape: str) -> None:
    """In every shape of an error object that servers send."""

    async def refuse(asked: Asked, wire: Wire) -> None:
        await wire.told(REFUSALS[shape], status, retry_after="7")

    failed = failure(refuse)
    assert (failed.kind, failed.status, failed.wait_s) == (f"http_{status}", status, 7.0)
    assert str(failed).startswith(f"status {status}: ") and str(failed).endswith("no such thing")
    assert failed.may_pass is (status in (429, 500))


@pytest.mark.parametrize(
    ("body", "said"), [(b"<p>Bad\n Gateway</p>", "<p>Bad Gateway</p>"), (b"", "no message"), (b"[1]", "[1]")]
)
def test_a_refusal_in_other_words(body: bytes, said: str) -> None:
    """A page is told as it is; silence is said to be that."""

    async def refuse(asked: Asked, wire: Wire) -> None:
        await wire.whole(body, 502, "text/html")

    assert str(failure(refuse)) == f"status 502: {said}"


@pytest.mark.parametrize("ends", ["reset", "endless"])
def test_a_refusal_whose_words_do_not_end_is_that_refusal(ends: str) -> None:
    """The status has come, and with it what has failed; a broken or huge body changes nothing."""

    async def refuse(asked: Asked, wire: Wire) -> None:
        await wire.head(503, "text/plain")
        await wire.chunk(b"busy ")
        while ends == "endless":
            await wire.chunk(b"x" * 65536)
        wire.reset()

    failed = failure(refuse)
    assert (failed.kind, str(failed).startswith("status 503: busy")) == ("http_503", True)


def test_a_redirect_is_told_and_not_followed() -> None:
    """Where to is said, for a request with a key is not sent to whoever is named there."""

    async def point(asked: Asked, wire: Wire) -> None:
        await wire.whole(b"", 307, "text/plain", location="https://elsewhere.example/v1")

    with odd(point) as server:
        failed = failure_at(server.url)
        assert len(server.asked) == 1
    told = "status 307: a redirect to https://elsewhere.example/v1, which is not followed"
    assert (failed.kind, str(failed), failed.may_pass) == ("http_307", told, False)


@pytest.mark.parametrize("after", [0, 1])
def test_a_connection_lost_before_the_answer_is_a_reset(after: int) -> None:
    """On a new connection, and on one that has served before."""

    async def serve(asked: Asked, wire: Wire) -> None:
        await (wire.answer() if asked.of_connection <= after else _reset(wire))

    with odd(serve) as server:
        with pytest.raises(SeatError) as failed:
            asked_of(server.url, after + 1)
        assert (server.n_connections, len(server.asked)) == (1, after + 1)
    assert (failed.value.kind, failed.value.may_pass) == ("reset", True)


async def _reset(wire: Wire) -> None:
    wire.reset()


@pytest.mark.parametrize("how_far", ["headers", "role", "token", "half an event", "before [DONE]"])
def test_a_connection_lost_after_that_is_cut(how_far: str) -> None:
    """Once the status has come, an answer may be under way, and is not asked for again."""

    async def serve(asked: Asked, wire: Wire) -> None:
        await wire.head()
        if how_far == "role":
            await wire.event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        elif how_far == "half an event":
            await wire.chunk(b'data: {"choices": [{"ind')
        elif how_far != "headers":
            await wire.token("a", "stop" if how_far == "before [DONE]" else None)
        await asyncio.sleep(0.02)
        wire.reset()

    failed = failure(serve)
    assert (failed.kind, failed.may_pass) == ("cut", False)


@pytest.mark.parametrize("said", [b"", b'data: {"choices": [{"ind', b'data: {"choices": []}\n\n'])
def test_a_body_that_ends_too_early_is_cut(said: bytes) -> None:
    """Well framed, without finish reason and [DONE], it is no whole answer; nor is half an event."""

    async def serve(asked: Asked, wire: Wire) -> None:
        await wire.whole(said, 200, "text/event-stream")

    assert failure(serve).kind == "cut"


def test_headers_and_then_silence() -> None:
    """No token has come in the time that one may take."""

    async def serve(asked: Asked, wire: Wire) -> None:
        await wire.head()
        await wire.silence()

    failed = failure(serve)
    assert (failed.kind, str(failed)) == ("first_token_timeout", "no token within 0.3 s")


def test_signs_of_life_are_no_token() -> None:
    """Comments and empty deltas that keep a connection open do not keep the request alive."""

    async def serve(asked: Asked, wire: Wire) -> None:
        await wire.head()
        while not wire.writer.transport.is_closing():
            await wire.chunk(b": ping\n\n")
            await wire.token("")
            await asyncio.sleep(0.01)

    assert failure(serve).kind == "first_token_timeout"


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
def test_a_server_that_never_reads_is_given_up() -> None:
    """A prompt larger than all buffers between is never sent whole, be it that an answer comes before."""

    async def act() -> list[str | None]:
        async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            reader._transport.pause_reading()  # type: ignore[attr-defined]
            if "answers" in ways:
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            await over.wait()
            writer.transport.abort()

        over = asyncio.Event()
        server = await asyncio.start_server(deaf, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        kinds, ways = [], list[str]()
        for way in ("silent", "answers"):
            ways.append(way)
            client = Client(url, Connection(), Timeouts(**SOON), {}, [])
            with pytest.raises(SeatError) as failed:
                async with asyncio.timeout(LATEST_S):
                    await client.ask(PATH, {**BODY, "prompt": "x" * 20_000_000})
            kinds.append(failed.value.kind)
            await client.close()
        over.set()
        server.close()
        await asyncio.sleep(0.01)
        return kinds

    assert asyncio.run(act()) == ["first_token_timeout"] * 2


def test_a_stall_between_tokens() -> None:
    """Longer than it may be between two of them, well before the end of all patience."""
    settings = StubSettings(tokens=8, fail_share=1.0, fail_mode="stall")
    with in_thread(StubSeat(settings)) as seat:
        failed = failure_at(seat.url, total_s=3.0)
    assert (failed.kind, str(failed), failed.may_pass) == ("stalled", "no further token within 0.3 s", False)


def test_a_stream_without_end_is_ended() -> None:
    """Tokens that come fast enough, for ever, end with the limit of the whole."""

    async def serve(asked: Asked, wire: Wire) -> None:
        await wire.head()
        while True:
            await wire.token()

    failed = failure(serve)
    assert (failed.kind, str(failed)) == ("total_timeout", "no end within 0.8 s")


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_a_line_without_end_is_not_kept(kind: str) -> None:
    """100 MB without a line's end are given up at the limit of one event or reply, before they are all sent."""
    sent = 0

    async def serve(asked: Asked, wire: Wire) -> None:
        nonlocal sent
        await wire.head(200, kind)
        for _ in range(1600):
            await wire.chunk(b"x" * 65536)
            sent += 65536

    failed = failure(serve, first_token_s=4.0, total_s=4.0)
    assert (failed.kind, failed.may_pass) == ("oversized", False)
    assert 16 * 2**20 <= sent < 32 * 2**20


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"", "application/json", "no JSON: nothing"),
        (b"<html>Sign in</html>", "text/html", "no JSON: <html>Sign in</html>"),
        (b'{"choices"', "application/json", 'no JSON: {"choices"'),
        (b"[]", "application/json", "JSON, but no object: []"),
        (b'{"object": "list"}', "application/json", 'a reply without choices: {"object": "list"}'),
        (b"data: \xff\xfe\n\n", "text/event-stream", "no UTF-8 at byte 0"),
        (b"data: {no JSON\n\n", "text/event-stream", "no JSON: {no JSON"),
    ],
)
def test_a_reply_of_status_200_that_cannot_be_read(body: bytes, kind: str, said: str) -> None:
    """What it began with is told."""

    async def serve(asked: Asked, wire: Wire) -> None:
        await wire.whole(body, 200, kind)

    failed = failure(serve)
    assert (failed.kind, str(failed).startswith(said)) == ("bad_reply", True), str(failed)


def test_what_is_no_http_cannot_be_read() -> None:
    """A port of another protocol says so at once, and is not asked twice."""

    async def serve(asked: Asked, wire: Wire) -> None:
        await wire.send(b"220 mail.example ESMTP\r\n\r\n")

    failed = failure(serve)
    assert (failed.kind, failed.may_pass) == ("bad_reply", False)
    assert str(failed).startswith("the reply is no HTTP")


def test_a_packed_reply_is_not_asked_for_and_yet_read() -> None:
    """Packing would hold tokens back, so it is declined; a gateway that packs all the same is understood."""
    answer = {"choices": [{"index": 0, "message": {"content": "right"}, "finish_reason": "stop"}]}

    async def pack(asked: Asked, wire: Wire) -> None:
        await wire.whole(gzip.compress(json.dumps(answer).encode()), content_encoding="gzip")

    async def lie(asked: Asked, wire: Wire) -> None:
        await wire.whole(json.dumps(answer).encode(), content_encoding="gzip")

    with odd(pack) as server:
        assert asked_of(server.url)[0].text == "right"
        assert server.asked[0].headers["accept-encoding"] == "identity"
    assert failure(lie).kind == "bad_reply"


def test_connections_are_used_again() -> None:
    """Four workers of five requests each open four connections; a stream is read to its very end."""

    async def act(url: str) -> int:
        client = Client(url, Connection(), Timeouts(), {}, [])

        async def worker() -> None:
            for _ in range(5):
                await client.ask(PATH, BODY)

        await asyncio.gather(*(worker() for _ in range(4)))
        await client.close()
        return client.n_connections

    with in_thread(StubSeat(StubSettings(ttft_s=0.01, itl_s=0.001))) as seat:
        assert asyncio.run(act(seat.url)) == 4
        assert (seat.truth.connections, seat.truth.answered) == (4, 20)


def test_a_failed_request_gives_its_connection_up() -> None:
    """What is left of a reply that was abandoned never becomes the next one's."""

    async def serve(asked: Asked, wire: Wire) -> None:
        if asked.number == 1:
            await wire.head()
            await wire.token("wrong")
            await asyncio.sleep(0.5)
            await wire.token("wrong", "stop")
            await wire.send(b"0\r\n\r\n")
        else:
            await wire.answer()

    async def act(url: str) -> str:
        client = Client(url, Connection(), Timeouts(**SOON), {}, [])
        with pytest.raises(SeatError, match="no further token"):
            await client.ask(PATH, BODY)
        answer = await client.ask(PATH, BODY)
        await client.close()
        return answer.text

    with odd(serve) as server:
        assert asyncio.run(act(server.url)) == "right"
        assert server.n_connections == 2


def test_whole_replies_have_a_limit_too() -> None:
    """A GET that is not answered ends with the limit that it was given, and says that one."""

    async def silent(asked: Asked, wire: Wire) -> None:
        await wire.silence()

    async def act(url: str) -> str:
        client = Client(url, Connection(), Timeouts(**SOON), {}, [])
        with pytest.raises(SeatError) as failed:
            await client.get("/models", 0.2)
        await client.close()
        return str(failed.value)

    with odd(good, gets=silent) as server:
        assert asyncio.run(act(server.url)) == "no end within 0.2 s"


def test_a_file_of_certificates_that_is_none(tmp_path: Path) -> None:
    """It is named, and what is wrong with it."""
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(Exception, match=r"model\.connection\.ca_file: .*ca\.pem cannot be read"):
        asked_of("https://127.0.0.1:9/v1", 1, Connection(ca_file=str(tmp_path / "ca.pem")))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"verify": False, "ca_file": "a.pem"}, "ca_file is given although verify is false"),
        ({"proxy": "http://u:p@proxy.example"}, "proxy holds a user's name"),
    ],
)
def test_connections_that_cannot_be_meant(wrong: dict[str, Any], said: str) -> None:
    """They are refused before anything is sent."""
    with pytest.raises(ValueError, match=said):
        Connection(**wrong)


def test_a_body_that_does_not_end_costs_nothing_once_all_is_said() -> None:
    """Answer, usage and [DONE] are there; the seat holds the connection open, and the next request gets another one."""

    async def lingering(asked: Asked, wire: Wire) -> None:
        await wire.head()
        await wire.token("all of it", finish="stop")
        await wire.chunk(b"data: [DONE]\n\n")
        await wire.silence()

    with odd(lingering) as server:
        answers = asked_of(server.url, 2, between_tokens_s=60.0, total_s=60.0)
        assert [answer.text for answer in answers] == ["all of it", "all of it"]
        assert len({asked.connection for asked in server.posts}) == 2
