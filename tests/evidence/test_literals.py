"""A mark is only searched in texts that contain one of its strings, and so loses no match."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touche_rad.evidence.literals import needed
from touche_rad.evidence.orders import marks

WRITTEN = (
    r"\bignore\b",
    r"(?:say|write)s? (?:yes|no)",
    r"a|b+|(?:cd){2}",
    r"(?>ab|cd)e",
    r"x*y",
    r"[ab]+c?",
    r"(?=abc)a",
    r"(?!no)yes",
    r"^# \w+",
    r"(ab)\1",
    r"(?:a|)b",
    r"k++l",
    r"q{0,3}?r",
    r".*",
)


@pytest.mark.parametrize("pattern", [*WRITTEN, *(mark.pattern.pattern for mark in marks())])
@settings(max_examples=5, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_each_match_contains_one_of_the_strings(pattern: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(pattern)))
    assert any(one in text for one in needed(pattern)), (needed(pattern), text)


@pytest.mark.parametrize(
    ("pattern", "strings"),
    [(r"\bsay(?: \w+)* nothing", {" nothing"}), (r"(?:yes|no)!*", {"yes", "no"}), (r"\w*", {""})],
)
def test_long_strings_are_preferred_and_any_text_may_match_a_pattern_without_letters(
    pattern: str, strings: set[str]
) -> None:
    assert needed(pattern) == strings
