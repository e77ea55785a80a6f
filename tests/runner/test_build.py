"""A plain node becomes a typed object, or faults that say what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import pytest

from evalflow.record import Decoding
from evalflow.runner.build import Builder, Faults, nearest

HERE = __name__


class Colour(Enum):
    """Two of them."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    """A part of a part."""

    n: int = 1


@dataclass(frozen=True)
class Outer:
    """One field of each sort that a config may have."""

    count: int
    share: float = 0.5
    flag: bool = False
    text: str | None = None
    kind: Literal["a", "b"] = "a"
    colour: Colour = Colour.RED
    pair: tuple[float, float] | None = None
    many: tuple[int, ...] = ()
    named: Mapping[str, int] = field(default_factory=dict)
    inner: Inner = Inner()
    either: int | str = 0


class Plain:
    """Not a dataclass: built from its signature."""

    def __init__(self, size: int, *, name: str = "x") -> None:
        self.size, self.name = size, name


@dataclass(frozen=True)
class Choosy:
    """Refuses what its types allow."""

    n: int

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError(f"n is {self.n}; give at least 0")


def build(node: Any, allowed: tuple[str, ...] = (HERE, "evalflow")) -> tuple[Any, list[str]]:
    faults = Faults()
    built = Builder(allowed, faults).build(node, "part")
    return built, [str(fault) for fault in faults.found]


def outer(**values: Any) -> tuple[Any, list[str]]:
    return build({"_target_": f"{HERE}.Outer", "count": 1, **values})


def test_values_arrive_as_their_annotations_want_them() -> None:
    """A whole number where a number is wanted becomes one; lists become tuples; nested mappings become parts."""
    values = {"share": 1, "text": None, "kind": "b", "colour": "blue", "pair": [0, 1], "many": [1, 2]}
    built, faults = outer(**values, named={"x": 1}, inner={"n": 3}, either="word")
    assert faults == []
    assert built == Outer(
        1, 1.0, False, None, "b", Colour.BLUE, (0.0, 1.0), (1, 2), {"x": 1}, Inner(3), "word"
    ) and isinstance(built.share, float)


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"count": True}, "part.count: True is bool; give a whole number"),
        ({"count": 1.0}, "part.count: 1.0 is float; give a whole number"),
        ({"count": None}, "part.count: None is NoneType; give a whole number"),
        ({"share": True}, "part.share: True is bool; give a number"),
        ({"flag": 0}, "part.flag: 0 is int; give true or false"),
        ({"text": 3}, "part.text: 3 is int; give text"),
        ({"kind": "c"}, "part.kind: 'c' is no choice; choose from a, b"),
        ({"colour": "bleu"}, "part.colour: 'bleu' is no choice; did you mean blue?"),
        ({"pair": [1]}, "part.pair: 1 values; give 2"),
        ({"many": "12"}, "part.many: '12' is no list; write it as [a, b]"),
        ({"many": [1, "x"]}, "part.many[1]: 'x' is str; give a whole number"),
        ({"named": [1]}, "part.named: [1] is no mapping; write it as {name: value}"),
        ({"named": {"x": "y"}}, "part.named.x: 'y' is str; give a whole number"),
        ({"named": {True: 1}}, "part.named.True: the key True is not text (on, off, yes, no); quote it"),
        ({"inner": {"m": 1}}, "part.inner.m: Inner has no such key; choose from n"),
        ({"either": []}, "part.either: [] is list; give a whole number or text"),
        ({"cuont": 1}, "part.cuont: Outer has no such key; did you mean count?"),
        ({"count": "???"}, "part.count: the value is missing; give it, such as part.count=..."),
    ],
)
def test_a_value_that_does_not_fit_is_one_fault(values: dict[str, Any], fault: str) -> None:
    """Each misfit has one line: the path, the value, and what is wanted; nothing is built."""
    built, faults = outer(**values)
    assert (built, faults) == (None, [fault])


def test_a_required_value_that_is_not_there_is_missing() -> None:
    """A key without a default that the node lacks is named."""
    assert build({"_target_": f"{HERE}.Outer"}) == (
        None,
        ["part.count: the value is missing; give it, such as part.count=..."],
    )


def test_all_faults_of_a_node_are_found_together() -> None:
    """One wrong key does not hide the next."""
    _, faults = outer(share="x", kind="z", cuont=1)
    assert [fault.split(":")[0] for fault in faults] == ["part.share", "part.kind", "part.cuont"]


def test_a_part_that_refuses_its_values_says_so_itself() -> None:
    """The sentence of a part's own check becomes the fault, of the key that it begins with."""
    assert build({"_target_": f"{HERE}.Choosy", "n": -1}) == (None, ["part.n: it is -1; give at least 0"])


def test_a_class_that_is_no_dataclass_is_built_from_its_signature() -> None:
    """Keyword-only and positional arguments count alike, and are checked alike."""
    built, faults = build({"_target_": f"{HERE}.Plain", "size": 3, "name": "y"})
    assert (built.size, built.name, faults) == (3, "y", [])
    assert build({"_target_": f"{HERE}.Plain", "size": "3"})[1] == ["part.size: '3' is str; give a whole number"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("os.system", "os.system is not under an allowed prefix (tests, evalflow)"),
        ("evalflowish.thing.X", "evalflowish.thing.X is not under an allowed prefix"),
        ("evalflow.runner.journal.os", "is no class of an allowed module"),
        ("evalflow.runner.journal.Path", "is no class of an allowed module"),
        ("evalflow.record.digest", "is no class of an allowed module"),
        ("evalflow.record.Nothing", "cannot be imported"),
        ("evalflow.nowhere.Nothing", "cannot be imported"),
        ("Decoding", "is no dotted class name"),
        (3, "3 is no dotted class name"),
    ],
)
def test_only_classes_of_allowed_modules_can_be_named(target: object, said: str) -> None:
    """A `_target_` outside the allowed prefixes, reached through them, or that is no class, is refused unimported."""
    built, faults = build({"_target_": target}, ("tests", "evalflow"))
    assert built is None
    assert len(faults) == 1
    assert faults[0].startswith("part._target_: ")
    assert said in faults[0]


def test_an_allowed_class_is_built() -> None:
    """The ordinary case: a class of evalflow."""
    assert build({"_target_": "evalflow.record.Decoding", "temperature": 1}) == (Decoding(1.0), [])


@pytest.mark.parametrize("node", [None, 3, [], {"n": 1}])
def test_a_node_without_a_target_is_a_fault(node: object) -> None:
    """What is no mapping, or names no class, is said to be so."""
    built, faults = build(node)
    assert built is None
    assert "_target_" in faults[0]


def test_the_nearest_name_is_offered_else_all_of_them() -> None:
    """A near miss names one; a wild guess lists the choice; an empty choice says so."""
    assert nearest("conf", ["cons", "zebra"]) == "did you mean cons?"
    assert nearest("q", ["b", "a"]) == "choose from a, b"
    assert nearest("q", []) == "there is none to choose from"
