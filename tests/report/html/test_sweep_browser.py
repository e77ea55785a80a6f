"""The page of a sweep as a browser shows it: nothing runs or is fetched, nothing overflows, its links lead to pages."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evalflow.report.html.sweep_page_file import SweepPage
from tests.report.html.browser import Tab, chromium
from tests.report.html.swept import figure, jobs, report, summary
from tests.report.html.test_browser import PLANTED, look

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="there is no chromium here: apt-get install chromium"),
]


def written(folder: Path, text: str = PLANTED) -> Path:
    """A sweep's page whose names, values and reasons are `text`; the first job's own page lies beside it."""
    name = text[:300]
    told = jobs(concurrency=["1", "8"], step=["150", "1500"], seed=["0", "1"], **{f"{name}axis": [name]})
    told[7].update(state="failed", verdict=None, exit_code=64, run_id=None, folder=None, said=text)
    told[6].update(verdict="fail", exit_code=1)
    gates = {name: {"figure": f"quality/{name}", "outcome": "fail", "report_only": False}}
    more: dict[str, Any] = {"experiment": name, "limits": [text]}
    reports = {n: report(figures(name, n), name, **more, **({"gates": gates} if n == 6 else {})) for n in range(7)}
    own = folder / "outputs" / "four" / told[0]["run_id"]
    own.mkdir(parents=True)
    for file, content in (("report.json", "{}"), ("report.html", "<title>the job</title>")):
        (own / file).write_text(content, encoding="utf-8")
    page = SweepPage(folder / "outputs" / ".sweeps" / "20261130-101112-abcdef", summary(told, reports), reports)
    page.folder.mkdir(parents=True)
    assert page.write() is None
    return page.folder / "sweep.html"


def figures(name: str, number: int) -> dict[str, Any]:
    return {
        f"quality/{name}": figure(0.5 + number / 20, 0.1),
        "quality/exact": figure(0.4 + number / 20, 0.1),
        "lat/ttft_s/p50": figure(None if number == 2 else 0.1 + number, 0.05, unit="s", reason=name),
        "tps/system": figure(10.0 * number, unit="tokens/s"),
    }


def test_it_opens_from_a_file_in_silence_and_planted_code_is_dead(tmp_path: Path) -> None:
    """By day, by night and on a phone: no word to the console, no request, every section, and no script at all."""
    path = written(tmp_path)

    async def act(tab: Tab) -> None:
        for width, scheme in ((1280, "light"), (1280, "dark"), (360, "light")):
            await tab.size(width)
            await tab.media(scheme=scheme)
            await tab.show(path)
            await asyncio.sleep(0.2)
            assert await tab.evaluate("document.title.startsWith('incomplete: ')")
        sections = await tab.evaluate("[...document.querySelectorAll('section')].map(one => one.id).join(' ')")
        assert sections == "curves grid jobs limits"
        assert await tab.evaluate("typeof window.owned") == "undefined"
        assert (
            await tab.evaluate("document.querySelectorAll('script, img, iframe, object, base, form, link').length") == 0
        )
        assert await tab.evaluate("document.querySelectorAll('.is-curve').length") >= 8
        assert await tab.evaluate("document.querySelectorAll('.is-unreadable').length") >= 1
        assert await tab.evaluate("document.querySelectorAll('.is-best').length") >= 1
        assert (tab.said, tab.asked) == ([], [])

    look(act)


@pytest.mark.parametrize("text", [PLANTED, "a harmless name"])
def test_it_fits_a_phone(tmp_path: Path, text: str) -> None:
    """Wide tables scroll in boxes of their own; the page itself does not, whatever its names."""
    path = written(tmp_path, text)

    async def act(tab: Tab) -> None:
        for width in (1280, 768, 360):
            await tab.size(width)
            await tab.show(path)
            assert await tab.evaluate("document.documentElement.scrollWidth") <= width

    look(act)


def test_a_jobs_number_leads_to_its_page(tmp_path: Path) -> None:
    """The link of the first job opens what lies there; the others have none."""
    path = written(tmp_path, "x")

    async def act(tab: Tab) -> None:
        await tab.size(1280)
        await tab.show(path)
        found = await tab.evaluate("[...document.querySelectorAll('#jobs a')].map(one => one.href)")
        assert len(found) == 1
        await tab.evaluate("document.querySelector('#jobs a').click()")
        for _ in range(100):
            if await tab.evaluate("document.title") == "the job":
                return
            await asyncio.sleep(0.05)
        raise AssertionError("the link leads nowhere")

    look(act)


def test_a_better_step_lies_higher(tmp_path: Path) -> None:
    """The ring is above the other points of its curve, and a rising curve rises."""
    path = written(tmp_path, "x")

    async def act(tab: Tab) -> None:
        await tab.size(1280)
        await tab.show(path)
        boxes = "[...plot.querySelectorAll('{}')].map(one => one.getBoundingClientRect())"
        middle = f"{boxes}.map(one => one.y + one.height / 2)"
        find = "const plot = [...document.querySelectorAll('.plot')].find(one => one.querySelector('.is-best'))"
        await tab.evaluate(f"{find}; window.found = [{middle.format('.is-best')}, {middle.format('.is-curve use')}]; 0")
        ring, others = await tab.evaluate("window.found")
        assert min(ring) <= min(others) + 1
        assert max(others) - min(others) > 20

    look(act)
