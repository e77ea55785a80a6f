"""Every reason that the code can give for a number that is not there, or for a gate that cannot be read.

A reason is what `Undefined(...)`, `Judged(...)` and any `reason=` are given, and what a metric is `empty` with. Where
that is no text but a name or a call, the code is followed: to what the name was assigned in that function or module,
and to what the function or property of that name returns. What cannot be followed is named, and has to be on
`PASSED_ON`, so that no new reason can come in unseen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.docs.page import ROOT

PASSED_ON = {
    "getattr(undefined, 'reason', str(undefined))": "of an Undefined, a division by zero or an overflow",
    "figure.reason": "a figure's own",
    "delta.reason": "a comparison's own",
    "str(delta['conclusion'])": "no reason: the comparison's conclusion",
    "undefined.reason": "of an Undefined that is caught",
    "why.reason": "of an Undefined that is caught",
    "reason": "the argument of a function that is given one",
    "', '.join(unmet)": "no reason to be unreadable: the gate is skipped",
    "'; '.join(finding.refused)": "how two runs' instruments differ, as `evalflow compare` tells it",
    "entry['reason']": "as it stands in a report",
    "gate['reason']": "as it stands in a report",
    "told['reason']": "as it stands in a report",
    "str(fault)": "a ModelError's words: which model, and what to do",
    "str(told['reason'])": "as it stands in a report",
    "finding.undefined": "a comparison's own",
    "(judged.outcome, judged.reason)": "a gate's own",
    "beside": "no reason: the arm that others are held against, where there is one",
}
"""Expressions that hand on a reason that is made elsewhere, and whose."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Module:
    """A module's tree, with the constants that it holds."""

    path: str
    tree: ast.Module

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """What its own names are assigned."""
        return {
            one.targets[0].id: one.value
            for one in self.tree.body
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
        }


@dataclass
class Reasons:
    """The reasons found, as patterns, with the places that give them, and what could not be followed."""

    found: dict[str, set[str]] = field(default_factory=dict)
    unknown: dict[str, set[str]] = field(default_factory=dict)
    passed_on: set[str] = field(default_factory=set)

    def note(self, pattern: str, place: str) -> None:
        self.found.setdefault(pattern, set()).add(place)


class Reader:
    """Follows reasons through the package."""

    def __init__(self, root: Path) -> None:
        self.modules = [
            Module(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
            for path in sorted(root.rglob("*.py"))
        ]
        self.functions: dict[str, list[tuple[Module, Function]]] = {}
        for module in self.modules:
            for node in ast.walk(module.tree):
                if isinstance(node, Function):
                    self.functions.setdefault(node.name, []).append((module, node))
        self.reasons = Reasons()
        self._open: set[int] = set()

    def read(self) -> Reasons:
        """All of them."""
        for module in self.modules:
            for function, node in _within(module.tree):
                for given in _given(node):
                    self._follow(given, module, function, f"{module.path}:{node.lineno}")
        return self.reasons

    def _follow(self, node: ast.expr | None, module: Module, function: Function | None, place: str) -> None:
        """Note what an expression says; follow it where it is no text."""
        if node is None or (isinstance(node, ast.Constant) and not isinstance(node.value, str)):
            return
        if isinstance(node, ast.Constant | ast.JoinedStr):
            text = pattern(node)
            if re.search(r"[a-z]{2}", text):  # what is all filled in is made elsewhere
                self.reasons.note(text, place)
            return
        for part in _parts(node):
            self._follow(part, module, function, place)
        if _parts(node):
            return
        if self._elsewhere(node, module, function, place):
            return
        if ast.unparse(node) in PASSED_ON:
            self.reasons.passed_on.add(ast.unparse(node))
            return
        self.reasons.unknown.setdefault(ast.unparse(node), set()).add(place)

    def _elsewhere(self, node: ast.expr, module: Module, function: Function | None, place: str) -> bool:
        """Whether a name, an attribute or a call leads to where the reason is made."""
        if isinstance(node, ast.Name):
            values = [*_assigned(node.id, function), *filter(None, [self._constant(node.id, module)])]
            for value in values:
                self._follow(value, module, function, place)
            return bool(values)
        called = node.func if isinstance(node, ast.Call) else node
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        for home, one in self.functions.get(name, []):
            if id(one) not in self._open:
                self._open.add(id(one))
                for _, inner in _within(one):
                    if isinstance(inner, ast.Return):
                        self._follow(inner.value, home, one, f"{home.path}:{inner.lineno}")
                self._open.discard(id(one))
        return name in self.functions

    def _constant(self, name: str, module: Module) -> ast.expr | None:
        """A constant of this module, or of the one that it comes from."""
        if name in module.constants:
            return module.constants[name]
        return next((one.constants[name] for one in self.modules if name.isupper() and name in one.constants), None)


def _parts(node: ast.expr) -> list[ast.expr]:
    """What an expression chooses from: the branches of a condition, the sides of `or`, the first of a generator."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "next" and isinstance(node.args[0], ast.GeneratorExp):
        return [one.value for one in ast.walk(node.args[0]) if isinstance(one, ast.NamedExpr)]
    if isinstance(node, ast.Tuple):  # a reason beside what it is about
        return [one for one in node.elts if isinstance(one, ast.Constant | ast.JoinedStr) or ast.unparse(one).isupper()]
    return []


def pattern(node: ast.expr) -> str:
    """A text as a regular expression, anything in the place of what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(re.escape(part.value) if isinstance(part, ast.Constant) else ".*" for part in node.values)
    return re.escape(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _given(node: ast.AST) -> Iterator[ast.expr]:
    """What a call is given as a reason; what a metric is `empty` with."""
    if isinstance(node, ast.AnnAssign) and ast.unparse(node).startswith("empty: ClassVar") and node.value is not None:
        yield node.value
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        yield from {"Undefined": node.args[:1], "Judged": node.args[3:4]}.get(name, [])
        yield from (word.value for word in node.keywords if word.arg == "reason")


def _within(node: ast.AST, function: Function | None = None) -> Iterator[tuple[Function | None, ast.AST]]:
    """Every node below, beside the function that it stands in."""
    for child in ast.iter_child_nodes(node):
        home = child if isinstance(child, Function) else function
        yield home, child
        yield from _within(child, home)


def _assigned(name: str, function: Function | None) -> list[ast.expr]:
    """What a name is assigned in a function."""
    if function is None:
        return []
    found: list[ast.expr] = []
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Assign)
            and any(name in (getattr(one, "id", "") for one in ast.walk(target)) for target in node.targets)
        ) or (isinstance(node, ast.NamedExpr) and node.target.id == name):
            found.append(node.value)
    return found


def reasons() -> Reasons:
    """Every reason of the package."""
    return Reader(ROOT / "evalflow").read()
