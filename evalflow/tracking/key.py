"""Names and texts as every MLflow store accepts them."""

from __future__ import annotations

import posixpath
import re

from evalflow.record import digest

LONGEST_KEY = 200
LONGEST_TEXT = 250


def safe_key(name: str) -> str:
    """`name` as a metric, param or tag key; a legal name stays as it is.

    MLflow takes letters, digits and `_ - . space : /`, refuses paths that are not in their shortest form, and
    ends at 250 characters. A changed name gets a piece of its digest, so that no two names become one.
    """
    key = posixpath.normpath(re.sub(r"[^\w.\- :/]", "_", name)).lstrip("./") or "_"
    if key == name and len(key) <= LONGEST_KEY:
        return key
    return f"{key[:LONGEST_KEY]}.{digest(name)[:6]}"


def safe_text(text: str) -> str:
    """`text` without what a database refuses: lone surrogates and NUL are written out as escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")


def short_text(text: str) -> str:
    """`text`, shortened where MLflow or a reader would lose it; a cut one carries its digest."""
    text = safe_text(text)
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_KEY]}… (sha256 {digest(text)[:12]})"
