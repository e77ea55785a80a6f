"""Perplexity from the command line: what passes, what cannot be compared, and numbers that a hand can check."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from evalflow.cli import main
from evalflow.model.protocol import Model
from evalflow.model.scorer import Encoded, Rows, Tokens, Window
from evalflow.model.tiny_gpt.model import TinyGPT
from evalflow.record import Completion, Request
from evalflow.report.build import schema
from tests.acceptance.same import essence
from tests.conftest import Cli, Lab, Ran
from tests.model.seat.odd_server import Asked, Wire, odd

SMALL = ("experiment=perplexity", "tracking=none", "dataset.n=6")
HERE = "tests.acceptance.test_perplexity"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The shipped experiment, run once."""
    home = tmp_path_factory.mktemp("perplexity")
    code = main(["experiment=perplexity", "tracking=none", "--quiet", f"runner.outputs={home}/outputs"])
    return Ran(code, "", "", next(home.glob("outputs/perplexity/*")))


def figures(ran: Ran, arm: str) -> dict[str, dict[str, Any]]:
    return dict(ran.report["arms"][arm]["figures"])


def test_the_shipped_experiment_passes(whole: Ran) -> None:
    """Its gates pass, the control fails as it should, and the report obeys its schema."""
    assert (whole.code, whole.report["verdict"]) == (0, "pass")
    assert {name: gate["outcome"] for name, gate in whole.report["gates"].items()} == dict.fromkeys(
        ("errors", "coverage", "long_better", "finite", "control"), "pass"
    )
    assert whole.report["gates"]["control"]["reason"] == "failed, as it should"
    Draft202012Validator(schema()).validate(whole.report)


def test_the_longer_trained_model_expects_answers_better(whole: Ran) -> None:
    """Per token and per byte, and an untrained one knows next to nothing: 58 characters, 5.86 bits."""
    nll, bits, perplexity = (
        {arm: figures(whole, arm)[f"quality/{name}"]["value"] for arm in ("long", "short", "untrained")}
        for name in ("nll", "bits_per_byte", "perplexity")
    )
    assert nll["long"] < nll["short"] < nll["untrained"]
    assert bits["long"] < bits["short"] < bits["untrained"]
    assert bits["untrained"] == pytest.approx(math.log2(58), abs=0.2)
    for arm, value in perplexity.items():
        assert value == pytest.approx(math.exp(nll[arm]), rel=1e-12)
    for name in ("quality/nll", "quality/bits_per_byte"):
        assert whole.report["comparisons"]["long_vs_short"][name]["conclusion"] == "better"


