"""The sheet in a browser: rated by keys, kept over a reload, downloaded, and read back as what was meant."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.report.html.review_sheet import sheet_page
from evalflow.runner.review_import import read_filled
from evalflow.runner.review_sheet import Sheet
from tests.report.html.browser import WITHIN_S, Tab, browser, chromium
from tests.report.html.test_browser import PLANTED, RUNS
from tests.runner.reviewed import answers, sheet, stored

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="there is no chromium here: apt-get install chromium"),
]
CODES = {"ArrowLeft": 37, "ArrowRight": 39, "Enter": 13, "Escape": 27}
SHOWN = "['start', 'judge', 'end'].filter((one) => document.getElementById(one).offsetParent !== null).join(' ')"
WHERE = "document.getElementById('where').textContent"


def written(folder: Path, text: str = "answer", n: int = 5, **asked: Any) -> tuple[Path, Sheet]:
    """A sheet's page of `n` items whose texts begin with `text`."""
    run = stored([f"q{number}" for number in range(n)])
    items = {item.id: replace(item, prompt=f"{text}: {item.prompt}") for item in run.items}
    texts = answers(run, **{f"{row.arm}_{row.item_id}": f"{text}: {row.draft}" for row in run.rows})
    drawn = sheet(run, texts, **asked)
    path = folder / "sheet.html"
    path.write_text(sheet_page(drawn, items, texts), encoding="utf-8")
    return path, drawn


async def press(tab: Tab, *keys: str) -> None:
    """Press and release keys, one after the other."""
    for key in keys:
        code = CODES.get(key) or ord(key.upper())
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        told = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        await tab.call("Input.dispatchKeyEvent", type="keyDown", **told, **text)
        await tab.call("Input.dispatchKeyEvent", type="keyUp", **told)


async def downloaded(tab: Tab, folder: Path, button: str) -> Path:
    """The file that a click gives."""
    await tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    await tab.evaluate(f"document.getElementById('{button}').click()")
    for _ in range(int(WITHIN_S / 0.05)):
        if found := list(folder.glob("*.csv")):
            return found[0]
        await asyncio.sleep(0.05)
    raise AssertionError("nothing was downloaded")


def look(act: Callable[[Tab], Awaitable[None]]) -> None:
    """Do something with a tab of a browser."""

    async def whole() -> None:
        async with browser() as tab:
            await act(tab)

    asyncio.run(whole())


def test_pairs_are_rated_by_keys_and_read_back(tmp_path: Path) -> None:
    """Left, tie, skip, right; back to correct one; a comment whose letters are no keys; a reload loses nothing."""
    path, drawn = written(tmp_path)
    back = tmp_path / "back"
    back.mkdir()

    async def act(tab: Tab) -> None:
        await tab.show(path)
        assert await tab.evaluate(SHOWN) == "start"
        await press(tab, *"t bob", "Enter")
        assert (await tab.evaluate(SHOWN), await tab.evaluate(WHERE)) == ("judge", "1 of 5, 0 rated")
        await press(tab, "ArrowLeft", "t", "s", "ArrowRight", "b")
        assert await tab.evaluate(WHERE) == "4 of 5, 3 rated; the last: right"
        assert await tab.evaluate("document.querySelector('[aria-pressed=true]').dataset.rating") == "right"
        await press(tab, "t", "c", *"=so, b", "Escape")
        assert await tab.evaluate(WHERE) == "5 of 5, 3 rated; the last: tie"
        await tab.show(path)  # as after a crash
        assert await tab.evaluate(WHERE) == "5 of 5, 3 rated"
        assert await tab.evaluate("document.getElementById('comment').value") == "=so, b"
        await press(tab, "ArrowRight")
        assert (await tab.evaluate(SHOWN), await tab.evaluate(WHERE)) == ("end", "4 of 5 rated; the last: right")
        assert await tab.evaluate("document.getElementById('end-title').textContent") == "1 without a rating"
        await press(tab, "b", "x", "ArrowLeft")
        await downloaded(tab, back, "save-end")
        assert (tab.said, tab.asked) == ([], [])

    look(act)
    (file,) = back.iterdir()
    assert file.name == f"ratings-{drawn.sheet}-t-bob.csv"
    (part,) = read_filled(file, {drawn.sheet: drawn})
    assert (part.rater, part.n_blank) == ("t bob", 1)
    said = [(choice.item_id, choice.liked, choice.comment) for (choice,) in part.said]  # type: ignore[union-attr]
    names = [one.item_id for one in drawn.tickets]
    wanted = ("left", "tie", None, "tie", "left")
    assert said == [
        (name, liked, "=so, b" if place == 4 else "")
        for place, (name, liked) in enumerate(zip(names, wanted, strict=True))
        if liked
    ]


