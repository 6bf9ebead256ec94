"""Training samples from recorded debates of any debater."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal

import anyio
from pydantic import BaseModel, Field

from touche_rad import files
from touche_rad.contest import SYSTEM, Contest, Side, to_contest
from touche_rad.debate import Debate
from touche_rad.debaters._asking import Wording
from touche_rad.debaters.inspiredebate._conversation import (
    conversation,
    of_argument,
    split_blocks,
    topic_of,
)
from touche_rad.debaters.inspiredebate._speech import Speech, refused
from touche_rad.debaters.inspiredebate.training._samples import (
    TrainingData,
    TrainingSample,
    answer_of,
    digest,
    held_out,
    is_trace,
    json_records,
    messages_at,
    read_records,
    trace_of,
    traced,
)
from touche_rad.errors import InputError, UserError
from touche_rad.files.traces import read_trace
from touche_rad.models import Model, ModelError, Prompt
from touche_rad.models.output import Page
from touche_rad.models.prompts import render_dialogue
from touche_rad.text import clean, count_words, sentences
from touche_rad.users.contest_views import REASONING, sided_view

ReasoningSource = Literal["given", "cited", "teacher"]
WORDS: Final = 60
"""Words of an answer that a rebuilt prompt allows."""
_MAX_CITED: Final = 1_900
"""Maximum letters of reasoning that is made of cited texts."""


class Hindsight(BaseModel):
    """The answer of a teacher model."""

    reasoning: Page = Field(min_length=1)


async def ask_teacher(model: Model, sample: TrainingSample) -> str:
    """Ask a teacher for the reasoning of a sample's argument."""
    debate = sample.before
    assert debate is not None
    messages = Prompt.load(__package__, "hindsight").messages(
        motion=sample.topic or topic_of(debate),
        side=sample.side,
        debate=render_dialogue(debate, system="Debater"),
        evidence=[clean(one.text) for one in sample.evidence],
        argument=sample.spoken,
    )
    return clean((await model.ask(messages, Hindsight, step="train.reasoning")).reasoning)


@dataclass(frozen=True)
class Answered:
    """A debate as one speaker saw it, up to one of its answers."""

    speaker: str
    side: Side
    motion: str
    view: Debate


def answered_in_debate(debate: Debate, views: Sequence[Debate]) -> list[Answered]:
    """Return the answers of a debate of the shared task; only the system's are used."""
    motion = to_contest(debate).motion
    return [Answered(SYSTEM, "con", motion, view) for view in views]


def answered_in_contest(contest: Contest) -> list[Answered]:
    """Return the answers of both speakers of a contest; those of more speakers are not used."""
    if len(contest.speakers) != 2:
        return []
    answers = []
    for speaker, side in contest.sides.items():
        whole = sided_view(contest, speaker)
        for at, turn in enumerate(whole.turns):
            if turn.response is not None:
                answers.append(Answered(speaker, side, contest.motion, whole.view(at)))
    return answers


