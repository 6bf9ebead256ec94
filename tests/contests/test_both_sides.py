"""Two debaters on both sides of a claim: what each is shown, and what is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.cases import with_cases
from tests.demo import CLAIMS
from tests.records import copy_lines, read_records, read_status
from tests.runs.fakes import ARGUMENTS, Raising, Saying, SmallIndex
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.contests.two_sides import Stage, games
from touche_rad.debate import NOTHING_FOUND, Debate, Response
from touche_rad.plugins import LoadedDebater
from touche_rad.runs.answering import Answerer
from touche_rad.runs.fallbacks import FailureLog
from touche_rad.text import count_words
from touche_rad.users.contest_views import citations, negate, objection, sided_view, task_view

INDEX = SmallIndex()
ZOOS = Debate(id="z", claim="Zoos should be closed.")
Claims = Callable[..., Path]


@pytest.fixture
def claims() -> Claims:
    """A file of the first so many demo claims."""

    def write_claims(count: int = 1) -> Path:
        return copy_lines(CLAIMS, "claims.tsv", count + 1)

    return write_claims


class Echo:
    """Numbers its speeches, and keeps what it was shown."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[Debate] = []

    def answer(self, debate: Debate) -> Response:
        self.seen.append(debate)
        return Response(content=f"{self.name} {len(debate.turns)}.", arguments=ARGUMENTS[:1])


def play_both_sides(*debaters: Any, rounds: int = 2) -> list[Contest]:
    """Play the first pair on both sides."""

    async def play() -> list[str]:
        chains: dict[str, list[LoadedDebater]] = {
            f"d{number}": [
                LoadedDebater(debater, f"d{number}"),
                LoadedDebater(Saying("So be it."), "plain"),
            ]
            for number, debater in enumerate(debaters)
        }
        stage = Stage({name: Answerer(chain) for name, chain in chains.items()}, rounds, INDEX)
        pairs = games(iter([ZOOS]), list(chains))
        games_played = [await stage.play(game, FailureLog()) for game in pairs]
        return [line for done in games_played for line in done.lines]

    return [Contest.model_validate_json(line) for line in anyio.run(play)]


def play_echoes() -> tuple[Echo, Echo, Contest]:
    """Play the first pair with debaters that keep what they saw."""
    ann, ben = Echo("ann"), Echo("ben")
    return ann, ben, play_both_sides(ann, ben)[0]


# --- what a debater sees


def test_the_opponents_speeches_are_the_users_utterances() -> None:
    _, ben, first = play_echoes()
    assert [speech.text for speech in first.speeches] == ["ann 1.", "ben 1.", "ann 2.", "ben 2."]
    con = ben.seen[1]
    assert [turn.utterance for turn in con.turns] == ["ann 1.", "ann 2."]
    assert con.system_texts == ("ben 1.",)
    assert con.last.response is None
    assert con.turns[0].response is not None
    assert con.turns[0].response.arguments[0].id == "1.1"


def test_against_the_motion_the_claim_is_the_motion_and_for_it_its_contrary() -> None:
    ann, ben, _ = play_echoes()
    assert [view.motion for view in ann.seen] == ["Zoos should not be closed."] * 2 + [
        ZOOS.claim
    ] * 2
    assert [view.motion for view in ben.seen] == [ZOOS.claim] * 2 + [
        "Zoos should not be closed."
    ] * 2


def test_who_opens_answers_an_objection_that_the_contest_tells() -> None:
    ann = Echo("ann")
    first, second = play_both_sides(ann, Saying("No."))
    opening = ann.seen[0].last.utterance
    assert opening.endswith("Zoos should not be closed.")
    assert opening.startswith(ARGUMENTS[0].text), "an argument against the claim is quoted"
    assert [contest.model_dump()["opening"] for contest in (first, second)] == [opening] * 2


def test_without_an_index_or_a_fitting_argument_the_contrary_alone_is_to_be_answered() -> None:
    assert objection(None, ZOOS.claim) == "Zoos should not be closed."
    assert objection(INDEX, "Tea should be taxed.") == "Tea should not be taxed."


@with_cases(("claim", "opposed"), "contests/contrary_claims.tsv")
def test_the_contrary_is_negated_only_where_that_is_safe(claim: str, opposed: str) -> None:
    assert negate(claim).startswith(opposed)
    assert bool(negate(claim)) == bool(opposed)


def test_what_a_judge_sees_of_a_played_debate_is_what_the_debater_saw() -> None:
    ann, ben, first = play_echoes()
    for speaker, seen in (("first", ann.seen[:2]), ("second", ben.seen[:2])):
        view = task_view(first, speaker)
        assert [view.before_response(turn) for turn in range(2)] == seen


