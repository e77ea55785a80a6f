"""Numbers in prose, by hand."""

from decimal import Decimal

import pytest

from evalflow.metric.number import numbers_in, read_number, with_minus


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("It is 42.", ["42"]),
        ("-5, \u22125 and \u20135", ["-5", "-5", "-5"]),
        ("pages 3-5, 2020-01-07", ["3", "5", "2020", "01", "07"]),
        ("1,234,567.8 of 12,000", ["1,234,567.8", "12,000"]),
        ("10\u00a0000 or 1'000", ["10\u00a0000", "1'000"]),
        (".5 and -.5, +4", [".5", "-.5", "+4"]),
        ("1e3 2.5E-4", ["1e3", "2.5E-4"]),
        ("5kg, $7, 50%", ["5", "7", "50"]),
        ("H2O, v2, x-5", ["5"]),
        ("0,1 and 1.2.3 and 12,34 and 1,2345", []),
        (", . -", []),
        ("1e99999", []),
    ],
)
def test_what_is_a_number(text, written):
    """Signs, true thousands groups and exponents belong to it; letters before it and false groups make it none."""
    assert [number.written for number in numbers_in(text)] == written


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234.50", "1234.5"),
        ("(3.14)", "3.14"),
        ("42!", "42"),
        (" **-7** ", "-7"),
        ("\u20137", "-7"),
        ("1e3", "1000"),
        ("12345678901234567890123", "12345678901234567890123"),
    ],
)
def test_a_text_that_is_one_number(text, value):
    """Brackets, quotes, stops and emphasis around it do not change it; it is exact."""
    assert read_number(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "5%", "$5", "5 kg", "3-5", "1 000", "0,1", "five", "5 5", "x=5"])
def test_a_text_that_is_not_one_number(text):
    """Signs and words that change what is meant, two numbers, or none."""
    assert read_number(text) is None


def test_every_dash_is_a_minus():
    """Hyphens, dashes, the minus sign and its wide forms."""
    assert with_minus("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d~") == "-" * 10 + "~"
