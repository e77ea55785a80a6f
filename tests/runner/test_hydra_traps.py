"""What Hydra lets through in silence or explains badly, and what a user gets here instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli

Experiment = Callable[..., list[str]]
GATE = {"floor": {"figure": "quality/exact", "arm": "one", "floor": 0.9}}


def write(home: Path, name: str, text: str) -> None:
    path = home / "conf" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_misspelt_experiment_is_refused_by_name(cli: Cli) -> None:
    """The base config is never run in place of an experiment that does not exist; the nearest one is named."""
    ran = cli("experiment=tiny_gtp")
    assert ran.code == 64
    assert ran.faults == [
        "evalflow: experiment: there is no experiment tiny_gtp (override experiment=tiny_gtp); did you mean tiny_gpt?"
    ]
    assert ran.folder is None


def test_no_experiment_at_all_is_refused(cli: Cli) -> None:
    """`experiment=null` does not run the base config either."""
    ran = cli("experiment=null", "dry_run=true")
    assert ran.code == 64
    assert ran.faults[0].startswith("evalflow: experiment: there is no experiment null")


def test_an_experiment_beats_the_root_config(cli: Cli, experiment: Experiment) -> None:
    """What an experiment says wins over config.yaml's own values: its name and its concurrency are both kept."""
    ran = cli(*experiment(name="mine", concurrency=7, arms={"one": {"concurrency": "${concurrency}"}}), "dry_run=true")
    assert ran.out.startswith("mine: 6 items")
    assert "concurrency 7" in ran.out


def test_an_override_beats_an_experiment(cli: Cli, experiment: Experiment) -> None:
    """A value given on the command line wins over the experiment's file."""
    words = experiment(concurrency=7, arms={"one": {"concurrency": "${concurrency}"}})
    assert "concurrency 3" in cli(*words, "concurrency=3", "dry_run=true").out


@pytest.mark.parametrize("word", ["++arms.one.devise=cuda", "+arms.one.devise=cuda", "arms.one.devise=cuda"])
def test_an_unknown_key_is_refused_however_it_is_forced_in(cli: Cli, experiment: Experiment, word: str) -> None:
    """`++` and `+` open no hole for a key that its part does not have."""
    ran = cli(*experiment(), word)
    assert ran.code == 64
    assert ran.faults == [
        f"evalflow: arms.one.devise: Arm has no such key (override {word}); "
        "choose from arrivals, cache, concurrency, control, decoding, hit_ceiling, hit_floor, "
        "model, optional, rate, reference, scoring, seeds"
    ]


def test_a_gate_written_inline_is_added(cli: Cli, experiment: Experiment) -> None:
    """`+gates.x={...}` adds a gate without a file or a group."""
    ran = cli(*experiment(), "+gates.x={figure: quality/exact, arm: one, floor: 0.5}")
    assert ran.code == 0
    assert {name: gate["threshold"] for name, gate in ran.report["gates"].items()} == {"x": ">= 0.5"}


@pytest.mark.parametrize(
    "words", [["+arms.extra={concurrency: 2}"], ["+arms.extra.concurrency=2"], ["+arm@arms.extra=greedy"]]
)
def test_an_arm_is_added_inline_or_from_its_group(cli: Cli, experiment: Experiment, words: list[str]) -> None:
    """An arm may be added as a mapping, by one of its keys, or as an option of its group."""
    ran = cli(*experiment(gates=GATE), *words)
    assert ran.code == 0
    assert list(ran.report["arms"]) == ["one", "extra"]


def test_a_metric_is_added_from_its_group_under_a_name(cli: Cli, experiment: Experiment) -> None:
    """`+metric@metrics.found=contains` adds one figure beside those that the experiment has."""
    ran = cli(*experiment(gates=GATE), "+metric@metrics.found=contains")
    assert {"quality/exact", "quality/found"} <= set(ran.report["arms"]["one"]["figures"])


def test_a_set_of_metrics_is_a_file_that_composes(cli: Cli, experiment: Experiment, home: Path) -> None:
    """A file that names several options adds them all, and replaces none."""
    write(home, "metric/both.yaml", "defaults:\n  - contains@found\n  - e2e@e2e\n")
    ran = cli(*experiment(gates=GATE), "+metric@metrics=both")
    figures = set(ran.report["arms"]["one"]["figures"])
    assert {"quality/exact", "quality/found", "lat/e2e_s/p50"} <= figures


