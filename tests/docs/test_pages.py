"""Every page is carried out from top to bottom: its commands run, its Python runs, its files compose."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalflow.cli import main
from evalflow.model.seat.stub import StubSettings, served_apart
from evalflow.runner.stored_run import run_folders
from tests.docs.page import Block, PageError, blocks, pages
from tests.docs.workshop import Workshop, forget_modules

PAGES = pages()
MOST_SKIPPED = 6
"""Blocks that a page may show without its being carried out, over all pages."""


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished runs of `tiny_gpt`, which pages that make none speak of."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in (["seed=1"], []):
            assert main([*words, "tracking=none", "--quiet"]) == 0
    return folder / "outputs"


@pytest.fixture(scope="session")
def seat() -> Iterator[str]:
    """The address of the built-in stub of a seat, without the `/v1` that a bare host gets."""
    with served_apart(StubSettings()) as url:
        yield url.removesuffix("/v1")


@pytest.fixture
def workshop(two_runs: Path, seat: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workshop]:
    """An empty folder but for the two runs, which a page may add to."""
    shutil.copytree(two_runs, tmp_path / "outputs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Workshop(tmp_path, seat, [path.name for path in run_folders(Path("outputs"))])
    forget_modules(tmp_path)


def _python_page(workshop: Workshop) -> None:
    """A smoke run is unreadable, its rows are a frame, its tables files."""
    place = workshop.place
    assert place["run"].exit_code == 2
    assert len(place["rows"]) == 5 * (1 + 1 + 2 + 1)
    assert place["same"].report == place["run"].report
    assert {path.name for path in Path("tables").iterdir()} == {
        *("comparisons.csv", "figures.csv", "gates.csv", "rows.csv")
    }


CHECKED = {"docs/reference/python.md": _python_page}
"""What must hold once a page has been carried out, where running through it is not enough."""


SLOW = ("docs/experiments/checkpoints.md", "docs/how_to/sweep.md")
"""Pages that train a model or run a sweep: a minute each. That they can be read as pages is tested all the same."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name, text in PAGES.items()
        if blocks(name, text)
    ],
)
def test_a_page_does_what_it_says(page: str, workshop: Workshop) -> None:
    """Every block of it, in order; what a page writes as an experiment also composes."""
    for block in blocks(page, PAGES[page]):
        workshop.carry_out(block)
    workshop.compose_what_was_written()
    if page in CHECKED:
        CHECKED[page](workshop)


def test_few_blocks_are_only_shown() -> None:
    """Each says why, and all of them together are counted."""
    skipped = {block.where: block.skipped for name, text in PAGES.items() for block in blocks(name, text)}
    assert len([why for why in skipped.values() if why]) <= MOST_SKIPPED, skipped


def test_blocks_are_found_with_what_is_said_of_them() -> None:
    """A comment speaks of the block that follows; what MyST makes of a fence is no block."""
    text = """\
<!-- test: run, exit 2 -->
```sh
evalflow a=1 \\
  b=2          # with a comment
make docs
```
```{toctree}
how_to/*
```
```python
# my/file.py
pass
```
<!-- test: skip, it needs another machine -->
```sh
evalflow x=1
```
"""
    run, file, skipped = blocks("page.md", text)
    assert run == Block("page.md", 2, "sh", run.text, really=True, exit_code=2)
    assert run.commands == ["evalflow a=1    b=2", "make docs"]
    assert (file.file, file.commands) == ("my/file.py", [])
    assert skipped.skipped == "it needs another machine"


@pytest.mark.parametrize(
    "text",
    [
        "<!-- test: nonsense -->\n```sh\nevalflow\n```\n",
        "<!-- test: skip, no -->\n```sh\nevalflow\n```\n",
        "<!-- test: run -->\nprose\n",
        "```sh\nevalflow\n",
        "<!-- test: file ../up.yaml -->\n```yaml\na: 1\n```\n",
    ],
)
def test_what_means_nothing_is_refused(text: str) -> None:
    """A directive that is not known, a reason that is none, one before prose, an open fence, a file outside."""
    with pytest.raises(PageError, match=r"^page\.md"):
        blocks("page.md", text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```sh\nevalflow nonsense=1\n```\n", "ended with 64"),
        ("<!-- test: exit 1 -->\n```sh\nevalflow list\n```\n", "ended with 0"),
        ("```sh\nmake coffee\n```\n", "there is no make coffee"),
        ("```sh\npip install 'evalflow[tea]'\n```\n", "there is no extra tea"),
        ("```sh\nevalflow list\n```\n<!-- test: printed -->\n```text\nhello ... there\n```\n", "nobody printed"),
    ],
)
def test_a_page_that_is_wrong_is_found_out(text: str, said: str, workshop: Workshop) -> None:
    """A command that ends otherwise than said, a target or an extra that is not there, words that nobody printed."""
    with pytest.raises(AssertionError, match=said):
        for block in blocks("page.md", text):
            workshop.carry_out(block)
