"""The revision loop: a draft is summarised, judged and rewritten until it passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel, Field

from touche_rad.debaters.rdebater.budget import Allowance
from touche_rad.debaters.rdebater.writing import Brief, Candidate, speech
from touche_rad.models import Model, ModelError, Prompt, drop_oldest
from touche_rad.models.errors import OverBudget
from touche_rad.models.output import Line, Paragraph
from touche_rad.text import clean, words

FEW = Field(json_schema_extra={"maxItems": 4})
TWO = Field(json_schema_extra={"maxItems": 2})


class Summary(BaseModel):
    """The debate with the candidate in it, as the judgement sees it."""

    overview: Paragraph
    supporting: list[Line] = FEW
    opposing: list[Line] = FEW
    divergences: list[Line] = FEW


class Judgement(BaseModel):
    """The three criteria, and what is wrong where one is not met."""

    stance_faithfulness: bool
    argumentative_relevance: bool
    scheme_compliance: bool
    feedback: Paragraph = ""


class Modified(BaseModel):
    """What the text modification answers."""

    utterance: str = Field(min_length=1)


class Short(Summary):
    """The summary as the lean profile writes it, before the rest of its answer."""

    overview: Line
    supporting: list[Line] = TWO
    opposing: list[Line] = TWO
    divergences: list[Line] = TWO


class Check(BaseModel):
    """The lean profile's answer: summary, judgement and, where needed, the text anew."""

    summary: Short
    judgement: Judgement
    numbers: list[int] = Field(default=[], json_schema_extra={"maxItems": 9})
    utterance: str = ""


@dataclass(frozen=True)
class Verdict:
    """J and ρ of one candidate."""

    criteria: dict[str, bool]
    feedback: str
    violations: tuple[str, ...] = ()
    """What code found against the task's rules."""

    @property
    def accepted(self) -> bool:
        """J: computed from the criteria and the rules, never taken from the model."""
        return all(self.criteria.values()) and not self.violations

    @property
    def met(self) -> int:
        """How many criteria are met, the rules as one of them."""
        return sum(self.criteria.values()) + (not self.violations)

    @property
    def told(self) -> str:
        """ρ: the violations that code found, and the model's words."""
        failed = [name.replace("_", " ") for name, met in self.criteria.items() if not met]
        named = [f"Not met: {', '.join(failed)}."] if failed else []
        return " ".join([*named, *self.violations, *([self.feedback] if self.feedback else [])])


def verdict(found: Judgement, violations: Sequence[str], *, schemes: bool) -> Verdict:
    """Return the verdict; without schemes there is no compliance to be judged."""
    criteria = {
        "stance_faithfulness": found.stance_faithfulness,
        "argumentative_relevance": found.argumentative_relevance,
    }
    if schemes:
        criteria["scheme_compliance"] = found.scheme_compliance
    return Verdict(criteria, clean(found.feedback), tuple(violations))


class Gate(Protocol):
    """What a candidate must pass."""

    async def judged(
        self, candidate: Candidate, violations: Sequence[str]
    ) -> tuple[Summary | None, Verdict]:
        """Summarise the debate with the candidate in it, and judge the candidate."""
        ...

    async def modified(self, candidate: Candidate, found: Verdict) -> Candidate:
        """Return the candidate with what was found mended."""
        ...


class Separate:
    """The paper's three agents, a call each."""

    def __init__(self, model: Model, brief: Brief, allowance: Allowance, *, once: bool) -> None:
        """`once` keeps the first candidate's summary for those after it."""
        self._model = model
        self._brief = brief
        self._allowance = allowance
        self._once = once
        self._summary: Summary | None = None

    async def judged(
        self, candidate: Candidate, violations: Sequence[str]
    ) -> tuple[Summary | None, Verdict]:
        """Call the Debate Summarization Agent, then the Judgement Agent."""
        if self._summary is None or not self._once:
            self._summary = await self._summarised(candidate)
        self._allowance.take()
        told = self._brief.told
        messages = Prompt.load(__package__, "judgement").messages(
            stance=told["stance"], schemes=told["schemes"], summary=self._summary,
            candidate=candidate.text,
        )  # fmt: skip
        found = await self._model.ask(messages, Judgement, step="rdebater.judgement")
        return self._summary, verdict(found, violations, schemes=bool(self._brief.schemes))

    async def _summarised(self, candidate: Candidate) -> Summary:
        self._allowance.take()
        prompt = Prompt.load(__package__, "summary")
        told = self._brief.told
        values = {
            "dialogue": told["dialogue"], "stance": told["stance"], "candidate": candidate.text,
        }  # fmt: skip
        return await self._model.ask(
            prompt.messages(**values), Summary, step="rdebater.summary",
            shorten=drop_oldest(prompt, "dialogue", values),
        )  # fmt: skip

    async def modified(self, candidate: Candidate, found: Verdict) -> Candidate:
        """Call the Text Modification Agent with the utterance and the feedback."""
        self._allowance.take()
        messages = Prompt.load(__package__, "modification").messages(
            stance=self._brief.told["stance"], words=self._brief.words, feedback=found.told,
            candidate=candidate.text,
        )  # fmt: skip
        schema = speech(Modified, "utterance", self._brief.words)
        answer: Modified = await self._model.ask(messages, schema, step="rdebater.modification")
        return Candidate(clean(answer.utterance), candidate.named)


