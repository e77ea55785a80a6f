"""Citations: tokens `§ {#section-id}`."""

from __future__ import annotations

import re

TOKEN = r"§[ \t]*\{#[^{}\n]*\}"
"""A citation, as a part of a regular expression."""
_ID = re.compile(r"§[ \t]*\{#([^{}\n]*)\}")


def cite(section_id: str) -> str:
    """The citation of a section."""
    return f"§ {{#{section_id}}}"


def citations_of(text: str) -> tuple[str, ...]:
    """The ids that a text cites, in order, each as often as it stands there."""
    return tuple(_ID.findall(text))


def without_citations(text: str) -> str:
    """The text with a blank in place of each citation: what is left is the prose."""
    return _ID.sub(" ", text)
