"""What was really asked and answered: the debater's calls, read from the traces of runs.

A trace has the reasoning that never goes out, and the very prompt that the debater will send again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from touche_rad.debaters.inspiredebate.speech import Speech, refused
from touche_rad.debaters.inspiredebate.training.samples import Sample, answer_of, digest
from touche_rad.models import Message
from touche_rad.models.output import NoObject, parse_object
from touche_rad.text import clean

ENDING: Final = ".trace.jsonl"
_BEGINNING: Final = 40
"""Letters by which answers are looked up; the whole of them decides."""
STEPS: Final = ("inspiredebate.speech", "inspiredebate.again")


def is_trace(first: Mapping[str, Any]) -> bool:
    """Whether a record is a line of a trace."""
    return {"step", "asked", "answer"} <= set(first)


def traced(rows: Iterable[Mapping[str, Any]], source: str) -> Iterator[Sample]:
    """Yield each turn's prompt with its last valid answer; what refuses is left out."""
    prompts: dict[tuple[str, int], tuple[Message, ...]] = {}
    answers: dict[tuple[str, int], Speech] = {}
    for row in rows:
        asked = row.get("asked")
        if row.get("step") not in STEPS or row.get("fault") or not isinstance(asked, Mapping):
            continue
        place = (str(row.get("debate", "")), int(row.get("turn") or 0))
        messages = tuple(
            Message(one["role"], str(one["content"])) for one in asked.get("messages", ())
        )
        if row["step"] == STEPS[0]:
            before = prompts.get(place)
            if before is None or messages[: len(before)] != before:  # no repair, but asked anew
                prompts[place] = messages
                answers.pop(place, None)
        try:
            speech = parse_object(_said(row["answer"]), Speech)
        except NoObject:
            continue
        if not refused(speech.argument) or place not in answers:
            answers[place] = speech
    for place, speech in answers.items():
        if place in prompts and not refused(speech.argument):
            prompt = prompts[place]
            yield Sample(
                prompt, answer_of(speech.reasoning, speech.argument), *place, source=source,
                history=digest(_heard(prompt)),
            )  # fmt: skip


def _heard(prompt: tuple[Message, ...]) -> Iterator[str]:
    """Yield what the opponent said: not what was asked of the model, and not what was found."""
    for one in prompt:
        if one.role == "user":
            yield one.content.partition("\n\n")[0]


def _said(answer: Any) -> str:
    """Return what the model said, whether it came from the server or from the cache."""
    if not isinstance(answer, Mapping):
        return ""
    if "said" in answer:
        return str(answer["said"])
    try:
        return str(answer["choices"][0]["message"]["content"])
    except (KeyError, IndexError, TypeError):
        return ""


@dataclass
class Thoughts:
    """Traced answers by their words, so that a run's responses find the reasoning behind them."""

    _by_words: dict[str, list[Sample]] = field(default_factory=lambda: defaultdict(list))

    def learn(self, samples: Iterable[Sample]) -> None:
        """Remember answers."""
        for sample in samples:
            self._by_words[_plain(sample.spoken)[:_BEGINNING]].append(sample)

    def behind(self, content: str, utterance: str) -> Sample | None:
        """Return the traced answer that went out as this response, with the words that did.

        An answer of too many words went out cut at a sentence's end; what merely begins alike is
        another answer.
        """
        said, wanted = clean(utterance)[:200], _plain(content)
        held = [
            one
            for one in self._by_words.get(wanted[:_BEGINNING], ())
            if said in one.prompt[-1].content and _plain(one.spoken).startswith(wanted)
        ]
        best = min(held, key=lambda one: len(one.spoken), default=None)
        if best is None:
            return None
        reasoning = Speech.model_validate_json(best.answer).reasoning
        return replace(best, answer=answer_of(reasoning, content))


def _plain(text: str) -> str:
    return " ".join(clean(text).lower().removesuffix("…").split())


def beside(path: Path) -> Path | None:
    """Return the trace that lies beside a run, if one does."""
    trace = path.with_name(path.name + ENDING)
    return trace if trace.is_file() else None


def rows_of(path: Path) -> Iterator[Mapping[str, Any]]:
    """Read a trace; a line that a killed run left torn is passed over."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                yield row