@dataclass
class Reader:
    """Turns responses into samples.

    A traced response is used with the prompt and the reasoning of its call. Another response gets
    the prompt that the debater would send, with its cited arguments as the evidence.
    """

    reasoning: ReasoningSource = "given"
    wording: Wording = "close"
    traced: list[TrainingSample] = field(default_factory=list)
    """The answers in the traces of runs, with their reasoning."""
    left_out: Counter[str] = field(default_factory=Counter)

    def learn(self, paths: Iterable[Path]) -> None:
        """Read the given traces, and the traces of the given runs."""
        for path in paths:
            trace = path if is_trace(first_record(path)) else trace_of(path)
            if trace is not None:
                self.traced += traced(read_trace(trace), trace.name)

    def _traced(self, content: str, utterance: str) -> TrainingSample | None:
        """Return the traced answer that has all sentences of a response, without its others."""
        message = clean(utterance)[:200]
        parts = [_plain(part) for part in sentences(clean(content))]
        matching = [
            one
            for one in self.traced
            if message in one.prompt[-1].content
            and all(part in _plain(one.spoken) for part in parts)
        ]
        best = min(matching, key=lambda one: len(one.spoken), default=None)
        if best is None:
            return None
        speech = Speech.model_validate_json(best.answer)
        shortened = speech.model_copy(update={"argument": content})
        return replace(best, answer=shortened.model_dump_json(exclude_unset=True))

    def sample(self, debate: Debate, turn: int, source: str) -> TrainingSample | None:
        """Return the sample of a turn; None if there is none, and count why."""
        response = debate.turns[turn].response
        reasoning, content = split_blocks(clean(response.content)) if response else ("", "")
        if response is None or not content:
            self.left_out["no response"] += 1
            return None
        if refused(content):
            self.left_out["a refusal"] += 1
            return None
        before = debate.before_response(turn)
        from_trace = self._traced(content, before.last.utterance)
        origin: dict[str, Any] = {
            "debate": debate.key,
            "turn": turn,
            "side": debate.side,
            "source": source,
            # Without our own earlier answers: judged runs of recorded debates contain each run's
            # own answers, while every run answered the recorded ones.
            "history": digest(turn.utterance for turn in before.turns),
        }
        if from_trace is not None:
            return replace(from_trace, **origin)
        beside = response.extra.get(REASONING)
        reasoning = reasoning or (clean(beside) if isinstance(beside, str) else "")
        by: ReasoningSource = "given" if reasoning else self.reasoning
        if by == "cited":
            cited = (clean(f"{one.supports} {one.text}") for one in response.arguments)
            reasoning = " ".join(cited)[:_MAX_CITED]
        if not reasoning and by != "teacher":
            self.left_out["no reasoning"] += 1
            return None
        evidence = [of_argument(one) for one in response.arguments]
        # The prompt must not teach the model to exceed its limit.
        words = max(WORDS, ceil(count_words(content) / 10) * 10)
        prompt = conversation(before, evidence, words=words, wording=self.wording)
        sample = TrainingSample(
            prompt, content, reasoning=by, before=before, evidence=response.arguments, **origin
        )
        return self._with_reasoning(sample, reasoning) if reasoning else sample

    def _with_reasoning(self, sample: TrainingSample, reasoning: str) -> TrainingSample:
        """Return the sample with an answer in the format that its prompt asks for."""
        numbers = range(1, len(sample.evidence) + 1) if self.wording == "close" else None
        return replace(sample, answer=answer_of(reasoning, sample.spoken, numbers))

    def samples(
        self, answers: Sequence[Answered], source: str
    ) -> Iterator[tuple[str, TrainingSample]]:
        """Yield the samples of the answers in a debate, each with its speaker."""
        if not answers:
            self.left_out["a debate of more than two"] += 1
        for one in answers:
            sample = self.sample(one.view, len(one.view.turns) - 1, source)
            if sample is not None:
                yield one.speaker, replace(sample, side=one.side, topic=clean(one.motion))

    def add_reasoning(
        self,
        samples: Sequence[TrainingSample],
        teacher: Model | None,
        report: Callable[[int, int], None] | None = None,
    ) -> dict[int, TrainingSample]:
        """Ask the teacher for missing reasoning; return the samples by their position."""
        complete = dict(enumerate(samples))
        # A sample that is read from training data has its reasoning, and no debate.
        wanting = {
            at: one
            for at, one in complete.items()
            if one.reasoning == "teacher" and one.before is not None
        }
        if not wanting:
            return complete
        if teacher is None:
            raise UserError("--reasoning teacher needs a language model: add -m URL#MODEL")

        async def ask_all() -> list[str | ModelError]:
            calls = [partial(ask_teacher, teacher, one) for one in wanting.values()]
            try:
                return await teacher.ask_all(calls, report)
            finally:
                await teacher.close()

        for at, reasoning in zip(wanting, anyio.run(ask_all), strict=True):
            if isinstance(reasoning, ModelError) or not reasoning:
                del complete[at]
                self.left_out["the teacher failed"] += 1
            else:
                complete[at] = self._with_reasoning(samples[at], reasoning)
        return complete


