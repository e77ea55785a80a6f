"""Long lines on a terminal."""

from __future__ import annotations

import pytest
from rich.text import Text

from evalflow.report.aligned import hanging


@pytest.mark.parametrize("width", range(24, 60))
def test_no_line_ends_inside_an_interval(width: int) -> None:
    """At any width it stands whole on one line, those after the first are indented, and nothing is lost."""
    said = "long 1, short 0.567, difference 0.433 [-0.078, 1.2e-05] and so on"
    lines = [line.plain for line in hanging(Text(said), width, 4)]
    assert sum("[-0.078, 1.2e-05]" in line for line in lines) == 1
    assert all(len(line) <= width for line in lines)
    assert [line.startswith("    ") for line in lines[1:]] == [True] * (len(lines) - 1)
    assert " ".join(line.strip() for line in lines) == said


def test_an_interval_keeps_its_style() -> None:
    """What is held together is styled as it was."""
    line = Text("a difference of ").append("0.433 [-0.078, 0.669]", style="bold")
    assert [(part.plain, [span.style for span in part.spans]) for part in hanging(line, 22, 2)] == [
        ("a difference of 0.433", ["bold"]),
        ("  [-0.078, 0.669]", ["bold"]),
    ]
