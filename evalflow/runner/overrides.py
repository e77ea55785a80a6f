"""One override of the command line: parsed, explained where it cannot be, and put as Hydra shall see it."""

from __future__ import annotations

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from evalflow.runner.build import Faults


def parse(text: str, faults: Faults) -> Override | None:
    """The override; None (and a fault that explains the grammar) where it is none."""
    if text.startswith("-"):
        faults.add(text, "there is no such flag", "see evalflow --help")
        return None
    said = "it is not of the form key=value"
    try:
        parsed = OverridesParser.create().parse_overrides([text])[0]
        if parsed.key_or_group:
            return parsed
    except (HydraException, ValueError) as fault:  # Python refuses numbers of thousands of digits
        if "=" in text and "mismatched" not in str(fault):
            said = "its value cannot be parsed"
    faults.add(f"override {text}", said, "write key=value, quoting a value that has = , { } [ ] in it")
    return None


def is_swept(override: Override, faults: Faults) -> bool:
    """Whether it gives several values, which is a fault outside a sweep."""
    if bool(override.is_sweep_override()):
        faults.add(text_of(override), "several values make a sweep", "add -m, or give a list as [a,b]")
        return True
    return False


def is_hydra(override: Override) -> bool:
    """Whether it is about Hydra itself."""
    return bool(override.key_or_group.split(".")[0].split("/")[0] == "hydra")


def forced(override: Override) -> str:
    """The override as Hydra shall see it: a plain value may set a key that its untyped node does not show yet."""
    text = text_of(override)
    plain = not (override.is_delete() or override.is_add() or override.is_force_add())
    return f"++{text}" if plain else text


def text_of(override: Override) -> str:
    """The override as the user wrote it."""
    return str(override.input_line)