def counted(ran: Ran, arm: str) -> list[np.ndarray]:
    """The NLL of every position that counts, text by text, decoded from the rows by hand."""
    assert ran.folder is not None
    lines = (ran.folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    begins = {item["id"]: item["fields"].get("evalflow.scored_from", 0) for item in map(json.loads, lines)}
    texts = []
    for row in ran.rows:
        if row["arm"] == arm:
            packed = row["columns"]["packed"]
            nll = np.frombuffer(base64.b64decode(packed["nll"].removeprefix("<f8:")), dtype="<f8")
            start = np.frombuffer(base64.b64decode(packed["start"].removeprefix("<i4:")), dtype="<i4")
            texts.append(nll[start >= begins[row["item_id"]]])
    return texts


@pytest.mark.parametrize("arm", ["short", "long", "untrained"])
def test_sums_of_texts_add_up_to_the_total(whole: Ran, arm: str) -> None:
    """60 texts, each by its own positions: the figure is their sum over their count, of answers alone."""
    texts = counted(whole, arm)
    found = figures(whole, arm)
    n = sum(one.size for one in texts)
    total = math.fsum(math.fsum(one.tolist()) for one in texts)
    assert len(texts) == 60
    assert (found["quality/nll"]["n_total"], found["quality/nll"]["n_scored"]) == (n, n)
    assert found["quality/nll"]["value"] == pytest.approx(total / n, rel=1e-13)
    assert found["quality/bits_per_byte"]["value"] == pytest.approx(total / n / math.log(2), rel=1e-13)
    by_hand = sum(len(row["item_id"].split("/")[1]) * {"c": 1, "t": 2, "l": 1}[row["item_id"][0]] for row in whole.rows)
    extra = 20 + 20  # the blank of `word word`, the mark of `WORD!`
    assert n == by_hand // 3 + extra


@dataclass
class OtherTokeniser(TinyGPT):
    """The embedded model, had it another tokeniser."""

    def scorer_facts(self) -> Mapping[str, Any]:
        return {**super().scorer_facts(), "tokenizer": "another"}


def test_arms_of_other_tokenisers_are_compared_by_bytes_alone(cli: Cli) -> None:
    """NLL has no difference and its gate cannot be read, with the reason; bits per byte are compared."""
    ran = cli(*SMALL, "--allow", "tests", f"arms.short.model._target_={HERE}.OtherTokeniser")
    compared = ran.report["comparisons"]["long_vs_short"]
    assert compared["quality/nll"]["delta"] is None
    assert "tokenisers differ" in compared["quality/nll"]["reason"]
    assert "compare bits_per_byte" in compared["quality/nll"]["reason"]
    assert compared["quality/bits_per_byte"]["delta"] < 0
    assert (ran.code, ran.report["gates"]["long_better"]["outcome"]) == (2, "unreadable")
    assert "tokenisers differ" in ran.out


@dataclass(frozen=True)
class Level(Model):
    """Reads a text two characters at a time, and finds all of 16 tokens as likely, or the text's own less by `off`."""

    off: float = 0.0

    def identity(self) -> Mapping[str, Any]:
        return {"model": "level", "off": self.off}

    async def complete(self, request: Request) -> Completion:
        raise AssertionError("it answers nothing")

    def scorer_facts(self) -> Mapping[str, Any]:
        return {"vocabulary": 16, "tokenizer": "pairs", "bos": None, "adds_bos": False, "context": None}

    async def encode(self, text: str, item_id: str) -> Encoded:
        starts = np.arange(0, len(text), 2, dtype=np.int32)
        return Encoded(np.array([ord(text[start]) % 16 for start in starts], dtype=np.int64), starts)

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> Sequence[Rows]:
        rows = [np.zeros((len(window.targets), 16)) for window in windows]
        for window, logits in zip(windows, rows, strict=True):
            logits[np.arange(len(logits)), window.targets] = -self.off
        return rows

    async def greedy(self, tokens: Tokens, count: int) -> Sequence[int]:
        return [0] * count


def level(lab: Lab, texts: Sequence[str], off: float = 0.0, **parts: Any) -> Ran:
    """The figures of that model on texts."""
    names = {"nll": "Nll", "perplexity": "Perplexity", "bits_per_byte": "BitsPerByte"}
    return lab(
        [{"id": f"t{place}", "input": text} for place, text in enumerate(texts)],
        model={"_target_": f"{HERE}.Level", "off": off},
        scoring={"_target_": "evalflow.scoring.Scoring", "window": 4},
        metrics={key: {"_target_": f"evalflow.metric.perplexity.{name}"} for key, name in names.items()},
        **parts,
    )


def test_bits_per_byte_by_hand(lab: Lab) -> None:
    """`añ€😀xy` is three tokens, of which two are scored at 4 bits: 8 bits for 3 + 4 + 2 bytes, and 4 bits a token.

    With `éé` and one more token of `ab` it is 12 bits for 11 bytes: 16 tokens all as likely are a perplexity of 16.
    """
    found = figures(level(lab, ["añ€😀xy"]), "one")
    assert found["quality/bits_per_byte"]["value"] == pytest.approx(8 / 9, rel=1e-12)
    assert found["quality/nll"]["value"] == pytest.approx(math.log(16), rel=1e-12)
    assert found["quality/perplexity"]["value"] == pytest.approx(16.0, rel=1e-12)
    both = figures(level(lab, ["añ€😀xy", "ééab"]), "one")
    assert both["quality/bits_per_byte"]["value"] == pytest.approx(12 / 11, rel=1e-12)
    assert both["quality/bits_per_byte"]["n_scored"] == 3


def test_windows_move_no_byte(lab: Lab) -> None:
    """A text of ten tokens in windows of four: nine scored, their bytes all, whatever the windows."""
    text = "aébücdß€xyzäöü12345!"
    assert len(text) == 20
    for scoring in ({}, {"stride": 1}, {"window": 2}, {"window": 50}):
        whole = {"_target_": "evalflow.scoring.Scoring", "window": 4, **scoring}
        found = figures(lab_of(lab, text, whole), "one")["quality/bits_per_byte"]
        assert (found["n_scored"], found["value"]) == (9, pytest.approx(9 * 4 / len(text[2:].encode()), rel=1e-12))


def lab_of(lab: Lab, text: str, scoring: Mapping[str, Any]) -> Ran:
    return lab(
        [{"id": "t", "input": text}],
        model={"_target_": f"{HERE}.Level"},
        scoring=scoring,
        metrics={"bits_per_byte": {"_target_": "evalflow.metric.perplexity.BitsPerByte"}},
    )


def test_a_perplexity_beyond_a_float_is_undefined_and_its_nll_is_not(lab: Lab) -> None:
    """1,000 nats a token are a number, exp of them is none: its gate cannot be read, the other one can."""
    gates = {
        "perplexity": {"figure": "quality/perplexity", "ceiling": 20},
        "nll": {"figure": "quality/nll", "ceiling": 2000, "report_only": True},
    }
    ran = level(lab, ["abcdefgh", "hgfedcba"], off=1000.0, gates=gates)
    found = figures(ran, "one")
    assert found["quality/nll"]["value"] == pytest.approx(1000 + math.log(15), rel=1e-12)
    assert found["quality/perplexity"]["value"] is None
    assert found["quality/perplexity"]["reason"] == "beyond a float (the mean NLL is not)"
    assert {name: gate["outcome"] for name, gate in ran.report["gates"].items()} == {
        "perplexity": "unreadable",
        "nll": "pass",
    }
    assert ran.code == 2


def test_a_text_that_cannot_be_scored_is_an_error_row(lab: Lab) -> None:
    """One token of text has nothing before it: counted, named, and scored as nothing."""
    gates = {"errors": {"figure": "n/error_share", "ceiling": 0.0}, "nll": {"figure": "quality/nll", "ceiling": 5.0}}
    ran = level(lab, ["abcd", "x"], gates=gates)
    (failed,) = [row for row in ran.rows if row["status"] == "error"]
    assert (failed["item_id"], failed["error"]["kind"]) == ("t1", "nothing_to_score")
    assert (figures(ran, "one")["quality/nll"]["n_total"], figures(ran, "one")["quality/nll"]["n_error"]) == (2, 1)
    assert {name: gate["outcome"] for name, gate in ran.report["gates"].items()} == {
        "errors": "fail",
        "nll": "unreadable",
    }


async def echoes(asked: Asked, wire: Wire) -> None:
    """A server that scores each character of a prompt at -0.5 but rules out ~, and writes a dot."""
    prompt = asked.body["prompt"]
    scores = [None, *(-9999.0 if letter == "~" else -0.5 for letter in prompt[1:]), -1.0]
    logprobs = {"tokens": [*prompt, "."], "token_logprobs": scores, "top_logprobs": None, "text_offset": None}
    choice = {"index": 0, "text": f"{prompt}.", "logprobs": logprobs, "finish_reason": "length"}
    usage = {"prompt_tokens": len(prompt), "completion_tokens": 1}
    await wire.told({"object": "text_completion", "choices": [choice], "usage": usage})


def seated(url: str, **settings: Any) -> dict[str, Any]:
    seat = {"_target_": "evalflow.model.seat.seat.Seat", "note": "a test's", "base_url": url, "probe": "off"}
    return {**seat, "api": "completions", "scoring": "echo", **settings}


def test_a_seat_that_scores_prompts_is_an_arm(lab: Lab) -> None:
    """Of perplexity by itself, and beside the embedded model of whatever needs no distribution; never of KL."""
    with odd(echoes) as server:
        ran = lab(
            [{"id": "a", "input": "Say cat"}, {"id": "b", "input": "a dog"}],
            model={"_target_": "evalflow.model.tiny_gpt.model.TinyGPT"},
            scoring={"_target_": "evalflow.scoring.Scoring", "window": 96},
            arms={"ref": {}, "seat": {"model": seated(server.url), "reference": "ref"}},
            metrics={
                "nll": {"_target_": "evalflow.metric.perplexity.Nll"},
                "bits_per_byte": {"_target_": "evalflow.metric.perplexity.BitsPerByte"},
                "dnll": {"_target_": "evalflow.metric.parity.NllDifference"},
                "kl": {"_target_": "evalflow.metric.parity.Kl"},
            },
        )
    found, own = figures(ran, "seat"), figures(ran, "ref")
    assert (found["quality/nll"]["value"], found["quality/nll"]["n_scored"]) == (0.5, 6 + 4)
    assert found["quality/bits_per_byte"]["value"] == pytest.approx(0.5 / math.log(2))
    assert found["parity/dnll_nats"]["value"] == pytest.approx(0.5 - own["quality/nll"]["value"])
    kl = found["parity/kl_nats"]
    assert (kl["value"], kl["reason"]) == (None, "no position was scored (0 errors, 2 excluded)")


def test_a_seat_that_rules_a_token_out_has_no_mean(lab: Lab) -> None:
    """Its -9999 is counted as not finite, and no gate reads the mean of the rest."""
    with odd(echoes) as server:
        ran = lab(
            [{"id": "a", "input": "Say~cat"}],
            model=seated(server.url),
            scoring={"_target_": "evalflow.scoring.Scoring"},
            metrics={
                "nll": {"_target_": "evalflow.metric.perplexity.Nll"},
                "nonfinite": {"_target_": "evalflow.metric.parity.NonFinite"},
            },
            gates={"nll": {"figure": "quality/nll", "ceiling": 1.0}},
        )
    found = figures(ran, "one")
    assert (found["quality/nll"]["value"], found["quality/nll"]["n_excluded"]) == (0.5, 1)
    assert found["parity/nonfinite"]["value"] == 1
    assert ran.report["gates"]["nll"]["reason"] == "1 of 6 were not scored"


PARITY = (
    *("experiment=parity", "tracking=none", "dataset.n=3", "scoring.free_run=4"),
    *("~arms.cached", "~gates.cached_kl", "~arms.bfloat16", "~gates.disagree_rate"),
)
"""Four arms of nine texts, which are too few to bound a rate."""


def killed(folder: Path, n_rows: int, more: int) -> None:
    """Leave a finished run as one that was killed after so many rows, and so many bytes of the next."""
    lines = (folder / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "rows.jsonl").write_bytes(b"".join(lines[:n_rows]) + lines[n_rows][:more])
    state = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    state["state"], state["finished"] = "running", None
    state["sessions"][-1].update(state="running", finished=None)
    (folder / "run.json").write_text(json.dumps(state), encoding="utf-8")
    accounts = json.loads((folder / "arms.json").read_text(encoding="utf-8"))
    begun = list(dict.fromkeys(json.loads(line)["arm"] for line in lines[:n_rows]))
    kept = {arm: accounts[arm] for arm in begun}
    if n_rows % 9:  # in the middle of an arm
        kept[begun[-1]][-1]["ended"] = None
    (folder / "arms.json").write_text(json.dumps(kept), encoding="utf-8")
    for left in ("report.json", "report.html", "junit.xml"):
        (folder / left).unlink(missing_ok=True)


@pytest.fixture(scope="module")
def parity(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A parity run that nothing interrupted."""
    home = tmp_path_factory.mktemp("parity")
    code = main([*PARITY, "--quiet", f"runner.outputs={home}/outputs"])
    return Ran(code, "", "", next(home.glob("outputs/parity/*")))


@pytest.mark.parametrize(("n_rows", "more"), [(4, 0), (9, 700), (14, 5000), (35, 1)])
def test_a_killed_parity_run_goes_on_to_the_same_report(cli: Cli, parity: Ran, n_rows: int, more: int) -> None:
    """Cut off in an arm, between two, in the middle of a row's columns: what is there stays, and figures, gates,
    noise floors and worst positions are those of a run that was not, to the last digit."""
    assert parity.code == 0
    first = cli(*PARITY)
    assert first.folder is not None
    before = (first.folder / "rows.jsonl").read_bytes().splitlines(keepends=True)
    killed(first.folder, n_rows, more)
    again = cli(*PARITY)
    assert (again.code, again.folder) == (0, first.folder), again.err
    after = (first.folder / "rows.jsonl").read_bytes().splitlines(keepends=True)
    assert after[:n_rows] == before[:n_rows]
    assert len({json.loads(line)["session"] for line in after}) == 2
    assert [json.loads(line)["columns"] for line in after] == [json.loads(line)["columns"] for line in before]
    assert essence(again.report) == essence(parity.report)
