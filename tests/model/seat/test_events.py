"""Server-sent events, cut anywhere."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalflow.model.seat import events
from evalflow.model.seat.events import Event, Events
from evalflow.model.seat.failure import SeatError

MIXED = (
    b'\xef\xbb\xbf: hello\n\ndata: one\n\n: ping\n\nevent: error\r\ndata: {"a":\r\ndata: 1}\r\n\r\nid: 7\rdata:two\r\r'
    b"retry: 5\ndata:  padded\n\ndata: gr\xc3\xbc\xc3\x9f\n\n"
)
"""All that the format has, in one stream."""
MEANT = [
    Event(b"one"),
    Event(b'{"a":\n1}', b"error"),
    Event(b"two"),
    Event(b" padded"),
    Event("grüß".encode()),
]


def read(*chunks: bytes) -> list[Event]:
    reader = Events()
    return [event for chunk in chunks for event in reader.feed(chunk)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_ends_in_any_of_three_ways(end: bytes) -> None:
    """LF, CRLF and CR; the last event is given as soon as its blank line is there."""
    assert read(b"data: a" + end + end + b"data: b" + end + end) == [Event(b"a"), Event(b"b")]


def test_all_that_the_format_has() -> None:
    """A byte order mark, comments, pings, fields that say nothing, several lines of data, a type, one blank dropped."""
    assert read(MIXED) == MEANT


def test_every_cut_gives_the_same_events() -> None:
    """In two at each position, and byte by byte."""
    assert all(read(MIXED[:i], MIXED[i:]) == MEANT for i in range(len(MIXED) + 1))
    assert read(*(bytes([byte]) for byte in MIXED)) == MEANT


@given(st.lists(st.integers(0, len(MIXED))))
def test_any_cuts_give_the_same_events(cuts: list[int]) -> None:
    """Empty chunks among them."""
    edges = [0, *sorted(cuts), len(MIXED)]
    assert read(*(MIXED[a:b] for a, b in pairwise(edges))) == MEANT


def test_a_line_end_cut_in_half_ends_one_line() -> None:
    """CR at a chunk's end and LF at the next one's begin are one line end, whose event does not wait for the LF."""
    reader = Events()
    assert reader.feed(b"data: a\r") == []
    assert reader.feed(b"\ndata: b\r\n\r") == [Event(b"a\nb")]
    assert reader.feed(b"\n") == []
    assert reader.feed(b"data: c\n\n") == [Event(b"c")]


def test_the_mark_is_dropped_at_the_very_start_alone() -> None:
    """Later the same three bytes are text."""
    assert read(b"\xef", b"\xbb", b"\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n") == [Event(b"a")]


def test_a_type_belongs_to_one_event() -> None:
    """The next has none; a type without data is no event."""
    assert read(b"event: error\ndata: a\n\ndata: b\n\nevent: ping\n\ndata: c\n\n") == [
        Event(b"a", b"error"),
        Event(b"b"),
        Event(b"c"),
    ]


@pytest.mark.parametrize("rest", [b"data: b", b"data: b\n", b"da"])
def test_an_event_without_its_blank_line_is_none(rest: bytes) -> None:
    """It stays open, be its line ended or not."""
    reader = Events()
    assert reader.feed(b"data: a\n\n" + rest) == [Event(b"a")]
    assert reader.open


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_a_stream_that_ended_well_leaves_nothing_open(end: bytes) -> None:
    """Whichever line ends it uses."""
    reader = Events()
    reader.feed(b"data: a" + end)
    assert not reader.open


def test_an_event_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one piece, in many, and as many lines of one event."""
    monkeypatch.setattr(events, "MOST_BYTES", 1000)
    for chunks in ([b"data: " + b"x" * 1000], [b"x" * 10] * 101, [b"data: 12345678\n"] * 70):
        with pytest.raises(SeatError, match="an event of more than") as refused:
            read(*chunks)
        assert refused.value.kind == "oversized"


def test_the_limit_is_of_an_event_not_of_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many events, and pings without end, go beyond it together."""
    monkeypatch.setattr(events, "MOST_BYTES", 1000)
    assert len(read(*[b"data: " + b"x" * 900 + b"\n\n"] * 20)) == 20
    assert read(*[b": ping\n\n"] * 500) == []


def test_what_an_event_already_holds_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that came with the end of the event before are part of its size."""
    monkeypatch.setattr(events, "MOST_BYTES", 1000)
    with pytest.raises(SeatError):
        read(b"data: a\n\ndata: " + b"x" * 600 + b"\n", b"data: " + b"x" * 600 + b"\n\n")


def test_a_long_line_in_pieces_takes_time_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of 100 MB takes about ten times as long as one of 10 MB, not a hundred times."""
    monkeypatch.setattr(events, "MOST_BYTES", 2**30)
    piece = b"x" * 10_000

    def seconds(pieces: int) -> float:
        reader, start = Events(), time.perf_counter()
        reader.feed(b"data: ")
        for _ in range(pieces):
            reader.feed(piece)
        (event,) = reader.feed(b"\n\n")
        assert len(event.data) == pieces * len(piece)
        return time.perf_counter() - start

    small = min(seconds(1_000) for _ in range(3))
    assert seconds(10_000) < 40 * small + 0.05