class AtOnce:
    """All three steps in one call; what was modified is handed out without another."""

    def __init__(self, model: Model, brief: Brief, allowance: Allowance) -> None:
        self._model = model
        self._brief = brief
        self._allowance = allowance
        self._next = Candidate("")

    async def judged(
        self, candidate: Candidate, violations: Sequence[str]
    ) -> tuple[Summary | None, Verdict]:
        """Ask for the summary, the judgement and the text anew."""
        self._allowance.take()
        prompt = Prompt.load(__package__, "check")
        values = {
            **self._brief.told, "candidate": candidate.text, "violations": list(violations),
        }  # fmt: skip
        answer: Check = await self._model.ask(
            prompt.messages(**values), speech(Check, "utterance", self._brief.words),
            step="rdebater.check", shorten=drop_oldest(prompt, "dialogue", values),
        )  # fmt: skip
        named = self._brief.named(answer.numbers) or candidate.named
        self._next = Candidate(clean(answer.utterance), named)
        found = verdict(answer.judgement, violations, schemes=bool(self._brief.schemes))
        return answer.summary, found

    async def modified(self, candidate: Candidate, found: Verdict) -> Candidate:
        """Return what came with the judgement; nothing, where the model wrote nothing."""
        return self._next


Stop = Literal["accepted", "revisions", "repeated", "budget", "model", "unasked"]
Rules = Callable[[Candidate], Sequence[str]]


@dataclass(frozen=True)
class Attempt:
    """A candidate, and what was found of it if it was judged."""

    candidate: Candidate
    summary: Summary | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Revised:
    """All attempts in order, why the loop ended, and which of them stands."""

    attempts: tuple[Attempt, ...]
    stop: Stop

    @property
    def accepted(self) -> bool:
        """Whether what stands met all criteria."""
        return self.stop == "accepted"

    def best(self, rules: Rules) -> Candidate:
        """Return what is said.

        The accepted one; else a last revision that could not be judged any more, if it breaks no
        rule, since it was made against what was found; else the one that met most, the later.
        """
        last = self.attempts[-1]
        if self.accepted or (last.verdict is None and not rules(last.candidate)):
            return last.candidate
        judged = [one for one in self.attempts if one.verdict is not None] or [last]
        return max(
            reversed(judged), key=lambda one: one.verdict.met if one.verdict else 0
        ).candidate


async def revised(first: Candidate, gate: Gate, rules: Rules, most: int) -> Revised:
    """Judge the first candidate and revise it.

    Args:
        first: The draft.
        gate: Who judges and mends.
        rules: What code finds against a candidate.
        most: The most revisions.
    """
    attempts: list[Attempt] = []
    candidate = first
    for revision in range(most + 1):
        try:
            summary, found = await gate.judged(candidate, rules(candidate))
        except ModelError as error:
            return Revised((*attempts, Attempt(candidate)), _stop(error))
        attempts.append(Attempt(candidate, summary, found))
        if found.accepted:
            return Revised(tuple(attempts), "accepted")
        if revision == most:
            break
        try:
            candidate = await gate.modified(candidate, found)
        except ModelError as error:
            return Revised(tuple(attempts), _stop(error))
        if not candidate.text or _plain(candidate) in {_plain(one.candidate) for one in attempts}:
            return Revised(tuple(attempts), "repeated")
    return Revised(tuple(attempts), "revisions")


def _stop(error: ModelError) -> Stop:
    return "budget" if isinstance(error, OverBudget) else "model"


def _plain(candidate: Candidate) -> str:
    return " ".join(words(candidate.text))
