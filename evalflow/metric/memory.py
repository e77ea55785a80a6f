"""Bytes that a model holds: its parameters, and the keys and values of a context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalflow.metric.protocol import Clusters, Grain, Metric, Stack
from evalflow.numeric.interval import Interval
from evalflow.record import Probe


class _Bytes(Metric):
    grain: ClassVar[Grain] = "probe"
    probe: ClassVar[str] = "memory"
    measured_in: ClassVar[str] = "bytes"
    higher_is_better: ClassVar[bool] = False

    def interval(self, stack: Stack, clusters: Clusters, level: float) -> Interval | None:
        """None: counted, not estimated."""
        return None


@dataclass(frozen=True)
class ParamBytes(_Bytes):
    """Bytes of the model's parameters."""

    figure: ClassVar[str | None] = "mem/param_bytes"

    def stats(self, unit: Probe) -> tuple[float, ...] | None:
        """`(bytes,)`."""
        return (unit.values["param_bytes"],)


@dataclass(frozen=True)
class KvBytes(_Bytes):
    """Bytes of keys and values for `tokens` of context: 2 x layers x key-value width x tokens x bytes per value."""

    figure: ClassVar[str | None] = "mem/kv_bytes"
    tokens: int = 100

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError(f"tokens is {self.tokens}; give at least 1")

    def stats(self, unit: Probe) -> tuple[float, ...] | None:
        """`(bytes,)`."""
        shape = unit.values
        return (2 * shape["layers"] * shape["kv_width"] * self.tokens * shape["bytes_per_value"],)
