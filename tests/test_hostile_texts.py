"""Texts that kept a quadratic pattern busy for minutes are read at once.

The sizes are fixed. A reader takes a second; after a minute of the processor the test is killed.
"""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from pydantic import BaseModel

from judges.debatrix import speeches
from judges.inspirescore import fol
from tests.records import read_table, write_records
from tests.report.makers import make_debate, write_evaluations
from tests.terminal import touche_rad
from touche_rad import errors, text
from touche_rad.criteria import grice
from touche_rad.debate import MOST_CHARACTERS, Argument, Debate, Maxim, Response, Verdict
from touche_rad.debaters.grounded import _polarity as polarity
from touche_rad.evidence import quotable
from touche_rad.evidence.instructions import flagged_sentences
from touche_rad.evidence.quotable import missing_context
from touche_rad.models.output import NoObject, parse_object
from touche_rad.plugins import LoadedDebater, LoadedJudge
from touche_rad.runs.answering import Answerer
from touche_rad.runs.judging import judge_view
from touche_rad.serve._bodies import ChatRequest
from touche_rad.serve.app import to_debate

LENGTH = 30_000
UNITS = (*'!|.| |."|A. B. |Mr. X |U.S. |1.|a.com| a-b|(|[a](|![|<!--|```|“|1|, |-|...'.split("|"),)
UNITS += ("\n", "a\u0301", "\x1b]", "is this so? ")


class Numbered(BaseModel):
    number: int


def _parse(reply: str) -> None:
    with suppress(NoObject):
        parse_object(reply, Numbered)


def _search(*patterns: object) -> Callable[[str], object]:
    return lambda hostile: [sum(1 for _ in pattern.finditer(hostile)) for pattern in patterns]  # type: ignore[attr-defined]


READERS: dict[str, Callable[[str], object]] = {
    "sentences": text.sentences,
    "clean": text.clean,
    "printable": text.printable,
    "cut": lambda said: text.cut_to_words(said, 60),
    "words": text.content_words,
    "quotation": lambda said: quotable.quotation(said[:MOST_CHARACTERS], 45, 45),
    "missing context": missing_context.__wrapped__,
    "polarity": lambda said: polarity.side.__wrapped__(said, said),
    "reply of a model": _parse,
    "sentences of a speech": _search(speeches._SENTENCE),
    "instructions": flagged_sentences.__wrapped__,
    "formula": fol._NAME.fullmatch,
    "number": errors._LAST_NUMBER.search,
}


@pytest.mark.parametrize("reader", READERS)
def test_a_long_text_of_one_unit_is_read_at_once(reader: str) -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    for unit in UNITS:
        for end in ("", "x"):
            READERS[reader](unit * (LENGTH // len(unit)) + end)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class Reader:
    """A debater and a judge that keep what they get."""

    def __init__(self) -> None:
        self.seen: list[Debate] = []

    def answer(self, debate: Debate) -> Response:
        self.seen.append(debate)
        return Response(content="No.")

    def judge(self, view: Debate) -> dict[Maxim, Verdict]:
        self.seen.append(view)
        return {maxim: Verdict(score=1.0) for maxim in Maxim}


def test_debaters_and_judges_get_the_beginning_of_a_very_long_text() -> None:
    long, reader = "word " * MOST_CHARACTERS, Reader()
    response = Response(content=long, arguments=(Argument(id="1", text=long),))
    debate = Debate().with_utterance(long).with_response(response)
    anyio.run(judge_view, LoadedJudge(reader), debate, grice())
    anyio.run(Answerer([LoadedDebater(reader, "reader")]).answer, debate.with_utterance(long))
    for seen in reader.seen:
        assert seen.turns[0].response is not None
        texts = (*(turn.utterance for turn in seen.turns), seen.turns[0].response.content)
        assert {len(text) for text in texts} == {MOST_CHARACTERS}
        assert len(seen.turns[0].response.arguments[0].text) == MOST_CHARACTERS


RED = "rangers \x9b31mred \u202ed\x7f"
ASKING = 'name = "mine"\n[kind]\nquestion = "Which?"\nanswers = ["\\u009bred", "blue"]\n'


@pytest.mark.parametrize("line", [line for (line,) in read_table("printing_calls.tsv")])
def test_what_is_printed_does_not_control_the_terminal(line: str) -> None:
    argument = {"id": "1", "topic": RED, "text": RED, "attacks": "Zoos should be closed."}
    write_records("arguments.jsonl", argument)
    touche_rad("index arguments.jsonl -o index")
    Path("asking.toml").write_text(ASKING)
    debate = make_debate(("U", "S.", RED)).model_copy(update={"id": RED})
    write_evaluations("judged.jsonl", [debate])
    printed = touche_rad(*shlex.split(line)).out
    assert printed.replace("\n", "").isprintable()
    assert "red" in printed


def test_a_debate_of_usual_length_is_passed_on_as_it_is() -> None:
    debate = Debate().with_utterance("Zoos should be closed.")
    assert debate.as_served() is debate


def test_many_messages_of_one_role_are_joined_at_once() -> None:
    message = {"role": "user", "content": "x" * 4_000}
    request = ChatRequest.model_validate({"messages": [message] * 4_000})
    assert len(to_debate(request).last.utterance) == 4_000 * 4_001 - 1
