"""Simulate: debates between a simulated user and a debater, in the official format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.debate import Debate
from touche_rad.files.records import dump
from touche_rad.runs.answering import Answerer
from touche_rad.runs.fallbacks import ANSWERS, UTTERANCES, Fallback, fallback_for
from touche_rad.runs.work import Done, Work, at_turn
from touche_rad.users import Speaker, UserSimulator, describe_user
from touche_rad.users.simulator import Utterance


def work(
    source: Path,
    answerer: Answerer,
    user: UserSimulator | Speaker,
    *,
    identity: Mapping[str, Any],
    turns: int = 5,
) -> Work[Debate]:
    """Return the work of simulating a debate on every claim of a file.

    Args:
        source: Claims, or debates whose claims are taken.
        answerer: The debater with its fallbacks.
        user: The simulated user; a Speaker adds a time limit and a fallback.
        identity: What determines the output, without these arguments; `debater` names the system.
        turns: User turns per debate.
    """
    speaker = user if isinstance(user, Speaker) else Speaker(user)
    stage = _Simulation(answerer, speaker, turns, str(identity.get("debater", answerer.name)))
    whole = {"user": speaker.name, **identity, "turns": turns}
    return Work("simulate", source, partial(files.read_claims, source), stage.play, whole)


class _Simulation:
    """Simulates debates."""

    def __init__(self, answerer: Answerer, speaker: Speaker, turns: int, system: str) -> None:
        self.answerer, self.speaker, self.turns, self.system = answerer, speaker, turns, system

    async def play(self, claim: Debate) -> Done:
        """Play one claim to the end."""
        debate = claim.model_copy(update={"turns": (), "wire": {}})
        notes: list[str] = []
        fallbacks: list[Fallback] = []
        for turn in range(self.turns):
            spoken = await self.speaker.speak(debate)
            fallbacks += self._of_user(spoken, turn)
            debate = debate.with_utterance(spoken.utterance)
            answer = await self.answerer.answer(debate)
            debate = debate.with_response(answer.response)
            notes.extend(at_turn(note, claim, turn) for note in (*spoken.notes, *answer.notes))
            fallbacks += [answer.fallback] if answer.fallback else []
        configuration = {
            "topic": {"description": debate.claim},
            "user": describe_user(self.speaker.user, debate),
            "maxTurns": self.turns,
        }
        line = simulation_line(debate, configuration, self.system)
        return Done((line,), {ANSWERS: self.turns}, tuple(notes), tuple(fallbacks))

    def _of_user(self, spoken: Utterance, turn: int) -> list[Fallback]:
        """Return the fallback of an utterance that is not from the selected user."""
        if spoken.error is None:
            return []
        user = f"user {self.speaker.name}"
        by = "the user rules"
        one = fallback_for(
            user, self.speaker.user, spoken.error, by=by, what=UTTERANCES, turn=turn + 1
        )
        return [one]


def simulation_line(debate: Debate, configuration: Mapping[str, Any], system: str) -> str:
    """Return the official line of a debate that `system` answered here.

    It has no times, so that a repeated run is byte-identical.
    """
    bare = debate.model_copy(update={"wire": {}})
    turns = json.loads(files.simulation_line(bare))["simulation"]["userTurns"]
    ours = {**configuration, "system": {"class": "touche-rad", "debater": system}}
    line = {"simulation": {"configuration": ours, "userTurns": turns}}
    return dump(line)
