"""A rater's sheet: a page that shows one thing to judge at a time, and the same as a table for a spreadsheet.

Neither holds anything of the run but prompts and answers: no name of an arm or an item, no order, no side tells of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from markupsafe import Markup

from evalflow.record import Item
from evalflow.report.html.shown_text import visible
from evalflow.report.html.template import rendered
from evalflow.runner.review_sheet import Answers, Sheet
from evalflow.spreadsheet import table_text

BYTE_ORDER_MARK = "\ufeff"
"""Without it a spreadsheet may take UTF-8 for something else."""
_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_SIDES = ("left", "right")


def sheet_page(sheet: Sheet, items: Mapping[str, Item], answers: Answers, with_target: bool = False) -> str:
    """The page: self-contained, asks nothing of any network, and keeps what was said in the browser that it is open in.

    Every character of a text is seen (`visible`), and none of it becomes markup: it lies on the page as data.
    """
    tickets = [
        {
            "ticket": ticket.ticket,
            "prompt": visible(items[ticket.item_id].prompt),
            "target": visible(items[ticket.item_id].target or "") if with_target else "",
            "answers": [visible(text) for text in _texts(sheet, ticket.ticket, answers)],
        }
        for ticket in sheet.tickets
    ]
    scale = [] if sheet.scale is None else list(range(sheet.scale[0], sheet.scale[1] + 1))
    told = {"sheet": sheet.sheet, "scale": scale, "tickets": tickets}
    data = Markup(json.dumps(told, ensure_ascii=True).translate(_IN_SCRIPT))
    parts = {"data": data, "asks": sheet.asks, "scale": scale, "n": len(tickets)}
    return rendered(parts, "review_sheet.html.jinja", "review_sheet.css", "review_sheet.js")


def sheet_table(sheet: Sheet, items: Mapping[str, Item], answers: Answers, with_target: bool = False) -> str:
    """The table as CSV, to be filled in: `rating` (left, right or tie; or a number), `comment`, and `rater`."""
    sides = ("answer",) if sheet.scale else _SIDES
    target = ("target",) if with_target else ()
    records = [
        {
            "sheet": sheet.sheet,
            "ticket": ticket.ticket,
            "prompt": items[ticket.item_id].prompt,
            "target": items[ticket.item_id].target or "",
            **dict(zip(sides, _texts(sheet, ticket.ticket, answers), strict=True)),
            "rating": "",
            "comment": "",
            "rater": "",
        }
        for ticket in sheet.tickets
    ]
    columns = ("sheet", "ticket", "prompt", *target, *sides, "rating", "comment", "rater")
    return BYTE_ORDER_MARK + table_text(columns, records)


def _texts(sheet: Sheet, ticket: str, answers: Answers) -> list[str]:
    """What stands on a ticket: two texts, or one, whoever gave it."""
    shown = sheet.of[ticket]
    texts = [answers[arm, seed, shown.item_id] for arm, seed in shown.answers]
    return [text for text in texts if isinstance(text, str)][: 1 if sheet.scale else 2]
