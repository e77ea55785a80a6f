"""A review by people as the page shows it: what it came to in words, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalflow.report.review_lines import Lines, review_answers, review_tables, without_names


@dataclass(frozen=True)
class ShownReview:
    """Conclusions and words of every pair of arms, tables, and what a reader must know to read them."""

    answers: tuple[tuple[str, str], ...]
    tables: tuple[Lines, ...]
    notes: tuple[str, ...]
    questions: tuple[str, ...]


def review_of(document: Mapping[str, Any] | None, private: bool) -> ShownReview | None:
    """The review, None where there is none; private, it names no rater."""
    if document is None:
        return None
    told = without_names(document) if private else document
    asked = dict.fromkeys(sheet["question"] for sheet in told["sheets"])
    return ShownReview(tuple(review_answers(told)), tuple(review_tables(told)), tuple(told["notes"]), tuple(asked))
