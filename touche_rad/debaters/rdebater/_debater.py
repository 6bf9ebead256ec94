"""The debater `rdebater`: the order of the steps, and the fallback of each step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final, TypeVar

import anyio

from touche_rad.calls import report_without_model
from touche_rad.debate import Argument, Debate, Response
from touche_rad.debaters._citing import cited
from touche_rad.debaters.rdebater._options import RdebaterOptions
from touche_rad.debaters.rdebater._reading import (
    Allowance,
    Logic,
    ask_keywords,
    ask_logic,
    opponent_texts,
    plain_keywords,
    read_at_once,
)
from touche_rad.debaters.rdebater._retrieval import (
    Recall,
    Record,
    SchemeAnnotations,
    retrieved,
    with_priors,
)
from touche_rad.debaters.rdebater._revision import (
    Attempt,
    Revised,
    revise,
)
from touche_rad.debaters.rdebater._writing import (
    Brief,
    Candidate,
    distortions,
    draft,
    plain,
    supported,
)
from touche_rad.debaters.rdebater.schemes import SchemeAnnotator
from touche_rad.errors import WorkError
from touche_rad.models import ModelError
from touche_rad.plugins import Services
from touche_rad.text import clean, count_words, cut_to_words, words
from touche_rad.users.contest_views import opens

T = TypeVar("T")
PER_CALL: Final = 6
"""Maximum records of one annotation call; a longer answer might be cut off."""
MIN_WORDS: Final = 6
"""A response with fewer supported words is replaced by a quotation."""


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
        if self.options.mode != "full":
            return await self._baseline(debate)
        allowance = Allowance(self.options.calls)
        logic, keywords, notes = await self._read(debate, allowance)
        recall = await self._retrieve(debate, keywords, allowance)
        if not recall.evidence:
            raise WorkError("the index has no arguments")
        brief = Brief(debate, logic.flaws, recall.prior, recall.schemes, self.options)
        revised = await self._write(brief, allowance)
        response = await self._response(brief, recall, revised)
        if self.options.trace:
            trace = trace_of(logic, recall, revised, allowance, notes)
            response = response.model_copy(update={"extra": {"rdebater": trace}})
        return response

    @property
    def _reserved(self) -> int:
        """The number of calls that earlier steps leave for the draft and its judgement."""
        if not self.options.optimization_module:
            return 1
        return 2 if self.options.agents == "merged" else 3

    async def _read(
        self, debate: Debate, allowance: Allowance
    ) -> tuple[Logic, tuple[str, ...], list[str]]:
        """Find the opponent's logic and the keywords; the agents work independently."""
        most, keep = self.options.keywords, self._reserved
        logic, keywords = Logic(), plain_keywords(debate, most)
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
        words = or_default(
            ask_keywords(self.model, debate, most, allowance, keep=keep), "keywords", keywords
        )
        if not wanted:
            return logic, await words, notes
        flaws = or_default(ask_logic(self.model, debate, allowance, keep=keep), "logic", logic)
        keywords, logic = await asyncio.gather(words, flaws)
        return logic, keywords, notes

    async def _retrieve(
        self, debate: Debate, keywords: Sequence[str], allowance: Allowance
    ) -> Recall:
        """Retrieve E and, with argumentation schemes, select by them."""
        recall = await anyio.to_thread.run_sync(
            retrieved,
            self.index,
            self._annotations.stored,
            debate,
            keywords,
            self.options,
            abandon_on_cancel=True,
        )
        if not self.options.argumentation_schemes:
            return replace(recall, prior=recall.evidence)
        evidence = await self._annotations.add_to(
            recall.evidence, allowance, debate.key, keep=self._reserved
        )
        return with_priors(recall, evidence, self.options)

    async def _write(self, brief: Brief, allowance: Allowance) -> Revised | None:
        """Draft and revise; None if the model has no draft."""
        try:
            allowance.take()
            first = await draft(self.model, brief)
        except ModelError as error:
            report_without_model(error)
            return None
        if not self.options.optimization_module:
            return Revised((Attempt(first),), "unasked")
        return await revise(first, self.model, brief, allowance, partial(self._violations, brief))

    def _violations(self, brief: Brief, candidate: Candidate) -> list[str]:
        if not self.options.task_rules:
            return []
        count, most = count_words(candidate.text), self.options.max_words
        lines = [f"It has {count} words; at most {most} are allowed."] if count > most else []
        if words(candidate.text) in [words(clean(text)) for text in brief.debate.system_texts]:
            lines.append("It repeats an earlier response word for word.")
        uses = self._cited(brief, candidate)
        if candidate.named and not uses:
            lines.append("Its words come from none of the arguments.")
        if uses:
            lines += distortions(candidate.text, uses, _opponent(brief))
        return lines

    def _cited(self, brief: Brief, candidate: Candidate) -> tuple[Argument, ...]:
        arguments = [one.argument for one in brief.evidence]
        return cited(candidate.text, candidate.named, arguments, self.options.cited)

    async def _response(self, brief: Brief, recall: Recall, revised: Revised | None) -> Response:
        """Return the supported sentences of the best candidate; a quotation if there are none."""
        best = revised.best if revised else Attempt(Candidate(""))
        rules = self.options.task_rules
        content = cut_to_words(clean(best.candidate.text), self.options.max_words)
        uses = named = self._cited(brief, replace(best.candidate, text=content))
        if rules:
            doubted = best.verdict.unsupported if best.verdict else None
            content = " ".join(await supported(content, named, _opponent(brief), doubted))
            uses = self._cited(brief, Candidate(content, named)) if named else ()
        if content and (not rules or count_words(content) >= MIN_WORDS):
            return Response(content=content, arguments=uses)
        records = (*brief.evidence, *recall.evidence)
        quoted = named[0] if named else records[0].argument
        content = cut_to_words(clean(quoted.text), self.options.max_words)
        return Response(content=content, arguments=(quoted,))

    async def _baseline(self, debate: Debate) -> Response:
        """Answer like the paper's baselines."""
        texts: list[Argument] = []
        if self.options.mode == "naive_rag":
            hits = await anyio.to_thread.run_sync(
                self.index.search, "text", clean(debate.last.utterance), self.options.k
            )
            texts = [hit.argument for hit in hits]
        words = self.options.max_words
        utterance = await plain(self.model, debate, [clean(one.text) for one in texts], words)
        content = cut_to_words(utterance, words)
        return Response(content=content, arguments=cited(content, (), texts, self.options.cited))


