"""MLflow's pages on a sweep, as a browser shows them to somebody who has only the printed link."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.report.html.browser import FLAGS, Tab, browser, chromium
from tests.tracking.conftest import client_of
from tests.tracking.test_ui import answers, free_port, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="there is no chromium here: apt-get install chromium"),
]
# else the frame of an artifact is another process's, whose text this protocol does not reach
ONE_PROCESS = (*FLAGS, "--disable-features=IsolateSandboxedIframes", "--disable-site-isolation-trials")
WITHIN_S = 120
PROMPTED, ANSWERED, WANTED = "zanzibar-asked", "quokka-said", "narwhal-wanted"
"""Words that no name, key or page has by itself."""
ITEMS = [{"id": f"q{n:02}", "input": f"{PROMPTED} {n}?", "target": f"{WANTED} {n}"} for n in range(12)]
EXPERIMENT = {
    "defaults": [
        {"/arm@arms.old": "greedy"},
        {"/arm@arms.new": "greedy"},
        {"/metric@metrics.correct": "exact_match"},
        {"/comparison@comparisons.new_vs_old": "paired"},
        {"/gate@gates": ["healthy"]},
        {"override /dataset": "jsonl"},
        {"override /model": "scripted"},
        "_self_",
    ],
    "name": "case",
    "dataset": {"path": "items.jsonl", "prompt": "Say it: {input}"},
    "arms": {
        "old": {"model": {"otherwise": f"{ANSWERED} wrong"}},
        "new": {"model": {"answers": {one["id"]: one["target"] for one in ITEMS[:9]}, "otherwise": f"{ANSWERED} late"}},
    },
    "comparisons": {"new_vs_old": {"reference": "old", "candidate": "new", "figures": ["quality/correct"]}},
    "gates": {"all_right": {"arm": "new", "figure": "quality/correct", "floor": 1.0}},
    "limits": ["Twelve questions show little."],
}
CUT_NAMES = """
[...document.links].filter(one => / s0 |report:/.test(one.innerText)).filter(one => {
    const text = document.createRange();
    text.selectNodeContents(one);
    return text.getBoundingClientRect().right > one.closest('[role="gridcell"]').getBoundingClientRect().right;
}).map(one => one.innerText)
"""
"""The names that their column has no room for."""
GRID = ("seed=0,1", "concurrency=1,2")
NAMES = [f"seed={seed} concurrency={concurrency}" for seed in (0, 1) for concurrency in (1, 2)]


@dataclass(frozen=True)
class Served:
    """A sweep that was logged, and the server that shows it."""

    home: Path
    address: str
    link: str
    runs: dict[str, str]
    """MLflow's id of each run, by name."""

    @property
    def experiment_id(self) -> str:
        return self.link.partition("/experiments/")[2].partition("/")[0]


def evalflow(home: Path, *words: str) -> str:
    """What a command printed."""
    command = [sys.executable, "-m", "evalflow", "--config-dir", "my", *words]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr  # the gate fails
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the experiment and its items."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS), encoding="utf-8")
    path = folder / "my" / "experiment" / "case.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(f"# @package _global_\n# A case.\n{json.dumps(EXPERIMENT)}\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Served]:
    """The sweep over seeds and concurrency, shown by `evalflow ui` on a port of its own."""
    said = evalflow(home, "-m", "experiment=case", *GRID)
    link = next(line.split()[1] for line in said.splitlines() if line.startswith("MLflow: "))
    port = free_port()
    command = [sys.executable, "-m", "evalflow", "ui", "--port", str(port)]
    child = subprocess.Popen(command, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: answers(port), within_s=WITHIN_S)
        address = f"http://127.0.0.1:{port}"
        found = client_of(home / "outputs").search_runs(["1"])
        ids = {run.info.run_name: run.info.run_id for run in found}
        yield Served(home, address, link.replace("http://127.0.0.1:5000", address), ids)
    finally:
        os.kill(child.pid, signal.SIGINT)
        child.wait(timeout=60)


def look(act: Callable[[Tab], Awaitable[None]]) -> None:
    """Do something with a wide tab of a browser."""

    async def whole() -> None:
        async with browser(ONE_PROCESS) as tab:
            await tab.size(1900, 1200)
            await act(tab)

    asyncio.run(whole())


async def opened(tab: Tab, url: str, text: str) -> str:
    """The text of a page, once `text` stands in it."""
    await tab.call("Page.navigate", url="about:blank")  # or a change after the # alone is no new page
    await tab.call("Page.navigate", url=url)
    return await waited(tab, "document.body ? document.body.innerText : ''", text)


async def waited(tab: Tab, expression: str, text: str, **where: Any) -> str:
    shown = ""
    for _ in range(WITHIN_S * 5):
        told = await tab.call("Runtime.evaluate", expression=expression, returnByValue=True, **where)
        shown = str(told["result"].get("value"))
        if text in shown:
            return shown
        await asyncio.sleep(0.2)
    raise AssertionError(f"{text!r} is not shown: {shown[:2000]}")


async def linked(tab: Tab, name: str) -> str:
    """Where a link of the page leads."""
    return str(await tab.evaluate(f"[...document.links].find(one => one.innerText === {json.dumps(name)}).href"))


