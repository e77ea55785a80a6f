"""The description of an arm's run."""

from __future__ import annotations

from evalflow.tracking.arm_note import arm_note
from tests.tracking.written_run import arm, figure, report

FIGURES = {
    "quality/exact": figure(0.5, "share", low=0.25, high=0.75),
    "lat/ttft_s/p50": figure(0.1234567, "s"),
    "lat/ttft_s/p95": figure(None, "s"),
}


def test_it_says_what_the_run_is_of_and_how_sure_its_figures_are():
    """Arm, seed, run and verdict stand in the first line; then figures with unit, interval and count, or a reason."""
    first, *rest = arm_note(report("r-1"), "greedy", 0, FIGURES, {}).splitlines()
    assert first == "**Arm greedy, seed 0** of run r-1, whose verdict is **fail**"
    text = "\n".join(rest).replace("&nbsp;", "")
    assert "| quality/exact | 0.5 (0.25 to 0.75) n=3 |" in text
    assert "| lat/ttft_s/p50 | 0.1235 s n=3 |" in text
    assert "| lat/ttft_s/p95 | undefined: needs 20 rows, has 3 |" in text


def test_a_seed_that_a_sweep_set_is_told_from_the_seed_of_the_pass():
    """Both are called seed; the line says which is which."""
    first = arm_note(report("r"), "greedy", 0, FIGURES, {"seed": "2", "concurrency": "6"}).splitlines()[0]
    assert first.startswith("**Arm greedy, seed 0** of run r (the sweep set seed = 2, concurrency = 6), whose")


def test_a_control_and_an_arm_that_could_not_run_are_said_so():
    """A control is there to fail; an arm that is absent says why; and no name becomes markup."""
    has = arm([0], 0.0)
    has["conditions"]["control"] = True
    has["unavailable"] = "no <checkpoint>"
    text = arm_note({**report("r"), "arms": {"a|b": has}}, "a|b", 0, {}, {})
    assert text.startswith("**Arm a&#124;b, seed 0** (a control: it is there to fail) of run r, whose verdict")
    assert "- could not run: no &lt;checkpoint&gt;" in text
    assert text.count("|") == 0
