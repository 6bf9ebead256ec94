"""The debater `rdebater`: the order of the steps, and the fallback of each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

import anyio

from touche_rad.calls import report_without_model
from touche_rad.debate import Argument, Debate, Response
from touche_rad.debaters.rdebater.annotations import SchemeAnnotations
from touche_rad.debaters.rdebater.citing import cited, distortions, supported
from touche_rad.debaters.rdebater.logic import Logic, logic
from touche_rad.debaters.rdebater.options import RdebaterOptions
from touche_rad.debaters.rdebater.reading import keywords, plain_keywords, reading
from touche_rad.debaters.rdebater.retrieval import Recall, Record, retrieved, with_priors
from touche_rad.debaters.rdebater.revision import (
    Attempt,
    Gate,
    MergedAgents,
    Revised,
    SeparateAgents,
    revise,
)
from touche_rad.debaters.rdebater.schemes import SchemeAnnotator
from touche_rad.debaters.rdebater.turn import Allowance, opponent_texts
from touche_rad.debaters.rdebater.writing import Brief, Candidate, draft, plain
from touche_rad.errors import WorkError
from touche_rad.models import ModelError
from touche_rad.plugins import Services
from touche_rad.text import clean, count_words, cut_to_words, words
from touche_rad.users.contest_views import opens

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
        found, asked, notes = await self._read(debate, allowance)
        recall = await self._retrieve(debate, asked, allowance)
        if not recall.evidence:
            raise WorkError("the index has no arguments")
        brief = self._brief(debate, found, recall)
        made = await self._write(brief, allowance)
        response = await self._response(brief, recall, made)
        if self.options.trace:
            trace = traced(found, recall, made, allowance, notes)
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
        most = self.options.keywords
        wanted = self.options.logic_summarization and not opens(debate)
        keep = self._reserved
        notes: list[str] = []
        if self.options.agents == "merged" and wanted:
            try:
                allowance.take(keep=keep)
                return *await reading(self.model, debate, most), notes
            except ModelError as error:
                notes.append(f"reading: {type(error).__name__}")
                return Logic(), plain_keywords(debate, most), notes
        found, asked = Logic(), plain_keywords(debate, most)

        async def of_logic() -> None:
            nonlocal found
            try:
                found = await logic(self.model, debate, allowance, keep=keep)
            except ModelError as error:
                notes.append(f"logic: {type(error).__name__}")

        async def of_keywords() -> None:
            nonlocal asked
            try:
                allowance.take(keep=keep)
                asked = await keywords(self.model, debate, most)
            except ModelError as error:
                notes.append(f"keywords: {type(error).__name__}")

        async with anyio.create_task_group() as group:
            group.start_soon(of_keywords)
            if wanted:
                group.start_soon(of_logic)
        return found, asked, notes

    async def _retrieve(self, debate: Debate, asked: Sequence[str], allowance: Allowance) -> Recall:
        """Retrieve E and, with argumentation schemes, select by them."""
        recall = await anyio.to_thread.run_sync(
            retrieved,
            self.index,
            self._annotations.known,
            debate,
            asked,
            self.options,
            abandon_on_cancel=True,
        )
        if not self.options.argumentation_schemes:
            return replace(recall, prior=recall.evidence)
        evidence = await self._annotations.annotated(
            recall.evidence, allowance, debate.key, keep=self._reserved
        )
        return with_priors(recall, evidence, self.options)

    def _brief(self, debate: Debate, found: Logic, recall: Recall) -> Brief:
        return Brief(
            debate,
            found.flaws,
            recall.prior,
            recall.schemes,
            self.options.max_words,
            self.options.cited,
            self.options.wording,
            self.options.label_agg,
        )

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
        return await revise(
            first,
            self._gate(brief, allowance),
            partial(self._violations, brief),
            self.options.max_revisions,
        )

    def _gate(self, brief: Brief, allowance: Allowance) -> Gate:
        if self.options.agents == "merged":
            return MergedAgents(self.model, brief, allowance)
        once = self.options.summarise == "once"
        return SeparateAgents(self.model, brief, allowance, once=once)

    def _violations(self, brief: Brief, candidate: Candidate) -> list[str]:
        """Return the violations of the task's rules."""
        if not self.options.task_rules:
            return []
        count, most = count_words(candidate.text), self.options.max_words
        found = [f"It has {count} words; at most {most} are allowed."] if count > most else []
        if words(candidate.text) in [words(clean(said)) for said in brief.debate.system_texts]:
            found.append("It repeats an earlier response word for word.")
        cites = self._cited(brief, candidate)
        if candidate.named and not cites:
            found.append("Its words come from none of the arguments.")
        if not cites:
            return found
        return [*found, *distortions(candidate.text, cites, _opponent(brief))]

    def _cited(self, brief: Brief, candidate: Candidate) -> tuple[Argument, ...]:
        given = [one.argument for one in brief.evidence]
        return cited(candidate.text, candidate.named, given, self.options.cited)

    async def _response(self, brief: Brief, recall: Recall, made: Revised | None) -> Response:
        """Return the supported sentences of the best candidate; a quotation if there are none."""
        best = made.best if made else Attempt(Candidate(""))
        content = cut_to_words(clean(best.candidate.text), self.options.max_words)
        named = self._cited(brief, replace(best.candidate, text=content))
        uses = named
        if self.options.task_rules:
            doubted = best.verdict.unsupported if best.verdict else None
            kept = await supported(content, named, _opponent(brief), doubted)
            content = " ".join(kept)
            uses = self._cited(brief, Candidate(content, named)) if named else ()
        if content and (not self.options.task_rules or count_words(content) >= MIN_WORDS):
            return Response(content=content, arguments=uses)
        retrieved = (one.argument for one in (*brief.evidence, *recall.evidence))
        quoted = next(iter((*named, *retrieved)))
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
        said = await plain(
            self.model, debate, [clean(one.text) for one in texts], self.options.max_words
        )
        content = cut_to_words(said, self.options.max_words)
        return Response(content=content, arguments=cited(content, (), texts, self.options.cited))


