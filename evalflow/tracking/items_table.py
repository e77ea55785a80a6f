"""The answers of one pass as the table that MLflow lines runs up by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from evalflow.record import Item, Row

Cell = str | float | None

TABLE = "items.json"
# MLflow's table view shows only the files that this tag lists
TABLE_TAG = "mlflow.loggedArtifacts"
TABLE_TAG_VALUE = json.dumps([{"path": TABLE, "type": "table"}])


def items_table(rows: Sequence[Row], items: Mapping[str, Item], private: bool) -> str:
    """`items.json` in MLflow's format: one line per row, the stable id first, what is compared second.

    Private: no prompt, answer or target; ids, statistics and status stay.
    """
    metrics = sorted({name for row in rows for name in row.stats})
    served = any(row.served not in (None, row.draft) for row in rows)
    texts = [] if private else ["answer", *(["served"] if served else []), "target", "prompt"]
    columns = ["id", *texts, *metrics, "status"]
    data = [[_cell(column, row, items[row.item_id]) for column in columns] for row in rows]
    return json.dumps({"columns": columns, "data": data}, allow_nan=False)


def _cell(column: str, row: Row, item: Item) -> Cell:
    own: dict[str, Cell] = {
        "id": row.item_id,
        "answer": row.draft,
        "served": row.served,
        "target": item.target,
        "prompt": item.prompt,
        "status": f"error ({row.error.kind})" if row.error else row.status,
    }
    return own[column] if column in own else _statistics(row, column)


def _statistics(row: Row, metric: str) -> Cell:
    """A metric's one statistic as a number, several as text; None where the row was not scored."""
    if metric not in row.stats:
        return None
    stats = row.stats[metric]
    if stats is None:
        return "excluded"
    return stats[0] if len(stats) == 1 else " ".join(f"{value:g}" for value in stats)
