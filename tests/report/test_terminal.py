"""The terminal: its size where there is none, and what no trouble of it may change."""

from __future__ import annotations

import io
import sys

import pytest

from evalflow.report.terminal import console, say, watched


def test_a_pipe_has_the_size_that_the_environment_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide and high unless COLUMNS and LINES say otherwise; nothing is no size."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    for columns, lines, size in (
        ("", "", (160, 40)),
        ("100", "30", (100, 30)),
        ("0", "0", (160, 40)),
        ("x", "-3", (160, 40)),
    ):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("LINES", lines)
        assert (console().width, console().height) == size


def test_a_pipe_is_no_screen_even_where_colours_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What moves would be rubbish in a log; nor is a closed stream one."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not watched().is_interactive
    sys.stderr.close()
    assert not watched().is_interactive


def test_a_stream_that_is_closed_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nobody to tell, and from then on nothing is said."""
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    say(lambda: closed.write("lost") and None)
    say(lambda: sys.stdout.write("lost too") and None)
    sys.stdout.close()


@pytest.mark.parametrize("fault", [ValueError("no width"), AttributeError("no such part")])
def test_what_could_not_be_printed_is_said(fault: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    """A defect in what prints is no reader that has gone: a line says so, and what comes after is printed."""

    def broken() -> None:
        raise fault

    say(broken)
    say(lambda: sys.stdout.write("Verdict: pass\n") and None)
    told = capsys.readouterr()
    assert told.out == "Verdict: pass\n"
    assert told.err == f"evalflow: not printed ({type(fault).__name__}: {fault}); a defect of evalflow\n"
