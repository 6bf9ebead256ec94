"""The revision loop: a draft is summarised, judged and corrected until it is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, Field

from touche_rad.debaters._asking import ask_about
from touche_rad.debaters.rdebater._turn import Allowance, neutral_values
from touche_rad.debaters.rdebater._writing import Brief, Candidate, speech, tokens_for
from touche_rad.models import Model, ModelError, Prompt
from touche_rad.models.errors import OverBudget
from touche_rad.models.output import Line, Paragraph
from touche_rad.text import clean, words

FEW: Any = Field(default=[], json_schema_extra={"maxItems": 4})
TWO: Any = Field(default=[], json_schema_extra={"maxItems": 2})
CHECK_TOKENS: Final = 1_536


class Summary(BaseModel):
    """The summary of the debate with the candidate."""

    overview: Paragraph
    supporting: list[Line] = FEW
    opposing: list[Line] = FEW
    divergences: list[Line] = FEW


class Judgement(BaseModel):
    """Feedback, then the three criteria."""

    feedback: Paragraph = ""
    stance_faithfulness: bool
    argumentative_relevance: bool
    scheme_compliance: bool


class Modified(BaseModel):
    """The answer of the text modification."""

    utterance: str = Field(min_length=1)


class Short(Summary):
    """The shorter summary of a merged call."""

    overview: Line
    supporting: list[Line] = TWO
    opposing: list[Line] = TWO
    divergences: list[Line] = TWO


class Assessment(BaseModel):
    """Summary and judgement in one call, and quotations of what no argument supports."""

    summary: Short
    unsupported: list[Line] = FEW
    judgement: Judgement


class Check(Assessment):
    """An assessment with a corrected text, if one is needed."""

    numbers: list[int] = []
    utterance: str = ""


@dataclass(frozen=True)
class Verdict:
    """J and ρ of one candidate."""

    criteria: dict[str, bool]
    feedback: str
    violations: tuple[str, ...] = ()
    """Violations of the task's rules."""
    unsupported: Sequence[str] | None = None
    """Words of the candidate that no argument supports; None if the model was not asked."""

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


def verdict(
    judgement: Judgement,
    violations: Sequence[str],
    schemes: bool,
    unsupported: Sequence[str] | None = None,
) -> Verdict:
    """Return the verdict; without schemes, scheme compliance is no criterion.

    `unsupported` is what the model quoted as unsupported. If it was asked for this, support by the
    arguments is one more criterion.
    """
    criteria = {
        "stance_faithfulness": judgement.stance_faithfulness,
        "argumentative_relevance": judgement.argumentative_relevance,
    }
    if schemes:
        criteria["scheme_compliance"] = judgement.scheme_compliance
    if unsupported is not None:
        criteria["evidence_support"] = not unsupported
        unsupported = tuple(unsupported)
    return Verdict(criteria, clean(judgement.feedback), tuple(violations), unsupported)


def quoted_from(text: str, quotations: Iterable[str]) -> list[str]:
    """Return the quotations that the text contains; a model may quote something else."""
    spaced = f" {' '.join(words(text))} "
    plain = dict.fromkeys(" ".join(words(one)) for one in quotations)
    return [one for one in plain if one and f" {one} " in spaced]


class SeparateAgents:
    """The paper's three agents, one call each."""

    def __init__(self, model: Model, brief: Brief, allowance: Allowance) -> None:
        self._model = model
        self._brief = brief
        self._neutral = neutral_values(brief.debate)
        self._allowance = allowance
        self._summary: Summary | None = None

    async def judge(
        self, candidate: Candidate, violations: Sequence[str], *, final: bool
    ) -> tuple[Summary | None, Verdict]:
        """Call the Debate Summarization Agent, then the Judgement Agent."""
        if self._summary is None or self._brief.options.summarise == "each":
            self._allowance.take()
            self._summary = await ask_about(
                self._brief.debate,
                self._model,
                Prompt.load(__package__, "summary"),
                Summary,
                step="rdebater.summary",
                **self._neutral,
                candidate=candidate.text,
            )
        self._allowance.take()
        messages = Prompt.load(__package__, "judgement").messages(
            **self._neutral,
            schemes=self._brief.wanted,
            summary=self._summary,
            candidate=candidate.text,
        )
        judgement = await self._model.ask(messages, Judgement, step="rdebater.judgement")
        return self._summary, verdict(judgement, violations, bool(self._brief.schemes))

    async def modify(self, candidate: Candidate, verdict: Verdict) -> Candidate:
        """Call the Text Modification Agent with the utterance and the feedback."""
        self._allowance.take()
        messages = Prompt.load(__package__, "modification").messages(
            **self._neutral,
            **self._brief.limits,
            feedback=verdict.full_feedback,
            candidate=candidate.text,
        )
        words = self._brief.options.max_words
        answer: Modified = await self._model.ask(
            messages,
            speech(Modified, words),
            step="rdebater.modification",
            max_tokens=tokens_for(words),
        )
        return Candidate(clean(answer.utterance), candidate.named)


