"""Answer a turn: the selected debater, then its fallbacks, then `NOTHING_FOUND`.

The guard makes every answer valid, or refuses it: length, citations, and fields. It does not
improve answers: their content is the debater's task.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain
from typing import Any, Final
from weakref import proxy

from pydantic import ValidationError

from touche_rad.calls import Caller, Calls, CallTimeout, ModelUse, Observe, call_context
from touche_rad.debate import (
    FALLBACK,
    MOST_CHARACTERS,
    NOTHING_FOUND,
    Argument,
    Debate,
    Response,
    writable,
)
from touche_rad.errors import describe
from touche_rad.events import Event, EventKind
from touche_rad.files.records import drop_keys
from touche_rad.frozen import frozen
from touche_rad.lists import runs_of
from touche_rad.plugins import (
    ArgumentIndex,
    Configured,
    LoadedDebater,
    Once,
    Services,
    registered,
)
from touche_rad.plugins.loaded import Explain
from touche_rad.runs.fallbacks import ANSWERS, FailureLog, Fallback, InvalidResult, fallback_for
from touche_rad.text import (
    clean,
    content_words,
    count_words,
    cut_to_words,
    is_blank,
    packaged_table,
    plain_words,
    words,
)

LAST_RESORT: Final = "last-resort"
"""The name of the fixed last answer."""

_FALLBACK_SECONDS = 2.0
"""Least time limit of a fallback."""


@frozen
class Answer:
    """A valid response, the debater that gave it, and events on failures and changes."""

    response: Response
    by: str
    """The name of the debater that gave it, or `LAST_RESORT`."""
    debater: LoadedDebater | None = None
    """This debater; None for the fixed last answer."""
    events: tuple[Event, ...] = ()
    fallback: Fallback | None = None
    """Why the answer is not from the selected debater, or was made without its model."""


@dataclass
class Answerer:
    """Answers any debate with a response that has passed the guard; never raises."""

    chain: Sequence[LoadedDebater]
    """The selected debater, then its fallbacks."""
    index: ArgumentIndex | None = None
    """The index that must contain every cited argument; None checks no citation."""
    _: KW_ONLY
    max_words: int = 60
    """Word limit of an answer, cut at sentence ends; 0 = no limit."""
    deadline: float | None = None
    """Time limit of the selected debater in seconds, from the start of its work.

    Each fallback has a quarter of it, at least two seconds, and never more than the selected
    debater.
    """
    within: float | None = None
    """Time limit in seconds of the selected debater with the time that it waits while too many
    answers are being made. What it waited is taken from its deadline."""
    _call: Calls = field(default_factory=Calls)
    _call_first: Calls = field(default_factory=Calls)
    """Fallbacks and finished answers do not wait behind the selected debater's queue."""
    _failures: FailureLog = field(default_factory=FailureLog)
    """Where failures are reported to that no caller asks for."""

    @property
    def name(self) -> str:
        """The name of the selected debater."""
        return self.chain[0].name if self.chain else LAST_RESORT

    async def answer(
        self,
        debate: Debate,
        sided: Debate | None = None,
        *,
        failures: FailureLog | None = None,
        observe: Observe | None = None,
    ) -> Answer:
        """Answer the last turn of a debate.

        `failures` gets each fallback with its cause, `observe` each search and model call.
        """
        failures = failures or self._failures
        events: list[Event] = []
        cause: Exception | None = None
        without_model = False
        debate = debate.as_served()
        sided = sided and sided.as_served()
        for place, debater in enumerate(self.chain):
            use = ModelUse(observe=observe)
            seconds = self.deadline
            within = self.within
            call = self._call
            if place:  # a fallback has less time, and does not wait
                within = None
                call = self._call_first
                if seconds is not None:
                    seconds = min(seconds, max(_FALLBACK_SECONDS, seconds / 4))
            caller = Caller(debater.name, debate.key, len(debate.turns) - 1)
            try:
                view = sided if sided and debater.takes_sides else debate
                with call_context(caller=caller, use=use):
                    result = await call(debater.answer, view, seconds=seconds, within=within)
                    # In a thread: an index may be on another machine.
                    response, changes = await self._call_first(
                        guard, result, self.index, self.max_words, seconds=seconds
                    )
                _check_words(response, debate, use.prompts)
            except Exception as error:
                failure = error
                if isinstance(error, CallTimeout):  # events name Python's class
                    failure = TimeoutError(str(error)).with_traceback(error.__traceback__)
                events.append(
                    Event(
                        kind=EventKind.FALLBACK,
                        plugin=debater.name,
                        detail=describe(failure),
                    )
                )
                cause = cause or failure
                continue
            finally:
                for of_other_plugin in use.fallbacks:
                    failures.add(*of_other_plugin)
            if not place and use.failure:
                cause = use.failure
                without_model = True
                events.append(EventKind.WITHOUT_MODEL.event(f"{debater.name}: {describe(cause)}"))
            answer = Answer(response, debater.name, debater, (*events, *changes))
            break
        else:
            response, _ = guard(Response(content=NOTHING_FOUND), None, self.max_words)
            events.append(EventKind.LAST_RESORT.event("no debater answered"))
            answer = Answer(response, LAST_RESORT, events=tuple(events))
            cause = cause or Refused("there is no debater")
        if not cause:
            return answer
        fallback = fallback_for(
            f"debater {self.name}",
            self.chain[0].module if self.chain else "",
            cause,
            by=answer.by,
            what=ANSWERS,
            turn=len(debate.turns),
            without_model=without_model,
        )
        failures.add(fallback, cause)
        response = answer.response
        marked = response.replace(extra={**response.extra, **fallback.mark})
        return replace(answer, response=marked, fallback=fallback)


