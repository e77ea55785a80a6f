"""Numbers of one line are written alike."""

from __future__ import annotations

import pytest

from evalflow.report.html.shown_number import number, scale, signed, tick, writer, writer_by_means


def written(values: list[float], widths: list[float] | None = None) -> list[str]:
    return [writer(values, widths or [])(value) for value in values]


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ([1.0, 0.0, 60.0], ["1", "0", "60"]),
        ([454656.0], ["454,656"]),
        ([0.5667, 1.0, 0.0], ["0.567", "1.000", "0"]),
        ([22.1543, 5.0], ["22.15", "5.00"]),
        ([120.74, 72.3], ["120.7", "72.3"]),
        ([1823.6, 3041.2], ["1,824", "3,041"]),
        ([0.00242, 0.1], ["0.0024", "0.1000"]),
        ([-0.25, 0.25], ["−0.250", "0.250"]),
        ([1e-9, 0.5], ["1e−09", "0.500"]),
        ([1e20], ["1e+20"]),
        ([-0.0], ["0"]),
    ],
)
def test_a_line_of_numbers(values: list[float], seen: list[str]):
    """Whole numbers as such, others with one count of decimals, and very small ones by their own size."""
    assert written(values) == seen


def test_the_narrowest_interval_sets_the_decimals():
    """A ratio of 1.0004 whose interval is 0.002 wide is not told as 1.000."""
    assert written([1.0004, 0.9994, 1.0014], [0.002]) == ["1.0004", "0.9994", "1.0014"]


def test_an_exact_zero_is_told_from_a_small_number():
    """0 has no decimals; what is only near it has."""
    assert written([0.0, 0.0001, 0.2]) == ["0", "0.00010", "0.20000"]
    assert number(0.0) == "0"
    assert number(1e-12) == "1e−12"


def test_means_ask_for_their_own_digits_and_whole_ones_for_those_of_their_intervals():
    """An end near 0 asks for none; an interval around a whole mean is not rounded away."""
    write = writer_by_means([0.25, 0.5], [0.00022, 0.4], [0.3, 0.2])
    assert [write(value) for value in (0.25, 0.00022)] == ["0.250", "0.000"]
    write = writer_by_means([1.0, None, 0.0], [0.839, 0.161], [0.161])
    assert [write(value) for value in (1.0, 0.839, 0.0)] == ["1.000", "0.839", "0"]
    assert writer_by_means([60.0], [], [])(60.0) == "60"


def test_one_number():
    """Whole from 100 on, three decimals from 0.01 on, else three digits."""
    assert [number(value) for value in (1234.5, 99.5, 0.25, 0.00123, 3.0)] == [
        "1,234",
        "99.500",
        "0.250",
        "0.00123",
        "3",
    ]


def test_a_difference_shows_its_sign():
    """Both ways, and none of zero."""
    assert [signed(value) for value in (0.25, -0.25, 0.0)] == ["+0.250", "−0.250", "0"]


def test_units_that_read_well():
    """Seconds become milliseconds but for very long times, and many bytes megabytes; others stay."""
    assert scale("s", [0.02, None, 3.0]) == (1000.0, "ms")
    assert scale("s", [250.0]) == (1.0, "s")
    assert scale("bytes", [5e8]) == (1e-6, "MB")
    assert scale("bytes", [4096.0]) == (1.0, "bytes")
    assert scale("nats", []) == (1.0, "nats")


def test_numbers_at_an_axis_are_short():
    """As few digits as they have."""
    assert [tick(value) for value in (0.001, 1e-6, 1.0, -0.2, 100000.0)] == ["0.001", "1e−6", "1", "−0.2", "1e5"]