def test_single_metrics_poured_into_the_mapping_are_refused(cli: Cli, experiment: Experiment) -> None:
    """`+metric@metrics=[contains, ttft]` would merge two metrics into one nonsense; it says how to name them."""
    ran = cli(*experiment(), "+metric@metrics=[contains,ttft]")
    assert ran.code == 64
    assert len(ran.faults) == 1
    assert "compose +metric@metrics.NAME=OPTION" in ran.faults[0]


def test_all_missing_values_are_listed_at_once(cli: Cli, experiment: Experiment) -> None:
    """Every value that must still be given has its line, with the file that asks for it."""
    ran = cli(*experiment(), "+metric@metrics.sd=seed_sd", "+comparison@comparisons.c=paired")
    wheres = [line.split(": ")[1] for line in ran.faults]
    assert wheres == ["metrics.sd.of", "comparisons.c.reference", "comparisons.c.candidate", "comparisons.c.figures"]
    assert all("the value is missing (" in line and ".yaml)" in line for line in ran.faults)


def test_a_missing_value_may_come_from_an_unset_environment_variable(cli: Cli, experiment: Experiment) -> None:
    """An unset `oc.env` is one fault at its key, beside the others, not a stop at the first."""
    ran = cli(*experiment(), "seed=${oc.env:NO_SUCH_VARIABLE}", "limit=three")
    assert [line.split(": ")[1] for line in ran.faults] == ["seed", "limit"]
    assert "NO_SUCH_VARIABLE" in ran.faults[0]


@pytest.mark.parametrize("word", ["name=a=b", "gates.x", "gates.x={a", "=3", "~gates.a,b"])
def test_a_grammar_error_is_explained_in_one_line(cli: Cli, word: str) -> None:
    """An override that cannot be parsed is shown with the form that it should have, and no parser's own words."""
    ran = cli(word)
    assert ran.code == 64
    assert len(ran.faults) == 1
    assert ran.faults[0].startswith(f"evalflow: override {word}: it")
    assert "key=value" in ran.faults[0]
    assert not any(said in ran.faults[0] for said in ("mismatched", "EOF", "viable", "hydra.cc", "Exception"))


def test_listings_show_the_users_choices_alone(cli: Cli) -> None:
    """The options offered for a group are its files; no schema or other machinery stands among them."""
    shipped = sorted(path.stem for path in (Path(__file__).parents[2] / "conf" / "dataset").glob("*.yaml"))
    ran = cli("dataset=zzzzzz")
    assert ran.faults == [
        f"evalflow: dataset: there is no dataset zzzzzz (override dataset=zzzzzz); choose from {', '.join(shipped)}"
    ]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("arms.one.concurrency=six", "arms.one.concurrency: 'six' is str"),
        ("seed=1.5", "seed: 1.5 is float"),
        ("arms.one.control=1", "arms.one.control: 1 is int"),
        ("arms.one.seeds=3", "arms.one.seeds: 3 is no list"),
        ("arms.one.seeds=[0,x]", "arms.one.seeds[1]: 'x' is str"),
        ("arms.one.cache=wram", "arms.one.cache: 'wram' is no choice"),
    ],
)
def test_a_type_error_names_key_value_override_and_what_is_wanted(
    cli: Cli, experiment: Experiment, word: str, said: str
) -> None:
    """A value of the wrong type is shown beside the override that gave it and the type that is wanted."""
    wanted = {"six": "a whole number", "1.5": "a whole number", "1": "true or false", "3": "[a, b]"}
    wanted |= {"[0,x]": "a whole number", "wram": "did you mean warm?"}
    ran = cli(*experiment(), word)
    assert ran.code == 64
    assert ran.faults == [f"evalflow: {said} (override {word}); {_form(wanted[word.split('=')[1]])}"]


def _form(wanted: str) -> str:
    return {"[a, b]": "write it as [a, b]", "did you mean warm?": wanted}.get(wanted, f"give {wanted}")


def test_a_run_leaves_the_current_folder_and_no_litter(cli: Cli, experiment: Experiment, home: Path) -> None:
    """The process stays where it was, and writes nothing but its own outputs folder."""
    words = experiment(gates=GATE)
    before = {path.name for path in home.iterdir()}
    assert cli(*words).code == 0
    assert cli(*words, "-m", "seed=1,2").code == 0
    assert Path.cwd() == home
    assert {path.name for path in home.iterdir()} - before == {"outputs"}
    assert not [path for path in home.rglob("*") if path.name in (".hydra", "multirun", "multirun.yaml")]
    assert [path.relative_to(home).as_posix() for path in home.rglob(".sweeps")] == ["outputs/.sweeps"]


