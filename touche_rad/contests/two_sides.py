"""Play two debaters on both sides of a claim, with alternating speeches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.contest import Contest, Speech
from touche_rad.debate import Debate, Response
from touche_rad.errors import OptionError
from touche_rad.events import Event
from touche_rad.files.simulations import body_of
from touche_rad.frozen import frozen, frozen_by_name
from touche_rad.plugins import ArgumentIndex, Configured, LoadedDebater, Services
from touche_rad.runs.answering import Answerer, make_answerer
from touche_rad.runs.fallbacks import FailureLog, Fallback, uncited
from touche_rad.runs.jobs import JobSpec
from touche_rad.runs.work import Done, Work
from touche_rad.users.contest_views import SAMPLED, objection, sided_view, task_view

SPEECHES: Final = "speeches"
"""The name of the count of speeches."""
FIRST: Final = "first"
SECOND: Final = "second"
"""The speakers' names; a judge must not see the debaters' names."""
FALLBACK: Final = "by"
"""The field of a speech with the fallback that gave it."""


def debaters_of(contest: Contest) -> dict[str, str]:
    """Return the debater of each speaker; empty if the contest does not name them."""
    names = contest.rest.get("debaters")
    return {str(who): str(name) for who, name in names.items()} if isinstance(names, dict) else {}


@frozen
class Game:
    """A debate to play: `pro` opens and argues for the claim.

    It has the names of the debaters, so that another process can play it with its own ones.
    """

    id: str
    claim: Debate
    pro: str
    con: str


def games(claims: Iterator[Debate], names: Sequence[str]) -> Iterator[Game]:
    """Yield each claim with each ordered pair of debaters."""
    pairs = list(permutations(names, 2)) if len(names) > 1 else [(names[0], names[0])]
    ids: Counter[str] = Counter()
    for number, claim in enumerate(claims, 1):
        key = claim.id or str(number)
        ids[key] += 1
        key = key if ids[key] == 1 else f"{key} ({ids[key]})"
        for pro, con in pairs:
            yield Game(f"{key}: {pro} v {con}", claim, pro, con)


@frozen
class Stage:
    """Plays debates."""

    debaters: Mapping[str, Answerer]
    """The debaters by name; a single one plays against itself."""
    rounds: int
    index: ArgumentIndex | None = None
    samples: Sequence[Mapping[str, Answerer]] = ()
    """The same debaters with other random seeds, which speak beside the first ones."""

    async def play(self, game: Game, failures: FailureLog) -> Done:
        """Play one debate.

        With `samples`, there is a contest for each sample of each speech; the debate goes on with
        the first one.
        """
        contest = Contest(
            id=game.id,
            motion=game.claim.claim,
            info=game.claim.description,
            sides={FIRST: "pro", SECOND: "con"},
            debaters={FIRST: game.pro, SECOND: game.con},
            opening=objection(self.index, game.claim.claim),
        )
        events: list[Event] = []
        fallbacks: list[Fallback] = []
        sampled: list[Contest] = []
        responses: list[Response] = []
        for turn in range(self.rounds):
            for speaker, debater in ((FIRST, game.pro), (SECOND, game.con)):
                before = contest
                for number, debaters in enumerate((self.debaters, *self.samples), 1):
                    version = before
                    if self.samples:
                        id_ = f"{game.id}, speech {len(before.speeches) + 1}, sample {number}"
                        version = before.model_copy(update={"id": id_, SAMPLED: True})
                    view = task_view(version, speaker)
                    sided = sided_view(version, speaker)
                    answer = await debaters[debater].answer(view, sided, failures=failures)
                    responses.append(answer.response)
                    extra = {}
                    if answer.fallback:
                        failures.check(answer.fallback)
                        fallbacks.append(replace(answer.fallback, what=SPEECHES))
                        extra[FALLBACK] = answer.fallback.source
                    speech = Speech(
                        speaker=speaker,
                        text=answer.response.content,
                        arguments=body_of(answer.response)["arguments"],
                        **extra,
                    )
                    version = version.replace(speeches=(*before.speeches, speech))
                    events += (event.at(view.id, turn) for event in answer.events)
                    sampled.append(version)
                    if number == 1:
                        contest = version
        lines = tuple(map(files.contest_line, sampled if self.samples else [contest]))
        counts = {SPEECHES: len(sampled), **uncited(responses)}
        return Done(lines, counts, tuple(events), tuple(fallbacks))


def work(
    source: Path,
    stage: Stage,
    *,
    identity: Mapping[str, Any],
    verb: str = "simulate",
    play: Callable[[Game, FailureLog], Awaitable[Done]] | None = None,
) -> Work[Game]:
    """Return the work of playing every pair of debaters on both sides of every claim."""
    names = list(stage.debaters)

    def read(bad: files.BadLines) -> Iterator[Game]:
        return games(files.read_claims(source, bad), names)

    identity = {**identity, "debaters": names, "rounds": stage.rounds}
    return Work(verb, source, read, play or stage.play, identity)


@frozen_by_name
class ContestsJob(JobSpec):
    """Let each pair of debaters debate each claim, on both sides."""

    verb = "simulate"
    title = "debating"
    debaters: tuple[Configured[LoadedDebater], ...]
    """A single one plays against itself."""
    rounds: int
    """Speeches per side."""
    words: int
    """Maximum words per speech; 0 = no limit."""
    samples: int = 1
    """Answers for each speech."""

    @property
    def plugins(self) -> Sequence[Configured[object]]:
        """The debaters."""
        return self.debaters

    @property
    def needs_index(self) -> bool:
        """Whether a debater does not work without an index; most ask the user for one."""
        return not all(debater.works_without_index for debater in self.debaters)

    @property
    def cites(self) -> bool:
        """Whether speeches have arguments of the index, if there is one."""
        return True

    @property
    def settings(self) -> dict[str, Any]:
        """The length and the number of the speeches."""
        return {"words": self.words, "samples": self.samples}

    def answerers(self, services_of: Callable[[Configured], Services]) -> dict[str, Answerer]:
        """Make the debaters with their fallbacks, by their tags.

        The debater's own `max_words`, if it has this option, is the length of a speech.
        """
        answerers = {}
        for debater in self.debaters:
            configured = debater
            has_option = "max_words" in debater.plugin.options.model_fields
            if self.words and has_option and "max_words" not in debater.texts:
                with suppress(OptionError):
                    configured = debater.plugin.configure(
                        {**debater.texts, "max_words": str(self.words)}
                    )
            answerers[debater.tag] = make_answerer(
                configured, services_of(debater), self.words, self.deadline
            )
        return answerers

    def open(self, services: Services) -> Work[Game]:
        """Make the debaters, which have the model of the services, or another of its server."""
        model = services.model
        if self.samples > 1 and (not model or not model.settings.temperature):
            raise OptionError(
                "samples differ at a temperature above 0 only: add -m URL#MODEL and "
                "-O model.temperature=1"
            )

        def services_of(debater: Configured, number: int = 0) -> Services:
            if not model:
                return services
            name = debater.model[1:] if debater.model else None
            seed = services.seed + number
            own_model = model.copy(name=name, seed=model.settings.seed + number)
            return replace(services, model=own_model, seed=seed)

        samples = [
            self.answerers(partial(services_of, number=number)) for number in range(1, self.samples)
        ]
        stage = Stage(self.answerers(services_of), self.rounds, services.index, samples)
        return work(self.source, stage, identity=self.identity(services))
