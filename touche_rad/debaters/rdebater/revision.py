"""The revision loop: a draft is summarised, judged and rewritten until it passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel, Field

from touche_rad.debaters.rdebater.turn import Allowance
from touche_rad.debaters.rdebater.writing import Brief, Candidate, max_letters, speech
from touche_rad.models import Model, ModelError, Prompt, drop_oldest
from touche_rad.models.errors import OverBudget
from touche_rad.models.output import Line, Paragraph
from touche_rad.text import clean, words

FEW = Field(json_schema_extra={"maxItems": 4})
TWO = Field(json_schema_extra={"maxItems": 2})


class Summary(BaseModel):
    """The summary of the debate with the candidate."""

    overview: Paragraph
    supporting: list[Line] = FEW
    opposing: list[Line] = FEW
    divergences: list[Line] = FEW


class Judgement(BaseModel):
    """The three criteria, and feedback on those that are not met."""

    stance_faithfulness: bool
    argumentative_relevance: bool
    scheme_compliance: bool
    feedback: Paragraph = ""


class Modified(BaseModel):
    """The answer of the text modification."""

    utterance: str = Field(min_length=1)


class Short(Summary):
    """The shorter summary of a merged call."""

    overview: Line
    supporting: list[Line] = TWO
    opposing: list[Line] = TWO
    divergences: list[Line] = TWO


class Check(BaseModel):
    """The answer of three agents in one call: summary, judgement, and a new text if needed."""

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
    """Violations of the task's rules."""

    @property
    def accepted(self) -> bool:
        """J: computed from the criteria and the rules."""
        return all(self.criteria.values()) and not self.violations

    @property
    def met(self) -> int:
        """The number of criteria that are met; the rules count as one."""
        return sum(self.criteria.values()) + (not self.violations)

    @property
    def full_feedback(self) -> str:
        """ρ: the criteria that are not met, the violations of rules, and the model's feedback."""
        failed = [name.replace("_", " ") for name, met in self.criteria.items() if not met]
        named = [f"Not met: {', '.join(failed)}."] if failed else []
        return " ".join([*named, *self.violations, *([self.feedback] if self.feedback else [])])


def verdict(found: Judgement, violations: Sequence[str], *, schemes: bool) -> Verdict:
    """Return the verdict; without schemes, scheme compliance is no criterion."""
    criteria = {
        "stance_faithfulness": found.stance_faithfulness,
        "argumentative_relevance": found.argumentative_relevance,
    }
    if schemes:
        criteria["scheme_compliance"] = found.scheme_compliance
    return Verdict(criteria, clean(found.feedback), tuple(violations))


class Gate(Protocol):
    """Judges and revises a candidate."""

    async def judge(
        self, candidate: Candidate, violations: Sequence[str]
    ) -> tuple[Summary | None, Verdict]:
        """Summarise the debate with the candidate in it, and judge the candidate."""
        ...

    async def modify(self, candidate: Candidate, found: Verdict) -> Candidate:
        """Return a revised candidate."""
        ...


class SeparateAgents:
    """The paper's three agents, one call each."""

    def __init__(self, model: Model, brief: Brief, allowance: Allowance, *, once: bool) -> None:
        """With `once`, the summary of the first candidate is used for all."""
        self._model = model
        self._brief = brief
        self._allowance = allowance
        self._once = once
        self._summary: Summary | None = None

    async def judge(
        self, candidate: Candidate, violations: Sequence[str]
    ) -> tuple[Summary | None, Verdict]:
        """Call the Debate Summarization Agent, then the Judgement Agent."""
        if self._summary is None or not self._once:
            self._summary = await self._summarise(candidate)
        self._allowance.take()
        values = self._brief.values
        messages = Prompt.load(__package__, "judgement").messages(
            stance=values["stance"], schemes=values["schemes"], summary=self._summary,
            candidate=candidate.text,
        )  # fmt: skip
        found = await self._model.ask(messages, Judgement, step="rdebater.judgement")
        return self._summary, verdict(found, violations, schemes=bool(self._brief.schemes))

    async def _summarise(self, candidate: Candidate) -> Summary:
        self._allowance.take()
        prompt = Prompt.load(__package__, "summary")
        brief = self._brief.values
        values = {
            "dialogue": brief["dialogue"], "stance": brief["stance"], "candidate": candidate.text,
        }  # fmt: skip
        return await self._model.ask(
            prompt.messages(**values), Summary, step="rdebater.summary",
            shorten=drop_oldest(prompt, "dialogue", values),
        )  # fmt: skip

    async def modify(self, candidate: Candidate, found: Verdict) -> Candidate:
        """Call the Text Modification Agent with the utterance and the feedback."""
        self._allowance.take()
        messages = Prompt.load(__package__, "modification").messages(
            stance=self._brief.values["stance"], words=self._brief.words,
            letters=max_letters(self._brief.words), feedback=found.full_feedback,
            candidate=candidate.text,
        )  # fmt: skip
        schema = speech(Modified, "utterance", self._brief.words)
        answer: Modified = await self._model.ask(messages, schema, step="rdebater.modification")
        return Candidate(clean(answer.utterance), candidate.named)