def test_a_run_holds_its_own_files_alone(cli: Cli, experiment: Experiment) -> None:
    """A run's folder has what evalflow wrote, and nothing of Hydra's."""
    ran = cli(*experiment(gates=GATE))
    assert ran.folder is not None
    known = {"run.json", "config.yaml", "items.jsonl", "rows.jsonl", "probes.jsonl", "arms.json", ".lock"}
    written = {"report.json", "report.html", "scores.jsonl", "junit.xml", "tracking.json"}
    assert {path.name for path in ran.folder.iterdir()} == known | written


def test_a_users_folder_adds_an_experiment(cli: Cli, experiment: Experiment) -> None:
    """An experiment in a folder given by --config-dir runs like a shipped one, and is listed by --help."""
    words = experiment(name="mine", gates=GATE)
    assert cli(*words).code == 0
    assert "  mine " in cli("--help", "--config-dir", "conf").out


def test_a_users_file_may_not_hide_a_shipped_one(cli: Cli, experiment: Experiment, home: Path) -> None:
    """Two files of one name in two folders are refused, both named, since one would silently win."""
    words = experiment(gates=GATE)
    write(home, "arm/greedy.yaml", "concurrency: 9\n")
    ran = cli(*words)
    assert ran.code == 64
    assert len(ran.faults) == 1
    assert "conf/arm/greedy.yaml" in ran.faults[0]
    assert "has the same name; rename one of the two" in ran.faults[0]


def test_a_users_folder_that_is_not_there_is_named(cli: Cli) -> None:
    """A config folder that does not exist is one fault, in our words."""
    ran = cli("--config-dir", "nowhere", "tracking=none", "dry_run=true")
    assert (ran.code, ran.faults) == (
        64,
        ["evalflow: nowhere: it is no folder; give an existing one with --config-dir"],
    )


@pytest.mark.parametrize("part", ["gates", "arms", "metrics"])
def test_a_key_that_yaml_reads_as_a_boolean_is_refused(cli: Cli, experiment: Experiment, home: Path, part: str) -> None:
    """`on:` is True to YAML 1.1: a part under that name is refused, and told to be quoted."""
    words = experiment(gates=GATE)
    path = home / "conf/experiment/case.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    at = lines.index(f"{part}:")
    path.write_text("\n".join([*lines[: at + 1], "  on: {}", *lines[at + 1 :]]), encoding="utf-8")
    ran = cli(*words)
    assert ran.code == 64
    assert any("the key True is not text" in line and "quote it" in line for line in ran.faults)
    assert ran.folder is None


def test_a_yaml_mistake_is_a_fault_that_names_its_file(cli: Cli, experiment: Experiment, home: Path) -> None:
    """A file that is no YAML ends in one line with its name, not in a traceback."""
    words = experiment()
    write(home, "experiment/case.yaml", "# @package _global_\nname: [a\n")
    ran = cli(*words)
    assert ran.code == 64
    assert len(ran.faults) == 1
    assert "case.yaml" in ran.faults[0]


def test_several_values_without_the_sweep_flag_are_refused(cli: Cli, experiment: Experiment) -> None:
    """`seed=1,2` is a sweep or a mistake: it says which flag it needs."""
    ran = cli(*experiment(), "seed=1,2")
    assert ran.code == 64
    assert ran.faults == ["evalflow: seed=1,2: several values make a sweep; add -m, or give a list as [a,b]"]


def test_a_sweep_runs_every_job_and_returns_the_worst_code(cli: Cli, experiment: Experiment, home: Path) -> None:
    """A job that fails its gate does not stop the next one, and its code is the sweep's."""
    ran = cli("-m", *experiment(gates=GATE), "model.otherwise=wrong,right", "seed=1,2")
    assert ran.code == 1
    runs = list(home.glob("outputs/case/*/report.json"))
    assert len(runs) == 4
    assert [line for line in ran.out.splitlines() if line.startswith("Verdict")] == [
        "Verdict: fail (exit code 1)",
        "Verdict: fail (exit code 1)",
        "Verdict: pass (exit code 0)",
        "Verdict: pass (exit code 0)",
    ]


def test_a_job_that_cannot_be_composed_leaves_the_others_running(cli: Cli, experiment: Experiment, home: Path) -> None:
    """A usage error in one job of a sweep is worse than a pass, and stops nothing else."""
    ran = cli("-m", *experiment(gates=GATE), "seed=x,2")
    assert ran.code == 64
    assert ran.faults == ["evalflow: seed: 'x' is str (override seed=x); give a whole number"]
    assert len(list(home.glob("outputs/case/*/report.json"))) == 1


