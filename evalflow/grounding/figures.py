"""Figures: the numbers of a text, as they are written."""

from __future__ import annotations

import re

from evalflow.grounding.citations import without_citations

_FIGURE = re.compile(r"\d(?:[\d.,\-/:]*\d)?%?")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?%?")


def figures_of(text: str) -> tuple[str, ...]:
    """The figures of the prose, in order: maximal runs of digits with inner `. , - / :` and a trailing `%`.

    Citations are cut out first, so that the digits of an id are no figure.
    """
    return tuple(_FIGURE.findall(without_citations(text)))


def figures_not_in(text: str, source: str) -> tuple[str, ...]:
    """The figures of `text`, each once, that `source` does not have.

    Two figures are the same as written or with thousands separators removed: 12,400 is 12400, and 5 is not 5%.
    """
    known = {_ungrouped(figure) for figure in figures_of(source)}
    return tuple(dict.fromkeys(figure for figure in figures_of(text) if _ungrouped(figure) not in known))


def _ungrouped(figure: str) -> str:
    """The figure without its thousands separators; a comma that separates anything else stays."""
    return figure.replace(",", "") if _GROUPED.fullmatch(figure) else figure
