"""What serving is: from a draft to the text that its reader gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from evalflow.record import Item


@dataclass(frozen=True)
class Served:
    """The text that the reader gets, and why it is that one, as JSON: `detail` is what the metrics read."""

    text: str
    detail: Mapping[str, Any]


class Serving(Protocol):
    """Decides what is served. A dataclass whose fields are its settings in YAML; pure, for rows are scored again."""

    def serve(self, item: Item, draft: str) -> Served:
        """What the reader of this item's answer gets for a draft (which may be empty).

        Raises:
            DataError: the item does not hold what serving needs.
        """
        ...
