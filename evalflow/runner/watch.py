"""The driver's watch on itself: its event loop's lag, its CPU, and what was really in flight."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator

import numpy as np

TICK_S = 0.02


class Watch:
    """Measures one arm. Use as an async context manager around it, and `flight()` around each request."""

    def __init__(self) -> None:
        self._lags: list[float] = []
        self._in_flight = 0
        self._flight_area = 0.0
        self._last_change = 0.0
        self.in_flight_max = 0
        self.requests = 0

    async def __aenter__(self) -> Watch:
        self._wall = self._last_change = time.perf_counter()
        self._cpu = time.process_time()
        self._ticker = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ticker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._ticker

    @contextlib.contextmanager
    def flight(self) -> Iterator[None]:
        """One request, from sending to its end."""
        self._count(+1)
        self.requests += 1
        try:
            yield
        finally:
            self._count(-1)

    def summary(self) -> dict[str, float | None]:
        """What was seen so far; None where there was nothing to see. Lags in s, CPU in ms of the whole process."""
        self._count(0)
        wall_s = time.perf_counter() - self._wall
        cpu_s = time.process_time() - self._cpu
        return {
            "loop_lag_p99_s": float(np.quantile(self._lags, 0.99)) if self._lags else None,
            "loop_lag_max_s": max(self._lags) if self._lags else None,
            "cpu_ms_per_request": 1000 * cpu_s / self.requests if self.requests else None,
            "in_flight_mean": self._flight_area / wall_s if wall_s > 0 else None,
            "in_flight_max": float(self.in_flight_max),
            "requests": float(self.requests),
            "wall_s": wall_s,
        }

    def _count(self, change: int) -> None:
        now = time.perf_counter()
        self._flight_area += self._in_flight * (now - self._last_change)
        self._last_change = now
        self._in_flight += change
        self.in_flight_max = max(self.in_flight_max, self._in_flight)

    async def _tick(self) -> None:
        while True:
            due = time.perf_counter() + TICK_S
            try:
                await asyncio.sleep(TICK_S)
            finally:
                # a tick cut short by the arm's end still tells how late the loop was
                late = time.perf_counter() - due
                if late > 0:
                    self._lags.append(late)