def _opponent(brief: Brief) -> str:
    return "\n".join(opponent_texts(brief.debate))


def trace_of(
    logic: Logic,
    recall: Recall,
    revised: Revised | None,
    allowance: Allowance,
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return the intermediate results as JSON."""
    return {
        "calls": allowance.calls - allowance.left,
        "accepted": bool(revised and revised.accepted),
        "stop": revised.stop if revised else "quotation",
        "predicates": list(logic.predicates),
        "chain": logic.chain,
        "flaws": list(logic.flaws),
        "keywords": list(recall.keywords),
        "coarse": recall.coarse,
        "evidence": [_trace_of_record(one) for one in recall.evidence],
        "means": {scheme.value: mean for scheme, mean in (recall.means or {}).items()},
        "scheme_priors": [scheme.value for scheme in recall.schemes],
        "evidence_priors": [one.argument.id for one in recall.prior],
        "attempts": [_trace_of_attempt(one) for one in revised.attempts] if revised else [],
        "notes": [*notes, *recall.notes],
    }


def _trace_of_record(one: Record) -> dict[str, Any]:
    marks = one.annotation.model_dump(mode="json")["marks"] if one.annotation else None
    return {"id": one.argument.id, "likeness": round(one.likeness, 4), "schemes": marks}


def _trace_of_attempt(one: Attempt) -> dict[str, Any]:
    verdict = one.verdict
    return {
        "utterance": one.candidate.text,
        "summary": one.summary.model_dump() if one.summary else None,
        "criteria": dict(verdict.criteria) if verdict else None,
        "unsupported": list(verdict.unsupported or ()) if verdict else [],
        "feedback": verdict.full_feedback if verdict else "",
    }
