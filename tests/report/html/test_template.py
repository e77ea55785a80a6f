"""Text becomes HTML in one place: escaped, seen, and never a bare number."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from evalflow.report.html import template
from tests.report.html.reading import page_of


def said(source: str, **parts: object) -> str:
    return template._environment().from_string(source).render(**parts)


def test_text_is_escaped_and_seen():
    """A tag is text, and so is what would close an attribute; what cannot be seen is written out."""
    assert said("<p title='{{ a }}'>{{ a }}</p>", a="<b>'\"\0") == (
        "<p title='&lt;b&gt;&#39;&#34;‹U+0000›'>&lt;b&gt;&#39;&#34;‹U+0000›</p>"
    )


@pytest.mark.parametrize("value", [None, 0.0, 0.5, float("nan"), True, [1]])
def test_what_is_no_text_is_refused(value: object):
    """None is never shown as `None` or 0, nor a number with all its digits: somebody has to put it into words."""
    with pytest.raises(TypeError, match="where a text belongs"):
        said("{{ a }}", a=value)


def test_counts_are_grouped():
    """A whole number is a count."""
    assert said("{{ a }}", a=1234567) == "1,234,567"


def test_a_part_that_is_missing_is_refused():
    """Not left blank, nor looked into."""
    with pytest.raises(TypeError, match="Undefined where a text belongs"):
        said("{{ a.b }}", a={})
    with pytest.raises(UndefinedError):
        said("{% if a.b.c %}{% endif %}", a={})


def test_no_text_is_endless():
    """Whatever it is that somebody forgot to clip."""
    assert len(said("{{ a }}", a="x" * 1_000_000)) <= 6000


def test_a_name_may_break_where_its_parts_end():
    """Behind slashes and underscores, and it is escaped all the same."""
    assert said("{{ a|name }}", a="quality/exact_<b>") == "quality/<wbr>exact_&lt;b&gt;"
    assert isinstance(template._name("a/b"), Markup)


def test_the_policy_allows_this_style_and_this_script_alone(tmp_path: Path):
    """Everything else is forbidden: no other script or style runs, and nothing is fetched, embedded or sent."""
    page = page_of(tmp_path)
    policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    hashes = {
        tag: b64encode(hashlib.sha256(page.one(tag).raw.encode()).digest()).decode() for tag in ("style", "script")
    }
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'sha256-{hashes['style']}'",
        "script-src": f"'sha256-{hashes['script']}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_the_page_has_nothing_that_the_policy_forbids(tmp_path: Path):
    """No style attribute, no handler, no source, no link out: what is referred to lies in the page."""
    page = page_of(tmp_path)
    attributes = [(one.tag, *pair) for one in page.every() for pair in one.attributes.items()]
    assert not [one for one in attributes if one[1] in ("style", "src", "srcset", "action") or one[1].startswith("on")]
    assert all(value.startswith("#") for _, key, value in attributes if key in ("href", "xlink:href"))
    assert not re.search(r"url\((?!#)|@import|//\w", page.one("style").raw)
    ids = [value for _, key, value in attributes if key == "id"]
    assert len(ids) == len(set(ids))


def test_only_a_plot_is_taken_for_html():
    """One place of all templates says that something is no text, and that is a drawing of our own."""
    folder = Path(template.__file__).parent / "templates"
    safe = [
        line.strip()
        for path in sorted(folder.glob("*.jinja"))
        for line in path.read_text().splitlines()
        if "|safe" in line
    ]
    assert safe == ["<figure>{{ plot.svg|safe }}</figure>"]
