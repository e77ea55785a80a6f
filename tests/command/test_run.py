"""What a run says beside its answer."""

from __future__ import annotations

import pytest

from evalflow.command.options import Options
from evalflow.command.run import tell_tracked
from evalflow.job import Tracked


def test_the_link_of_a_sweeps_job_is_left_to_the_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    """A run tells where it is tracked; one job of a sweep only what kept it from there."""
    tell_tracked(Tracked("http://here/1", None), Options())
    assert capsys.readouterr().out == "MLflow: http://here/1\n"
    tell_tracked(Tracked("http://here/1", "no room"), Options(voice="brief"))
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "evalflow: no room\n")
