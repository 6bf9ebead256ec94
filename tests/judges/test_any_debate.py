"""The judge never raises, says the same twice, and its work grows with the text and no faster."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.grice.grounded import GroundedJudge
from tests.judges.makers import USER, ZOO, debate, judge
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn

ANY_TEXT = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="ab .,;:…?!-\n'’\"()%0159 not", max_size=120),
    st.lists(
        st.sampled_from(
            "zoos animals not never but however you are right … . , : ; ? ! 1 % n't cannot saved "
            "no a few rather than if unless first second of course \ud800 \x00 ﷺ ﬁ İ".split(" ")
        ),
        max_size=40,
    ).map(" ".join),
)
ARGUMENTS = st.lists(
    st.builds(Argument, id=st.text(max_size=3), text=ANY_TEXT, attacks=ANY_TEXT), max_size=4
)
TURNS = st.builds(
    Turn, utterance=ANY_TEXT, response=st.builds(Response, content=ANY_TEXT, arguments=ARGUMENTS)
)
DEBATES = st.builds(Debate, turns=st.lists(TURNS, min_size=1, max_size=3))


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(seen=DEBATES)
def test_every_answered_debate_gets_four_scores(seen):
    verdicts = judge().judge(seen)
    assert set(verdicts) == set(Maxim)
    for verdict in verdicts.values():
        assert verdict.score is not None
        assert 0 <= verdict.score <= 1
        assert verdict.rationale
        assert verdict.rationale.splitlines() == [verdict.rationale]
        verdict.rationale.encode("utf-8")
    assert judge().judge(seen) == verdicts


@given(text=ANY_TEXT.filter(lambda text: any(sign.isascii() and sign.isalnum() for sign in text)))
def test_any_text_quoted_whole_passes_quality_unless_it_claims_nothing(text):
    assert judge().judge(debate(text, text))[Maxim.QUALITY].yes


@pytest.mark.parametrize("seen", [Debate(), Debate(turns=(Turn(utterance="Why?"),))])
def test_what_is_not_answered_has_no_score(seen):
    assert [verdict.score for verdict in judge().judge(seen).values()] == [None] * 4


LONG = {
    "sentences": "Zoos save animals. ",
    "abbreviations": "e.g. ",
    "frames": "but ",
    "stances": "as for a b c, ",
    "negations": "not ",
    "ellipses": "zoos … ",
    "clauses": "zoos save; ",
    "no end": "zoos are not prisons ",
    "one word": "z",
    "stops": ".",
    "numbers": "1,",
    "surrenders": "you are right ",
    "questions": "Why? ",
    "brackets": "((",
    "quotation": f"{ZOO} ",
}


def count_lines_run(seen: Debate, grounded: GroundedJudge) -> int:
    """How many lines of the judge's own code run: its work, whatever the machine."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        file = frame.f_code.co_filename
        return trace if "grounded" in file or "evidence" in file else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        grounded.judge(seen)
    finally:
        sys.settrace(before)
    return count


def debate_with(text: str, where: str) -> Debate:
    if where == "response":
        return debate(text, ZOO)
    if where == "argument":
        return debate("Zoos never save animals or children from cages.", text)
    return debate(ZOO, ZOO, user=text)


@pytest.mark.long
@pytest.mark.parametrize("where", ["response", "argument", "user"])
@pytest.mark.parametrize("kind", LONG)
def test_work_grows_no_faster_than_the_text(kind, where):
    def work(length: int) -> int:
        text = (LONG[kind] * (length // len(LONG[kind]) + 1))[:length]
        return count_lines_run(debate_with(text, where), judge())

    judge().judge(debate(ZOO, ZOO, user=USER))
    assert work(50_000) < 12 * max(work(5_000), 5_000)