def _opponent(brief: Brief) -> str:
    return "\n".join(opponent_texts(brief.debate))


def traced(
    logic: Logic, recall: Recall, made: Revised | None, allowance: Allowance, notes: Sequence[str]
) -> dict[str, Any]:
    """Return the intermediate results as JSON."""
    return {
        "calls": allowance.spent,
        "accepted": bool(made and made.accepted),
        "stop": made.stop if made else "quotation",
        "predicates": list(logic.predicates),
        "chain": logic.chain,
        "flaws": list(logic.flaws),
        "keywords": list(recall.keywords),
        "coarse": recall.coarse,
        "evidence": [_traced_record(one) for one in recall.evidence],
        "means": {scheme.value: mean for scheme, mean in (recall.means or {}).items()},
        "scheme_priors": [scheme.value for scheme in recall.schemes],
        "evidence_priors": [one.argument.id for one in recall.prior],
        "attempts": [_traced_attempt(one) for one in made.attempts] if made else [],
        "notes": [*notes, *recall.notes],
    }


def _traced_record(one: Record) -> dict[str, Any]:
    marks = one.annotation.model_dump(mode="json")["marks"] if one.annotation else None
    return {"id": one.argument.id, "likeness": round(one.likeness, 4), "schemes": marks}


def _traced_attempt(one: Attempt) -> dict[str, Any]:
    found = one.verdict
    return {
        "utterance": one.candidate.text,
        "summary": one.summary.model_dump() if one.summary else None,
        "criteria": dict(found.criteria) if found else None,
        "unsupported": list(found.unsupported or ()) if found else [],
        "feedback": found.full_feedback if found else "",
    }
