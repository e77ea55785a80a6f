"""In what two runs' instruments differ, and which figures each difference makes incomparable: the rules, in one table.

Figures of quality are comparable where the items, the metric and what is served are the same; times where, beside
that, the machine and the load were. The model, its decoding, its seat and its prompts are what is compared, and seeds
are averaged inside each item: in those, two runs may differ without a word.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalflow.metric.protocol import Metric
from evalflow.record import digest
from evalflow.runner.compared_run import ComparedRun, Overlap
from evalflow.runner.instrument import described
from evalflow.runner.units import PER_ROW

Trait = Literal["any", "own", "whole", "time", "load", "cache", "served", "text", "parity", "seeds", "graded"]
"""What a figure can depend on beside its rows. `own` is of the metric that differs; `whole` is over all rows at once;
`time` is a time or a speed, `load` one of the answers themselves, taken under the arm's load and cache; `served` is
read from what is served, `text` of scored texts, `parity` against the arm's reference, `seeds` over an item's seeds,
`graded` a model's opinion."""
ArmPair = tuple[str, str]
"""The reference's arm and the candidate's."""
ABSENT = "(none)"


@dataclass(frozen=True)
class Rule:
    """Figures of which traits a difference in a field makes incomparable, and why."""

    refuses: tuple[Trait, ...]
    why: str


COMPARED = "it is what is compared"
JUDGE = "another judge grades by another measure"
LOAD = "a time depends on how many requests are under way"
RULES: Mapping[str, Rule] = {
    # of the run
    "schema_version": Rule(("any",), "rows of another schema may mean something else"),
    "items": Rule(("whole",), "over all rows at once it is over other items; by item, those of both are compared"),
    "prompts": Rule((), COMPARED),
    "order": Rule(("load", "cache"), "another order leaves other prefixes in a cache"),
    "serving": Rule(("served",), "another text is served of the same answer"),
    "environment": Rule(("time",), "a time is of the machine and software that it was taken with"),
    "shared": Rule(("time",), "jobs of a sweep ran at the same time in one of them"),
    "timeout_s": Rule(("load",), "slow answers are given up at another point"),
    "seed": Rule((), "other draws: seeds are averaged inside each item"),
    "judging": Rule((), "no figure depends on comparisons and gates; the two verdicts do"),
    # of a metric
    "metrics": Rule(("own",), "the metric reads the same rows another way"),
    # of an arm
    "model": Rule((), COMPARED),
    "seat": Rule((), COMPARED),
    "model.judge": Rule(("graded",), JUDGE),
    "model.rubric": Rule(("graded",), JUDGE),
    "decoding": Rule((), COMPARED),
    "model.timeouts": Rule(("load",), "the client gives up at another point"),
    "model.retries": Rule(("load",), "the client asks again by other rules"),
    "model.breaker": Rule(("load",), "the client asks again by other rules"),
    "model.stream": Rule(("load",), "first tokens are seen at another point"),
    "model.isolation": Rule(("load", "cache"), "prompts are kept from the cache in another way"),
    "concurrency": Rule(("load",), LOAD),
    "rate": Rule(("load",), LOAD),
    "arrivals": Rule(("load",), LOAD),
    "cache": Rule(("load", "cache"), "another cache regime"),
    "hits_between": Rule((), "it bounds a claim and moves no figure"),
    "seeds": Rule((), "seeds are averaged inside each item"),
    "number of seeds": Rule(("seeds",), "what is over an item's seeds is over another number of them"),
    "scoring": Rule(("text",), "texts are cut into other windows"),
    "reference": Rule(("parity",), "it is held against another reference"),
    "control": Rule((), "it is a control in one of them, and decides nothing"),
    "optional": Rule((), "it moves no figure"),
}
"""Field -> its rule; a field inside another that has a rule of its own goes by that."""
UNKNOWN = Rule(("any",), "nobody has said what depends on it")
"""Of a condition that has no rule, as one that a later evalflow wrote."""
MAY_VARY = tuple(
    name for name, rule in RULES.items() if rule.refuses and set(rule.refuses) <= {"time", "load", "cache"}
)
"""What may be named as the thing under test, so that it refuses nothing: it moves times and caches, not answers."""


