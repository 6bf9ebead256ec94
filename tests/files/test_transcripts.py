"""Debates as utterances: sides, moderators, courtesies, free debates; and an index made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import with_cases
from tests.refusals import expect_error
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.demo import demo_file
from touche_rad.errors import InputError
from touche_rad.files.transcripts import argumentative, read_transcript, read_utterances
from touche_rad.plugins import open_index

TRANSCRIPT = """\
Motion: Should zoos be closed?
Moderator: Good evening. The affirmative side begins.
Stage: constructive speeches
Pro-1: Good evening, everyone. Cages harm animals. (applause)
They pace all day.
Moderator: Thank you. Two minutes for the other side.
Con-1 (rebuttal): Thank you, chair. Zoos bred the oryx back from twelve animals.
Con-2 (free debate): So you would let them die?
Stage: free debate
Pro-2: And who put them there?
Stage: closing
Pro-1: My time is up.
Affirmative 3: A cage is no ark.

Topic: Should homework go?
Negative: Practice makes a habit.
"""


@pytest.fixture
def transcript() -> Path:
    path = Path("club.txt")
    path.write_text(TRANSCRIPT)
    return path


def test_moderators_free_debates_and_courtesies_are_left_out(transcript: Path) -> None:
    zoo, homework = read_transcript(transcript)
    assert [speech.speaker for speech in zoo.speeches] == [
        "Pro-1",
        "Con-1",
        "Pro-1",
        "Affirmative 3",
    ]
    assert {argument.id: argument.text for argument in read_utterances(transcript)} == {
        "club-1.1": "Cages harm animals. They pace all day.",
        "club-1.2": "Zoos bred the oryx back from twelve animals.",
        "club-1.4": "A cage is no ark.",
        "club-2.1": "Practice makes a habit.",
    }
    assert homework.motion == "Should homework go?"


def test_an_utterance_is_for_its_side(transcript: Path) -> None:
    pro, con, *_ = read_utterances(transcript)
    motion = "Should zoos be closed?"
    assert pro.supports == motion
    assert pro.attacks == ""
    assert con.supports == ""
    assert con.attacks == motion
    assert dict(con).items() >= {"topic": motion, "side": "con", "speaker": "Con-1"}.items()


@with_cases(("utterance", "argument"), "files/courtesies_of_speakers.json")
def test_what_only_greets_or_counts_the_time_is_no_argument(utterance: str, argument: str) -> None:
    assert argumentative(utterance) == argument


def test_another_text_than_a_transcript_is_refused() -> None:
    path = Path("letter.txt")
    path.write_text("Dear Sir,\n")
    with expect_error("Motion", InputError):
        list(read_transcript(path))


def test_an_index_is_made_of_utterances(transcript: Path) -> None:
    touche_rad("index --utterances -o ix", transcript)
    (hit, *_) = open_index("ix").search("text", "oryx", 3)
    assert hit.argument.id == "club-1.2"


@pytest.mark.parametrize("name", ["contests.jsonl", "debates.jsonl"])
def test_contests_and_debates_have_utterances_too(name: str) -> None:
    contests = list(files.read_contests(demo_file(name)))
    arguments = list(read_utterances(demo_file(name)))
    speeches = sum(len(contest.speeches) for contest in contests)
    assert 0.9 * speeches < len(arguments) <= speeches
    first = contests[0]
    assert arguments[0].id == f"{first.id}.1"
    assert arguments[0].topic == first.motion
    assert dict(arguments[0])["side"] == first.sides[first.speeches[0].speaker]
