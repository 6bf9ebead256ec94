"""Respond: answer every user turn of recorded debates, given the recorded turns before it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from touche_rad import files
from touche_rad.debate import Debate, Response, Turn
from touche_rad.files.simulations import simulation_record
from touche_rad.runs.answering import Answerer
from touche_rad.runs.fallbacks import ANSWERS, Fallback
from touche_rad.runs.simulate import simulation_line
from touche_rad.runs.work import Done, Work, at_turn

Shape = Literal["responses", "simulations"]


def work(
    source: Path,
    answerer: Answerer,
    *,
    identity: Mapping[str, Any],
    last_only: bool = False,
    shape: Shape = "responses",
) -> Work[Debate]:
    """Return the work of answering the user turns of every debate in a file.

    `identity` is what determines the output besides these arguments; `debater` in it names the
    system. The shape is one response a line, or whole debates with each response replaced by ours.
    """
    system = str(identity.get("debater", answerer.name))

    async def do(debate: Debate) -> Done:
        """Answer the turns of one debate."""
        notes: list[str] = []
        responses: dict[int, Response] = {}
        fallbacks: list[Fallback] = []
        count = len(debate.turns)
        for turn in range(max(count - 1, 0) if last_only else 0, count):
            answer = await answerer.answer(debate.before_response(turn))
            responses[turn] = answer.response
            notes.extend(at_turn(note, debate, turn) for note in answer.notes)
            fallbacks += [answer.fallback] if answer.fallback else []
        if shape == "simulations":
            lines: tuple[str, ...] = (_simulation(debate, responses, system),)
        else:
            lines = tuple(
                files.response_line(debate.before_response(turn), turn, response)
                for turn, response in responses.items()
            )
        return Done(lines, {ANSWERS: len(responses)}, tuple(notes), tuple(fallbacks))

    whole = {**identity, "last_only": last_only, "shape": shape}
    return Work("respond", source, partial(files.read_debates, source), do, whole)


def _simulation(debate: Debate, responses: Mapping[int, Response], system: str) -> str:
    turns = tuple(
        Turn(utterance=turn.utterance, response=responses.get(place, turn.response))
        for place, turn in enumerate(debate.turns)
    )
    recorded = simulation_record(debate)["simulation"].get("configuration") or {}
    configuration = {
        "topic": {"description": debate.claim},
        "user": {"class": "recorded", "model": debate.user},
        "maxTurns": len(turns),
        **recorded,
    }
    return simulation_line(debate.model_copy(update={"turns": turns}), configuration, system)
