"""One training sample: the prompt and the answer with its reasoning; and the held-out split.

Traces of runs contain the reasoning, which is not part of a response, and the exact prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter, ValidationError

from touche_rad import files
from touche_rad.debaters.inspiredebate._speech import Correction, ReasonedArgument, refused
from touche_rad.errors import InputError, refuse_newer
from touche_rad.files.records import (
    FieldError,
    at_line,
    numbered_lines,
    parse,
    path_beside,
    refuse_links_out,
    require_object,
)
from touche_rad.files.traces import TRACE, answer_text
from touche_rad.frozen import frozen
from touche_rad.lists import T
from touche_rad.models import Message
from touche_rad.models.output import NoObject, parse_object
from touche_rad.text import digest_of_text

FORMAT: Final = 1
"""The format of training data and preferences; each record has it."""
_FIRST_STEP: Final = "inspiredebate.speech"
_STEPS: Final = (_FIRST_STEP, "inspiredebate.corrected_speech")
"""The model calls of the debater whose answers are speeches."""
_CHAT: Final = TypeAdapter(Annotated[tuple[Message, ...], Field(min_length=1)])


def hold_out(
    records: Sequence[T], group: Callable[[T], str], share: float, seed: int
) -> tuple[list[T], list[T]]:
    """Split records into training and held-out records; no group is in both parts.

    With at least two groups and a share above 0, each part has at least one group.
    """

    def random_place(name: str) -> str:
        """Depend on the seed and the name alone, not on the order of the records."""
        return digest_of_text(f"{seed}\n{name}")

    groups = sorted(set(map(group, records)), key=random_place)
    count = round(share * len(groups))
    if share > 0 and len(groups) > 1:
        count = min(max(count, 1), len(groups) - 1)
    held_out_groups = set(groups[:count])
    training = [record for record in records if group(record) not in held_out_groups]
    return training, [record for record in records if group(record) in held_out_groups]


@frozen
class TrainingData:
    """The records of a training, and counts of them and of what was left out."""

    training: Sequence[Mapping[str, Any]]
    held_out: Sequence[Mapping[str, Any]]
    counts: Mapping[str, Any]


@frozen
class TrainingSample:
    """A prompt and an answer, with their origin."""

    prompt: tuple[Message, ...]
    answer: str
    """The answer that the model should give: JSON, reasoning first."""
    debate: str = ""
    turn: int = 0
    side: str = "con"
    source: str = ""
    history: str = field(default="", repr=False)
    """A digest of the opponent's messages so far; samples with the same digest answer the same."""
    topic: str = ""
    """The motion, if the debate is a contest."""

    @property
    def argument(self) -> str:
        """The argument without the reasoning; text that is not such JSON is the argument itself."""
        try:
            return ReasonedArgument.model_validate_json(self.answer).argument
        except ValueError:
            return self.answer

    def record(self) -> dict[str, Any]:
        """Return the record for a file of training data: chat messages, the answer last."""
        messages = [
            *(message.wire() for message in self.prompt),
            {"role": "assistant", "content": self.answer},
        ]
        record = {
            "messages": messages,
            "debate": self.debate,
            "turn": self.turn,
            "side": self.side,
            "source": self.source,
        }
        return {**record, "topic": self.topic} if self.topic else record


def answer_of(reasoning: str, argument: str, evidence: Iterable[int] | None = None) -> str:
    """Return an answer in the format that the debater asks for; only `close` names evidence."""
    numbers = {} if evidence is None else {"evidence": list(evidence)}
    return json.dumps({"reasoning": reasoning, **numbers, "argument": argument}, ensure_ascii=False)


def digest(texts: Iterable[str]) -> str:
    """Return a digest of texts that ignores case and spaces."""
    plain = json.dumps([" ".join(text.lower().split()) for text in texts])
    return digest_of_text(plain, 16)


def write_records(path: Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Write a JSONL file atomically, with the format in each record; return their number."""
    count = 0
    with files.atomic_write(path) as stream:
        for record in records:
            stream.write(json.dumps({**record, "format": FORMAT}, ensure_ascii=False) + "\n")
            count += 1
    return count


def read_records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the records of training data with their line numbers; refuse newer formats."""
    for number, record in json_records(path):
        refuse_newer(path, record, FORMAT)
        yield number, record


def json_records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects of any JSONL file with their line numbers."""
    for number, line in numbered_lines(path):
        try:
            yield number, require_object(parse(line))
        except FieldError as miss:
            raise at_line(path, number, miss) from None


def messages_at(value: object, path: Path, line: int, name: str) -> tuple[Message, ...]:
    """Parse chat messages; raise InputError if they are invalid."""
    try:
        return _CHAT.validate_python(value)
    except ValidationError:
        expected = "expected messages with role and content"
        raise InputError(path, expected, line=line, field=name) from None


def is_trace(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of a trace."""
    return {"step", "asked", "answer"} <= set(record)


def samples_of_trace(rows: Iterable[Mapping[str, Any]], source: str) -> Iterator[TrainingSample]:
    """Yield the prompt of each turn with its last valid answer; refusals are skipped."""
    # Both speakers of a debate have the same debate and turn; the system message has the side.
    prompts: dict[tuple[str, int, str], tuple[Message, ...]] = {}
    answers: dict[tuple[str, int, str], ReasonedArgument] = {}
    for row in rows:
        request = row.get("asked")
        if row.get("step") not in _STEPS or row.get("fault") or not isinstance(request, Mapping):
            continue
        messages = tuple(
            Message(message["role"], str(message["content"]))
            for message in request.get("messages", ())
        )
        system = messages[0].content if messages else ""
        place = (str(row.get("debate", "")), int(row.get("turn") or 0), system)
        if row["step"] == _FIRST_STEP:
            before = prompts.get(place)
            if before is None or messages[: len(before)] != before:  # a new request, not a repair
                prompts[place] = messages
                answers.pop(place, None)
        text = answer_text(row["answer"])
        try:
            speech = parse_object(text, ReasonedArgument)
        except NoObject:
            try:
                changes = parse_object(text, Correction).model_dump(exclude_unset=True)
            except NoObject:
                continue
            if place not in answers:
                continue
            # A correction keeps the reasoning.
            speech = ReasonedArgument(**answers[place].model_dump(exclude_unset=True) | changes)
        if not refused(speech.argument) or place not in answers:
            answers[place] = speech
    for place, speech in answers.items():
        if place in prompts and not refused(speech.argument):
            prompt = prompts[place]
            debate, turn, _ = place
            # What the opponent said, without the task and the evidence.
            opponent = [
                message.content.partition("\n\n")[0] for message in prompt if message.role == "user"
            ]
            yield TrainingSample(
                prompt,
                speech.model_dump_json(exclude_unset=True),
                debate,
                turn,
                source=source,
                history=digest(opponent),
            )


def trace_of(path: Path) -> Path | None:
    """Return the trace file of a run, if it exists."""
    trace = path_beside(path, TRACE)
    refuse_links_out(path.parent, [trace])
    return trace if trace.is_file() else None