def test_answers_are_rated_on_a_scale(tmp_path: Path) -> None:
    """By digits and by buttons; a key that is no number of the scale does nothing, nor one that is held down."""
    path, drawn = written(tmp_path, n=2, kind="single", scale=(1, 5))
    back = tmp_path / "back"
    back.mkdir()

    async def act(tab: Tab) -> None:
        await tab.show(path)
        await press(tab, *"ann", "Enter", "6", "0", "ArrowLeft", "5", "1")
        held = {"type": "keyDown", "key": "2", "code": "2", "text": "2", "windowsVirtualKeyCode": 50}
        await tab.call("Input.dispatchKeyEvent", autoRepeat=True, **held)
        assert await tab.evaluate(WHERE) == "3 of 4, 2 rated; the last: 1"
        await tab.evaluate("document.querySelector('[data-rating=\"3\"]').click()")
        await downloaded(tab, back, "save")
        assert (tab.said, tab.asked) == ([], [])

    look(act)
    (file,) = back.iterdir()
    (part,) = read_filled(file, {drawn.sheet: drawn})
    assert [one.value for said in part.said for one in said] == [5.0, 1.0, 3.0]  # type: ignore[union-attr]


def test_planted_code_does_not_run(tmp_path: Path) -> None:
    """Neither of an answer nor of what lies in the browser's store; texts are there to be read."""
    path, drawn = written(tmp_path, PLANTED)

    async def act(tab: Tab) -> None:
        await tab.show(path)
        poisoned = f"{{rater: {RUNS!r}, place: 'x', said: {{{drawn.tickets[0].ticket}: {{rating: {RUNS!r}}}}}}}"
        await tab.evaluate(f"localStorage.setItem('evalflow-review-{drawn.sheet}', JSON.stringify({poisoned}))")
        await tab.show(path)
        assert await tab.evaluate(WHERE) == "1 of 5, 0 rated"
        for _ in range(5):
            await press(tab, "t")
        assert await tab.evaluate(SHOWN) == "end"
        await press(tab, "b")
        assert "onerror" in await tab.evaluate("document.getElementById('prompt').textContent")
        assert await tab.evaluate("typeof window.owned") == "undefined"
        assert await tab.evaluate("document.querySelectorAll('img, svg, iframe, a, form[action]').length") == 0
        await tab.evaluate("localStorage.setItem('evalflow-review-" + drawn.sheet + "', '{not json')")
        await tab.show(path)
        assert await tab.evaluate(SHOWN) == "start"
        assert (tab.said, tab.asked) == ([], [])

    look(act)


def test_it_fits_a_phone_by_night_and_works_by_touch(tmp_path: Path) -> None:
    """Nothing is wider than the window; the buttons stay in reach under a long answer; contrast is kept."""
    path, _ = written(tmp_path, "w" * 500 + "\n" + "long words " * 400)

    async def act(tab: Tab) -> None:
        for width, scheme in ((360, "light"), (360, "dark"), (1280, "dark")):
            await tab.size(width, 700)
            await tab.media(scheme=scheme)
            await tab.show(path)
            await tab.evaluate("document.getElementById('rater').value = 'ann'")
            await tab.evaluate("document.querySelector('#name button')?.click()")
            assert await tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            seen = "document.querySelector('[data-rating=\"right\"]').getBoundingClientRect()"
            assert await tab.evaluate(f"{seen}.bottom <= window.innerHeight && {seen}.right <= window.innerWidth")
            paper = "rgb(21, 21, 20)" if scheme == "dark" else "rgb(253, 253, 251)"
            assert await tab.evaluate("getComputedStyle(document.body).backgroundColor") == paper
        await tab.evaluate("document.querySelector('[data-rating=\"right\"]').click()")
        assert await tab.evaluate(WHERE) == "2 of 5, 1 rated; the last: right"
        await tab.evaluate("document.getElementById('back').click()")
        await tab.evaluate("document.getElementById('clear').click()")
        assert await tab.evaluate(WHERE) == "1 of 5, 0 rated"
        await tab.evaluate("document.getElementById('who').click()")
        assert (await tab.evaluate(SHOWN), await tab.evaluate("document.getElementById('rater').value")) == (
            "start",
            "ann",
        )

    look(act)
