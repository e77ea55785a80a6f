"""The page's templates, and the one place where text becomes HTML: all of it is escaped, and no number is left bare."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from evalflow.report.html.shown_text import LONGEST, short, visible

PAGE = "page.html.jinja"
STYLE, SCRIPT = "page.css", "page.js"


def rendered(parts: Mapping[str, Any], template: str = PAGE, style: str = STYLE, script: str = SCRIPT) -> str:
    """The page made of its parts; the same parts give the same bytes. It can always be encoded as UTF-8.

    Raises:
        TypeError: a part is a number or None, which whoever made it should have put into words.
    """
    look, acts = _asset(style), _asset(script)
    # whatever may get past the escaping: nothing runs, styles or loads but these two
    allowed = f"default-src 'none'; style-src {_hash(look)}; script-src {_hash(acts)}"
    policy = f"{allowed}; base-uri 'none'; form-action 'none'"
    page = _environment().get_template(template)
    return page.render(**parts, style=Markup(look), script=Markup(acts), policy=Markup(policy))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("evalflow.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["short"] = short
    made.filters["name"] = _name
    return made


def _shown(value: object) -> object:
    """What a template may write: a text, seen and of bounded length, or a count. Markup is the templates' own."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return visible(value) if len(value) <= LONGEST else short(value, LONGEST)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    raise TypeError(f"the page has {value!r:.60} where a text belongs")


def _name(text: str, most: int = 60) -> Markup:
    """A name in at most `most` characters, which may be broken where its parts end."""
    return Markup(re.sub(r"([/_.:-])(?=\w)", r"\1<wbr>", str(escape(short(text, most)))))


def _asset(name: str) -> str:
    return (files("evalflow.report.html") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
