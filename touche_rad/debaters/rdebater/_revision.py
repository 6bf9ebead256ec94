"""The revision loop: a draft is summarised, judged and corrected until it is accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from touche_rad.debaters._asking import ask_about, at_most, narrowed, text_of
from touche_rad.debaters._citing import quoted_from
from touche_rad.debaters.rdebater._reading import Allowance, neutral_values
from touche_rad.debaters.rdebater._writing import Brief, Candidate, tokens_for
from touche_rad.frozen import frozen
from touche_rad.models import Model, ModelError, Prompt
from touche_rad.models.errors import OverBudget
from touche_rad.models.output import Line, Paragraph, numbers_to
from touche_rad.text import clean, words

FEW: Any = Field(default=[], json_schema_extra={"maxItems": 4})


class Summary(BaseModel):
    """The summary of the debate with the candidate."""

    overview: Paragraph
    supporting: list[Line] = FEW
    opposing: list[Line] = FEW
    divergences: list[Line] = FEW


class Modified(BaseModel):
    """The answer of the text modification."""

    utterance: str


class Assessment(BaseModel):
    """Quotations of what no argument supports, and the judgement."""

    class Judgement(BaseModel):
        """Feedback, then the criteria."""

        feedback: Paragraph = ""
        stance_faithfulness: bool
        argumentative_relevance: bool

    unsupported: list[Line] = FEW
    judgement: Judgement


class CorrectedAssessment(Assessment):
    """An assessment with a corrected text, if one is needed."""

    numbers: list[int] = []
    utterance: str = ""


@frozen
class CandidateVerdict:
    """J and ρ of one candidate."""

    criteria: dict[str, bool]
    feedback: str
    violations: Sequence[str] = ()
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
        parts = list(self.violations)
        failed = [name.replace("_", " ") for name, met in self.criteria.items() if not met]
        if failed:
            parts.insert(0, f"Not met: {', '.join(failed)}.")
        if self.feedback:
            parts.append(self.feedback)
        return " ".join(parts)


@frozen
class Attempt:
    """A candidate with its verdict and its summary, if it has them."""

    candidate: Candidate
    verdict: CandidateVerdict | None = None
    summary: Summary | None = None


@frozen
class Agents:
    """The paper's three agents: one call each, or all in one call."""

    model: Model
    brief: Brief
    allowance: Allowance

    @property
    def _judgement(self) -> type[Assessment.Judgement]:
        """The schema of the judgement; without wanted schemes it does not ask for them."""
        if not self.brief.schemes:
            return Assessment.Judgement
        return create_model("Judgement", __base__=Assessment.Judgement, scheme_compliance=bool)

    async def judge(self, candidate: Candidate, violations: Sequence[str]) -> Attempt:
        """Call the Debate Summarization Agent, then the Judgement Agent."""
        neutral = neutral_values(self.brief.debate)
        self.allowance.take()
        summary = await ask_about(
            self.brief.debate,
            self.model,
            __package__,
            "summary",
            Summary,
            step="rdebater.summary",
            **neutral,
            candidate=candidate.text,
        )
        self.allowance.take()
        messages = Prompt.load(__package__, "judgement").messages(
            **neutral, schemes=self.brief.wanted, summary=summary, candidate=candidate.text
        )
        judgement = await self.model.ask(messages, self._judgement, step="rdebater.judgement")
        criteria = judgement.model_dump(exclude={"feedback"})
        verdict = CandidateVerdict(criteria, clean(judgement.feedback), violations)
        return Attempt(candidate, verdict, summary)

    async def modify(self, candidate: Candidate, feedback: str) -> Candidate:
        """Call the Text Modification Agent with the utterance and the feedback."""
        self.allowance.take()
        words = self.brief.options.max_words
        messages = Prompt.load(__package__, "modification").messages(
            **neutral_values(self.brief.debate),
            **self.brief.limits,
            feedback=feedback,
            candidate=candidate.text,
        )
        answer = await self.model.ask(
            messages,
            narrowed("Modified", Modified, utterance=text_of(words)),
            step="rdebater.modification",
            max_tokens=tokens_for(words),
        )
        return Candidate(clean(answer.utterance), candidate.named)

    async def check(
        self, candidate: Candidate, violations: Sequence[str], *, final: bool
    ) -> tuple[Attempt, Candidate | None]:
        """Judge and modify in one call, without a summary.

        A corrected text is only asked for if another call is left to judge it.
        """
        self.allowance.take()
        brief = self.brief
        options = brief.options
        schema: type[Assessment] = narrowed("Assessment", Assessment, judgement=self._judgement)
        if not final and self.allowance.remaining:
            schema = narrowed(
                "Check",
                CorrectedAssessment,
                judgement=self._judgement,
                numbers=at_most(options.cited, numbers_to(len(brief.evidence))),
                utterance=text_of(options.max_words, least=0),
            )
        answer = await ask_about(
            brief.debate,
            self.model,
            __package__,
            "check",
            schema,
            step="rdebater.check",
            max_tokens=tokens_for(options.max_words) + 512,
            **neutral_values(brief.debate),
            **brief.limits,
            schemes=brief.wanted,
            evidence=brief.texts,
            flaws=list(brief.flaws),
            numbers=brief.numbers(candidate.named),
            cited=options.cited,
            revise=issubclass(schema, CorrectedAssessment),
            candidate=candidate.text,
            violations=list(violations),
        )
        quoted = quoted_from(candidate.text, answer.unsupported)
        criteria = answer.judgement.model_dump(exclude={"feedback"})
        criteria["evidence_support"] = not quoted
        attempt = Attempt(
            candidate,
            CandidateVerdict(criteria, clean(answer.judgement.feedback), violations, quoted),
        )
        if not isinstance(answer, CorrectedAssessment):
            return attempt, None
        used = brief.named(answer.numbers) or candidate.named
        return attempt, Candidate(clean(answer.utterance), used)


