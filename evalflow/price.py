"""What answers cost."""

from __future__ import annotations

from dataclasses import dataclass

from evalflow.record import Completion, Row

MILLION = 1e6


@dataclass(frozen=True)
class Prices:
    """Per million tokens, in one currency.

    `input_per_million` is for prompts, `cached_per_million` for their cached part (as prompts unless given),
    `output_per_million` for answers.
    """

    input_per_million: float | None = None
    cached_per_million: float | None = None
    output_per_million: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and value < 0:
                raise ValueError(f"{name} is {value}; give a number of at least 0, or null")
        if (self.input_per_million is None) != (self.output_per_million is None):
            raise ValueError("input_per_million and output_per_million belong together; give both or neither")
        if self.cached_per_million is not None and self.input_per_million is None:
            raise ValueError("cached_per_million is given alone; give input_per_million and output_per_million too")

    def of(self, answer: Completion | Row) -> float | None:
        """What one answer cost; None where no prices are given, or its tokens are not known."""
        if self.input_per_million is None or self.output_per_million is None:
            return None
        if answer.tokens_in is None or answer.tokens_out is None:
            return None
        cached = answer.cached_tokens or 0
        reduced = self.input_per_million if self.cached_per_million is None else self.cached_per_million
        asked = (answer.tokens_in - cached) * self.input_per_million + cached * reduced
        return (asked + answer.tokens_out * self.output_per_million) / MILLION
