"""The debater `rdebater`: the order of the steps, and the fallback of each step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

import anyio

from touche_rad.calls import report_without_model
from touche_rad.debate import Argument, Debate, Response
from touche_rad.debaters._asking import ask_about, max_letters, messages_of, narrowed, text_of
from touche_rad.debaters._citing import cited
from touche_rad.debaters.rdebater._options import RdebaterOptions
from touche_rad.debaters.rdebater._reading import (
    Allowance,
    Logic,
    ask_keywords,
    ask_logic,
    plain_keywords,
    read_at_once,
    sided_values,
)
from touche_rad.debaters.rdebater._retrieval import (
    Recall,
    SchemeAnnotations,
    prior_evidence,
    prior_schemes,
    retrieved,
    scheme_means,
)
from touche_rad.debaters.rdebater._revision import (
    Attempt,
    Revised,
    revise,
)
from touche_rad.debaters.rdebater._writing import (
    Brief,
    Candidate,
    NotQuoted,
    Plain,
    draft,
    tokens_for,
)
from touche_rad.debaters.rdebater.schemes import SchemeAnnotator
from touche_rad.errors import WorkError
from touche_rad.evidence.guard import Guard, Sources, compare
from touche_rad.lists import T
from touche_rad.models import ModelError
from touche_rad.plugins import Services
from touche_rad.text import clean, count_words, cut_to_words, words
from touche_rad.users.contest_views import opens

PER_CALL: Final = 6
"""Maximum records of one annotation call; a longer answer might be cut off."""
MIN_WORDS: Final = 6
"""A response with fewer words after its faulty sentences are removed is replaced by a quotation."""


class Rdebater:
    """Retrieves by argumentation schemes, finds the opponent's flaws, drafts and revises."""

    needs: ClassVar = ("index", "model")
    takes_sides: ClassVar = True
    Options = RdebaterOptions

    def __init__(self, options: RdebaterOptions, services: Services) -> None:
        self.options = options
        self.index = services.need_index("debater rdebater")
        self.model = services.need_model("debater rdebater")
        annotator = SchemeAnnotator(
            SchemeAnnotator.Options(
                calls=options.agents,
                per_call=min(options.k, PER_CALL),
                exemplars=options.exemplars,
            ),
            services,
        )
        annotates = options.argumentation_schemes and options.annotate == "hits"
        self._annotations = SchemeAnnotations(self.index, annotator if annotates else None)

    async def answer(self, debate: Debate) -> Response:
        """Read, retrieve, draft and revise."""
        options = self.options
        if options.mode != "full":
            return await self._baseline(debate)
        allowance = Allowance(options.calls)
        logic, keywords, notes = await self._read(debate, allowance)

        # Retrieve E and, with argumentation schemes, select by them.
        recall = await anyio.to_thread.run_sync(
            retrieved,
            self.index,
            self._annotations.stored,
            debate,
            keywords,
            options,
            abandon_on_cancel=True,
        )
        if options.argumentation_schemes:
            evidence = await self._annotations.add_to(
                recall.evidence, allowance, debate.key, keep=self._reserved
            )
            means = scheme_means(evidence, options.k)
            schemes = prior_schemes(means, options.prior_threshold)
            prior = prior_evidence(evidence, schemes)
            if not schemes:
                recall = replace(recall, notes=(*recall.notes, "no scheme is above the threshold"))
                prior = evidence
            recall = replace(recall, evidence=evidence, means=means, schemes=schemes, prior=prior)
        else:
            recall = replace(recall, prior=recall.evidence)
        if not recall.evidence:
            raise WorkError("the index has no arguments")
        brief = Brief(debate, logic.flaws, recall.prior, recall.schemes, options)

        # Draft and revise; without a draft the best argument is quoted.
        revised = Revised((), "quotation")
        try:
            allowance.take()
            first = await draft(self.model, brief)
            if options.optimization_module:
                violations = partial(self._violations, brief)
                revised = await revise(first, self.model, brief, allowance, violations)
            else:
                revised = Revised((Attempt(first),), "unasked")
        except ModelError as error:
            report_without_model(error)
        best = revised.best

        # The response has the faultless sentences of the best candidate, if they are enough.
        content = cut_to_words(clean(best.candidate.text), options.max_words)
        uses = self._cited(brief, replace(best.candidate, text=content))
        named = uses
        if options.task_rules:
            unsupported = best.verdict.unsupported if best.verdict else None
            entails = None if unsupported is None else NotQuoted(unsupported)
            guard = Guard(entails, options.max_words)
            texts = [argument.text for argument in named]
            content = (await guard.checked(content, texts, messages_of(debate))).faultless
            uses = self._cited(brief, Candidate(content, named)) if named else ()
        if not content or (options.task_rules and count_words(content) < MIN_WORDS):
            records = (*brief.evidence, *recall.evidence)
            quoted = named[0] if named else records[0].argument
            content = cut_to_words(clean(quoted.text), options.max_words)
            uses = (quoted,)
        response = Response(content=content, arguments=uses)
        if options.trace:
            response = response.replace(
                extra={"rdebater": _trace_of(logic, recall, revised, allowance, notes)}
            )
        return response

    @property
    def _reserved(self) -> int:
        """The number of calls that earlier steps leave for the draft and its judgement."""
        if not self.options.optimization_module:
            return 1
        return 2 if self.options.agents == "merged" else 3

    async def _read(
        self, debate: Debate, allowance: Allowance
    ) -> tuple[Logic, Sequence[str], list[str]]:
        """Find the opponent's logic and the keywords; the agents work independently."""
        most = self.options.keywords
        keep = self._reserved
        logic = Logic()
        keywords = plain_keywords(debate, most)
        notes: list[str] = []

        async def or_default(step: Awaitable[T], name: str, default: T) -> T:
            try:
                return await step
            except ModelError as error:
                notes.append(f"{name}: {type(error).__name__}")
                return default

        wanted = self.options.logic_summarization and not opens(debate)
        if self.options.agents == "merged" and wanted:
            reading = read_at_once(self.model, debate, most, allowance, keep=keep)
            logic, keywords = await or_default(reading, "reading", (logic, keywords))
            return logic, keywords, notes
        # Neither agent reads the other's answer, so both are asked at the same time.
        keyword_step = or_default(
            ask_keywords(self.model, debate, most, allowance, keep=keep), "keywords", keywords
        )
        if not wanted:
            return logic, await keyword_step, notes
        logic_step = or_default(ask_logic(self.model, debate, allowance, keep=keep), "logic", logic)
        keywords, logic = await asyncio.gather(keyword_step, logic_step)
        return logic, keywords, notes

    def _violations(self, brief: Brief, candidate: Candidate) -> list[str]:
        if not self.options.task_rules:
            return []
        lines = []
        count = count_words(candidate.text)
        if count > self.options.max_words:
            lines.append(f"It has {count} words; at most {self.options.max_words} are allowed.")
        if words(candidate.text) in [words(clean(text)) for text in brief.debate.system_texts]:
            lines.append("It repeats an earlier response word for word.")
        uses = self._cited(brief, candidate) or candidate.named
        sources = Sources([argument.text for argument in uses], messages_of(brief.debate))
        faults = compare(candidate.text, sources, self.options.max_words).faults
        # What the words leave open, the model checks.
        return lines + [fault.problem for fault in faults if fault.kind != "support"]

    def _cited(self, brief: Brief, candidate: Candidate) -> tuple[Argument, ...]:
        return cited(candidate.text, candidate.named, brief.arguments, self.options.cited)

    async def _baseline(self, debate: Debate) -> Response:
        """Answer like the paper's baselines."""
        arguments: list[Argument] = []
        if self.options.mode == "naive_rag":
            hits = await anyio.to_thread.run_sync(
                self.index.search, "text", clean(debate.last.utterance), self.options.k
            )
            arguments = [hit.argument for hit in hits]
        most_words = self.options.max_words
        answer = await ask_about(
            debate,
            self.model,
            __package__,
            "baseline",
            narrowed("Plain", Plain, utterance=text_of(most_words)),
            step="rdebater.baseline",
            max_tokens=tokens_for(most_words),
            **sided_values(debate),
            words=most_words,
            wording=self.options.wording,
            letters=max_letters(most_words),
            texts=[clean(argument.text) for argument in arguments],
        )
        content = cut_to_words(clean(answer.utterance), most_words)
        return Response(
            content=content, arguments=cited(content, (), arguments, self.options.cited)
        )


