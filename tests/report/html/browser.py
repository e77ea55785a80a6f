"""A page in a headless Chromium, driven by its own protocol over a socket: only the browser need be installed."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
WITHIN_S = 30.0


def chromium() -> str | None:
    """The browser's path; None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Tab:
    """An open page: what it said to the console, and what it asked the network for, itself aside."""

    socket: aiohttp.ClientWebSocketResponse
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    _n: int = 0

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        self._n += 1
        number = self._n
        await self.socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            told = json.loads((await asyncio.wait_for(self.socket.receive(), WITHIN_S)).data)
            if told.get("id") == number:
                assert "error" not in told, told["error"]
                result: dict[str, Any] = told["result"]
                return result
            self._note(told)

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        told = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def show(self, page: Path) -> None:
        """Open a file, and wait until it has loaded."""
        await self.call("Page.navigate", url=page.as_uri())
        for _ in range(int(WITHIN_S / 0.05)):
            ready = await self.evaluate("location.href !== 'about:blank' && document.readyState === 'complete'")
            if ready:
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{page} did not load")

    async def size(self, width: int, height: int = 800) -> None:
        """Give the window a size in CSS pixels."""
        mobile = width < 600
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile
        )

    async def media(self, kind: str = "", scheme: str = "light") -> None:
        """Let it be seen on a screen or in print, by day or by night."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.call("Emulation.setEmulatedMedia", media=kind, features=features)

    async def screenshot(self, path: Path) -> None:
        """The whole page as a PNG file."""
        told = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(told["data"]))

    def _note(self, told: dict[str, Any]) -> None:
        parameters = told.get("params", {})
        if told["method"] == "Log.entryAdded":
            self.said.append(parameters["entry"]["text"])
        elif told["method"] == "Runtime.consoleAPICalled":
            self.said.append(str(parameters["args"]))
        elif told["method"] == "Runtime.exceptionThrown":
            self.said.append(str(parameters["exceptionDetails"]))
        elif told["method"] == "Page.javascriptDialogOpening":
            self.said.append(f"a dialog: {parameters['message']}")
        elif told["method"] == "Network.requestWillBeSent" and parameters["type"] != "Document":
            self.asked.append(parameters["request"]["url"])


@asynccontextmanager
async def browser(flags: Sequence[str] = FLAGS) -> AsyncIterator[Tab]:
    """A tab of a browser of its own, which ends with the block."""
    path = chromium()
    assert path is not None, "a test asks for chromium before it opens it"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            path,
            *flags,
            f"--user-data-dir={profile}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            port = await _port(Path(profile) / "DevToolsActivePort")
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    address = next(one for one in await answer.json() if one["type"] == "page")["webSocketDebuggerUrl"]
                async with session.ws_connect(address, max_msg_size=0) as socket:
                    tab = Tab(socket)
                    for domain in ("Page", "Runtime", "Log", "Network"):
                        await tab.call(f"{domain}.enable")
                    yield tab
        finally:
            process.terminate()
            await process.wait()


async def _port(file: Path) -> int:
    for _ in range(int(WITHIN_S / 0.05)):
        if file.exists() and (lines := file.read_text(encoding="utf-8").splitlines()):
            return int(lines[0])
        await asyncio.sleep(0.05)
    raise AssertionError("the browser did not start")