def make_answerer(
    debater: Configured[LoadedDebater],
    services: Services,
    max_words: int = 60,
    deadline: float | None = None,
    within: float | None = None,
) -> Answerer:
    """Make the selected debater with its fallbacks; see `Answerer`.

    Raises:
        UserError: A requirement of the debater is missing.
        WorkError: The debater cannot be made.
    """
    chain = [debater.make(services)]
    selected = debater.plugin.name
    plugins = registered("debater")
    # A fallback must not wait for the model that just failed.
    without_model = replace(services, model=None)
    if not services.model or "model" not in debater.plugin.uses:
        plugins.pop(selected)
    for name in packaged_table(__package__, "fallbacks.toml")["debaters"]:
        plugin = plugins.get(name)
        if plugin and not plugin.missing(index=services.index is not None):
            shown_name = f"{name} without a model" if name == selected else name
            chain.append(FallbackDebater(shown_name, partial(plugin.make, without_model)))
    return Answerer(chain, services.index, max_words=max_words, deadline=deadline, within=within)


class FallbackDebater(LoadedDebater):
    """A fallback debater, which is made when it answers for the first time."""

    def __init__(self, name: str, make: Callable[[], LoadedDebater]) -> None:
        self._make = Once(make)
        super().__init__(proxy(self), name)  # a reference to itself would keep indexes open

    def answer(self, debate: Debate) -> Response | Awaitable[Response]:
        """Answer the user's last message."""
        return self._make().answer(debate)

    @cached_property
    def explain(self) -> Explain | None:
        """As that of the debater."""
        return self._make().explain


class Refused(InvalidResult):
    """An answer that cannot be made valid; the next fallback answers."""


