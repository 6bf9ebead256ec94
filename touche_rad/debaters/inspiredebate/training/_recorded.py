"""Training samples from recorded debates of any debater."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.debate import Debate
from touche_rad.debaters._asking import Wording
from touche_rad.debaters.inspiredebate._conversation import (
    Shows,
    conversation,
    of_argument,
    split_blocks,
)
from touche_rad.debaters.inspiredebate._speech import ReasonedArgument, refused
from touche_rad.debaters.inspiredebate.training._samples import (
    TrainingData,
    TrainingSample,
    answer_of,
    digest,
    hold_out,
    is_trace,
    json_records,
    messages_at,
    read_records,
    samples_of_trace,
    trace_of,
)
from touche_rad.errors import InputError, UserError
from touche_rad.files.traces import read_trace
from touche_rad.text import clean, count_words, sentences
from touche_rad.users.contest_views import REASONING, SAMPLED, sided_view

WORDS: Final = 60
"""Words of an answer that a rebuilt prompt allows."""


Answers = Sequence[tuple[str, Debate]]
"""The answers in a debate: the speaker of each, and the debate as this speaker saw it up to it."""


def answered_in_contest(contest: Contest) -> Answers:
    """Return the answers of both speakers of a contest; those of more speakers are not used."""
    if len(contest.speakers) != 2:
        return []
    speakers: Sequence[str] = contest.speakers
    if SAMPLED in contest.rest:  # the speeches before are those of other contests
        speakers = [contest.speeches[-1].speaker]
    answers = []
    for speaker in speakers:
        answers += [(speaker, view) for view in sided_view(contest, speaker).views()]
    return answers[-1:] if SAMPLED in contest.rest else answers


@dataclass
class Reader:
    """Turns responses into samples.

    A traced response is used with the prompt and the reasoning of its call. Another response gets
    the prompt that the debater would send, with its cited arguments as the evidence.
    """

    wording: Wording = "close"
    traced: list[TrainingSample] = field(default_factory=list)
    """The answers in the traces of runs, with their reasoning."""
    left_out: Counter[str] = field(default_factory=Counter)

    def learn(self, paths: Iterable[Path]) -> None:
        """Read the given traces, and the traces of the given runs."""
        for path in paths:
            trace = path if is_trace(first_record(path)) else trace_of(path)
            if trace:
                self.traced += samples_of_trace(read_trace(trace), trace.name)

    def _traced(self, content: str, utterance: str) -> TrainingSample | None:
        """Return the traced answer that has all sentences of a response, without its others."""
        message = clean(utterance)[:200]
        parts = [_plain(part) for part in sentences(clean(content))]
        matching = []
        for sample in self.traced:
            argument = _plain(sample.argument)
            if message in sample.prompt[-1].content and all(part in argument for part in parts):
                matching.append(sample)
        best = min(matching, key=lambda sample: len(sample.argument), default=None)
        if not best:
            return None
        speech = ReasonedArgument.model_validate_json(best.answer)
        shortened = speech.model_copy(update={"argument": content})
        return replace(best, answer=shortened.model_dump_json(exclude_unset=True))

    def sample(self, view: Debate, source: str) -> TrainingSample | None:
        """Return the sample of the last turn; None if there is none, and count why."""
        response = view.last.response
        reasoning, content = split_blocks(clean(view.last.answer))
        if not response or not content:
            self.left_out["no response"] += 1
            return None
        if refused(content):
            self.left_out["a refusal"] += 1
            return None
        before = view.before_response()
        from_trace = self._traced(content, before.last.utterance)
        origin: dict[str, Any] = {
            "debate": view.key,
            "turn": len(view.turns) - 1,
            "side": view.side,
            "source": source,
            # Without our own earlier answers: judged runs of recorded debates contain each run's
            # own answers, while every run answered the recorded ones.
            "history": digest(turn.utterance for turn in before.turns),
        }
        if from_trace:
            return replace(from_trace, **origin)
        beside = response.extra.get(REASONING)
        shows: Shows = "both" if reasoning else "argument"
        reasoning = reasoning or (clean(beside) if isinstance(beside, str) else "")
        if not reasoning:
            self.left_out["no reasoning"] += 1
            return None
        evidence = [of_argument(argument) for argument in response.arguments]
        # The prompt must not teach the model to exceed its limit.
        words = max(WORDS, ceil(count_words(content) / 10) * 10)
        prompt = conversation(before, evidence, words=words, wording=self.wording, shows=shows)
        numbers = range(1, len(evidence) + 1) if self.wording == "close" else None
        return TrainingSample(prompt, answer_of(reasoning, content, numbers), **origin)

    def samples(self, answers: Answers, source: str) -> Iterator[tuple[str, TrainingSample]]:
        """Yield the samples of the answers in a debate, each with its speaker."""
        if not answers:
            self.left_out["a debate of more than two"] += 1
        for speaker, view in answers:
            sample = self.sample(view, source)
            if sample:
                yield speaker, replace(sample, topic=clean(view.thesis))


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
    messages = first.get("messages")
    opening = messages[0] if isinstance(messages, list) and messages else None
    if is_trace(first):
        yield from samples_of_trace(read_trace(path), path.name)
    elif isinstance(opening, dict) and opening.get("role") == "system":
        # Training data: messages in files of debates have no system message.
        for number, record in read_records(path):
            *prompt, last = messages_at(record.get("messages"), path, number, "messages")
            if last.role != "assistant" or not prompt:
                raise InputError(
                    path, "the last message must be the assistant's", line=number, field="messages"
                )
            yield TrainingSample(
                tuple(prompt),
                last.content,
                str(record.get("debate", number)),
                int(record.get("turn") or 0),
                str(record.get("side", "con")),
                path.name,
                digest(message.content for message in prompt),
                str(record.get("topic", "")),
            )
    elif files.detect_kind(path) is files.Kind.CONTESTS:
        for contest in files.read_contests(path):
            for _, sample in reader.samples(answered_in_contest(contest), path.name):
                yield sample
    else:
        for _, views in files.read_views(path):
            for view in views:
                answer = reader.sample(view, path.name)
                if answer:
                    yield answer


def read_answers(
    sources: Sequence[Path], wording: Wording, *, share: float, seed: int
) -> TrainingData:
    """Read the recorded answers of files, and hold a share of their topics out."""
    reader = Reader(wording=wording)
    reader.learn(sources)
    by_text: dict[tuple[object, str], TrainingSample] = {}
    for sample in chain.from_iterable(recorded(reader, path) for path in sources):
        key = (sample.prompt, sample.answer)
        earlier = by_text.get(key)  # a run and its trace have the same answers
        by_text[key] = earlier if earlier and earlier.topic else sample
    samples = list(by_text.values())
    if not samples:
        reasons = (
            ", ".join(f"{name}: {count}" for name, count in reader.left_out.items())
            or "the files contain none"
        )
        raise UserError(
            f"no usable answers ({reasons}); record answers with "
            "their reasoning: respond -d inspiredebate -m URL#MODEL"
        )
    topics = {sample.topic or sample.prompt[0].content for sample in samples}

    def group(sample: TrainingSample) -> str:
        """Group by topic; if all samples have the same topic, by debate."""
        if len(topics) > 1:
            return sample.topic or sample.prompt[0].content
        return sample.debate

    training, out = hold_out(samples, group, share, seed)
    counts = {
        "answers": len(samples),
        "debates": len({sample.debate for sample in samples}),
        "topics": len(topics),
        "left_out": dict(reader.left_out),
    }
    return TrainingData(
        [sample.record() for sample in training], [sample.record() for sample in out], counts
    )
