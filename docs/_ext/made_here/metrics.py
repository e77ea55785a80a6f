"""Every metric that ships: its figures, how they are counted, and the formulas and sources in its docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

import yaml

from evalflow.numeric.logits import PairedRows, nll_rows, paired_from_sums, paired_rows
from evalflow.runner.build import Builder, Faults
from made_here.configs import keys_table
from made_here.keys import class_of, keys_of, said_below
from made_here.markdown import code, first, raised, table, text
from made_here.yaml_file import YamlFile, options

FAMILIES = {
    "quality": "Quality: is the answer right, or the text expected",
    "lat": "Times",
    "tps": "Throughput",
    "cache": "The prefix cache",
    "mem": "Memory",
    "parity": "Parity: two arms over the same tokens",
    "stability": "Stability: the same answer again",
    "agreement": "Agreement of annotators",
    "cost": "Cost",
    "n": "Health: what every run has",
}
_LOGITS = {f"numeric.logits.{one.__name__}": one for one in (nll_rows, paired_rows, paired_from_sums)}
"""What the model's side of a scored text rests on."""
PLUMBING = ("evalflow.numeric.undefined", "evalflow.numeric.seed")
READS = {
    "row": "one answer",
    "item": "one item's answers under all seeds",
    "pair": "the answers of two arms to one item",
    "probe": "a measurement of the arm itself",
    "document": "one scored text",
    "position": "the positions of all texts",
    "corpus": "all answers at once",
}


def metrics() -> str:
    """A section per family of figures, and below it one per option of `metric`."""
    by_family: dict[str, list[str]] = {}
    for option in options("metric"):
        by_family.setdefault(_family(option), []).append(_metric(option))
    by_family.setdefault("n", []).append(_health())
    parts: list[str] = []
    for family in [*FAMILIES, *sorted(set(by_family) - set(FAMILIES))]:
        if family in by_family:
            intro = [_positions()] if family == "parity" else []
            parts += [f"## {FAMILIES.get(family, family)}", *intro, *by_family[family]]
    used = dict(_LOGITS)
    for option in options("metric"):
        used |= _rests_on(_class(option), _readings(option))
    parts += _methods_section(used)
    return "\n\n".join(parts)


def _class(option: YamlFile) -> Any:
    return class_of(option.values["_target_"])


def _family(option: YamlFile) -> str:
    return str(_class(option).figure or "quality").partition("/")[0]


def _metric(option: YamlFile) -> str:
    cls = _class(option)
    parts = [f"### {option.name}", option.head, text(cls.__doc__ or "")]
    parts.append("\n".join(f"- **{head}**: {said}" for head, said in _facts(option, cls)))
    parts.append(keys_table(keys_of(cls, option.values, option.comments)))
    return "\n\n".join(part for part in parts if part)


def _facts(option: YamlFile, cls: Any) -> Iterator[tuple[str, str]]:
    base = cls.figure or f"quality/{option.name}"
    readings = _readings(option)
    names = ", ".join(code(f"{base}/{suffix}" if suffix else base) for suffix in readings)
    yield "figures", names + ("" if cls.figure else " (the last word is its key under `metrics`)")
    yield "unit, better", f"{cls.measured_in or 'a plain number'}, {'higher' if cls.higher_is_better else 'lower'}"
    yield "reads", READS[cls.grain] + ("; needs a `target`" if cls.needs_target else "")
    yield "statistics", _said(cls, "stats")
    for kind, suffixes in _kinds(readings).items():
        own = len(_kinds(readings)) == 1 or suffixes == [""]
        of = "" if own else f" of {', '.join(code(suffix) for suffix in suffixes)}"
        yield f"value{of}", _said(kind, "value")
        yield f"interval{of}", _said(kind, "interval")
    undefined = [said for kind in _kinds(readings) for said in raised(_doc(kind, "value"))]
    yield "undefined", "; ".join([f"{cls.empty} (where no unit counts)", *undefined])
    if rests := _rests_on(cls, readings):
        yield "rests on", ", ".join(f"[`{name}`](#{name})" for name in rests)
    yield "version", str(cls.version)


def _kinds(readings: Mapping[str, Any]) -> dict[Any, list[str]]:
    """The classes of a metric's figures, each with the ends of their names: most metrics read themselves."""
    found: dict[Any, list[str]] = {}
    for suffix, reading in readings.items():
        found.setdefault(type(reading), []).append(suffix)
    return found