def guard(
    response: Response, index: ArgumentIndex | None, max_words: int
) -> tuple[Response, tuple[Event, ...]]:
    """Return a valid answer, with an event for each change of its content.

    Raises:
        Refused: The answer is empty, or not a response.
    """
    try:
        # It may also be a dict, or a record that was made without validation.
        response = Response.model_validate(
            vars(response) if isinstance(response, Response) else response
        )
    except ValidationError as error:
        problem = error.errors()[0]
        path = ".".join(map(str, problem["loc"])) or "response"
        raise Refused(f"the answer is not a response: {path}: {problem['msg']}") from None
    answer = clean(response.content[:MOST_CHARACTERS])
    events: list[Event] = []
    if len(response.content) > MOST_CHARACTERS:
        events.append(
            EventKind.CUT.event(f"{len(response.content)} characters to {MOST_CHARACTERS}")
        )

    # Each citation stays once, with the record of the index, so that a debater cannot change what
    # it cites. Fields that the record does not have, such as the official `key` and `score`, stay.
    cited: dict[str, Argument | None] = {}
    for citation in response.arguments:
        if citation.id in cited:
            events.append(EventKind.REPEATED_ARGUMENT.event(repr(citation.id)))
            continue
        argument: Argument | None = citation
        if index is not None:
            argument = index.get(citation.id)
        if not argument:
            events.append(EventKind.UNKNOWN_ARGUMENT.event(f"{citation.id!r} is not in the index"))
        else:
            further = drop_keys(citation.model_extra or {}, argument.model_extra or {})
            argument = argument.model_copy(update=further) if further else argument
            record = dict(argument)
            valid = writable(record)
            if len(valid) < len(record):
                events += _unwritable(record, valid, f"argument {argument.id!r}")
                texts = {name: clean(record[name]) for name in ("id", "text")}
                argument = Argument(**{**texts, **valid})
        cited[citation.id] = argument
    arguments = [argument for argument in cited.values() if argument]

    # A cut answer loses each argument that only the complete one uses. An answer uses an argument
    # if it contains a word that no other cited argument has. An argument that shares no such word
    # with the complete answer stays.
    content = cut_to_words(answer, max_words) if max_words else answer
    if is_blank(content.removesuffix("…")):
        raise Refused("the answer is empty")
    if content != answer:
        events.append(EventKind.CUT.event(f"{count_words(answer)} words to {count_words(content)}"))
        words_of = {argument.id: set(content_words(argument.text)) for argument in arguments}
        uses = Counter(chain.from_iterable(words_of.values()))
        words_before = set(content_words(answer))
        words_after = set(content_words(content))
        for argument in list(arguments):
            only_here = {word for word in words_of[argument.id] if uses[word] == 1}
            if only_here & words_before and not only_here & words_after:
                events.append(EventKind.ARGUMENT_CUT.event(repr(argument.id)))
                arguments.remove(argument)

    fields_besides = drop_keys(response.extra, (FALLBACK,))  # which only a fallback gets
    extra = writable(fields_besides)
    if len(extra) < len(fields_besides):
        events += _unwritable(fields_besides, extra, "response")
    return Response(content=content, arguments=tuple(arguments), extra=extra), tuple(events)


def _unwritable(fields: Mapping[str, Any], valid: Mapping[str, Any], whose: str) -> list[Event]:
    """Return an event for each field that a file cannot hold."""
    return [
        EventKind.UNWRITABLE_FIELD.event(f"{key!r} of the {whose}")
        for key in fields
        if key not in valid
    ]


def _check_words(response: Response, debate: Debate, prompts: Set[str]) -> None:
    """Check that the answer of a model is no text of a prompt and no part of a user's message.

    Raises:
        Refused: It contains a run of words of a prompt, or all its words are a run of a message.
    """
    if not prompts:
        return
    runs = _runs(response.content)
    if any(not runs.isdisjoint(_prompt_runs(prompt)) for prompt in prompts):
        raise Refused("the answer repeats the instructions of a prompt")
    answer = plain_words(response.content)
    messages = (plain_words(turn.utterance) for turn in debate.turns)
    if " " in answer and any(f" {answer} " in f" {message} " for message in messages):
        raise Refused("the answer only repeats words of the user")


_WORDS_OF_RUN: Final = 8
"""Consecutive words of a prompt that no answer has by chance."""


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(runs_of(words(text), _WORDS_OF_RUN))


@cache
def _prompt_runs(template: str) -> frozenset[tuple[str, ...]]:
    """Return the runs of words of a prompt file that are not interrupted by a value."""
    parts = re.split(r"\{[{%#].*?[}%#]\}|=== \w+", template, flags=re.DOTALL)
    return frozenset().union(*map(_runs, parts))