@dataclass(frozen=True)
class Difference:
    """One field that differs, of the run or of a pair of arms, and the `figures` that it makes incomparable.

    Values are in words; `arms` is None where the field is of the whole run.
    """

    field: str
    arms: ArmPair | None
    reference: str
    candidate: str
    figures: tuple[str, ...]
    why: str

    def refuses(self, arms: ArmPair, figure: str) -> bool:
        """Whether a figure of two arms is incomparable by it."""
        return figure in self.figures and self.arms in (None, arms)


def differences(
    reference: ComparedRun,
    candidate: ComparedRun,
    arms: Sequence[ArmPair],
    items: Overlap,
    varied: Iterable[str] = (),
) -> list[Difference]:
    """Every field in which two runs' instruments differ, those of the run first, then metrics, then arm by arm.

    `varied` names fields that are under test, and refuse nothing.
    """
    common = {name: reference.metric(name) for name in reference.owners if name in candidate.owners}
    under_test = frozenset(varied)

    def told(field: str, before: str, after: str, pair: ArmPair | None = None) -> Difference:
        name = _named(field)
        if name.startswith("model.") and ABSENT in (before, after):
            name = "model"  # only one of two kinds of model has it
        rule = RULES.get(name, UNKNOWN)
        if name in under_test:
            return Difference(field, pair, before, after, (), "it is what is tested")
        refused = tuple(figure for figure, metric in common.items() if _traits(metric, figure) & {*rule.refuses})
        why = rule.why if refused or not rule.refuses else "no figure here depends on it"
        return Difference(field, pair, before, after, refused, why)

    found = [told(*one) for one in _of_the_run(reference, candidate, items)]
    found += _metrics(reference, candidate)
    for pair in arms:
        found += [told(*one, pair) for one in _of_the_arms(reference, candidate, pair)]
    return found


def by_item(figure: str, metric: Metric) -> bool:
    """Whether two arms are compared by a figure item by item: each item has a number of its own under its metric.

    Counts of rows (`n/`) have one too, and are told beside each other all the same: as tests they would cost the rest
    power, and an item that was lost is unpaired.
    """
    return metric.grain in PER_ROW and metric.paired and _group(figure) != "n"


def is_time(metric: Metric) -> bool:
    """Whether its figures are times or speeds."""
    return metric.timed or metric.clocked


def _group(figure: str) -> str:
    return figure.partition("/")[0]


def _traits(metric: Metric, figure: str) -> set[Trait]:
    """What a figure depends on beside its rows."""
    group = _group(figure)
    of_texts = metric.grain in ("document", "position") or metric.lockstep
    has: dict[Trait, bool] = {
        "any": True,
        "whole": not by_item(figure, metric) and metric.grain != "probe",
        "time": is_time(metric),
        "load": metric.timed,
        "cache": group == "cache",
        "served": group in ("quality", "agreement", "stability") and not of_texts,
        "text": of_texts,
        "parity": metric.lockstep,
        "seeds": metric.grain == "item",
        "graded": metric.needs_proof,
    }
    return {trait for trait, is_so in has.items() if is_so}


def _named(field: str) -> str:
    """The name of the rule that a field goes by: its own or that of what it lies in."""
    while field not in RULES and "." in field:
        field = field.rpartition(".")[0]
    return field


def _of_the_run(reference: ComparedRun, candidate: ComparedRun, items: Overlap) -> Iterator[tuple[str, str, str]]:
    before, after = reference.instrument, candidate.instrument
    yield from _leaves("schema_version", before["schema_version"], after["schema_version"])
    if not items.whole:
        yield "items", _items_in_words(reference), _items_in_words(candidate)
    prints = (reference.plan.fingerprints, candidate.plan.fingerprints)
    for field, key, differs in (("prompts", "request_fp", items.reworded), ("order", "ordered_fp", items.reordered)):
        if differs:
            yield field, prints[0][key][:12], prints[1][key][:12]
    for field in ("serving", "environment"):
        yield from _leaves(field, before[field], after[field])
    yield from _leaves("shared", reference.stored.state["shared"], candidate.stored.state["shared"])
    timeouts = (run.stored.state["conditions"].get("timeout_s") for run in (reference, candidate))
    yield from _leaves("timeout_s", *timeouts)
    yield from _leaves("seed", before["seed"], after["seed"])
    yield from _leaves("judging", before["judging_hash"][:12], after["judging_hash"][:12])


