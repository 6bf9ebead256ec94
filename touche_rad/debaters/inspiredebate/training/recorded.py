"""Training samples from recorded debates of any debater."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import anyio
from pydantic import BaseModel, Field

from touche_rad import files
from touche_rad.contest import SYSTEM, Contest, Side, to_contest
from touche_rad.debate import Debate, Response, Turn
from touche_rad.debaters.inspiredebate.conversation import Wording, conversation
from touche_rad.debaters.inspiredebate.evidence import of_argument
from touche_rad.debaters.inspiredebate.speech import refused, split_blocks
from touche_rad.debaters.inspiredebate.training.samples import (
    Sample,
    answer_of,
    digest,
    messages_at,
    read_records,
)
from touche_rad.debaters.inspiredebate.training.traces import (
    TracedAnswers,
    is_trace,
    rows_of,
    trace_of,
    traced,
)
from touche_rad.errors import InputError, UserError
from touche_rad.models import Message, Model, ModelError, Prompt
from touche_rad.models.output import Page
from touche_rad.text import clean
from touche_rad.users.perspective import OPENING, cited_in, seen_by

Whence = Literal["given", "cited", "teacher"]


class Hindsight(BaseModel):
    """The answer of a teacher model."""

    reasoning: Page = Field(min_length=1)


def given(response: Response) -> str:
    """Return the reasoning that a file contains for a response, or an empty text."""
    said = (response.model_extra or {}).get("reasoning")
    return clean(said) if isinstance(said, str) else ""


def cited(response: Response) -> str:
    """Return the texts that a response cites, as its reasoning."""
    return " ".join(
        f"{clean(one.supports)} {clean(one.text)}".strip() for one in response.arguments
    )[:1_900]


def ask_teacher(
    model: Model,
    asked: Sequence[tuple[Sequence[Message], str]],
    report: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Ask a teacher for the reasoning of each argument; an empty text if it fails."""

    async def all_of_them() -> list[str]:
        try:
            found = await model.ask_all(
                [lambda one=one: _ask_teacher(model, *one) for one in asked],  # type: ignore[misc]
                report,
            )
        finally:
            await model.close()
        return ["" if isinstance(one, ModelError) else one for one in found]

    return anyio.run(all_of_them)


async def _ask_teacher(model: Model, prompt: Sequence[Message], argument: str) -> str:
    """Ask for the reasoning from a debate to an argument."""
    said = [one.content for one in prompt if one.role != "system"]
    messages = Prompt.load(__package__, "hindsight").messages(
        debate=said[:-1], asked=said[-1], argument=argument
    )
    return clean((await model.ask(messages, Hindsight, step="train.reasoning")).reasoning)


@dataclass(frozen=True)
class Part:
    """One speaker's answers in a debate."""

    speaker: str
    side: Side
    asked: Side
    """The side in the speaker's prompt; in debates of this project, all argue against a claim."""
    views: tuple[Debate, ...]
    """The debate up to each answer."""


@dataclass(frozen=True)
class Played:
    """A recorded debate: the answers of each side."""

    motion: str
    parts: tuple[Part, ...]


def of_task(debate: Debate, views: Sequence[Debate]) -> Played:
    """Return a debate of the shared task; only the system's answers are used."""
    return Played(to_contest(debate).motion, (Part(SYSTEM, "con", "con", tuple(views)),))


def of_contest(contest: Contest) -> Played:
    """Return a contest of two speakers; contests of more speakers have no usable answers."""
    if len(contest.speakers) != 2:
        return Played(contest.motion, ())
    ours = OPENING in (contest.model_extra or {})
    parts = []
    for speaker in contest.speakers:
        side = contest.sides[speaker]
        whole = seen_by(contest, speaker) if ours else _answered_by(speaker, contest)
        views = (whole.view(at) for at, turn in enumerate(whole.turns) if turn.response is not None)
        parts.append(Part(speaker, side, "con" if ours else side, tuple(views)))
    return Played(contest.motion, tuple(parts))


def _answered_by(speaker: str, contest: Contest) -> Debate:
    """Return a contest from the view of one speaker; the first speaker answers the motion."""
    turns: list[Turn] = []
    waiting: list[str] = []
    for speech in contest.speeches:
        if speech.speaker != speaker:
            waiting.append(split_blocks(speech.text)[1])
            continue
        said = Response(
            content=speech.text, arguments=tuple(cited_in(speech)), **_extras(speech.model_extra)
        )
        turns.append(Turn(utterance="\n".join(waiting) or contest.motion, response=said))
        waiting = []
    return Debate(id=contest.id, claim=contest.motion, turns=tuple(turns))


