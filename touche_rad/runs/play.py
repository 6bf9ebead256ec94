"""Respond and simulate: answer recorded debates, or debates with a simulated user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from touche_rad import files
from touche_rad.debate import Debate, Response, Turn
from touche_rad.events import Event
from touche_rad.files.records import dump
from touche_rad.files.simulations import simulation_record, user_turn
from touche_rad.frozen import frozen_by_name
from touche_rad.plugins import Configured, LoadedDebater, Services
from touche_rad.runs.answering import Answerer, make_answerer
from touche_rad.runs.fallbacks import (
    ANSWERS,
    UTTERANCES,
    FailureLog,
    Fallback,
    fallback_for,
    uncited,
)
from touche_rad.runs.jobs import JobSpec
from touche_rad.runs.work import Done, Work
from touche_rad.samples import TURNS
from touche_rad.users import Speaker, UserChoice, UserSimulator, describe_user


def simulate(
    source: Path,
    answerer: Answerer,
    user: UserSimulator | Speaker,
    *,
    identity: Mapping[str, Any],
    turns: int = TURNS,
) -> Work[Debate]:
    """Return the work of simulating a debate on every claim of a file of claims or debates.

    `identity` is what determines the output besides these arguments; `debater` in it names the
    system. A Speaker is a simulated user with a time limit and a fallback.
    """
    speaker = user if isinstance(user, Speaker) else Speaker(user)
    system = str(identity.get("debater", answerer.name))

    async def do(claim: Debate, failures: FailureLog) -> Done:
        """Simulate the debate on one claim."""
        debate = claim.replace(turns=(), wire={})
        events: list[Event] = []
        fallbacks: list[Fallback] = []
        for turn in range(turns):
            utterance = await speaker.speak(debate)
            mark: dict[str, str] = {}
            if utterance.error:
                fallback = fallback_for(
                    f"user {speaker.name}",
                    type(speaker.user).__module__,
                    utterance.error,
                    by="the user rules",
                    what=UTTERANCES,
                    turn=turn + 1,
                )
                failures.add(fallback, utterance.error)
                fallbacks += failures.check(fallback)
                mark = fallback.mark
            debate = debate.with_utterance(utterance.utterance, **mark)
            answer = await answerer.answer(debate, failures=failures)
            debate = debate.with_response(answer.response)
            events += (event.at(claim.id, turn) for event in (*utterance.events, *answer.events))
            if answer.fallback:
                fallbacks += failures.check(answer.fallback)
        configuration = {
            "topic": {"description": debate.claim},
            "user": describe_user(speaker.user, debate),
            "maxTurns": turns,
        }
        line = simulation_line(debate, configuration, system)
        counts = {ANSWERS: turns, **uncited(turn.response for turn in debate.turns)}
        return Done((line,), counts, tuple(events), tuple(fallbacks))

    def claims(bad: files.BadLines) -> Iterator[Debate]:
        """Name each claim as readers of the run name its debate, whose line has no id."""
        for number, claim in enumerate(files.read_claims(source, bad), 1):
            yield claim.replace(id=f"debate-{number}")

    return Work("simulate", source, claims, do, {"user": speaker.name, **identity, "turns": turns})


def simulation_line(
    debate: Debate, configuration: Mapping[str, Any], system: str, **head: str
) -> str:
    """Return the official line of a debate that `system` answered here.

    It begins with the fields of `head`. It has no times, so that a repeated run is byte-identical.
    """
    configuration = {**configuration, "system": {"class": "touche-rad", "debater": system}}
    turns = list(map(user_turn, debate.turns))
    return dump({**head, "simulation": {"configuration": configuration, "userTurns": turns}})


Shape = Literal["responses", "simulations"]


def respond(
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

    async def do(debate: Debate, failures: FailureLog) -> Done:
        """Answer the turns of one debate."""
        events: list[Event] = []
        responses: dict[int, Response] = {}
        fallbacks: list[Fallback] = []
        count = len(debate.turns)
        for turn in range(max(count - 1, 0) if last_only else 0, count):
            answer = await answerer.answer(debate.before_response(turn), failures=failures)
            responses[turn] = answer.response
            events += (event.at(debate.id, turn) for event in answer.events)
            if answer.fallback:
                fallbacks += failures.check(answer.fallback)
        if shape == "responses":
            lines = [
                files.response_line(debate.before_response(turn), turn, response)
                for turn, response in responses.items()
            ]
        else:
            turns = tuple(
                Turn(utterance=turn.utterance, response=responses.get(number, turn.response))
                for number, turn in enumerate(debate.turns)
            )
            record = simulation_record(debate)
            configuration = {
                "topic": {"description": debate.claim},
                "user": {"class": "recorded", "model": debate.user},
                "maxTurns": count,
                **(record["simulation"].get("configuration") or {}),
            }
            head = {"id": debate.id} if "id" in record else {}
            lines = [simulation_line(debate.replace(turns=turns), configuration, system, **head)]
        counts = {ANSWERS: len(responses), **uncited(responses.values())}
        return Done(tuple(lines), counts, tuple(events), tuple(fallbacks))

    return Work(
        "respond",
        source,
        partial(files.read_debates, source),
        do,
        {**identity, "last_only": last_only, "shape": shape},
    )


@frozen_by_name
class _DebaterJob(JobSpec):
    """A run of one debater."""

    debater: Configured[LoadedDebater]
    max_words: int

    @property
    def plugins(self) -> Sequence[Configured[object]]:
        """The debater."""
        return (self.debater,)

    @property
    def needs_index(self) -> bool:
        """Whether the debater does not work without an index; most ask the user for one."""
        return not self.debater.works_without_index

    @property
    def cites(self) -> bool:
        """Whether answers have arguments of the index, if there is one."""
        return True

    @property
    def settings(self) -> dict[str, Any]:
        """The debater and the length of its answers."""
        return {"debater": self.debater.tag, "max_words": self.max_words}


@frozen_by_name
class RespondJob(_DebaterJob):
    """Answer the user turns of recorded debates."""

    verb = "respond"
    title = "responding"
    last_only: bool = False
    shape: Shape = "responses"

    def open(self, services: Services) -> Work[Debate]:
        """Make the debater with its fallbacks."""
        return respond(
            self.source,
            make_answerer(self.debater, services, self.max_words, self.deadline),
            identity=self.identity(services),
            last_only=self.last_only,
            shape=self.shape,
        )


@frozen_by_name
class SimulateJob(_DebaterJob):
    """Play a debate on each claim with a simulated user."""

    verb = "simulate"
    title = "simulating"
    user: UserChoice
    turns: int
    user_services: Services | None = None
    """What the user has instead of the services of the debater."""

    @property
    def plugins(self) -> Sequence[Configured[object]]:
        """The debater and the user."""
        return (self.debater, self.user.configured)

    def for_estimate(self) -> Self:
        """Return the run without the user's endpoint, which is not called for an estimate."""
        return replace(self, user=self.user.without_endpoint())

    def identity(self, services: Services) -> dict[str, Any]:
        """Return what decides the debates."""
        identity = super().identity(services)
        if self.user_services and self.user_services.model:
            identity["user_model"] = self.user_services.model.identity
        return {**identity, **self.user.identity, "turns": self.turns}

    def open(self, services: Services) -> Work[Debate]:
        """Make the debater and the user, each with its fallbacks."""
        return simulate(
            self.source,
            make_answerer(self.debater, services, self.max_words, self.deadline),
            self.user.speaker(self.user_services or services, self.deadline),
            identity=self.identity(services),
            turns=self.turns,
        )
