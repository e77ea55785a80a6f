"""The page on unreadable gates has every reason that the code can give."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.page import ROOT
from tests.docs.reasons import PASSED_ON, Reasons, pattern, reasons

PAGE = (ROOT / "docs" / "unreadable.md").read_text(encoding="utf-8")
PHRASES = set(re.findall(r"`([^`\n]+)`", PAGE))


@pytest.fixture(scope="module")
def found() -> Reasons:
    """What the code can say."""
    return reasons()


def test_every_reason_is_on_the_page(found: Reasons) -> None:
    """Each as it could be printed, in backticks; what is filled in is an example there."""
    missing = {
        sorted(places)[0]: said.replace("\\", "")
        for said, places in found.found.items()
        if not any(re.fullmatch(said, phrase) for phrase in PHRASES)
    }
    assert not missing, "add them to docs/unreadable.md, with what to do"


def test_every_reason_can_be_followed(found: Reasons) -> None:
    """A reason that comes from where the reader cannot follow is named, with whose it is; none is named in vain."""
    assert found.unknown == {}
    assert found.passed_on == set(PASSED_ON)


def test_the_reader_finds_what_is_there(found: Reasons) -> None:
    """Reasons by a literal, by a property, by a function that returns one, and by a metric's class variable."""
    said = " ".join(found.found).replace("\\", "")
    for one in ("no discordant pair", "the driver was saturated", "are unpaired", "no position was scored"):
        assert one in said
    assert len(found.found) > 90


def test_what_is_filled_in_is_anything() -> None:
    """`f"{n} of {total}"` is any text with ` of ` in it."""
    (node,) = ast.parse('f"{n} of (x) {total}"').body
    assert isinstance(node, ast.Expr)
    assert re.fullmatch(pattern(node.value), "3 of (x) 7")
    assert not re.fullmatch(pattern(node.value), "3 from 7")