def _items_in_words(run: ComparedRun) -> str:
    part = f" ({run.report['part']})" if run.report["part"] else ""
    return f"{len(run.plan.items)} of {run.plan.dataset_name}{part}, {run.plan.fingerprints['content_fp'][:12]}"


def _of_the_arms(reference: ComparedRun, candidate: ComparedRun, pair: ArmPair) -> Iterator[tuple[str, str, str]]:
    conditions = [run.instrument["conditions"][arm] for run, arm in zip((reference, candidate), pair, strict=True)]
    before, after = (dict(one) for one in conditions)
    if len(before["seeds"]) != len(after["seeds"]):
        yield "number of seeds", str(len(before.pop("seeds"))), str(len(after.pop("seeds")))
    for one in (before, after):
        one.pop("greedy")  # it follows from the decoding
        one["reference"] = _what_it_says(one["reference"])
    for key in dict.fromkeys((*before, *after)):
        yield from _leaves(key, before.get(key), after.get(key))
    seats = (run.instrument["seats"].get(arm) for run, arm in zip((reference, candidate), pair, strict=True))
    yield from _leaves("seat", *seats)


def _what_it_says(reference: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Of a reference's conditions, those that decide what it says of a text."""
    return None if reference is None else {key: reference[key] for key in ("model", "decoding", "scoring")}


def _metrics(reference: ComparedRun, candidate: ComparedRun) -> Iterator[Difference]:
    """Metrics that differ, that one run lacks, or that have moved on since the scores were kept."""
    runs = (reference, candidate)
    figures: dict[tuple[str | None, str | None], list[str]] = {}
    for name in dict.fromkeys((*reference.owners, *candidate.owners)):
        figures.setdefault((reference.owners.get(name), candidate.owners.get(name)), []).append(name)
    moved = _moved(reference, candidate)
    for keys, names in figures.items():
        key = keys[0] or keys[1] or ""
        told = [None if k is None else run.instrument["metrics"][k] for run, k in zip(runs, keys, strict=True)]
        if None in told:
            first, second = ("it is there" if one is not None else ABSENT for one in told)
            yield Difference(f"metrics.{key}", None, first, second, tuple(names), "only one of the runs has it")
            continue
        rule = RULES["metrics"]
        apart = list(_leaves(f"metrics.{key}", *told))
        # settings of another class have nothing to be held against
        for field, before, after in [one for one in apart if one[0].endswith(".class")] or apart:
            yield Difference(field, None, before, after, tuple(names), rule.why)
        for other in sorted(_read_by(told[0]) & moved - {key}):
            said = f"it reads {other}, which differs"
            yield Difference(f"metrics.{key}.of", None, other, other, tuple(names), said)
        for run, k, one in zip(runs, keys, told, strict=True):
            if digest(_plain(described(run.plan.metrics[str(k)]))) != digest(one):
                first, second = ("as it was" if side is run else "as it is" for side in runs)
                said = f"{run.label} was scored by another version of it; evalflow score {run.stored.folder}"
                yield Difference(f"metrics.{key}.scored", None, first, second, tuple(names), said)


def _moved(reference: ComparedRun, candidate: ComparedRun) -> set[str]:
    """Keys of metrics that both runs have and that are not the same."""
    before, after = reference.instrument["metrics"], candidate.instrument["metrics"]
    return {key for key in before if key in after and digest(before[key]) != digest(after[key])}


def _read_by(told: Mapping[str, Any] | None) -> set[str]:
    """The metrics whose statistics a metric reads, as its settings name them."""
    of = (told or {}).get("settings", {}).get("of")
    return {of} if isinstance(of, str) else set(of) if isinstance(of, list) else set()


def _leaves(field: str, before: Any, after: Any) -> Iterator[tuple[str, str, str]]:
    """Where two plain values differ, down to what is no mapping: the field, and both values in words."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            yield from _leaves(f"{field}.{key}", before.get(key), after.get(key))
    elif digest(_plain(before)) != digest(_plain(after)):
        yield field, _words(before), _words(after)


def _plain(value: Any) -> Any:
    """As it is read back from a file."""
    return json.loads(json.dumps(value, default=repr))


def _words(value: Any) -> str:
    if value is None:
        return ABSENT
    return value if isinstance(value, str) else json.dumps(value, default=repr)