class MergedAgents:
    """The three agents in one call, which also returns the revised text."""

    def __init__(self, model: Model, brief: Brief, allowance: Allowance) -> None:
        self._model = model
        self._brief = brief
        self._allowance = allowance
        self._next = Candidate("")

    async def judge(
        self, candidate: Candidate, violations: Sequence[str]
    ) -> tuple[Summary | None, Verdict]:
        """Ask for the summary, the judgement and the revised text."""
        self._allowance.take()
        prompt = Prompt.load(__package__, "check")
        values = {
            **self._brief.values, "candidate": candidate.text, "violations": list(violations),
        }  # fmt: skip
        answer: Check = await self._model.ask(
            prompt.messages(**values), speech(Check, "utterance", self._brief.words),
            step="rdebater.check", shorten=drop_oldest(prompt, "dialogue", values),
        )  # fmt: skip
        named = self._brief.named(answer.numbers) or candidate.named
        self._next = Candidate(clean(answer.utterance), named)
        found = verdict(answer.judgement, violations, schemes=bool(self._brief.schemes))
        return answer.summary, found

    async def modify(self, candidate: Candidate, found: Verdict) -> Candidate:
        """Return the text of the last call; empty if the model wrote none."""
        return self._next


Stop = Literal["accepted", "revisions", "repeated", "budget", "model", "unasked"]
Rules = Callable[[Candidate], Sequence[str]]


@dataclass(frozen=True)
class Attempt:
    """A candidate with its summary and verdict, if it was judged."""

    candidate: Candidate
    summary: Summary | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Revised:
    """All attempts in order, and why the loop ended."""

    attempts: tuple[Attempt, ...]
    stop: Stop

    @property
    def accepted(self) -> bool:
        """Whether the last candidate met all criteria."""
        return self.stop == "accepted"

    def best(self, rules: Rules) -> Candidate:
        """Return the best candidate.

        The accepted one; or a last revision that could not be judged, if it breaks no rule; or the
        last of those that met the most criteria.
        """
        last = self.attempts[-1]
        if self.accepted or (last.verdict is None and not rules(last.candidate)):
            return last.candidate
        judged = [one for one in self.attempts if one.verdict is not None] or [last]
        return max(
            reversed(judged), key=lambda one: one.verdict.met if one.verdict else 0
        ).candidate


async def revise(first: Candidate, gate: Gate, rules: Rules, most: int) -> Revised:
    """Judge the first candidate and revise it.

    Args:
        first: The draft.
        gate: Judges and revises.
        rules: Returns the violations of a candidate.
        most: Maximum revisions.
    """
    attempts: list[Attempt] = []
    candidate = first
    for revision in range(most + 1):
        try:
            summary, found = await gate.judge(candidate, rules(candidate))
        except ModelError as error:
            return Revised((*attempts, Attempt(candidate)), _stop(error))
        attempts.append(Attempt(candidate, summary, found))
        if found.accepted:
            return Revised(tuple(attempts), "accepted")
        if revision == most:
            break
        try:
            candidate = await gate.modify(candidate, found)
        except ModelError as error:
            return Revised(tuple(attempts), _stop(error))
        if not candidate.text or _plain(candidate) in {_plain(one.candidate) for one in attempts}:
            return Revised(tuple(attempts), "repeated")
    return Revised(tuple(attempts), "revisions")


def _stop(error: ModelError) -> Stop:
    return "budget" if isinstance(error, OverBudget) else "model"


def _plain(candidate: Candidate) -> str:
    return " ".join(words(candidate.text))