def _plain(text: str) -> str:
    return " ".join(clean(text).lower().removesuffix("…").split())


def first_record(path: Path) -> Mapping[str, Any]:
    """Return the first record of a JSONL file, or an empty one."""
    try:
        return next((record for _, record in json_records(path)), {})
    except InputError:
        return {}


def recorded(reader: Reader, path: Path) -> Iterator[TrainingSample]:
    """Yield the samples of a file: a trace, training data, or a run."""
    first = first_record(path)
    if is_trace(first):
        yield from traced(read_trace(path), path.name)
    elif _is_data(first):
        yield from _training_data(path)
    elif files.detect_kind(path) is files.Kind.CONTESTS:
        for contest in files.read_contests(path):
            for _, sample in reader.samples(answered_in_contest(contest), path.name):
                yield sample
    else:
        for _, views in files.read_views(path):
            for view in views:
                answer = reader.sample(view, len(view.turns) - 1, path.name)
                if answer is not None:
                    yield answer


def read_answers(
    sources: Sequence[Path],
    reasoning: ReasoningSource,
    wording: Wording,
    teacher: Model | None,
    report: Callable[[int, int], None] | None,
    *,
    share: float,
    seed: int,
) -> TrainingData:
    """Read the recorded answers of files, and hold a share of their topics out."""
    reader = Reader(reasoning=reasoning, wording=wording)
    reader.learn(sources)
    by_text: dict[tuple[Any, str], TrainingSample] = {}
    for one in (one for path in sources for one in recorded(reader, path)):
        earlier = by_text.get((one.prompt, one.answer))  # a run and its trace have the same answers
        by_text[one.prompt, one.answer] = earlier if earlier and earlier.topic else one
    samples = list(reader.add_reasoning(list(by_text.values()), teacher, report).values())
    if not samples:
        reasons = ", ".join(f"{name}: {count}" for name, count in reader.left_out.items())
        raise UserError(
            f"no usable answers ({reasons or 'the files contain none'}); answers without "
            "reasoning need --reasoning cited, or --reasoning teacher with -m"
        )
    topics = {one.topic or one.prompt[0].content for one in samples}

    def group(one: TrainingSample) -> str:
        """Group by topic; if all samples have the same topic, by debate."""
        return (one.topic or one.prompt[0].content) if len(topics) > 1 else one.debate

    training, out = held_out(samples, group, share, seed)
    counts = {
        "answers": len(samples),
        "debates": len({one.debate for one in samples}),
        "topics": len(topics),
        "reasoning": dict(Counter(one.reasoning for one in samples)),
        "left_out": dict(reader.left_out),
    }
    return TrainingData([one.record() for one in training], [one.record() for one in out], counts)


def _is_data(first: Mapping[str, Any]) -> bool:
    """Whether a record is a chat with a system message, which files of debates do not have."""
    messages = first.get("messages")
    opening = messages[0] if isinstance(messages, list) and messages else None
    return isinstance(opening, dict) and opening.get("role") == "system"


def _training_data(path: Path) -> Iterator[TrainingSample]:
    for number, record in read_records(path):
        *prompt, last = messages_at(record.get("messages"), path, number, "messages")
        if last.role != "assistant" or not prompt:
            expected = "the last message must be the assistant's"
            raise InputError(path, expected, line=number, field="messages")
        yield TrainingSample(
            tuple(prompt),
            last.content,
            str(record.get("debate", number)),
            int(record.get("turn") or 0),
            str(record.get("side", "con")),
            path.name,
            str(record.get("reasoning", "given")),
            digest(one.content for one in prompt),
            str(record.get("topic", "")),
        )