def _readings(option: YamlFile) -> Mapping[str, Any]:
    """The figures of a metric as shipped, by the end of their names; none depends on a key that has to be given."""
    cls = _class(option)
    given = {key: value for key, value in option.values.items() if key != "_target_"}
    if not any(value == "???" or str(value).startswith("${") for value in given.values()):
        faults = Faults()
        made = Builder(("evalflow",), faults).build(option.values, option.name)
        if made is None:
            raise ValueError(f"{option.name}: {faults.found}")
        return dict(made.readings())
    made = object.__new__(cls)
    defaults = {one.name: one.default for one in fields(cls) if one.default is not MISSING}
    for key, value in {**defaults, **given}.items():
        elsewhere = re.fullmatch(r"\$\{oc\.select:[\w.]+,(.*)\}", str(value))
        object.__setattr__(made, key, yaml.safe_load(elsewhere[1]) if elsewhere else value)
    return dict(made.readings())


def _doc(cls: Any, method: str) -> str:
    return inspect.getdoc(getattr(cls, method, None)) or ""


def _said(cls: Any, method: str) -> str:
    """What the class, or the nearest that it is derived from, says of one of its methods."""
    return " ".join(text(_doc(cls, method)).split()).replace(", unless the metric says otherwise", "")


def _rests_on(cls: Any, readings: Mapping[str, Any]) -> dict[str, Any]:
    """The functions of `numeric` that a metric calls, by name: in its methods, and in what of `metric` they use."""
    found: dict[str, Any] = {}
    seen: set[Any] = set()
    kinds = set(_kinds(readings))
    todo = [cls, *kinds]
    unread = () if cls in kinds else ("value", "interval")  # where only its parts are read
    while todo:
        one = todo.pop()
        if one in seen or one.__module__ == "evalflow.metric.protocol":
            continue
        seen.add(one)
        for function in _methods(one, unread if one is cls else ()) if inspect.isclass(one) else [one]:
            place = vars(importlib.import_module(function.__module__))
            for used in (place[name] for name in _names(function) if name in place):
                home = getattr(used, "__module__", None) or ""
                if home.startswith("evalflow.metric") and (inspect.isclass(used) or inspect.isfunction(used)):
                    todo.append(used)
                elif home.startswith("evalflow.numeric") and inspect.isfunction(used) and home not in PLUMBING:
                    found[f"{home.removeprefix('evalflow.')}.{used.__name__}"] = used
    return dict(sorted(found.items()))


def _methods(cls: Any, but: Sequence[str]) -> list[Any]:
    """The functions that a class really has, `but` some: of one that calls what it overrides, that too."""
    found = []
    for name in (name for name in dir(cls) if name not in but):
        for one in cls.__mro__:
            function = vars(one).get(name)
            if inspect.isfunction(function) and function.__module__.startswith("evalflow.metric"):
                found.append(function)
                if "super" in _names(function):
                    continue
            if function is not None:
                break
    return found


@cache
def _names(function: Any) -> frozenset[str]:
    try:
        tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(function)))
    except OSError:  # written by `dataclass`
        return frozenset()
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _methods_section(used: Mapping[str, Any]) -> list[str]:
    """What the metrics rest on, each function once, with its formula and source."""
    parts = [
        "## What they rest on",
        "The functions of `evalflow.numeric`: arrays in, numbers out, numpy and scipy alone.",
    ]
    for name, function in sorted(used.items()):
        said = inspect.getdoc(function) or ""
        undefined = [f"Undefined: {reason}" for reason in raised(said)]
        parts += [f"({name})=\n### {name}", text(said), *undefined]
    return parts


def _positions() -> str:
    """What a walk in lockstep keeps of each position, which all figures of parity are made of."""
    rows = [(code(name), " ".join(text(said).split())) for name, said in said_below(PairedRows).items()]
    lead = "Of each position of two arms in lockstep are kept ([formulas](#numeric.logits.paired_from_sums)):"
    return f"{lead}\n\n{table(('kept', 'what it is'), rows)}"


def _health() -> str:
    """The figures that every run has, whatever its metrics."""
    from evalflow.metric import health

    rows = []
    for cls in vars(health).values():
        if inspect.isclass(cls) and cls.__module__ == health.__name__ and getattr(cls, "figure", None):
            better = "higher" if cls.higher_is_better else "lower"
            rows.append(
                (code(cls.figure), f"{cls.measured_in or 'a plain number'}, {better}", first(cls.__doc__ or ""))
            )
    return table(("figure", "unit, better", "what it is"), rows)
