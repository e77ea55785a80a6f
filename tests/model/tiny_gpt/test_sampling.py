"""How tiny_gpt draws a token."""

import numpy as np
import pytest

from evalflow.errors import ModelError
from evalflow.model.tiny_gpt.sampling import choose
from evalflow.record import Decoding

# exp of these is 0.5, 0.3, 0.2 of the mass, laid out so that the likeliest is not the first
LOGITS = np.log(np.array([0.3, 0.5, 0.2], dtype=np.float64)).astype(np.float32)


class Fixed(np.random.Generator):
    """A generator whose uniform number is known."""

    def __init__(self, uniform: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.uniform = uniform

    def random(self) -> float:  # type: ignore[override]
        return self.uniform


def test_greedy_takes_the_best_and_the_lowest_of_equals() -> None:
    """Equal logits are decided by the lower token; a difference of 1e-7 is a difference."""
    rng = np.random.default_rng(0)
    assert choose(np.array([0.0, 2.0, 2.0], dtype=np.float32), Decoding(), rng) == 1
    assert choose(np.array([0.5, 0.5 + 1e-7, 0.0], dtype=np.float32), Decoding(), rng) == 1


@pytest.mark.parametrize(("uniform", "token"), [(0.0, 1), (0.49, 1), (0.51, 0), (0.79, 0), (0.81, 2), (1 - 2**-53, 2)])
def test_a_draw_inverts_the_distribution_from_the_likeliest_on(uniform: float, token: int) -> None:
    """At T = 1 the likeliest token owns 0 to 0.5, the next up to 0.8, the last the rest."""
    assert choose(LOGITS, Decoding(temperature=1.0), Fixed(uniform)) == token


@pytest.mark.parametrize(("top_p", "tokens"), [(0.4, {1}), (0.6, {0, 1}), (0.79, {0, 1}), (1.0, {0, 1, 2})])
def test_top_p_keeps_the_fewest_tokens_that_reach_it(top_p: float, tokens: set[int]) -> None:
    """0.5 reaches 0.4 alone; 0.5 + 0.3 is needed for 0.6 and 0.79."""
    drawn = {choose(LOGITS, Decoding(temperature=1.0, top_p=top_p), Fixed(u)) for u in np.linspace(0, 0.999, 200)}
    assert drawn == tokens


def test_temperature_flattens() -> None:
    """At T = 2 the masses go as square roots: 0.7071, 0.5477 and 0.4472 of 1.7020, so 0.415 for the likeliest."""
    hot = Decoding(temperature=2.0)
    assert choose(LOGITS, hot, Fixed(0.414)) == 1
    assert choose(LOGITS, hot, Fixed(0.417)) == 0


def test_a_tiny_temperature_is_greedy_and_quiet() -> None:
    """No overflow and no NaN where a temperature drives every other token to mass 0."""
    assert choose(LOGITS, Decoding(temperature=1e-300), Fixed(1 - 2**-53)) == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_numbers_are_an_error(bad: float, temperature: float) -> None:
    """A NaN or an infinity draws nothing."""
    with pytest.raises(ModelError, match="not finite"):
        choose(np.array([0.0, bad, 1.0]), Decoding(temperature=temperature), np.random.default_rng(0))
