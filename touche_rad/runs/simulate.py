"""Simulate: debates between a simulated user and a debater, in the official format."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.debate import Debate
from touche_rad.files.records import dump
from touche_rad.files.simulations import user_turn
from touche_rad.runs.answering import Answerer
from touche_rad.runs.fallbacks import ANSWERS, UTTERANCES, Fallback, fallback_for
from touche_rad.runs.work import Done, Work, at_turn
from touche_rad.users import Speaker, UserSimulator, describe_user


def work(
    source: Path,
    answerer: Answerer,
    user: UserSimulator | Speaker,
    *,
    identity: Mapping[str, Any],
    turns: int = 5,
) -> Work[Debate]:
    """Return the work of simulating a debate on every claim of a file of claims or debates.

    `identity` is what determines the output besides these arguments; `debater` in it names the
    system. A Speaker is a simulated user with a time limit and a fallback.
    """
    speaker = user if isinstance(user, Speaker) else Speaker(user)
    system = str(identity.get("debater", answerer.name))

    async def do(claim: Debate) -> Done:
        """Simulate the debate on one claim."""
        debate = claim.model_copy(update={"turns": (), "wire": {}})
        notes: list[str] = []
        fallbacks: list[Fallback] = []
        for turn in range(turns):
            utterance = await speaker.speak(debate)
            if utterance.error is not None:
                fallbacks.append(_fallback(speaker, utterance.error, turn))
            debate = debate.with_utterance(utterance.utterance)
            answer = await answerer.answer(debate)
            debate = debate.with_response(answer.response)
            notes.extend(at_turn(note, claim, turn) for note in (*utterance.notes, *answer.notes))
            fallbacks += [answer.fallback] if answer.fallback else []
        configuration = {
            "topic": {"description": debate.claim},
            "user": describe_user(speaker.user, debate),
            "maxTurns": turns,
        }
        line = simulation_line(debate, configuration, system)
        return Done((line,), {ANSWERS: turns}, tuple(notes), tuple(fallbacks))

    whole = {"user": speaker.name, **identity, "turns": turns}
    return Work("simulate", source, partial(files.read_claims, source), do, whole)


def _fallback(speaker: Speaker, error: Exception, turn: int) -> Fallback:
    """Return the fallback of an utterance that is not from the selected user."""
    user, by = f"user {speaker.name}", "the user rules"
    return fallback_for(user, speaker.user, error, by=by, what=UTTERANCES, turn=turn + 1)


def simulation_line(debate: Debate, configuration: Mapping[str, Any], system: str) -> str:
    """Return the official line of a debate that `system` answered here.

    It has no times, so that a repeated run is byte-identical.
    """
    whole = {**configuration, "system": {"class": "touche-rad", "debater": system}}
    turns = [user_turn(turn) for turn in debate.turns]
    return dump({"simulation": {"configuration": whole, "userTurns": turns}})
