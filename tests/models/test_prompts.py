"""Prompt files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import with_cases
from tests.refusals import expect_error
from touche_rad.models import Message, Prompt, drop_oldest
from touche_rad.models.prompts import Thesis

SOURCE = """=== system
You judge debates.
{% if example %}For example: {{ example }}{% endif %}

=== user
The text: {{ text }}
"""


def _read(source: str) -> Prompt:
    place = Path("judge.jinja")
    place.write_text(source)
    return Prompt.read(place, "judge")


def test_messages_contain_the_values() -> None:
    prompt = _read(SOURCE)
    assert prompt.variables == {"text", "example"}
    assert prompt.messages(text="Hi.", example="") == (
        Message("system", "You judge debates."),
        Message("user", "The text: Hi."),
    )


def test_missing_values_are_named_and_a_prompt_may_leave_values_out() -> None:
    prompt = _read(SOURCE)
    with pytest.raises(TypeError, match=r"missing \['example'\]"):
        prompt.messages(text="x", texts="y")
    short = _read("=== user\nJudge it.")
    assert short.messages(text="x") == (Message("user", "Judge it."),)


@pytest.mark.parametrize(
    ("source", "problem"),
    [("no part", "needs a line"), ("=== user\n{{ text", "line 2"), ("=== user\n{% x %}", "line 2")],
)
def test_an_unusable_prompt_is_refused(source: str, problem: str) -> None:
    with expect_error(problem):
        _read(source)
    with expect_error("nowhere: "):
        Prompt.read(Path("nowhere"), "x")


def test_a_partial_is_inserted_and_its_variables_count() -> None:
    source = '=== system\nBegin.\n{% include "untrusted.jinja" %}\nGo on.\n=== user\n'
    prompt = _read(source + '{% include "thesis.jinja" %}\nEnd.')
    assert prompt.variables == {"thesis"}
    system, user = prompt.messages(thesis=Thesis("Evil doesn't exist."))
    begin, inserted, go_on = system.content.splitlines()
    assert begin == "Begin."
    assert inserted
    assert go_on == "Go on."
    plain = prompt.messages(thesis=Thesis("Evil exists."))[1].content.splitlines()
    assert len(user.content.splitlines()) == len(plain) == 3
    assert user.content.splitlines()[1] != plain[1], "the opposite of a negated thesis is written"
    with expect_error(r"\.\./secret\.jinja"):
        _read('=== user\n{% include "../secret.jinja" %}')


@with_cases(("thesis", "opposite"), "models/opposites.tsv")
def test_the_opposite_of_one_negated_clause_alone_is_written_out(
    thesis: str, opposite: str
) -> None:
    prompt = Prompt("position", '=== user\n{% include "thesis.jinja" %}\n')
    (message,) = prompt.messages(thesis=Thesis(thesis))
    assert ("you defend" in message.content) is bool(opposite)
    assert f'"{opposite}"' in message.content or not opposite


def test_a_prompt_is_shortened_by_half_of_its_oldest_lines() -> None:
    prompt = _read("=== user\n{{ lines | join(' ') }} {{ end }}")
    shorten = drop_oldest(prompt, "lines", {"lines": list("abcde"), "end": "!"})
    assert shorten(()) == (Message("user", "d e !"),)
    assert shorten(()) == (Message("user", "e !"),)
    assert shorten(()) is None
