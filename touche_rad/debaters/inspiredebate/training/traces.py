"""Training samples from the traces of runs.

A trace contains the reasoning, which is not part of a response, and the exact prompt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from touche_rad.debaters.inspiredebate.speech import Speech, refused
from touche_rad.debaters.inspiredebate.training.samples import TrainingSample, digest
from touche_rad.files.traces import TRACE, answer_text
from touche_rad.models import Message
from touche_rad.models.output import NoObject, parse_object
from touche_rad.text import clean, sentences

_KEY_LETTERS: Final = 40
"""Letters of a sentence by which answers are looked up; then whole answers are compared."""
STEPS: Final = ("inspiredebate.speech", "inspiredebate.again")


def is_trace(first: Mapping[str, Any]) -> bool:
    """Whether a record is a line of a trace."""
    return {"step", "asked", "answer"} <= set(first)


def traced(rows: Iterable[Mapping[str, Any]], source: str) -> Iterator[TrainingSample]:
    """Yield the prompt of each turn with its last valid answer; refusals are skipped."""
    # Both speakers of a debate have the same debate and turn; the system message has the side.
    prompts: dict[tuple[str, int, str], tuple[Message, ...]] = {}
    answers: dict[tuple[str, int, str], Speech] = {}
    for row in rows:
        asked = row.get("asked")
        if row.get("step") not in STEPS or row.get("fault") or not isinstance(asked, Mapping):
            continue
        messages = tuple(
            Message(one["role"], str(one["content"])) for one in asked.get("messages", ())
        )
        system = messages[0].content if messages else ""
        place = (str(row.get("debate", "")), int(row.get("turn") or 0), system)
        if row["step"] == STEPS[0]:
            before = prompts.get(place)
            if before is None or messages[: len(before)] != before:  # a new request, not a repair
                prompts[place] = messages
                answers.pop(place, None)
        try:
            speech = parse_object(answer_text(row["answer"]), Speech)
        except NoObject:
            continue
        if not refused(speech.argument) or place not in answers:
            answers[place] = speech
    for place, speech in answers.items():
        if place in prompts and not refused(speech.argument):
            prompt, (debate, turn, _) = prompts[place], place
            yield TrainingSample(
                prompt,
                speech.model_dump_json(exclude_unset=True),
                debate,
                turn,
                source=source,
                history=digest(_opponent_texts(prompt)),
            )


def _opponent_texts(prompt: tuple[Message, ...]) -> Iterator[str]:
    """Yield the opponent's messages, without the task and the evidence."""
    for one in prompt:
        if one.role == "user":
            yield one.content.partition("\n\n")[0]


@dataclass
class TracedAnswers:
    """Traced answers by their text, to find the reasoning of a run's responses."""

    _by_sentence: dict[str, list[TrainingSample]] = field(default_factory=lambda: defaultdict(list))

    def add(self, samples: Iterable[TrainingSample]) -> None:
        """Add answers."""
        for sample in samples:
            for sentence in sentences(clean(sample.spoken)):
                self._by_sentence[_plain(sentence)[:_KEY_LETTERS]].append(sample)

    def find(self, content: str, utterance: str) -> TrainingSample | None:
        """Return the traced answer of a response, with the response as its argument.

        The response may lack sentences of the answer; it has no others.
        """
        message = clean(utterance)[:200]
        parts = [_plain(part) for part in sentences(clean(content))]
        matching = [
            one
            for one in self._by_sentence.get(parts[0][:_KEY_LETTERS] if parts else "", ())
            if message in one.prompt[-1].content
            and all(part in _plain(one.spoken) for part in parts)
        ]
        best = min(matching, key=lambda one: len(one.spoken), default=None)
        if best is None:
            return None
        speech = Speech.model_validate_json(best.answer)
        shortened = speech.model_copy(update={"argument": content})
        return replace(best, answer=shortened.model_dump_json(exclude_unset=True))


def _plain(text: str) -> str:
    return " ".join(clean(text).lower().removesuffix("…").split())


def trace_of(path: Path) -> Path | None:
    """Return the trace file of a run, if it exists."""
    trace = path.with_name(path.name + TRACE)
    return trace if trace.is_file() else None
