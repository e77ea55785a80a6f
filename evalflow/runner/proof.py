"""A model's opinion of answers, and which gates have to pass before any other gate reads it.

Grades are an opinion, and so is every figure of quality of an arm whose model says who it is `graded_by`, whatever
metric reads its reply; how many rows there are, how long they took or cost is none.

A gate on an opinion is read where the same judge (the model with its decoding, and the rubric) has one on its agreement
with people, and every one of those that it has passed. Only what demands an agreement above 0 of an arm that is no
control counts, and what has a say in the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evalflow.comparison import Paired
from evalflow.gate import Gate
from evalflow.metric.protocol import Metric
from evalflow.record import GateResult, Outcome, digest
from evalflow.runner.build import Faults
from evalflow.runner.parts import PlannedArm

Owners = Mapping[str, tuple[str, str]]
"""Figure -> (metric key, reading suffix)."""
NEVER_READ = "no gate on its judge's agreement with people was read"


@dataclass(frozen=True)
class Proofs:
    """The parts of an experiment that say which gates need proof, and which give it."""

    arms: Mapping[str, PlannedArm]
    metrics: Mapping[str, Metric]
    owners: Owners
    comparisons: Mapping[str, Paired]
    gates: Mapping[str, Gate]

    def graded(self, figure: str, arm: str) -> str | None:
        """The key of the metric whose opinion of an arm a figure is, if only its spread over seeds; None where none."""
        key = self.owners[figure][0] if figure in self.owners else None
        while key is not None and not is_opinion(self.metrics[key], self.arms[arm]):
            of = getattr(self.metrics[key], "of", None) if self.metrics[key].grain == "item" else None
            key = of if of in self.metrics else None
        return key

    def arms_of(self, gate: Gate) -> list[str]:
        """The arms that a gate reads, as far as they could be built."""
        if gate.comparison is not None:
            sides = self.comparisons.get(gate.comparison)
            named = [] if sides is None else [sides.reference, sides.candidate]
        elif gate.arm is not None:
            named = [gate.arm]
        else:
            named = [name for name, planned in self.arms.items() if not planned.arm.control]
        return [name for name in named if name in self.arms]

    def proving(self, figure: str, where: Mapping[str, Any], arm: str) -> Iterator[tuple[str, list[str]]]:
        """The gates that prove the judge of an arm, for a figure over the rows that match `where`.

        With each come the arms of that judge that it reads.
        """
        key, judge = self.graded(figure, arm), judge_of(self.arms[arm])
        for name, gate in self.gates.items():
            if not self._shows_agreement(gate, key) or self._why_not(gate):
                continue
            if gate.where and dict(gate.where) != dict(where):
                continue  # agreement on some rows says nothing of the others
            of_judge = [one for one in self.arms_of(gate) if judge_of(self.arms[one]) == judge]
            if of_judge:
                yield name, of_judge

    def fault(self, gate: Gate, arm: str) -> tuple[str, str]:
        """What is wrong with a gate on grades of an arm whose judge nothing proves, and what to do."""
        key = self.graded(gate.figure, arm)
        what = f"{gate.figure} is the opinion of a model, and no gate holds arm {arm}'s judge against people"
        near = [(name, other) for name, other in self.gates.items() if self._shows_agreement(other, key)]
        if near:
            name, other = near[0]
            why = self._why_not(other) or ("its where is another" if other.where else "it reads another judge")
            what += f" (gate {name} does not count: {why})"
        proving = next((k for k, one in self.metrics.items() if one.proof and getattr(one, "of", None) == key), None)
        if proving is None:
            name = "agreement" if key == "grade" else f"{key}_agreement"
            return what, f"add +metric@metrics.{name}=judge_agreement (its `of` being {key}) and a gate on its kappa"
        figure = f"{self.metrics[proving].figure or f'quality/{proving}'}/{self.metrics[proving].proof[0]}"
        return what, f"add gates.judge_agrees={{figure: {figure}, arm: {arm}, floor: 0.6, bound: lower}}"

    def _shows_agreement(self, gate: Gate, key: str | None) -> bool:
        if gate.figure not in self.owners or gate.comparison is not None:
            return False
        owner, suffix = self.owners[gate.figure]
        return suffix in self.metrics[owner].proof and getattr(self.metrics[owner], "of", None) == key

    def _why_not(self, gate: Gate) -> str | None:
        """Why a gate on agreement proves nothing; None where it does."""
        least = gate.floor if gate.between is None else gate.between[0]
        if gate.report_only or gate.expect == "fail":
            return "it is report_only" if gate.report_only else "it passes by failing"
        if least is None or least < 0 or (least == 0 and not gate.strict):
            return "it asks for no agreement above 0"
        if gate.arm in self.arms and self.arms[str(gate.arm)].arm.control:
            return "it reads a control"
        return None


def check_proofs(proofs: Proofs, faults: Faults) -> None:
    """Gates on grades of a judge that no gate holds against people: decided before anything is asked."""
    for name, gate in proofs.gates.items():
        arms = [arm for arm in proofs.arms_of(gate) if proofs.graded(gate.figure, arm) is not None]
        unproved = next((arm for arm in arms if not any(proofs.proving(gate.figure, gate.where, arm))), None)
        if unproved is not None:
            faults.add(f"gates.{name}", *proofs.fault(gate, unproved))


def doubt(proofs: Proofs, gate: Gate, read: Callable[[Gate, str], GateResult]) -> tuple[str, str] | None:
    """The arm whose grades a gate cannot be read for, and why; None where every judge is proved, or none is asked.

    `read` holds a gate on agreement against one arm.
    """
    for arm in proofs.arms_of(gate):
        if proofs.graded(gate.figure, arm) is None:
            continue
        passed = False
        for name, arms in proofs.proving(gate.figure, gate.where, arm):
            for result in (read(proofs.gates[name], one) for one in arms):
                if result.outcome not in ("pass", "skipped"):
                    return arm, f"its judge's agreement gate {name} did not pass ({_told(result)})"
                passed |= result.outcome == "pass"
        if not passed:
            return arm, NEVER_READ
    return None


def unproved(proofs: Proofs, figure: str, arm: str, outcomes: Mapping[str, Outcome]) -> str | None:
    """Why grades of an arm are not read after a run, by what its gates answered; None where they are, or are none."""
    if proofs.graded(figure, arm) is None:
        return None
    found = {name: outcomes[name] for name, _ in proofs.proving(figure, {}, arm) if outcomes[name] != "skipped"}
    failed = next((name for name, outcome in found.items() if outcome != "pass"), None)
    if failed is not None:
        return f"its judge's agreement gate {failed} did not pass ({found[failed]})"
    return None if found else NEVER_READ


def of_other_judges(metric: Metric, arms: Sequence[PlannedArm]) -> str | None:
    """Why grades do not compare two arms: other judges gave them, to other answers; None where they do compare."""
    if not all(is_opinion(metric, one) for one in arms) or judge_of(arms[0]) == judge_of(arms[1]):
        return None
    graded = [one.model.identity().get("graded") for one in arms]
    if None in graded or graded[0] == graded[1]:
        return None  # the very same was graded twice: it is the judges that are compared
    return "the arms were graded by different judges; let one grade both"


def is_opinion(metric: Metric, planned: PlannedArm) -> bool:
    """Whether what a metric makes of an arm's rows is what a model thinks of answers."""
    return metric.needs_proof or (metric.figure is None and _graded_by(planned) is not None)


def judge_of(planned: PlannedArm) -> str:
    """What tells an arm's judge from another: who grades, or the model itself where it names nobody, and how."""
    told = _graded_by(planned)
    return digest([dict(planned.model.identity() if told is None else told), asdict(planned.decoding)])


def _graded_by(planned: PlannedArm) -> Mapping[str, Any] | None:
    return planned.model.graded_by() if hasattr(planned.model, "graded_by") else None


def _told(result: GateResult) -> str:
    if result.outcome == "fail" and result.value is not None:
        return f"fail: {result.value:.3g}, wanted {result.threshold}"
    return f"{result.outcome}: {result.reason}"
