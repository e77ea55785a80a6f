"""The page as a browser shows it: nothing runs or is fetched, nothing overflows, and it can be read in the dark."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalflow.columns import Columns
from evalflow.record import Row
from evalflow.report.html.page import page
from tests.report.by_hand import made
from tests.report.html.browser import Tab, browser, chromium
from tests.report.html.test_hostile import HOSTILE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="there is no chromium here: apt-get install chromium"),
]
RUNS = "<script>window.owned = 1</script><img src=x onerror='window.owned = 1'><svg onload='window.owned = 1'></svg>"
PLANTED = "\n".join([RUNS, *HOSTILE, "</script><script>window.owned = 1</script>", "w" * 100_000, "\u202e" * 100])
"""Everything at once."""
NO_REFERENCE = {"value": None, "low": None, "high": None, "reason": "the arm has no reference"}


def written(folder: Path, text: str = PLANTED, name: str = "page.html", **changes: Any) -> Path:
    """A page with every section, whose texts, reasons and long names are `text`."""
    report, scores = made(folder)
    report = {**copy.deepcopy(report), **changes}
    report["notes"] = [text]
    report["arms"]["base"]["worst_positions"] = {"kl": [{"item": "a", "at": 3, "value": 1.0, "context": text[:500]}]}
    for arm in report["arms"].values():
        for percentile, value in (("p50", 0.02), ("p95", 0.04)):
            arm["figures"][f"lat/ttft_s/{percentile}"].update(value=value, reason=None)
        arm["conditions"]["model"]["said"] = text
        arm["figures"]["parity/kl_nats"] = {**arm["figures"]["quality/exact"], **NO_REFERENCE}
    rows = [told(row, place, text) for place, row in enumerate(scores.rows * 8)]
    items = [replace(item, prompt=text, target=text) for item in scores.plan.items]
    path = folder / name
    path.write_text(page(report, rows, items), encoding="utf-8")
    return path


def told(row: Row, place: int, text: str) -> Row:
    """The row with a time, two positions, and `text` for an answer and a reason."""
    arrays = {"kl": np.array([0.1, 0.001 * (place + 1)]), "start": np.array([0, 1], dtype=np.int32)}
    return replace(
        row,
        draft=text,
        stats={**row.stats, "ttft": (0.01 * (place + 1),)},
        columns=Columns.of(arrays),
        detail={"exact": {"expected": text}},
    )


def look(act: Callable[[Tab], Awaitable[None]]) -> None:
    """Do something with a tab of a browser."""

    async def whole() -> None:
        async with browser() as tab:
            await act(tab)

    asyncio.run(whole())


def test_it_opens_from_a_file_in_silence(tmp_path: Path):
    """By day, by night and on a phone: no word to the console, no request, and every section is there."""
    path = written(tmp_path)

    async def act(tab: Tab) -> None:
        for width, scheme in ((1280, "light"), (1280, "dark"), (360, "light")):
            await tab.size(width)
            await tab.media(scheme=scheme)
            await tab.show(path)
            await asyncio.sleep(0.2)
            assert await tab.evaluate("document.title") == "unreadable: four 20261129-101112-abcdef"
        sections = await tab.evaluate("[...document.querySelectorAll('section')].map(one => one.id).join(' ')")
        assert sections == "gates arms deltas latency positions kinds seeds worst failing limits instrument notes"
        assert (tab.said, tab.asked) == ([], [])

    look(act)


def test_planted_code_does_not_run(tmp_path: Path):
    """No script, handler, image or link of an answer's is alive, and what got into the page would be stopped."""
    path = written(tmp_path)

    async def act(tab: Tab) -> None:
        await tab.show(path)
        assert await tab.evaluate("typeof window.owned") == "undefined"
        alive = "document.querySelectorAll('img, iframe, object, embed, base, form[action], link').length"
        assert await tab.evaluate(alive) == 0
        assert await tab.evaluate("document.querySelectorAll('script, style').length") == 2
        links = "[...document.querySelectorAll('a')].every(one => one.getAttribute('href').startsWith('#'))"
        assert await tab.evaluate(links)
        assert "onerror" in await tab.evaluate("document.getElementById('failing').textContent")
        assert (tab.said, tab.asked) == ([], [])
        # even markup that got past the escaping runs nothing and fetches nothing
        await tab.evaluate(f"document.body.insertAdjacentHTML('beforeend', {json.dumps(RUNS)})")
        made_up = (
            "const one = document.createElement('script'); one.text = 'window.owned = 1'; document.body.append(one)"
        )
        await tab.evaluate(f"{made_up}; 0")
        await asyncio.sleep(0.3)
        assert await tab.evaluate("typeof window.owned") == "undefined"
        assert any("Content Security Policy" in said for said in tab.said)

    look(act)


def test_a_reversed_sign_is_seen_on_the_other_side(tmp_path: Path):
    """The mark of a difference lies right of zero; with its sign turned round, left."""
    sides = {}
    for sign in (1, -1):
        report, _ = made(tmp_path)
        deltas = copy.deepcopy(report["comparisons"])
        for delta in deltas["new_vs_base"].values():
            delta.update(delta=0.2 * sign, low=0.2 * sign - 0.1, high=0.2 * sign + 0.1, conclusion="better")
        sides[sign] = written(tmp_path, "x", f"{sign}.html", comparisons=deltas)

    async def act(tab: Tab) -> None:
        found = {}
        for sign, path in sides.items():
            await tab.show(path)
            middle = "(name => {{ const box = document.querySelector('#deltas .is-{0}').getBoundingClientRect(); "
            middle += "return box.x + box.width / 2; }})()"
            mark, zero = [await tab.evaluate(middle.format(name)) for name in ("delta", "zero")]
            found[sign] = mark - zero
        assert found[1] > 50
        assert found[-1] < -50

    look(act)


