"""How fast rows come and how long the rest takes, on a clock that the test winds."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from evalflow.report.pace import Pace, clock, pace_line, rate_text


def paced(n: int, every: float, **changes: object) -> tuple[Pace, float]:
    """An arm of a hundred rows after `n` of them, one every so many seconds; and what the clock says."""
    pace = Pace("warm", 100, 0, 0.0, **changes)  # type: ignore[arg-type]
    for place in range(n):
        pace.row((place + 1) * every, error=False)
    return pace, n * every


def text(pace: Pace, now: float, width: int = 80) -> str:
    return pace_line(pace, now, "answers", width, bar="").plain


def test_rate_and_time_left_by_hand() -> None:
    """Twenty rows in forty seconds are one in two; eighty more take 160 s."""
    pace, now = paced(20, 2.0)
    assert pace.rate(now) == pytest.approx(0.5, rel=0.1)
    assert pace.left_s(now) == pytest.approx(160, rel=0.1)
    assert paced(0, 1.0)[0].left_s(3.0) is None


def test_a_rate_follows_what_came_lately() -> None:
    """After a slow start the last half minute decides; a row now and then, all of the arm."""
    pace, now = paced(10, 60.0)
    assert pace.rate(now) == pytest.approx(1 / 60)
    for place in range(60):
        pace.row(now + 0.5 * (place + 1), error=False)
    assert pace.rate(now + 30) == pytest.approx(2.0, rel=0.1)
    assert len(pace.recent) <= 32


def test_a_stall_is_seen_without_a_row() -> None:
    """The time left grows while nothing comes."""
    pace, now = paced(20, 1.0)
    stalled = pace.left_s(now + 100)
    assert stalled is not None and stalled > 4 * (pace.left_s(now) or 0)


def test_the_run_takes_what_its_other_arms_take_at_the_mean_pace() -> None:
    """Ten rows in ten seconds, ninety and two hundred to come: 290 s; nothing is said of the last arm."""
    pace, now = paced(10, 1.0, later=200)
    assert pace.run_left_s(now) == pytest.approx(290, rel=0.01)
    assert paced(10, 1.0)[0].run_left_s(10.0) is None


def test_a_line_tells_all_of_it() -> None:
    """Which arm of how many, rows, errors, rate, time left of the arm and about how much of the run."""
    pace, now = paced(10, 1.0, later=200, place="1 of 3")
    pace.row(now, error=True)
    assert text(pace, now, 120) == "warm (1 of 3)  11/100 answers  1 error  1.1/s  1:21 left  run about 4:23"
    assert text(*paced(0, 1.0)) == "warm  0/100 answers  starting 0:00"


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
@pytest.mark.parametrize("name", ["warm", "評価器の名前はとても長い", "x" * 300])
def test_a_line_never_wraps(width: int, name: str) -> None:
    """Whatever has no room is left out, the count of rows last of all."""
    pace = Pace(name, 1_000_000, 0, 0.0, place="3 of 12", later=10_000)
    for place in range(1000):
        pace.row(place / 10, error=True)
    line = pace_line(pace, 100.0, "answers", width, bar="━━")
    assert line.cell_len < width
    assert width < 40 or "1,000/1,000,000" in line.plain
    assert width < 40 or "1,000 errors" in line.plain


def test_a_narrow_line_keeps_count_errors_and_time() -> None:
    """Forty columns: what a user looks for first."""
    pace, now = paced(50, 1.0, later=200, place="1 of 3")
    assert text(pace, now, 40) == "warm  50/100  0:50 left"


def test_more_rows_than_were_planned_do_no_harm() -> None:
    """A count that was wrong shows as it is; the bar is full and nothing is left."""
    pace, now = paced(101, 1.0)
    assert text(pace, now).endswith("finishing")
    assert cell_len(pace_line(pace, now, "answers", 80, "━━").plain) < 80
    assert "0/0" in text(Pace("none", 0, 0, 0.0), 1.0)


@pytest.mark.parametrize(
    ("rate", "said"),
    [(1234.5, "1,234/s"), (12.34, "12/s"), (1.26, "1.3/s"), (0.5, "30/min"), (0.02, "1.2/min"), (0.001, "3.6/h")],
)
def test_slow_rates_are_told_by_the_minute_or_hour(rate: float, said: str) -> None:
    """So that a number is no fraction of a row."""
    assert rate_text(rate) == said


@pytest.mark.parametrize(("seconds", "said"), [(0.4, "0:00"), (59.6, "1:00"), (75, "1:15"), (3661, "1:01:01")])
def test_times_are_read_as_on_a_clock(seconds: float, said: str) -> None:
    """Minutes and seconds, with hours where there are some."""
    assert clock(seconds) == said


def test_after_the_last_row_the_rate_stands_still() -> None:
    """What is yet to come is no row: the line says that it finishes, at the rate that there was."""
    pace, now = paced(100, 0.5)
    before = pace.rate(now)
    assert pace.rate(now + 20) == before
    assert text(pace, now + 20) == "warm  100/100 answers  2.0/s  finishing"


def test_what_the_run_takes_is_told_once_it_rests_on_something() -> None:
    """Not by a first row that waited for its server; from ten rows on, or five seconds after the first."""
    pace = Pace("warm", 100, 0, 0.0, later=200)
    pace.row(8.0, error=False)
    assert pace.run_left_s(8.1) is None and pace.left_s(8.1) is not None
    for _ in range(8):
        pace.row(9.0, error=False)
    assert pace.run_left_s(9.1) is None
    assert pace.run_left_s(13.0) is not None
    pace.row(9.2, error=False)
    assert pace.run_left_s(9.2) == pytest.approx(290 * 0.92)