@frozen
class Revised:
    """All attempts in order, and why the loop ended: without any, an argument is quoted."""

    attempts: Sequence[Attempt]
    stop: Literal["accepted", "revisions", "repeated", "budget", "model", "unasked", "quotation"]

    @property
    def accepted(self) -> bool:
        """Whether the last candidate met all criteria."""
        return self.stop == "accepted"

    @property
    def best(self) -> Attempt:
        """The accepted attempt, or the last of those that met the most criteria.

        An attempt without a verdict is only the best one if no attempt has a verdict. Without any
        attempt it has no text.
        """
        if self.accepted:
            return self.attempts[-1]
        return max(
            reversed(self.attempts),
            key=lambda attempt: attempt.verdict.met if attempt.verdict else -1,
            default=Attempt(Candidate("")),
        )


async def revise(
    candidate: Candidate,
    model: Model,
    brief: Brief,
    allowance: Allowance,
    rules: Callable[[Candidate], Sequence[str]],
) -> Revised:
    """Judge a candidate and revise it."""
    agents = Agents(model, brief, allowance)
    attempts: list[Attempt] = []
    most = brief.options.max_revisions
    try:
        for revision in range(most + 1):
            final = revision == most
            correction = None
            if brief.options.agents == "merged":
                attempt, correction = await agents.check(candidate, rules(candidate), final=final)
            else:
                attempt = await agents.judge(candidate, rules(candidate))
            attempts.append(attempt)
            assert attempt.verdict
            if attempt.verdict.accepted:
                return Revised(attempts, "accepted")
            if final:
                break
            if brief.options.agents == "separate":
                correction = await agents.modify(candidate, attempt.verdict.full_feedback)
            if not correction:
                raise OverBudget("no call is left to judge a revised text")
            candidate = correction
            earlier = [words(attempt.candidate.text) for attempt in attempts]
            if not candidate.text or words(candidate.text) in earlier:
                return Revised(attempts, "repeated")
    except ModelError as error:
        if not attempts or attempts[-1].candidate is not candidate:
            attempts.append(Attempt(candidate))
        return Revised(attempts, "budget" if isinstance(error, OverBudget) else "model")
    return Revised(attempts, "revisions")
