"""From a plain config node to a typed object: every key checked, every fault gathered, nothing guessed."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import math
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from evalflow.errors import Fault

MISSING = "???"
"""How a config says that a value must be given."""
ALLOW_IT = "allow it with --allow"
"""How what to do begins where a class is of a module that nobody allowed."""
WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


class Faults:
    """The faults found so far, in order of discovery."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def add(self, where: str, what: str, todo: str) -> None:
        """Note one fault."""
        self.found.append(Fault(where, what, todo))

    def add_said(self, where: str, message: str) -> None:
        """Note a fault whose message is already `what is wrong; what to do`."""
        what, _, todo = message.rpartition("; ")
        self.found.append(Fault(where, what or todo, todo if what else "mend it"))


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean X?` for the closest known name, else the list of all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.55)
    if close:
        return f"did you mean {close[0]}?"
    return f"choose from {', '.join(names)}" if names else "there is none to choose from"


class Builder:
    """Builds objects whose `_target_` lies under one of the `allowed` module prefixes, gathering `faults`."""

    def __init__(self, allowed: Sequence[str], faults: Faults) -> None:
        self.allowed = tuple(allowed)
        self.faults = faults

    def build(self, node: Any, where: str) -> Any | None:
        """The object that a node with a `_target_` describes; None (and a fault) where it cannot be."""
        if not isinstance(node, Mapping):
            self.faults.add(where, f"{_shown(node)} is no mapping with a _target_", "compose an option of its group")
            return None
        if "_target_" not in node:
            self.faults.add(where, "it has no _target_", "name the class, or compose an option of its group")
            return None
        target = self._resolve(node["_target_"], f"{where}._target_")
        if target is None:
            return None
        return self.construct(target, {key: value for key, value in node.items() if key != "_target_"}, where)

    def construct(self, cls: Any, values: Mapping[Any, Any], where: str) -> Any | None:
        """`cls` with `values`, each checked against its annotation; None (and faults) where that fails."""
        before = len(self.faults.found)
        said = {fault.where for fault in self.faults.found}  # a reference that failed to resolve was named already
        parameters = _parameters(cls)
        known = {name: hint for name, (hint, _) in parameters.items()}
        built: dict[str, Any] = {}
        for key, value in values.items():
            path = f"{where}.{key}" if where else str(key)
            if not isinstance(key, str):
                self.faults.add(path, f"the key {key!r} is not text (on, off, yes, no are booleans)", "quote it")
            elif key not in known:
                self.faults.add(path, f"{_called(cls)} has no such key", nearest(key, known))
            elif value == MISSING:
                self.faults.add(path, "the value is missing", f"give it, such as {path}=...")
            elif path not in said:
                built[key] = self.convert(value, known[key], path)
        for name, (_, required) in parameters.items():
            if required and name not in values:
                path = f"{where}.{name}" if where else name
                self.faults.add(path, "the value is missing", f"give it, such as {path}=...")
        if len(self.faults.found) > before or len(built) < len(values):
            return None
        try:
            return cls(**built)
        except ValueError as refused:
            self._refused(str(refused), known, where)
        except (Exception, SystemExit) as refused:  # noqa: BLE001 - the class may be the user's
            why = f"{_called(cls)} cannot be built ({type(refused).__name__}: {refused})"
            self.faults.add(where or "config", why, "mend the class or its settings")
        return None

    def _refused(self, message: str, known: Mapping[str, Any], where: str) -> None:
        """A class's own refusal; one that begins with a key is that key's."""
        key, _, rest = message.partition(" ")
        if key in known:
            self.faults.add_said(f"{where}.{key}".lstrip("."), f"it {rest}")
        else:
            self.faults.add_said(where or "config", message)

    def convert(self, value: Any, hint: Any, where: str) -> Any:
        """The value as its annotation wants it; on a mismatch a fault is noted and the value returned as it is."""
        origin, inner = get_origin(hint), get_args(hint)
        if hint is Any:
            return value
        if origin in (Union, types.UnionType):
            return self._convert_union(value, inner, where)
        if origin is Literal:
            return self._one_of(value, inner, where)
        if origin in (tuple, list, Sequence):
            return self._convert_sequence(value, origin, inner, where)
        if origin in (dict, Mapping):
            return self._convert_mapping(value, inner, where)
        if inspect.isclass(hint) and issubclass(hint, Enum):
            values = tuple(member.value for member in hint)
            return hint(value) if self._one_of(value, values, where) in values else value
        if dataclasses.is_dataclass(hint) and isinstance(value, Mapping) and "_target_" not in value:
            return self.construct(hint, value, where)
        if isinstance(value, Mapping) and "_target_" in value:
            return self.build(value, where)
        return self._convert_scalar(value, hint, where)

    def _convert_scalar(self, value: Any, hint: Any, where: str) -> Any:
        if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value, where)
        # bool is an int to Python, and a count of True is never meant
        if isinstance(value, bool) and hint is not bool:
            return self._wrong(value, hint, where)
        if inspect.isclass(hint) and isinstance(value, hint):
            return value
        return self._wrong(value, hint, where)

    def _number(self, value: float, where: str) -> float:
        """A finite float; nothing in a config means NaN or infinity."""
        try:
            if math.isfinite(number := float(value)):
                return number
        except OverflowError:
            pass
        self.faults.add(where, f"{_shown(value)} is not finite", "give a number that a float can hold")
        return 0.0

    def _convert_union(self, value: Any, options: tuple[Any, ...], where: str) -> Any:
        if value is None and type(None) in options:
            return None
        rest = [option for option in options if option is not type(None)]
        if len(rest) == 1:
            return self.convert(value, rest[0], where)
        for option in rest:
            trial = Builder(self.allowed, Faults())
            converted = trial.convert(value, option, where)
            if not trial.faults.found:
                return converted
        return self._wrong(value, Union[tuple(rest)], where)  # noqa: UP007 - built at run time

    def _convert_sequence(self, value: Any, origin: Any, inner: tuple[Any, ...], where: str) -> Any:
        if not isinstance(value, list | tuple):
            self.faults.add(where, f"{_shown(value)} is no list", "write it as [a, b]")
            return value
        fixed = origin is tuple and inner and inner[-1] is not Ellipsis
        if fixed and len(value) != len(inner):
            self.faults.add(where, f"{len(value)} values", f"give {len(inner)}")
            return value
        hints = inner if fixed else [inner[0] if inner else Any] * len(value)
        built = [self.convert(v, h, f"{where}[{i}]") for i, (v, h) in enumerate(zip(value, hints, strict=True))]
        return built if origin is list else tuple(built)

    def _convert_mapping(self, value: Any, inner: tuple[Any, ...], where: str) -> Any:
        if not isinstance(value, Mapping):
            self.faults.add(where, f"{_shown(value)} is no mapping", "write it as {name: value}")
            return value
        for key in value:
            if not isinstance(key, str):
                self.faults.add(f"{where}.{key}", f"the key {key!r} is not text (on, off, yes, no)", "quote it")
        hint = inner[1] if len(inner) > 1 else Any
        return {key: self.convert(part, hint, f"{where}.{key}") for key, part in value.items()}

    def _one_of(self, value: Any, options: tuple[Any, ...], where: str) -> Any:
        if value not in options or (isinstance(value, bool) and not any(o is value for o in options)):
            self.faults.add(where, f"{_shown(value)} is no choice", nearest(str(value), map(str, options)))
        return value

    def _wrong(self, value: Any, hint: Any, where: str) -> Any:
        wanted = " or ".join(_wanted(one) for one in get_args(hint) or (hint,))
        self.faults.add(where, f"{_shown(value)} is {type(value).__name__}", f"give {wanted}")
        return value

    def _resolve(self, target: Any, where: str) -> Any | None:
        if not isinstance(target, str) or "." not in target:
            self.faults.add(where, f"{_shown(target)} is no dotted class name", "give module.Class")
            return None
        if not any(target == prefix or target.startswith(f"{prefix}.") for prefix in self.allowed):
            said = ", ".join(self.allowed)
            todo = f"{ALLOW_IT} {target.partition('.')[0]}"
            self.faults.add(where, f"{target} is not under an allowed prefix ({said})", todo)
            return None
        module, _, name = target.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as fault:
            self.faults.add(where, f"{target} cannot be imported ({fault})", "put its folder on PYTHONPATH")
            return None
        except AttributeError as fault:
            self.faults.add(where, f"{target} cannot be imported ({fault})", "name a class that exists")
            return None
        except (Exception, SystemExit) as fault:  # noqa: BLE001 - importing runs the module, which may be the user's
            said = " ".join(f"{type(fault).__name__}: {fault}".split())
            self.faults.add(where, f"{target} cannot be imported ({said})", "mend its module")
            return None
        # a class that an allowed module merely imported is still somebody else's
        home = getattr(found, "__module__", "")
        if not inspect.isclass(found) or not any(home == p or home.startswith(f"{p}.") for p in self.allowed):
            self.faults.add(where, f"{target} is no class of an allowed module", "name a class defined there")
            return None
        return found


def _parameters(cls: Any) -> dict[str, tuple[Any, bool]]:
    """Name -> (annotation, whether it must be given) of what the class is built from."""
    if dataclasses.is_dataclass(cls):
        hints = _hints(cls)
        absent = dataclasses.MISSING
        return {
            f.name: (hints.get(f.name, Any), f.default is absent and f.default_factory is absent)
            for f in dataclasses.fields(cls)
            if f.init
        }
    hints = _hints(cls.__init__)
    empty = inspect.Parameter.empty
    return {
        name: (hints.get(name, Any), parameter.default is empty)
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    }


def _hints(annotated: Any) -> dict[str, Any]:
    """Its annotations; one that only a type checker could resolve accepts anything."""
    try:
        return get_type_hints(annotated)
    except NameError:
        return dict.fromkeys(getattr(annotated, "__annotations__", {}), Any)


def _wanted(hint: Any) -> str:
    if dataclasses.is_dataclass(hint):
        return f"a mapping of {', '.join(f.name for f in dataclasses.fields(hint))}"
    return WANTED.get(hint) or str(getattr(hint, "__name__", hint))


def _called(cls: Any) -> str:
    return typing.cast(str, cls.__name__)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