def _extras(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the additional fields of a speech that a response has too."""
    return {key: value for key, value in (given or {}).items() if key == "reasoning"}


@dataclass
class Reader:
    """Turns responses into samples.

    A traced response is used with the prompt and the reasoning of its call. Another response gets
    the prompt that the debater would send, with its cited arguments as the evidence.
    """

    whence: Whence = "given"
    words: int = 60
    wording: Wording = "close"
    answers: TracedAnswers = field(default_factory=TracedAnswers)
    left_out: Counter[str] = field(default_factory=Counter)

    def sample(self, debate: Debate, turn: int, source: str, side: Side = "con") -> Sample | None:
        """Return the sample of a turn; None if there is none, and count why."""
        response = debate.turns[turn].response
        shown, content = split_blocks(clean(response.content)) if response is not None else ("", "")
        if response is None or not content:
            self.left_out["no response"] += 1
            return None
        if refused(content):
            self.left_out["a refusal"] += 1
            return None
        asked = debate.before_response(turn)
        traced = self.answers.find(content, asked.last.utterance)
        history = _history(asked)
        if traced is not None:
            return replace(
                traced, debate=debate.key, turn=turn, side=side, source=source, history=history
            )
        prompt = conversation(
            asked, [of_argument(one) for one in response.arguments], side=side, words=self.words,
            wording=self.wording,
        )  # fmt: skip
        thought, whence = shown or given(response), "given"
        if not thought and self.whence == "cited":
            thought, whence = cited(response), "cited"
        if not thought and self.whence == "teacher":
            whence = "teacher"
        elif not thought:
            self.left_out["no reasoning"] += 1
            return None
        answer = answer_of(thought, content) if thought else content
        return Sample(prompt, answer, debate.key, turn, side, source, whence, history)

    def samples(self, part: Part, motion: str, source: str) -> Iterator[Sample]:
        """Yield the samples of one side's answers in a debate."""
        for view in part.views:
            sample = self.sample(view, len(view.turns) - 1, source, part.asked)
            if sample is not None:
                yield replace(sample, side=part.side, topic=clean(motion))

    def add_reasoning(
        self,
        samples: Sequence[Sample],
        teacher: Model | None,
        report: Callable[[int, int], None] | None = None,
    ) -> dict[int, Sample]:
        """Ask the teacher for missing reasoning; return the samples by their position."""
        found = {at: one for at, one in enumerate(samples) if one.reasoning != "teacher"}
        wanting = [at for at, one in enumerate(samples) if one.reasoning == "teacher"]
        if not wanting:
            return found
        if teacher is None:
            raise UserError("--reasoning teacher needs a language model: add -m URL#MODEL")
        asked = [(samples[at].prompt, samples[at].answer) for at in wanting]
        for at, thought in zip(wanting, ask_teacher(teacher, asked, report), strict=True):
            if thought:
                found[at] = replace(samples[at], answer=answer_of(thought, samples[at].answer))
            else:
                self.left_out["the teacher failed"] += 1
        return dict(sorted(found.items()))


def _history(asked: Debate) -> str:
    """Return a digest of the opponent's messages.

    Our own earlier answers are not included: judged runs of recorded debates contain each run's own
    answers, while every run answered the recorded ones.
    """
    return digest(turn.utterance for turn in asked.turns)


def first_record(path: Path) -> Mapping[str, Any]:
    """Return the first record of a JSONL file, or an empty one."""
    try:
        return next((record for _, record in read_records(path)), {})
    except InputError:
        return {}


def learn_traces(reader: Reader, paths: Iterable[Path]) -> None:
    """Read the given traces, and the traces of the given runs."""
    for path in paths:
        if not path.is_file():
            raise UserError(f"{path}: the file does not exist")
        trace = path if is_trace(first_record(path)) else trace_of(path)
        if trace is not None:
            reader.answers.add(traced(rows_of(trace), trace.name))


def recorded(reader: Reader, path: Path) -> Iterator[Sample]:
    """Yield the samples of a file: a trace, training data, or a run."""
    first = first_record(path)
    if is_trace(first):
        yield from traced(rows_of(path), path.name)
    elif _is_data(first):
        yield from _training_data(path)
    elif files.detect_kind(path) is files.Kind.CONTESTS:
        for contest in files.read_contests(path):
            played = of_contest(contest)
            if not played.parts:
                reader.left_out["a debate of more than two"] += 1
            for part in played.parts:
                yield from reader.samples(part, played.motion, path.name)
    else:
        for _, views in files.read_views(path):
            for view in views:
                sample = reader.sample(view, len(view.turns) - 1, path.name)
                if sample is not None:
                    yield sample


def _is_data(first: Mapping[str, Any]) -> bool:
    """Whether a record is a chat with a system message, which files of debates do not have."""
    messages = first.get("messages")
    opening = messages[0] if isinstance(messages, list) and messages else None
    return isinstance(opening, dict) and opening.get("role") == "system"


def _training_data(path: Path) -> Iterator[Sample]:
    for number, record in read_records(path):
        messages = messages_at(record.get("messages"), path, number, "messages")
        if messages[-1].role != "assistant" or len(messages) < 2:
            raise InputError(
                path, "the last message must be the assistant's", line=number, field="messages"
            )
        yield Sample(
            messages[:-1], messages[-1].content, str(record.get("debate", number)),
            int(record.get("turn") or 0), str(record.get("side", "con")), path.name,
            str(record.get("reasoning", "given")), digest(one.content for one in messages[:-1]),
            str(record.get("topic", "")),
        )  # fmt: skip
