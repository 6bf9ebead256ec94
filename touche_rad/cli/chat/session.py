"""The state of a chat: the debate, the debater, the judge, and what each answer cost."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from touche_rad.cli import prepare
from touche_rad.cli.options import PluginSpec
from touche_rad.cli.prepare import Selected
from touche_rad.debate import Debate
from touche_rad.errors import OptionError, UserError

if TYPE_CHECKING:
    from touche_rad.models import Model
    from touche_rad.plugins import Judge, Plugin, Services
    from touche_rad.runs.answering import Answer, Answerer
    from touche_rad.runs.judging import ViewVerdicts

OFF: Final = "off"
"""The name that stands for no judge."""


@dataclass(frozen=True)
class Spent:
    """What a piece of work cost."""

    seconds: float = 0.0
    calls: int = 0
    tokens: int = 0
    steps: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Calls and tokens of each step that called the model."""


@dataclass(frozen=True)
class Reply:
    """An answer of this chat, by whom it was asked, and its cost."""

    answer: Answer
    tag: str
    """The debater that was asked, with its options."""
    answerer: Answerer
    spent: Spent


class Session:
    """A debate in progress."""

    def __init__(self, given: Mapping[str, Any], debater: Selected, judge: Selected | None) -> None:
        """Open the index and make the plugins.

        Args:
            given: The values of the command's options.
            debater: The debater.
            judge: The judge, or None.
        """
        self.given = given
        plugins = [one.plugin for one in (debater, judge) if one is not None]
        self._services = prepare.open_services(given, *plugins, index=True)
        self.debate = Debate()
        self.replies: list[Reply | None] = []
        """One per turn; None for turns that were loaded from a file."""
        self.pending = ""
        """A message that has no answer because the answer was stopped or taken back."""
        self.verdicts: ViewVerdicts | None = None
        """The verdicts on the last answer."""
        self._attempts = 0
        self.debater = debater
        self.answerer = self._make_answerer(debater, self._services)
        self.judge: Selected | None = None
        self._judge: Judge | None = None
        self.set_judge(judge)

    @property
    def model(self) -> Model | None:
        """The language model, if one is used."""
        return self._services.model

    @property
    def arguments(self) -> int:
        """The number of arguments in the index."""
        return len(self._services.index or ())

    @property
    def last_reply(self) -> Reply | None:
        """The last answer, if it was given in this chat."""
        return self.replies[-1] if self.replies else None

    def set_debater(self, spec: PluginSpec) -> None:
        """Let another debater answer from now on; the debate goes on."""
        debater = prepare.select("debater", spec)
        services = self._services_for(debater.plugin)
        self.answerer = self._make_answerer(debater, services)
        self.debater = debater

    def _make_answerer(self, debater: Selected, services: Services) -> Answerer:
        """Make an answerer that logs no failures: the notices of its answers name them."""
        from touche_rad.runs.stand_ins import FailureLog

        answerer = prepare.make_answerer(self.given, debater, services)
        answerer.failures = FailureLog(shows=False)
        return answerer

    def set_judge(self, judge: Selected | None) -> None:
        """Let another judge, or none, judge from now on."""
        made = judge.make(self._services_for(judge.plugin)) if judge is not None else None
        self.judge, self._judge, self.verdicts = judge, made, None

    def _services_for(self, plugin: Plugin) -> Services:
        """Return the services; the model is opened when the first plugin uses it."""
        if self._services.model is None and plugin.uses_model:
            model = prepare.model_for(self.given, plugin)
            self._services = replace(self._services, model=model)
        return self._services

    async def answer(self, message: str) -> Reply:
        """Answer a message. If this is stopped, the message is kept as pending."""
        if self.pending != message:
            self._attempts = 0
        self.pending = message
        debate = self.debate.with_utterance(message)
        answerer = self._next_answerer()
        meter = _Meter(self.model)
        answer = await answerer.answer(debate)
        reply = Reply(answer, self.debater.tag, answerer, meter.spent())
        self.debate = debate.with_response(answer.response)
        self.replies.append(reply)
        self.pending, self.verdicts = "", None
        return reply

    def _next_answerer(self) -> Answerer:
        """Return the answerer; for a further attempt at a message, one with another seed."""
        if not self._attempts:
            return self.answerer
        seed = self.given["seed"] + self._attempts
        services = replace(self._services, seed=seed)
        if services.model is not None:
            services = replace(services, model=services.model.with_settings(seed=seed))
        return self._make_answerer(self.debater, services)

    def undo(self) -> str:
        """Take back the last turn and return its message."""
        if not self.debate.turns:
            raise UserError("there is no turn to take back")
        message = self.debate.last.utterance
        self.debate = self.debate.model_copy(update={"turns": self.debate.turns[:-1]})
        self.replies.pop()
        self.pending, self.verdicts, self._attempts = "", None, 0
        return message

    def retry(self) -> str:
        """Return the message to answer again: the pending one, or that of the last turn."""
        if self.pending:
            return self.pending
        attempts = self._attempts
        self.pending = self.undo()
        self._attempts = attempts + 1
        return self.pending

    async def judge_last(self) -> Spent:
        """Judge the last answer; the verdicts are in `verdicts`."""
        from touche_rad.runs.judging import judge_view

        if self._judge is None:
            raise UserError("there is no judge: /judge NAME")
        meter = _Meter(self.model)
        self.verdicts = await judge_view(self._judge, self.debate, deadline=self.given["deadline"])
        return meter.spent()

    def start(self, debate: Debate) -> None:
        """Go on from a debate; a last turn without response is pending."""
        answered = 0
        while answered < len(debate.turns) and debate.turns[answered].response is not None:
            answered += 1
        rest = debate.turns[answered:]
        self.debate = debate.model_copy(update={"turns": debate.turns[:answered], "wire": {}})
        self.replies = [None] * answered
        self.pending = rest[0].utterance if rest else ""
        self.verdicts, self._attempts = None, 0

    async def close(self) -> None:
        """Close the model's connections."""
        if self.model is not None:
            await self.model.close()


class _Meter:
    """Measures seconds, calls and tokens from its creation on."""

    def __init__(self, model: Model | None) -> None:
        self._model, self._begun = model, time.monotonic()
        self._before = self._steps()

    def _steps(self) -> dict[str, tuple[int, int]]:
        if self._model is None:
            return {}
        return {
            step: (cost.calls, cost.prompt_tokens + cost.completion_tokens)
            for steps in list(self._model.usage.steps.values())
            for step, cost in list(steps.items())
        }

    def spent(self) -> Spent:
        """Return the cost since the creation."""
        seconds = time.monotonic() - self._begun
        steps: dict[str, tuple[int, int]] = {}
        for step, (calls, tokens) in self._steps().items():
            before = self._before.get(step, (0, 0))
            if calls > before[0]:
                steps[step] = calls - before[0], tokens - before[1]
        calls, tokens = (sum(cost[at] for cost in steps.values()) for at in (0, 1))
        return Spent(seconds, calls, tokens, steps)


def select_judge(spec: PluginSpec, options: Mapping[str, str] | None = None) -> Selected | None:
    """Select a judge of responses; `off` is none."""
    if spec.name == OFF and not spec.options:
        return None
    if prepare.is_panel(spec.name):
        raise OptionError(f"{spec.name} judges whole debates; chat needs a judge of responses")
    return prepare.select("judge", spec, options)
