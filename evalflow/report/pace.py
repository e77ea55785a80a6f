"""How fast an arm's rows come, how long the rest will take, and that in a line."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from evalflow.report.aligned import GAP

WINDOW_S = 30.0
"""What a rate is taken over; a slower one, of fewer than `ENOUGH` rows in that, over the whole arm."""
ENOUGH = 10
SETTLED_S = 5.0
"""After its first row, an arm with fewer rows than that has a pace too."""
LEAST_BAR, MOST_BAR = 8, 20


@dataclass
class Pace:
    """The rows of one arm in this session. `begun` and every `now` are seconds of one clock.

    `later` are the rows of the arms after it, `others` those that arms before it took and `since` when the first began.
    """

    name: str
    total: int
    done: int
    begun: float
    place: str = ""
    later: int = 0
    others: int = 0
    since: float = 0.0
    errors: int = 0
    seen: int = 0
    first: float | None = None
    last: float = 0.0
    recent: deque[tuple[float, int]] = field(default_factory=deque)
    """Whole seconds and the rows that came in each: a bounded number of them, however many rows there are."""

    def row(self, now: float, error: bool) -> None:
        """A row came."""
        self.done += 1
        self.seen += 1
        self.errors += error
        self.first = now if self.first is None else self.first
        self.last = now
        second = now // 1
        if self.recent and self.recent[-1][0] == second:
            self.recent[-1] = (second, self.recent[-1][1] + 1)
        else:
            self.recent.append((second, 1))
        while self.recent[0][0] < now - WINDOW_S:
            self.recent.popleft()

    def rate(self, now: float) -> float | None:
        """Rows a second; None before the first, and after the last as it was then."""
        now = self.last if self.finishing else now
        elapsed = now - self.begun
        if not self.seen or elapsed <= 0:
            return None
        lately = sum(n for second, n in self.recent if second > now - WINDOW_S)
        return lately / min(WINDOW_S, elapsed) if lately >= ENOUGH else self.seen / elapsed

    @property
    def finishing(self) -> bool:
        """Whether all rows are there, and what is left is no row."""
        return self.done >= self.total

    def left_s(self, now: float) -> float | None:
        """Seconds that the arm will take yet."""
        rate = self.rate(now)
        return None if rate is None else max(0, self.total - self.done) / rate

    def run_left_s(self, now: float) -> float | None:
        """Seconds that this arm and those after it will take, these at the pace of all so far; None of the last.

        None too where it would rest on next to nothing: the first rows of an arm wait for its start.
        """
        left, elapsed = self.left_s(now), now - self.since
        if left is None or self.first is None or not self.later or elapsed <= 0:
            return None
        if self.seen < ENOUGH and now - self.first < SETTLED_S:
            return None
        return left + self.later * elapsed / (self.others + self.seen)


def pace_line(pace: Pace, now: float, unit: str, width: int, bar: str = "━━") -> Text:
    """The arm, how far it is, errors, rate and time left in one line of `width`; what has no room is left out.

    `bar` are the characters of what is done and what is not; none where no bar is wanted.
    """
    count = f"{pace.done:,}/{pace.total:,}"
    errors = f"{pace.errors:,} error{'s' * (pace.errors != 1)}" if pace.errors else ""
    rate, left, run = pace.rate(now), pace.left_s(now), pace.run_left_s(now)
    pacing = {
        "rate": "" if rate is None else rate_text(rate),
        "left": "finishing"
        if pace.finishing
        else f"starting {clock(now - pace.begun)}"
        if left is None
        else f"{clock(left)} left",
        "run": "" if run is None else f"run about {clock(run)}",
    }
    name = set_cell_size(pace.name, min(cell_len(pace.name), max(8, width // 4))).rstrip()
    whole = [f"{name} ({pace.place})" if pace.place else name, f"{count} {unit}", errors, *pacing.values()]
    brief = [name, count, errors]
    layouts = (
        whole,
        whole[:-1],
        [*whole[:3], pacing["left"]],
        [*brief, pacing["left"]],
        brief,
        [count, errors],
        [count],
    )
    for parts in layouts:
        told = GAP.join(part for part in parts if part)
        if cell_len(told) < width:
            break
    line = Text(told, no_wrap=True)
    line.truncate(max(1, width - 1), overflow="crop")
    if errors and errors in told:
        at = told.index(errors, len(name))
        line.stylize("bold red", at, at + len(errors))
    room = min(MOST_BAR, width - line.cell_len - len(GAP) - 1)
    return _bar(pace, room, bar).append(GAP).append_text(line) if bar and room >= LEAST_BAR else line


def _bar(pace: Pace, width: int, bar: str) -> Text:
    full, rest = bar[0], bar[1]
    filled = width * min(pace.done, pace.total) // pace.total if pace.total else width
    return Text(no_wrap=True).append(full * filled, style="green").append(rest * (width - filled), style="dim")


def rate_text(rate: float) -> str:
    """Rows a second; a minute or an hour where those are few."""
    for per, seconds in (("s", 1), ("min", 60), ("h", 3600)):
        if rate * seconds >= 1 or per == "h":
            break
    told = rate * seconds
    return f"{told:,.0f}/{per}" if told >= 10 else f"{told:.1f}/{per}"


def clock(seconds: float) -> str:
    """Minutes and seconds; hours before them where there are some."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