# --- what is written


def test_sides_are_exchanged_and_the_record_says_who_was_who() -> None:
    records = [
        (contest.model_dump()["debaters"], contest.sides)
        for contest in play_both_sides(Echo("a"), Echo("b"))
    ]
    sides = {"first": "pro", "second": "con"}
    assert records == [
        ({"first": "d0", "second": "d1"}, sides),
        ({"first": "d1", "second": "d0"}, sides),
    ]


def test_a_fallback_is_told_and_the_debate_goes_on() -> None:
    first, _ = play_both_sides(Raising(RuntimeError("no")), Echo("ben"), rounds=1)
    assert [(speech.text, (speech.model_extra or {}).get("by")) for speech in first.speeches] == [
        ("So be it.", "plain"),
        ("ben 1.", None),
    ]


def test_claims_with_one_id_stay_apart() -> None:
    ids = [game.id for game in games(iter([ZOOS, ZOOS, Debate(claim="x")]), "ab")]
    assert len(set(ids)) == len(ids) == 6


# --- the terminal


def simulate(source: Path, out: Path, words: str, code: int = 0) -> None:
    """Play both sides of the claims with the demo's index."""
    touche_rad("simulate", source, *f"--both-sides -i demo -o {out} {words}".split(), code=code)


def test_simulate_writes_contests_that_judge_reads(claims: Claims) -> None:
    out, outcomes = Path("contests.jsonl"), Path("outcomes.jsonl")
    simulate(claims(2), out, "-d grounded --against verbatim --rounds 2 --words 30")
    contests = list(files.read_contests(out))
    assert len(contests) == 4
    for contest in contests:
        assert [speech.speaker for speech in contest.speeches] == ["first", "second"] * 2
        for speech in contest.speeches:
            assert 0 < count_words(speech.text) <= 30
            assert citations(speech) or speech.text == NOTHING_FOUND
    touche_rad("judge -j grice", out, "-o", outcomes)
    scores = {"general", "quantity", "quality", "relation", "manner"}
    for judgement in files.read_outcomes(outcomes):
        assert judgement.outcome.winner in ("first", "second", "tie")
        assert set(judgement.outcome.scores["first"]) == scores


def test_alone_a_debater_plays_itself_once(claims: Claims) -> None:
    out = Path("contests.jsonl")
    simulate(claims(), out, "-d verbatim --rounds 1 --words 0")
    (only,) = read_records(out)
    assert only["debaters"] == {"first": "verbatim", "second": "verbatim"}
    simulate(claims(), out, "-d grounded --rounds 1 --words 15 --replace")
    assert read_status(out)["events"] == [], "no speech is cut"


def test_a_fallback_that_takes_no_sides_sees_a_claim_to_argue_against() -> None:
    class Sided(Echo):
        takes_sides = True

        def answer(self, debate: Debate) -> Response:
            super().answer(debate)
            raise RuntimeError

    sided, plain = Sided("sided"), Echo("plain")
    answerer = Answerer([LoadedDebater(sided, "sided"), LoadedDebater(plain, "plain")])
    contest = Contest(motion=ZOOS.claim, sides={"first": "pro", "second": "con"})

    async def play() -> None:
        await answerer.answer(task_view(contest, "first"), sided_view(contest, "first"))

    anyio.run(play)
    assert sided.seen[0].motion == ZOOS.claim
    assert sided.seen[0].side == "pro"
    assert plain.seen[0].motion == "Zoos should not be closed."
    assert plain.seen[0].side == "con"


@pytest.mark.parametrize("words", ["--against verbatim", "--rounds 2", "--words 9"])
def test_options_for_two_debaters_are_refused_for_one(words: str, claims: Claims) -> None:
    touche_rad("simulate -o o.jsonl", claims(), *words.split(), code=2)


def test_options_of_the_other_debater_stand_in_brackets(claims: Claims) -> None:
    out, words = Path("contests.jsonl"), "--rounds 1 -O frame=false --against"
    simulate(claims(), out, f"{words} grounded(k=5,max_words=20)")
    assert read_records(out)[0]["debaters"] == {
        "first": "grounded(frame=false)",
        "second": "grounded(k=5,max_words=20)",
    }
    assert count_words(read_records(out)[0]["speeches"][1]["text"]) <= 20
    for wrong in ("grounded(k", "grounded(k)", "grounded(kk=5)", "groundet"):
        simulate(claims(), out, f"{words} {wrong}", 2)