def test_every_fault_of_a_swept_job_has_its_own_line(cli: Cli, experiment: Experiment) -> None:
    """In a sweep too, two faults are two lines that begin alike."""
    ran = cli("-m", *experiment(), "seed=x", "limit=y")
    assert [line.split(": ")[:2] for line in ran.faults] == [["evalflow", "seed"], ["evalflow", "limit"]]


def test_a_sweep_may_choose_options_by_pattern(cli: Cli) -> None:
    """`glob(*)` sweeps over the options of a group."""
    ran = cli("-m", "decoding=glob(gree*)", "tracking=glob(none)", "dry_run=true")
    assert "evalflow decoding=greedy tracking=none dry_run=true" in ran.out.splitlines()


def test_removing_an_option_says_how_to_remove_the_part(cli: Cli) -> None:
    """`~arm@arms.short` would leave the arm with default conditions; it is refused, and the right word given."""
    ran = cli("~arm@arms.short", "tracking=none", "dry_run=true")
    assert (ran.code, ran.faults) == (
        64,
        ["evalflow: ~arm@arms.short: it removes an option, not the part; write ~arms.short"],
    )


def test_removing_what_is_not_there_is_refused(cli: Cli, experiment: Experiment) -> None:
    """`~gates.flor` names the gate that was probably meant."""
    ran = cli(*experiment(gates=GATE), "~gates.flor")
    assert ran.faults == [
        "evalflow: gates.flor: there is nothing to remove (override ~gates.flor); did you mean floor?"
    ]


def test_nine_faults_are_nine_lines(cli: Cli, experiment: Experiment, home: Path) -> None:
    """Faults of nine kinds are found in one go: one line each, with key, source and the nearest name or remedy."""
    words = experiment(gates=GATE, comparisons={"c": {"reference": "one", "candidate": "tow"}}, arms={"one": {}})
    ran = cli(
        *words,
        "sede=3",
        "dataset.pth=x",
        "seed=six",
        "arms.one.concurency=2",
        "+gates.g={figure: quality/exat, floor: 1}",
        "+gates.h={figure: quality/exact, arm: noe, floor: 1}",
        "runner._target_=os.system",
        "arms.noe.cache=cold",
    )
    file = home / "conf/experiment/case.yaml"
    assert ran.code == 64
    expected = [
        ("sede", "(override sede=3)", "did you mean seed?"),
        ("arms.noe", "(override arms.noe.cache=cold)", "did you mean one?"),
        ("seed", "(override seed=six)", "give a whole number"),
        ("dataset.pth", "(override dataset.pth=x)", "did you mean path?"),
        ("runner._target_", "(override runner._target_=os.system)", "allow it with --allow os"),
        ("comparisons.c.figures", "the value is missing", "give it, such as comparisons.c.figures=..."),
        ("arms.one.concurency", "(override arms.one.concurency=2)", "did you mean concurrency?"),
        ("gates.g.figure", "(override +gates.g={figure: quality/exat, floor: 1})", "did you mean quality/exact?"),
        ("gates.h.arm", "(override +gates.h={figure: quality/exact, arm: noe, floor: 1})", "did you mean one?"),
    ]
    assert len(ran.faults) == 9, ran.err
    for line, (where, source, todo) in zip(ran.faults, expected, strict=True):
        assert line.startswith(f"evalflow: {where}: ")
        assert source in line
        assert line.endswith(todo)
    assert file.exists()
    assert ran.folder is None


def test_a_fault_of_a_file_names_the_file(cli: Cli, experiment: Experiment) -> None:
    """A value that no override gave is blamed on the file that it stands in."""
    ran = cli(*experiment(gates={"floor": {"figure": "quality/exat", "floor": 1}}))
    assert ran.faults == [
        "evalflow: gates.floor.figure: no metric produces quality/exat (conf/experiment/case.yaml); "
        "did you mean quality/exact?"
    ]


def test_one_fault_of_the_base_is_named_once_for_all_arms(cli: Cli, experiment: Experiment) -> None:
    """A wrong key of the model that two arms share is one fault, at the model."""
    ran = cli(*experiment(arms={"one": {}, "two": {}}), "model.delay=1")
    assert ran.faults == [
        "evalflow: model.delay: Scripted has no such key (override model.delay=1); did you mean delays?"
    ]