def test_the_printed_link_opens_the_prepared_view(served: Served):
    """The sweep and its runs are there by names that can be read whole, beside our columns."""

    async def act(tab: Tab) -> None:
        shown = await opened(tab, served.link, "quality/correct")
        await waited(tab, "document.body.innerText", f"new s0 {NAMES[0]}")
        shown = str(await tab.evaluate("document.body.innerText"))
        kinds = ("report: fail", "old s0", "new s0")
        for name in ["sweep: fail", *(f"{kind} {settings}" for settings in NAMES for kind in kinds)]:
            assert name in shown, name
        assert "delta/correct new_vs_old" in shown
        assert "could not be loaded" not in shown
        assert await tab.evaluate(CUT_NAMES) == []

    look(act)


def test_the_charts_begin_with_what_was_decided_on(served: Served):
    """The first section is ours, before MLflow's own groups, with a chart over the concurrency."""

    async def act(tab: Tab) -> None:
        shown = await opened(tab, f"{served.link}&compareRunsMode=CHART", "decided on")
        shown = await waited(tab, "document.body.innerText", "sweep.concurrency vs.")
        assert "quality/correct" in shown.partition("decided on")[2].partition("\ngate")[0]

    look(act)


def test_a_report_shows_its_gates_and_leads_to_its_page(served: Served):
    """The description has the table of gates, and a link to the page, which is shown in its place and can be read."""

    async def act(tab: Tab) -> None:
        run = served.runs[f"report: fail {NAMES[0]}"]
        address = f"{served.address}/#/experiments/{served.experiment_id}/runs/{run}"
        shown = await opened(tab, address, "Verdict: fail")
        assert "all_right fail" in shown
        rows = await tab.evaluate("[...document.querySelectorAll('table tr')].map(row => row.innerText)")
        assert any("all_right" in row and "fail" in row and ">= 1" in row and "0.75" in row for row in rows)
        await opened(tab, await linked(tab, "as a page"), "report.html")
        text = await framed(tab, "Gates")
        assert "all_right" in text
        assert "Twelve questions show little." in text

    look(act)


async def framed(tab: Tab, text: str) -> str:
    """The text of the artifact's frame, once `text` stands in it."""
    for _ in range(WITHIN_S * 5):
        tree = (await tab.call("Page.getFrameTree"))["frameTree"]
        frames = [one["frame"]["id"] for one in tree.get("childFrames", []) if one["frame"]["url"].startswith("blob:")]
        if frames:
            world = await tab.call("Page.createIsolatedWorld", frameId=frames[0])
            return await waited(
                tab, "document.body ? document.body.innerText : ''", text, contextId=world["executionContextId"]
            )
        await asyncio.sleep(0.2)
    raise AssertionError("no artifact is shown")


def test_answers_stand_side_by_side(served: Served):
    """From the report a link leads to the arms' answers by item, without columns of runs that have none."""

    async def act(tab: Tab) -> None:
        run = served.runs[f"report: fail {NAMES[1]}"]
        await opened(tab, f"{served.address}/#/experiments/{served.experiment_id}/runs/{run}", "side by side")
        shown = await opened(tab, await linked(tab, "their answers side by side"), f"{ANSWERED} wrong")
        assert "q00" in shown
        assert f"{WANTED} 0" in shown
        assert "(empty)" not in shown

    look(act)


def test_two_runs_are_compared_by_name(served: Served):
    """The page shows both names, what differs, and the figures of both."""
    names = [f"new s0 {NAMES[0]}", f"new s0 {NAMES[1]}"]
    runs = quote(json.dumps([served.runs[name] for name in names]))
    address = f"{served.address}/#/compare-runs?runs={runs}&experiments={quote(json.dumps([served.experiment_id]))}"

    async def act(tab: Tab) -> None:
        await opened(tab, address, "Comparing 2 Runs from 1 Experiment")
        for name in [*names, "sweep.concurrency", "quality/correct"]:
            await waited(tab, "document.body.innerText", name)

    look(act)


def test_an_arm_says_which_seed_is_whose(served: Served):
    """Its description names the pass's seed and what the sweep set, and leads to the report of its run."""
    name = f"old s0 {NAMES[3]}"

    async def act(tab: Tab) -> None:
        address = f"{served.address}/#/experiments/{served.experiment_id}/runs/{served.runs[name]}"
        shown = await opened(tab, address, "Arm old, seed 0")
        assert "(the sweep set seed = 1, concurrency = 2), whose verdict is fail" in shown
        await opened(tab, await linked(tab, "the report of its run"), "Verdict: fail")

    look(act)


def test_a_private_sweep_leaves_no_text_in_the_store(home: Path):
    """No prompt, answer or target stands in any byte of the database or the artifacts; the ids of the items do."""
    evalflow(home, "-m", "experiment=case", *GRID, "tracking.private=true", "tracking.uri=sqlite:///private/store.db")
    files = [path for path in (home / "private").rglob("*") if path.is_file()]
    content = {path: path.read_bytes() for path in files}
    assert {path.name for path in files} >= {"store.db", "items.json", "report.json", "report.html", "sweep.html"}
    for word in (PROMPTED, ANSWERED, WANTED):
        assert [path for path, has in content.items() if word.encode() in has] == []
    assert any(b"q00" in has for has in content.values())
