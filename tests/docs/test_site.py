"""The site: it builds without a warning, asks nothing of the network, and has a page for all that ships."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evalflow.cli import COMMANDS
from evalflow.errors import ExitCode
from evalflow.gate import Gate
from evalflow.model.seat.seat import Seat
from tests.docs.page import ROOT

DOCS = ROOT / "docs"
LOADS = {"src", "href", "srcset", "poster", "data"}
LOADERS = {"script", "link", "img", "iframe", "source", "video", "audio", "object", "embed"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as CI builds it, elsewhere; a warning is an error."""
    out = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n"]
    ended = subprocess.run(
        [*build, "-d", str(out / "trees"), str(DOCS), str(out / "html")], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return out / "html"


class Loads(HTMLParser):
    """What a page has its reader's browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in LOADERS:
            self.found += [value for name, value in attrs if name in LOADS and value]


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    """No script, style, font or picture of another host, in pages or in styles."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        parser = Loads()
        parser.feed(page.read_text(encoding="utf-8"))
        assert [one for one in parser.found if re.match(r"(https?:)?//", one)] == [], page
        assert parser.found
    for style in site.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", style.read_text(encoding="utf-8")) == [], style


def test_every_page_is_reached_from_the_first(site: Path) -> None:
    """Each Markdown file is a page, and the first page's lists name it."""
    first = (site / "index.html").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        if "_build" not in page.parts and page.name != "index.md":
            name = page.relative_to(DOCS).with_suffix(".html").as_posix()
            assert f'href="{name}"' in first, name
            assert (site / name).is_file(), name


def test_every_experiment_has_its_page(site: Path) -> None:
    """What ships is described, with the limits that its file states."""
    shipped = {path.stem for path in (ROOT / "conf" / "experiment").glob("*.yaml")}
    described = {path.stem for path in (DOCS / "experiments").glob("*.md")}
    assert described == shipped
    page = (site / "experiments" / "tiny_gpt.html").read_text(encoding="utf-8")
    assert "what holds for them need not hold for language" in page


def test_the_references_have_all_that_ships(site: Path) -> None:
    """Every option of every group, every metric and every command."""
    config = (site / "reference" / "config.html").read_text(encoding="utf-8")
    metrics = (site / "reference" / "metrics.html").read_text(encoding="utf-8")
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for path in (ROOT / "conf").glob("*/*.yaml"):
        if path.parent.name == "metric":
            assert f'id="{path.stem.replace("_", "-")}"' in metrics, path
        elif path.parent.name != "experiment":
            assert path.stem in config, path
    assert all(f"evalflow {name}" in commands for name in COMMANDS)


def test_the_table_of_gates_names_every_key() -> None:
    """And no other."""
    table = (DOCS / "reference" / "gates.md").read_text(encoding="utf-8").split("| key | meaning |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)", row.split("|")[1])}
    assert named == {one.name for one in fields(Gate)}


def test_the_table_of_a_seat_names_every_key() -> None:
    """And no other."""
    table = (DOCS / "how_to" / "seat.md").read_text(encoding="utf-8").split("| `model.` key | meaning |")[1]
    rows = table.split("\n\n")[0].splitlines()[2:]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])} == {
        f.name for f in fields(Seat)
    }


def test_the_table_of_exit_codes_is_whole() -> None:
    """Each code that a process can end with."""
    text = (DOCS / "reference" / "exit_codes.md").read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.M)} == {int(code) for code in ExitCode}


def test_a_warning_ends_the_build(tmp_path: Path) -> None:
    """A link that leads nowhere does not get through CI."""
    (tmp_path / "index.md").write_text("# Page\n[gone](gone.md)\n", encoding="utf-8")
    shutil.copy(DOCS / "conf.py", tmp_path / "conf.py")
    source = (tmp_path / "conf.py").read_text(encoding="utf-8").replace(', "made_here"', "")
    (tmp_path / "conf.py").write_text(source, encoding="utf-8")
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", str(tmp_path), str(tmp_path / "out")]
    assert subprocess.run(build, capture_output=True, check=False).returncode != 0
