"""Regex match: the form of an answer, within a limit of time."""

import pytest

from evalflow.metric.regex_match import RegexMatch
from tests.metric.by_hand import answer

ENDLESS = RegexMatch(r"(a|aa)+$", time_limit_s=0.02)


@pytest.mark.parametrize(
    ("settings", "draft", "score"),
    [
        ({"pattern": r"\d{4}"}, "in 1905.", 1.0),
        ({"pattern": r"\d{4}"}, "in 190.", 0.0),
        ({"pattern": r"\d{4}", "whole": True}, "1905\n", 1.0),
        ({"pattern": r"\d{4}", "whole": True}, "in 1905", 0.0),
        ({"pattern": "yes"}, "Yes", 0.0),
        ({"pattern": "yes", "ignore_case": True}, "Yes", 1.0),
        ({"pattern": r"\p{Lu}\p{Ll}+"}, "Évora", 1.0),
        ({"pattern": ".*", "whole": True}, "", 0.0),
        ({"pattern": ".*"}, " \n", 0.0),
    ],
)
def test_a_pattern_is_found_or_is_the_whole(settings, draft, score):
    """Outer white space does not count; an empty answer has no form."""
    assert RegexMatch(**settings).stats(answer(draft)) == (score,)


def test_the_detail_is_what_matched():
    """The matching text, None where there is none."""
    assert RegexMatch(r"\d+").detail(answer("a 12 b 3")) == {"matched": "12"}
    assert RegexMatch(r"\d+").detail(answer("a")) == {"matched": None}
    assert RegexMatch(r"\d+").detail(answer(None)) == {}


def test_a_search_without_end_excludes_the_row():
    """What was not searched in time is neither found nor absent, and the detail says so."""
    hostile = answer("a" * 60 + "!")
    assert ENDLESS.stats(hostile) is None
    assert ENDLESS.detail(hostile) == {"reason": "not searched within 0.02 s"}
    assert ENDLESS.stats(answer("aaa")) == (1.0,)


def test_a_row_without_an_answer_is_excluded():
    """An error row is not a wrong one."""
    assert RegexMatch("x").stats(answer(None)) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pattern": "("}, r"^pattern is no regular expression \(.*\); mend it"),
        ({"pattern": "x", "time_limit_s": 0.0}, r"^time_limit_s is 0.0; give seconds above 0"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(settings, message):
    """A pattern that does not compile is a fault of the config, named by its key."""
    with pytest.raises(ValueError, match=message):
        RegexMatch(**settings)
