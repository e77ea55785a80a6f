"""The experiment that the contract prints (its section 2), on stand-ins for its questions and its seat."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalflow.errors import ConfigError
from evalflow.runner.build import Faults
from evalflow.runner.compose import compose_config
from evalflow.runner.plan import Plan, build_plan

DATA = Path(__file__).parent / "data"
WORDS = ("experiment=printed", f"dataset.bank={DATA / 'bank.json'}", "tracking=none")


def plan(*overrides: str, words: tuple[str, ...] = WORDS) -> Plan:
    faults = Faults()
    composed = compose_config([*words, *overrides], [DATA / "conf"], faults)
    assert composed is not None, [str(fault) for fault in faults.found]
    return build_plan(composed.config, ("tests",), faults)


@pytest.fixture(scope="module")
def printed() -> Plan:
    return plan()


def test_the_printed_experiment_becomes_a_plan(printed: Plan) -> None:
    """Arms, metrics, comparisons and gates of the printed file are all there, and nothing else."""
    assert list(printed.arms) == ["cold", "warm"]
    assert {name: arm.arm.cache for name, arm in printed.arms.items()} == {"cold": "cold", "warm": "warm"}
    health = {"coverage", "error_share", "truncated_share"}
    assert set(printed.metrics) - health == {"answered", "ttft", "e2e", "cache"}
    assert printed.comparisons["warm_vs_cold"].figures == ("quality/answered", "lat/ttft_s/p50")
    own = {"warm_answered", "warm_not_worse", "warm_hit", "warm_p95", "control"}
    assert set(printed.gates) == own | {"errors", "truncated", "coverage"}
    assert printed.n_requests == 2 * 64


def test_a_floor_may_be_read_from_the_datasets_bank(printed: Plan) -> None:
    """`${bank:on_page_answered.floor}` is the 37 of the bank's file."""
    gate = printed.gates["warm_answered"]
    assert (gate.floor, gate.count, gate.of, dict(gate.where)) == (37.0, True, 41, {"kind": "on-page"})


def test_a_gate_keeps_what_the_file_says_of_it(printed: Plan) -> None:
    """Bound, condition, report-only and advice of a gate arrive in the plan as printed."""
    gate = printed.gates["warm_p95"]
    assert (gate.ceiling, gate.bound, dict(gate.when)) == (8.0, "upper", {"concurrency": 1})
    assert (gate.report_only, gate.on_fail) == (True, "ship with free text off")
    assert printed.gates["control"].expect == "fail"


def test_the_concurrency_of_one_arm_changes_alone(printed: Plan) -> None:
    """`arms.warm.concurrency=6` leaves the other arm, and everything else of this one, as it was."""
    changed = plan("arms.warm.concurrency=6")
    before, after = printed.arms["warm"].conditions(), changed.arms["warm"].conditions()
    assert {key for key in after if after[key] != before[key]} == {"concurrency"}
    assert after["concurrency"] == 6
    assert changed.arms["cold"].conditions() == printed.arms["cold"].conditions()


def test_one_field_of_an_arms_decoding_changes_alone(printed: Plan) -> None:
    """`arms.warm.decoding.temperature=0.7` loses no other field of the decoding, and leaves the other arm greedy."""
    changed = plan("arms.warm.decoding.temperature=0.7")
    before, after = printed.arms["warm"].decoding, changed.arms["warm"].decoding
    assert (after.temperature, after.top_p, after.max_tokens) == (0.7, before.top_p, before.max_tokens)
    assert changed.arms["cold"].decoding.greedy


def test_one_field_of_an_arms_model_changes_alone(printed: Plan) -> None:
    """`arms.warm.model.base_url=...` keeps the seat's note and the other arm's seat."""
    changed = plan("arms.warm.model.base_url=http://other:1")
    assert vars(changed.arms["warm"].model) == {"base_url": "http://other:1", "note": "started by the test"}
    assert vars(changed.arms["cold"].model) == vars(printed.arms["cold"].model)


def test_a_gate_is_removed_by_name(printed: Plan) -> None:
    """`~gates.warm_p95` removes that gate and no other."""
    assert set(printed.gates) - set(plan("~gates.warm_p95").gates) == {"warm_p95"}


def test_a_seat_that_is_not_managed_must_say_where_it_is_and_carry_a_note() -> None:
    """`model=seat` alone misses both, and each is a fault once although two arms use it."""
    for given, missing in (("base_url=http://127.0.0.1:9/v1", "model.note"), ("note=a desk", "model.base_url")):
        with pytest.raises(ConfigError) as refused:
            plan("model=seat", f"model.{given}")
        assert [fault.where for fault in refused.value.faults] == [missing]


def test_a_value_that_the_bank_has_not_is_named(tmp_path: Path) -> None:
    """A bank without the floor that a gate asks for is a fault at that gate, with the bank's file in it."""
    bank = tmp_path / "bank.json"
    bank.write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        plan(f"dataset.bank={bank}")
    (fault,) = refused.value.faults
    assert fault.where == "gates.warm_answered.floor"
    assert f"{bank} has no on_page_answered.floor" in fault.what


def test_the_bank_is_read_anew_at_each_use(tmp_path: Path) -> None:
    """A floor moved in the bank between two jobs of one process moves the gate."""
    bank = tmp_path / "bank.json"
    floors = []
    for floor in (30, 31):
        bank.write_text(f'{{"on_page_answered": {{"floor": {floor}}}}}', encoding="utf-8")
        floors.append(plan(f"dataset.bank={bank}").gates["warm_answered"].floor)
    assert floors == [30.0, 31.0]


def test_a_model_without_a_cache_cannot_have_a_warm_arm() -> None:
    """An arm that asks a model for a cache regime that it does not offer is refused at the arm."""
    with pytest.raises(ConfigError) as refused:
        plan("model=scripted")
    assert [fault.where for fault in refused.value.faults] == ["arms.warm.cache"]
