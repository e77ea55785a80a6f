"""Keys and a withheld host appear nowhere: every byte that a run leaves or prints is searched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalflow.model.seat.hidden import Hidden
from tests.conftest import Cli
from tests.model.seat.odd_server import Asked, Wire, odd

KEY = "k-77aa/9bcdef0123456789"
LOAD = ["experiment=load", "concurrency=1"]


def test_secrets_are_taken_out_of_words() -> None:
    """Whole, spelt as in JSON, and where the message's own end cut them off."""
    hidden = Hidden([KEY, ""])
    assert hidden.words(f"bad key {KEY}!") == "bad key ***!"
    assert hidden.words(json.dumps(KEY).replace("/", "\\/")) == '"***"'
    assert hidden.words(f"cut off at {KEY[:9]}") == "cut off at ***"
    assert hidden.words("k-7 is three characters, and ordinary words stay: k-77") == (
        "k-7 is three characters, and ordinary words stay: ***"
    )
    assert Hidden([]).words("as it is") == "as it is"


def test_secrets_are_taken_out_of_values() -> None:
    """In texts, lists and names; numbers stay."""
    told = {"a": [f"x {KEY}", 1, None], KEY: True}
    assert Hidden([KEY]).value(told) == {"a": ["x ***", 1, None], "***": True}


async def echo(asked: Asked, wire: Wire) -> None:
    """Say the key and the host back, each time in another way."""
    sent = f"{asked.headers['authorization']} at {asked.headers['host']}"
    ways = len(server_says)
    if asked.number == 1:  # the probe's
        await wire.answer()
    else:
        await server_says[asked.number % ways](wire, sent)


async def _refusal(wire: Wire, sent: str) -> None:
    await wire.told({"error": {"message": f"wrong key {sent}"}}, 400)


async def _cut_refusal(wire: Wire, sent: str) -> None:
    await wire.told({"error": {"message": f"{'x' * (200 - len('Bearer ') - 9)}{sent}"}}, 400)


async def _page(wire: Wire, sent: str) -> None:
    await wire.whole(f"<html>{sent}</html>".encode(), 200, "text/html")


async def _stream_error(wire: Wire, sent: str) -> None:
    await wire.head()
    await wire.event({"error": {"message": sent}})
    await wire.send(b"0\r\n\r\n")


async def _finish(wire: Wire, sent: str) -> None:
    await wire.head()
    await wire.token("a", sent)
    await wire.chunk(b"data: [DONE]\n\n")
    await wire.send(b"0\r\n\r\n")


async def _redirect(wire: Wire, sent: str) -> None:
    await wire.whole(b"", 307, "text/plain", location=f"http://elsewhere/?{sent.replace(' ', '+')}")


async def _no_http(wire: Wire, sent: str) -> None:
    await wire.send(f"{sent}\r\n\r\n".encode())
    wire.writer.close()


async def _answer(wire: Wire, sent: str) -> None:
    await wire.answer(f"you are {sent}")


server_says = [_refusal, _cut_refusal, _page, _stream_error, _finish, _redirect, _no_http, _answer]


async def who(asked: Asked, wire: Wire) -> None:
    """Name the key in the facts too."""
    sent = f"{asked.headers['authorization']} {asked.headers['host']}"
    if asked.path.endswith("/models"):
        await wire.told({"data": [{"id": "odd", "owned_by": sent}]})
    else:
        await wire.told({"version": sent, "build_info": sent})


def leaks(home: Path, said: str, secrets: list[str]) -> list[str]:
    """Where something that is withheld was found."""
    found = [f"printed: {secret}" for secret in secrets if secret in said]
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files, "nothing was kept, so nothing was shown"
    for path in files:
        content = path.read_bytes()
        found += [f"{path.relative_to(home)}: {secret}" for secret in secrets if secret.encode() in content]
    return found


@pytest.mark.parametrize("hide_host", [True, False])
def test_a_key_that_the_server_echoes_is_nowhere(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch, hide_host: bool
) -> None:
    """Not in the config, the rows, the report, the tracking store or on the terminal; nor is a withheld host."""
    with odd(echo, gets=who) as server:
        monkeypatch.setenv("SEAT_KEY", KEY)
        monkeypatch.setenv("SEAT_URL", server.url)
        where = [f"model.base_url={'env:SEAT_URL' if hide_host else server.url}", f"model.hide_host={hide_host}"]
        tracked = [] if hide_host else ["tracking=none"]
        ran = cli("--debug", *LOAD, *where, *tracked, "model.key_env=SEAT_KEY", "limit=16")
        secrets = [KEY, KEY[:9], *([f"127.0.0.1:{server.port}", f":{server.port}"] if hide_host else [])]
    assert ran.code == 1, ran.err
    kinds: dict[str, Any] = {row["item_id"]: row["error"] and row["error"]["kind"] for row in ran.rows}
    assert set(kinds.values()) - {None} == {"http_400", "http_307", "bad_reply", "stream_error"}
    assert (home / "outputs" / "mlflow.db").exists() is hide_host
    assert leaks(home, ran.out + ran.err, secrets) == []


def test_a_key_is_nowhere_when_the_seat_cannot_be_used(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused with the key echoed, and not there at all."""

    async def refuse(asked: Asked, wire: Wire) -> None:
        await wire.told({"error": {"message": asked.headers["authorization"]}}, 401)

    with odd(refuse) as server:
        monkeypatch.setenv("SEAT_KEY", KEY)
        monkeypatch.setenv("SEAT_URL", server.url)
        line = ["--debug", *LOAD, "model.base_url=env:SEAT_URL", "model.hide_host=true", "model.key_env=SEAT_KEY"]
        line += ["tracking=none", "limit=2"]
        port = server.port
        refused = cli(*line)
    gone = cli(*line)
    assert (refused.code, gone.code) == (3, 3)
    assert "Connection refused" in gone.out and "status 401" in refused.out
    secrets = [KEY, KEY[:9], "127.0.0.1", f":{port}"]
    assert leaks(home, refused.out + refused.err + gone.out + gone.err, secrets) == []
