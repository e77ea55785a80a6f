"""Critical values: how many standard errors an interval reaches to each side."""

from __future__ import annotations

from statistics import NormalDist

from evalflow.numeric.undefined import finite


def tail(level: float) -> float:
    """What a two-sided interval of this level leaves out at each end: (1 - level) / 2.

    Raises:
        ValueError: `level` is not strictly between 0 and 1.
    """
    return (1 - open_unit(level, "level")) / 2


def normal_critical(level: float) -> float:
    """The standard normal quantile that leaves `tail(level)` above it: 1.96 at 0.95."""
    return -NormalDist().inv_cdf(tail(level))


def t_critical(level: float, df: float) -> float:
    """The same for Student's t with `df` degrees of freedom, fractional ones too: 12.7 at 0.95 with one.

    Raises:
        Undefined: "non-finite result", where the quantile is beyond a float.
    """
    from scipy.special import stdtrit  # 0.27 s at import

    return finite(-stdtrit(df, tail(level)))


def open_unit(number: float, name: str) -> float:
    """`number`, checked to lie strictly between 0 and 1.

    Raises:
        ValueError: it does not (NaN does not either).
    """
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} is {number}; give a number strictly between 0 and 1")
    return number
