"""The model calls of a turn: search terms; then the reasoning and the argument."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.debaters._asking import Wording, at_most, narrowed, text_of
from touche_rad.debaters.inspiredebate._conversation import (
    topic_of,
    without_oldest,
)
from touche_rad.evidence.guard import CheckedAnswer
from touche_rad.frozen import frozen
from touche_rad.lists import unique
from touche_rad.models import Message, Model, ModelError, Prompt
from touche_rad.models.output import Line, Page, Paragraph, numbers_to, schema_limits
from touche_rad.models.prompts import Thesis, render_dialogue
from touche_rad.text import clean, content_words, count_words, excerpt
from touche_rad.users.contest_views import opens, speaks_first

TERM_WORDS: Final = 4
MAX_MESSAGE: Final = 2_000
"""Maximum letters of a message in the request for search terms."""
RECENT: Final = 3
"""Messages in it: the last one, and what it answers."""


class Terms(BaseModel):
    """The answer: the search terms."""

    terms: list[Line]


async def search_terms(model: Model, debate: Debate, most: int, wording: Wording) -> list[str]:
    """Ask for search terms, from the topic, the position, and what was said.

    With free wording, as in the paper, the opponent's last message alone is shown.
    """
    lines = render_dialogue(debate, max_letters=MAX_MESSAGE)[speaks_first(debate) :]
    messages = Prompt.load(__package__, "keywords").messages(
        most=most,
        longest=TERM_WORDS,
        topic=Thesis(topic_of(debate)),
        side=debate.side,
        wording=wording,
        opponent="" if opens(debate) else clean(debate.last.utterance)[:MAX_MESSAGE],
        recent=lines[-RECENT:],
    )
    limits: object = schema_limits(minItems=1, maxItems=most)
    schema = narrowed("Terms", Terms, terms=Annotated[list[Line], limits])
    answer = await model.ask(messages, schema, step="inspiredebate.keywords")
    short = [" ".join(clean(term).split()[:TERM_WORDS]) for term in answer.terms]
    return unique(filter(content_words, short), key=str.lower)[:most]


def own_words(debate: Debate) -> list[str]:
    """Return the query that is used without a model: the content words of the last message."""
    query = content_words(debate.last.utterance) or content_words(topic_of(debate))
    return [" ".join(query[:30])] if query else []


class ReasonedArgument(BaseModel):
    """The answer: the reasoning comes first, so that the argument follows from it."""

    reasoning: Page = Field(min_length=1)
    evidence: list[int] = []
    argument: Paragraph = Field(min_length=1)


class Correction(BaseModel):
    """A second answer, which is asked for without the reasoning."""

    evidence: list[int] = []
    argument: Paragraph = Field(min_length=1)


class Refused(ModelError):
    """The model answered in the right format, but refused to argue."""


_REFUSAL: Final = re.compile(
    r"^\W*(?:(?:i['’]?m|i am) (?:really |very |so )?(?:sorry|afraid)\W+(?:but )?|sorry\W+(?:but )?"
    r"|unfortunately\W+)?(?:"
    r"i (?:can['’]?t|cannot|can not|won['’]?t|will not|must decline to|refuse to)\s+"
    r"(?:\w+\s+){0,2}?"
    r"(?:provide|help (?:you|with)|assist|argue|generate|create|write|fulfil|comply)"
    r"|(?:i['’]?m|i am) (?:unable|not able|not comfortable)"
    r"|as an? (?:ai|language model|artificial)\b)",
    re.IGNORECASE,
)
"""The beginning of a refusal. An apology, or not supporting a view, is no refusal."""


def refused(text: str) -> bool:
    """Whether a text refuses the task (the paper's appendix B.1)."""
    return _REFUSAL.search(text) is not None


Problem = Literal["refused", "long", "faulty"]


@frozen
class CheckedSpeech:
    """A speech after the checks."""

    speech: ReasonedArgument
    words: int
    cited: tuple[Argument, ...] = ()
    """The arguments that it uses, as far as they are known."""
    checked: CheckedAnswer = field(default_factory=CheckedAnswer)
    """The faults of its sentences; none if they were not checked."""

    @property
    def argument(self) -> str:
        """The argument of the speech."""
        return clean(self.speech.argument)

    @property
    def problem(self) -> Problem | None:
        """Why the model is asked again, if it is."""
        if refused(self.argument) or not self.argument:
            return "refused"
        if count_words(self.argument) > self.words:
            return "long"
        return "faulty" if self.checked.faults else None

    @property
    def quality(self) -> tuple[bool, bool, int]:
        """The order of drafts; the best has the highest."""
        return self.problem != "refused", self.problem is None, -len(self.checked.faults)


async def write_speech(
    model: Model,
    messages: Sequence[Message],
    check: Callable[[ReasonedArgument], Awaitable[CheckedSpeech]],
    *,
    words: int,
    most_cited: int | None,
    pieces: int,
    new_attempts: int,
    sends_refusals: bool,
) -> CheckedSpeech:
    """Ask for a speech; ask again if it refuses, is too long, or has faults.

    Only after a refusal the model reasons again.
    """
    shorten = without_oldest(messages)
    # Without `most_cited`, the answer names no evidence.
    fields: dict[str, Any] = {"argument": text_of(words)}
    if most_cited is not None:
        fields = {"evidence": (at_most(most_cited, numbers_to(pieces)), []), **fields}
    corrected = create_model("Corrected", **fields)
    spoken = create_model("Speech", reasoning=(Page, Field(min_length=1)), **fields)
    tokens = 700 + 2 * words
    answer: BaseModel = await model.ask(
        messages, spoken, step="inspiredebate.speech", shorten=shorten, max_tokens=tokens
    )
    draft = await check(ReasonedArgument.model_validate(answer.model_dump()))
    best = draft
    history = list(messages)
    for _ in range(new_attempts):
        if draft.problem is None:
            break
        # The model sees all its attempts; the last one is not always the best.
        history = Prompt.load(__package__, "again").after(
            history,
            answer,
            problem=draft.problem,
            count=count_words(draft.argument),
            words=draft.words,
            faults=draft.checked.faults,
            names_evidence=most_cited is not None,
        )
        schema: type[BaseModel] = spoken if draft.problem == "refused" else corrected
        try:
            answer = await model.ask(
                history,
                schema,
                step="inspiredebate.corrected_speech",
                max_tokens=tokens,
            )
        except ModelError:
            break
        # What a correction leaves out stays as it was, such as the reasoning.
        corrections = answer.model_dump(exclude_unset=True)
        speech = ReasonedArgument.model_validate(draft.speech.model_dump() | corrections)
        draft = await check(speech)
        best = max(best, draft, key=lambda speech: speech.quality)
    if best.problem == "refused" and not (sends_refusals and best.argument):
        raise Refused(f"{model.name} refuses to argue: {excerpt(best.argument, 80)!r}")
    return best