def _trace_of(
    logic: Logic,
    recall: Recall,
    revised: Revised,
    allowance: Allowance,
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return the intermediate results as JSON."""
    evidence = []
    for record in recall.evidence:
        marks = record.annotation.model_dump(mode="json")["marks"] if record.annotation else None
        likeness = round(record.likeness, 4)
        evidence.append({"id": record.argument.id, "likeness": likeness, "schemes": marks})
    attempts = []
    for attempt in revised.attempts:
        verdict = attempt.verdict
        attempts.append(
            {
                "utterance": attempt.candidate.text,
                "summary": attempt.summary.model_dump() if attempt.summary else None,
                "criteria": dict(verdict.criteria) if verdict else None,
                "unsupported": list(verdict.unsupported or ()) if verdict else [],
                "feedback": verdict.full_feedback if verdict else "",
            }
        )
    return {
        "calls": allowance.calls - allowance.remaining,
        "accepted": revised.accepted,
        "stop": revised.stop,
        "predicates": list(logic.predicates),
        "chain": logic.chain,
        "flaws": list(logic.flaws),
        "keywords": list(recall.keywords),
        "coarse": recall.coarse,
        "evidence": evidence,
        "means": {scheme.value: mean for scheme, mean in (recall.means or {}).items()},
        "scheme_priors": [scheme.value for scheme in recall.schemes],
        "evidence_priors": [record.argument.id for record in recall.prior],
        "attempts": attempts,
        "notes": [*notes, *recall.notes],
    }
