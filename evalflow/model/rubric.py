"""The text that asks a model to grade an answer, in which the answer is data and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evalflow.record import digest

PLACES = ("prompt", "target", "answer", "mark")
_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class Rubric:
    """A template: `{prompt}` is what was asked, `{target}` the right answer, `{answer}` what is to be graded.

    `{mark}` is eight digits that no answer can know beforehand, for the ends of the answer: one that writes an end of
    its own does not get out of it. All places are filled in one pass, so that braces of an answer stay as they are, and
    braces of the template that enclose no name, as of JSON, mean nothing.
    """

    template: str

    def __post_init__(self) -> None:
        unknown = sorted(self.places - set(PLACES))
        if unknown:
            known = ", ".join(f"{{{place}}}" for place in PLACES)
            raise ValueError(f"rubric asks for {{{unknown[0]}}}, which nobody fills in; choose from {known}")
        if "answer" not in self.places:
            raise ValueError("rubric has no {answer}, so nothing would be graded; say with it where the answer stands")

    @property
    def places(self) -> set[str]:
        """The names that it asks for."""
        return set(_PLACE.findall(self.template))

    @property
    def digest(self) -> str:
        """What tells it from another."""
        return digest(self.template)

    def filled(self, prompt: str, target: str | None, answer: str) -> str:
        """The template about one answer; `target` must be there where it is asked for."""
        assert target is not None or "target" not in self.places, "checked by whoever knows the items"
        mark = digest([self.template, prompt, answer])[:8]
        parts: Mapping[str, str] = {"prompt": prompt, "target": target or "", "answer": answer, "mark": mark}
        return _PLACE.sub(lambda found: parts[found[1]], self.template)
