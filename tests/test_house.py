"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "evalflow").rglob("*.py"))
PRINTERS = ("evalflow/cli.py", "evalflow/command/", "evalflow/report/console.py")
"""Files and folders."""
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, FUNCTION):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node


def test_the_floors_hold() -> None:
    """A room imports only from the floors under it, and every heavy package has one home."""
    script = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert script is not None
    ended = subprocess.run([script, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_no_function_is_longer_than_a_screen_and_a_half() -> None:
    """Eighty lines at most, docstring and all."""
    assert [name for name, node in functions() if node.end_lineno - node.lineno + 1 > 80] == []  # type: ignore[operator]


def test_no_signature_is_wider_than_eight() -> None:
    """Eight arguments at most, self aside."""

    def width(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        return len([a for a in arguments if a.arg not in ("self", "cls")])

    assert [name for name, node in functions() if width(node) > 8] == []


def test_no_file_is_longer_than_a_sitting() -> None:
    """Fewer than 420 lines."""
    assert [str(path) for path in FILES if len(path.read_text(encoding="utf-8").splitlines()) >= 420] == []


def test_nothing_prints_but_the_command_line_and_the_report() -> None:
    """Everything else answers by returning."""
    printing = {
        str(path.relative_to(ROOT))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert [name for name in printing if not name.startswith(PRINTERS)] == []
    assert "evalflow/cli.py" in printing


def test_every_public_name_says_what_it_is() -> None:
    """Modules, classes and functions without a leading underscore carry a docstring."""
    silent = []
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        public = [node for node in tree.body if isinstance(node, (*FUNCTION, ast.ClassDef)) and node.name[0] != "_"]
        silent += [
            f"{path.relative_to(ROOT)} {getattr(n, 'name', '')}" for n in [tree, *public] if not ast.get_docstring(n)
        ]
    assert silent == []


def test_there_is_no_drawer_for_odds_and_ends() -> None:
    """No utils, common, core, helpers or registry."""
    drawers = {"utils", "util", "common", "core", "helpers", "misc", "registry", "base"}
    assert not drawers & {part for path in FILES for part in path.relative_to(ROOT).with_suffix("").parts}