def test_a_phone_shows_it_without_scrolling_sideways(tmp_path: Path):
    """At 360 pixels nothing is wider than the window, everything opened; wide tables scroll in boxes of their own."""
    path = written(tmp_path)

    async def act(tab: Tab) -> None:
        await tab.size(360)
        await tab.show(path)
        await tab.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert await tab.evaluate("document.documentElement.scrollWidth") <= 360
        over = "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth).length"
        assert await tab.evaluate(over) > 0
        # one shadow on either side stays where it is, and one cover of each goes along with the table
        held = "getComputedStyle(document.querySelector('.scroll')).backgroundAttachment"
        assert await tab.evaluate(held) == "local, local, scroll, scroll"
        smallest = (
            "Math.min(...[...document.querySelectorAll('svg text')].map(one => one.getBoundingClientRect().height))"
        )
        assert await tab.evaluate(smallest) > 8

    look(act)


def contrast(one: str, other: str) -> float:
    """Of two colours as a browser tells them (WCAG 2.1, 1.4.3)."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_it_can_be_read_by_day_and_by_night(tmp_path: Path):
    """Text, muted text, links, outcomes and the lines of plots stand out from what is behind them in both schemes."""
    path = written(tmp_path, "x")
    behind = "getComputedStyle(document.body).backgroundColor"

    def of(selector: str, what: str = "color") -> str:
        return f"getComputedStyle(document.querySelector({json.dumps(selector)})).{what}"

    async def act(tab: Tab) -> None:
        seen = {}
        for scheme in ("light", "dark"):
            await tab.media(scheme=scheme)
            await tab.show(path)
            ground = seen[scheme] = await tab.evaluate(behind)
            for selector in ("body", ".hint", ".beneath", "nav a", ".outcome.unreadable", "svg text"):
                what = "fill" if selector == "svg text" else "color"
                assert contrast(await tab.evaluate(of(selector, what)), ground) >= 4.5, (scheme, selector)
            for selector in (".is-curve path", ".is-zero path"):
                assert contrast(await tab.evaluate(of(selector, "stroke")), ground) >= 3, (scheme, selector)
        assert contrast(seen["light"], "rgb(0, 0, 0)") > 15 and contrast(seen["dark"], "rgb(255, 255, 255)") > 15

    look(act)


def test_rows_are_turned_a_page_at_a_time_and_found(tmp_path: Path):
    """Twenty at once; the next ones by a button; those of one arm, or with a text; without scripts all of them."""
    path = written(tmp_path, "some text")
    shown = "[...document.querySelectorAll('#rows > li')].filter(one => one.offsetParent !== null).length"

    def choose(name: str, value: str) -> str:
        field = f"document.getElementById('filter').elements.{name}"
        return f"{field}.value = {json.dumps(value)}; {field}.dispatchEvent(new Event('input', {{bubbles: true}}))"

    async def act(tab: Tab) -> None:
        await tab.show(path)
        output = "document.querySelector('#filter output').value"
        assert (await tab.evaluate(shown), await tab.evaluate(output)) == (20, "1–20 of 32")
        await tab.evaluate("document.getElementById('filter').elements.on.click()")
        assert (await tab.evaluate(shown), await tab.evaluate(output)) == (12, "21–32 of 32")
        assert await tab.evaluate("document.getElementById('filter').elements.on.disabled")
        await tab.evaluate(choose("arm", "base"))
        assert await tab.evaluate(output) == "1–20 of 24"
        await tab.evaluate(choose("text", "no answer"))
        assert await tab.evaluate(output) == "1–8 of 8"
        await tab.evaluate(choose("text", "nowhere to be found"))
        assert await tab.evaluate(output) == "none"
        await tab.call("Emulation.setScriptExecutionDisabled", value=True)
        await tab.show(path)
        assert await tab.evaluate(shown) == 32
        assert not await tab.evaluate("document.getElementById('filter').offsetParent !== null")

    look(act)


def test_it_can_be_walked_by_keyboard(tmp_path: Path):
    """The first stop leads past the links to the report; every stop is seen."""
    path = written(tmp_path, "x")

    async def press(tab: Tab, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            await tab.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    async def act(tab: Tab) -> None:
        await tab.show(path)
        seen = []
        for _ in range(200):
            await press(tab, "Tab", 9)
            at = await tab.evaluate("document.activeElement.className + document.activeElement.tagName")
            if at == "BODY":
                break  # past the last one
            seen.append(at)
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert await tab.evaluate(outline) != "none", seen
        assert seen[0] == "skipA"
        assert {"A", "scrollDIV", "SUMMARY"} <= set(seen)

    look(act)


def test_it_can_be_printed(tmp_path: Path):
    """In black on white, by night too, without what only a screen needs; tables are not cut at a box."""
    path = written(tmp_path, "x")

    async def act(tab: Tab) -> None:
        await tab.media("print", "dark")
        await tab.show(path)
        assert await tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert await tab.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        hidden = "['nav', '#filter', '.skip'].every(one => document.querySelector(one).offsetParent === null)"
        assert await tab.evaluate(hidden)
        assert await tab.evaluate("getComputedStyle(document.querySelector('.scroll')).overflowX") == "visible"
        printed = await tab.call("Page.printToPDF")
        assert len(printed["data"]) > 10_000

    look(act)
