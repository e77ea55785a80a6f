"""tiny_gpt as an experiment sees it."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.model.tiny_gpt import checkpoint
from evalflow.model.tiny_gpt import model as model_module
from evalflow.model.tiny_gpt.latency import PROMPT
from evalflow.model.tiny_gpt.model import TinyGPT
from evalflow.model.tiny_gpt.recipe import RECIPES, Recipe
from evalflow.model.tiny_gpt.ship import Counts, ask
from evalflow.record import Decoding, Request
from evalflow.string_tasks import WordPool, prompt_for

T = TypeVar("T")

VALIDATION = WordPool().split()[2]
SAMPLED = Decoding(temperature=1.0)


def started(model: TinyGPT, use: Callable[[TinyGPT], Awaitable[T]]) -> T:
    """What `use` gives with the model started, closed afterwards."""

    async def run() -> T:
        await model.start()
        try:
            return await use(model)
        finally:
            await model.close()

    return asyncio.run(run())


def validation(model: TinyGPT, decoding: Decoding = Decoding(), seed: int = 0) -> Counts:  # noqa: B008 (frozen)
    """How the model does on the 40 validation words under three tasks."""
    return started(model, lambda each: ask(each, VALIDATION, decoding, seed))


def test_building_one_loads_no_torch() -> None:
    """The plan builds models to check them, and identity is part of its key: neither imports torch."""
    code = (
        "import sys; from evalflow.model.tiny_gpt.model import TinyGPT; "
        "TinyGPT().identity(); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"checkpoint": "large"}, "checkpoint is 'large'; give one of short, long, untrained, shuffled"),
        ({"max_batch": 0}, "max_batch is 0; give 1 to 32"),
        ({"max_batch": 33}, "max_batch is 33; give 1 to 32"),
        ({"threads": 0}, "threads is 0; give at least 1"),
        ({"steps": -1}, "steps is -1; give 0 or more, or null for the checkpoint's own"),
        ({"dtype": "float8"}, "dtype is 'float8'; give one of float32, float64"),
    ],
)
def test_wrong_settings_are_refused_when_built(settings: dict[str, Any], message: str) -> None:
    """Each says what is wrong and what may be given."""
    with pytest.raises(ValueError, match=message):
        TinyGPT(**settings)


def test_identity_tells_models_apart() -> None:
    """Checkpoint, steps, precision, threads and retraining are part of it; how many are batched is not."""
    model: Model = TinyGPT()
    same = TinyGPT(max_batch=5)
    assert TinyGPT(steps=1500).identity() != model.identity()  # trained here, and not what ships
    assert TinyGPT(steps=3).identity()["recipe"]["steps"] == 3
    others = [TinyGPT("short"), TinyGPT(dtype="float64"), TinyGPT(threads=2), TinyGPT(retrain=True)]
    assert model.identity() == same.identity()
    assert all(other.identity() != model.identity() for other in others)
    assert len(str(model.identity()["weights"])) == 64
    assert (others[3].identity()["weights"], others[3].identity()["retrained"]) == (None, True)


def test_the_checkpoints_do_what_their_card_says() -> None:
    """On validation words `short` is in the middle, `long` is high, and both controls answer nothing."""
    right = {name: validation(TinyGPT(checkpoint=name)).right for name in RECIPES}
    assert 0.3 * 120 <= right["short"] <= 0.7 * 120
    assert right["long"] >= 0.95 * 120
    assert right["untrained"] == 0
    assert right["shuffled"] <= 2


def test_samples_vary_with_the_seed_and_stay_good() -> None:
    """At T = 1 `short` draws other texts under another seed, `long` stays nearly as right as greedy."""

    async def texts(model: TinyGPT) -> list[str]:
        prompt = prompt_for("twice", VALIDATION[0])
        return [(await model.complete(Request("a", prompt, SAMPLED, seed))).text for seed in [*range(8), 0]]

    drawn = started(TinyGPT(checkpoint="short"), texts)
    assert drawn[0] == drawn[-1]
    assert len(set(drawn)) > 1
    assert validation(TinyGPT(), SAMPLED, seed=3).right >= 0.9 * 120


def test_double_precision_keeps_the_answers() -> None:
    """float64 answers the validation words as float32 does."""
    assert validation(TinyGPT(dtype="float64")) == validation(TinyGPT())


@pytest.mark.slow
def test_two_threads_keep_the_answers() -> None:
    """So do two threads, which take long beside a busy core."""
    assert validation(TinyGPT(threads=2)) == validation(TinyGPT())


def test_fixed_length_is_measured_twenty_times() -> None:
    """Twenty repeats, each with the time to the first token and the time of 16 more."""
    repeats = started(TinyGPT(), lambda model: model.measure("fixed_length"))
    assert len(repeats) == 20
    for repeat in repeats:
        assert set(repeat) == {"ttft_s", "decode_s", "tokens"}
        assert repeat["tokens"] == 16
        assert 0 < repeat["ttft_s"] < repeat["decode_s"] < 5


def test_memory_is_told_by_its_parts() -> None:
    """113,664 numbers of 4 bytes; 100 tokens then take 2 x 2 x 64 x 100 x 4 = 102,400 bytes of cache."""
    (memory,) = asyncio.run(TinyGPT().measure("memory"))
    assert memory == {"param_bytes": 454_656, "layers": 2, "kv_width": 64, "bytes_per_value": 4}
    per_token = 2 * memory["layers"] * memory["kv_width"] * memory["bytes_per_value"]
    assert 100 * per_token == 102_400
    assert asyncio.run(TinyGPT(dtype="float64").measure("memory"))[0]["param_bytes"] == 909_312


def test_an_unknown_probe_is_no_measurement() -> None:
    """None, which a figure reports as not measured."""
    assert asyncio.run(TinyGPT().measure("perplexity")) is None


def test_facts_tell_what_was_observed() -> None:
    """Before the start nothing; then threads, the digest of the weights in use, equal slots, batch sizes."""
    model = TinyGPT(max_batch=4)
    assert model.facts() == {}

    async def use(each: TinyGPT) -> dict[str, Any]:
        assert each.facts()["batch_mean"] is None
        await ask(each, VALIDATION[:4], Decoding(), 0)
        return dict(each.facts())

    facts = started(model, use)
    assert facts["weights_sha256"] == model.identity()["weights"]
    assert (facts["torch_threads"], facts["slots_bit_equal"]) == (1, True)
    assert 1 < facts["batch_mean"] <= facts["batch_max"] == 4
    assert model.facts() == {}


def test_a_request_says_how_much_of_its_prompt_was_cached() -> None:
    """A warm call, then its group: 48 tokens each; another salt or another task has to read everything."""

    async def use(model: TinyGPT) -> tuple[list[tuple[int | None, str | None]], dict[str, Any]]:
        twice = [prompt_for("twice", word) for word in VALIDATION[:3]]
        asked = [("a", twice[0][:48]), ("a", twice[0]), ("a", twice[1]), ("b", twice[2]), ("b", twice[2])]
        asked += [("a", prompt_for("loud", VALIDATION[0])), ("", twice[0])]
        found = []
        for salt, prompt in asked:
            done = await model.complete(Request("x", prompt, Decoding(max_tokens=1), 0, salt))
            found.append((done.cached_tokens, done.cached_source))
        return found, dict(model.facts())

    assert TinyGPT.regimes == ("cold", "isolated", "warm")
    found, facts = started(TinyGPT(), use)
    assert found == [(cached, "local") for cached in (0, 48, 48, 0, 48, 0, 0)]
    # the warm call ends with its block, which is read for its logits and never looked up
    assert (facts["prefix_lookups"], facts["prefix_hits"]) == (6, 3)


def test_the_fixed_length_probe_knows_no_prefix() -> None:
    """It reads its whole prompt every time: nothing is looked up, and nothing is left for later requests."""

    async def use(model: TinyGPT) -> tuple[int, int | None]:
        await model.measure("fixed_length")
        lookups = model.facts()["prefix_lookups"]
        return lookups, (await model.complete(Request("x", PROMPT, Decoding(), 0))).cached_tokens

    assert started(TinyGPT(), use) == (0, 0)


def test_a_closed_model_can_be_started_again() -> None:
    """Start, close, start: a second run in one process finds the model as new."""
    model = TinyGPT(checkpoint="short")
    assert validation(model) == validation(model)


def test_a_missing_file_is_trained_again_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without its file the model trains by recipe, says so on stderr, and its identity claims no digest."""
    monkeypatch.setattr(model_module, "path_of", lambda name: tmp_path / f"{name}.safetensors")
    monkeypatch.setattr(model_module, "RECIPES", {"long": Recipe(steps=1, pretrain_steps=1)})
    model = TinyGPT()
    assert (model.identity()["weights"], model.identity()["retrained"]) == (None, True)
    facts = started(model, lambda each: asyncio.sleep(0, dict(each.facts())))
    out, err = capsys.readouterr()
    assert "is missing; training it again" in err.replace("\n", " ")
    assert out == ""
    assert len(facts["weights_sha256"]) == 64


def test_a_damaged_checkpoint_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is there but wrong is an error, never retrained in silence."""

    def damaged(name: str, folder: Path = tmp_path) -> Any:
        raise ModelError("damaged")

    monkeypatch.setattr(checkpoint, "load", damaged)
    with pytest.raises(ModelError, match="damaged"):
        asyncio.run(TinyGPT().start())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["short", "long"])
def test_training_again_gives_a_model_as_good(name: Any) -> None:
    """The recipe, run here, lands within 0.1 of what ships on the validation words, and twice on the same bits."""
    shipped = validation(TinyGPT(checkpoint=name))
    digests = set()
    for _ in range(2):
        model = TinyGPT(checkpoint=name, retrain=True)

        async def use(each: TinyGPT) -> tuple[Counts, str]:
            return await ask(each, VALIDATION, Decoding(), 0), str(each.facts()["weights_sha256"])

        counts, digest = started(model, use)
        digests.add(digest)
        assert abs(counts.right - shipped.right) <= 0.1 * 120
    assert len(digests) == 1