class MergedAgents:
    """The three agents in one call, which also returns the revised text.

    A revised text is only asked for if another call is left to judge it.
    """

    def __init__(self, model: Model, brief: Brief, allowance: Allowance) -> None:
        self._model = model
        self._brief = brief
        self._allowance = allowance
        self._next: Candidate | None = None

    async def judge(
        self, candidate: Candidate, violations: Sequence[str], *, final: bool
    ) -> tuple[Summary | None, Verdict]:
        """Ask for the summary, the judgement and, if it can be judged, the revised text."""
        self._allowance.take()
        revise = not final and self._allowance.left > 0
        brief, options = self._brief, self._brief.options
        schema: Any = Assessment
        if revise:
            schema = speech(Check, options.max_words, options.cited, len(brief.evidence))
        answer: Assessment = await ask_about(
            brief.debate,
            self._model,
            Prompt.load(__package__, "check"),
            schema,
            step="rdebater.check",
            max_tokens=max(CHECK_TOKENS, 2 * tokens_for(options.max_words) - 700),
            **neutral_values(brief.debate),
            **brief.limits,
            schemes=brief.wanted,
            evidence=brief.texts,
            cited=options.cited,
            revise=revise,
            candidate=candidate.text,
            violations=list(violations),
        )
        self._next = None
        if isinstance(answer, Check):
            named = brief.named(answer.numbers) or candidate.named
            self._next = Candidate(clean(answer.utterance), named)
        quoted = quoted_from(candidate.text, answer.unsupported)
        schemes = bool(brief.schemes)
        return answer.summary, verdict(answer.judgement, violations, schemes, quoted)

    async def modify(self, candidate: Candidate, verdict: Verdict) -> Candidate:
        """Return the text of the last call; empty if the model wrote none."""
        if self._next is None:
            raise OverBudget("no call is left to judge a revised text")
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

    @property
    def best(self) -> Attempt:
        """The accepted attempt, or the last of those that met the most criteria.

        An attempt without a verdict is only the best one if no attempt has a verdict.
        """
        with_verdict = [one for one in self.attempts if one.verdict is not None]
        if self.accepted or not with_verdict:
            return self.attempts[-1]
        return max(reversed(with_verdict), key=lambda one: one.verdict.met if one.verdict else 0)


async def revise(
    first: Candidate, model: Model, brief: Brief, allowance: Allowance, rules: Rules
) -> Revised:
    """Judge the first candidate and revise it."""
    agents = MergedAgents if brief.options.agents == "merged" else SeparateAgents
    gate: SeparateAgents | MergedAgents = agents(model, brief, allowance)
    attempts: list[Attempt] = []
    candidate, most = first, brief.options.max_revisions
    try:
        for revision in range(most + 1):
            final = revision == most
            summary, verdict = await gate.judge(candidate, rules(candidate), final=final)
            attempts.append(Attempt(candidate, summary, verdict))
            if verdict.accepted:
                return Revised(tuple(attempts), "accepted")
            if final:
                break
            candidate = await gate.modify(candidate, verdict)
            texts = [" ".join(words(one.candidate.text)) for one in attempts]
            if not candidate.text or " ".join(words(candidate.text)) in texts:
                return Revised(tuple(attempts), "repeated")
    except ModelError as error:
        if not attempts or attempts[-1].candidate is not candidate:
            attempts.append(Attempt(candidate))
        return Revised(tuple(attempts), "budget" if isinstance(error, OverBudget) else "model")
    return Revised(tuple(attempts), "revisions")
