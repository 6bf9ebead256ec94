"""Retrieval: keywords find candidates, similarity to the debate ranks them, schemes select.

The formulas are the paper's: `rule_match`, the Top-k by cosine, the mean label of each scheme over
the k best, the priors above the threshold and the records that use one of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Final

import anyio

from touche_rad.debate import Argument, Debate
from touche_rad.debaters._asking import cited_before
from touche_rad.debaters.rdebater._options import Match, RdebaterOptions
from touche_rad.debaters.rdebater._reading import Allowance, history_text
from touche_rad.debaters.rdebater.schemes import (
    SCHEMES,
    Annotation,
    Scheme,
    SchemeAnnotator,
)
from touche_rad.errors import ToucheRadError
from touche_rad.evidence.quotable import missing_context
from touche_rad.models import ModelError
from touche_rad.plugins import ArgumentIndex, annotations_of, meaning_of
from touche_rad.text import clean, content_words, words
from touche_rad.users.contest_views import opens


@dataclass(frozen=True)
class Record:
    """A retrieved argument, its similarity to the debate, and its annotation."""

    argument: Argument
    likeness: float
    annotation: Annotation | None = None

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """The schemes that the argument uses, as far as known."""
        return self.annotation.schemes if self.annotation else ()


@dataclass(frozen=True)
class Recall:
    """The result of retrieval: E, the means, S_prior and E_prior."""

    keywords: tuple[str, ...] = ()
    coarse: int = 0
    evidence: tuple[Record, ...] = ()
    means: Mapping[Scheme, float] | None = None
    schemes: tuple[Scheme, ...] = ()
    prior: tuple[Record, ...] = ()
    notes: tuple[str, ...] = ()


def rule_match(text: str, keywords: Sequence[str]) -> bool:
    """Whether a text contains any keyword literally; a phrase must match as a whole."""
    spaced = f" {' '.join(words(text))} "
    return any(f" {' '.join(words(keyword))} " in spaced for keyword in keywords if words(keyword))


def coarse(
    index: ArgumentIndex, keywords: Sequence[str], fields: Sequence[str], most: int, match: Match
) -> list[Argument]:
    """Return E_coarse: the arguments that match any keyword, by rank in each field."""
    query = " ".join(keywords)
    if not query.strip():
        return []
    arguments: dict[str, Argument] = {}
    for rank in zip_longest(*(index.search(field, query, most) for field in fields)):
        for field, hit in zip(fields, rank, strict=True):
            if hit is None:
                continue
            text = str(getattr(hit.argument, field, hit.argument.text))
            if match == "index" or rule_match(text, keywords):
                arguments.setdefault(hit.argument.id, hit.argument)
    return list(arguments.values())


def top_k(arguments: Sequence[Argument], likeness: Sequence[float], k: int) -> list[Record]:
    """Return the k candidates most similar to the debate; ties keep their order."""
    scored = [Record(*one) for one in zip(arguments, likeness, strict=True)]
    return sorted(scored, key=lambda one: -one.likeness)[:k]


def scheme_means(evidence: Sequence[Record], k: int) -> dict[Scheme, float]:
    """Return s̄(S): the mean label of each scheme over k records; 0 if a record does not use it."""
    if k <= 0:
        return dict.fromkeys(Scheme, 0.0)
    return {
        scheme: sum(one.annotation.level(scheme) for one in evidence if one.annotation) / k
        for scheme in Scheme
    }


def prior_schemes(means: Mapping[Scheme, float], threshold: float) -> tuple[Scheme, ...]:
    """Return S_prior: the schemes with a mean above the threshold."""
    return tuple(scheme for scheme, mean in means.items() if mean > threshold)


def prior_evidence(evidence: Sequence[Record], schemes: Sequence[Scheme]) -> tuple[Record, ...]:
    """Return E_prior: the records that use one of the schemes."""
    return tuple(one for one in evidence if set(one.schemes) & set(schemes))


def likeness(
    index: ArgumentIndex, field: str, history: str, arguments: Sequence[Argument]
) -> tuple[list[float], str]:
    """Return the cosine of each argument with the history, and of what: vectors or words."""
    meaning = meaning_of(index)
    if meaning is not None and arguments:
        with suppress(ToucheRadError, KeyError):
            (cosines,) = meaning.likeness(field, [history], [one.id for one in arguments])
            return cosines, "vectors"
    return by_words(history, [one.text_of(field) for one in arguments]), "words"


def by_words(history: str, texts: Sequence[str]) -> list[float]:
    """Return the cosine of word counts; rare words have more weight."""
    counts = [Counter(content_words(text)) for text in texts]
    often = Counter(word for count in counts for word in count)
    weights = {word: math.log(1 + len(texts) / times) for word, times in often.items()}
    query, *vectors = (
        {word: times * weights.get(word, 1.0) for word, times in count.items()}
        for count in (Counter(content_words(history)), *counts)
    )
    return [_cosine(query, vector) for vector in vectors]


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    product = sum(weight * other.get(word, 0.0) for word, weight in one.items())
    length = math.hypot(*one.values()) * math.hypot(*other.values())
    return product / length if length else 0.0


MAX_QUERY_LETTERS = 2_000


def retrieved(
    index: ArgumentIndex,
    stored: Callable[[Sequence[str]], list[Annotation | None]],
    debate: Debate,
    keywords: Sequence[str],
    options: RdebaterOptions,
) -> Recall:
    """Return E: the k candidates most similar to the debate, not annotated yet."""
    notes: list[str] = []
    used = frozenset() if options.repeat else cited_before(debate)
    fields = [_field(one, debate) for one in options.searched]
    most = options.coarse + len(used)
    matches = coarse(index, keywords, fields, most, options.rule_match)
    fresh = [one for one in matches if one.id not in used]
    if not fresh:
        notes.append("no keyword matched: the opponent's words were searched")
        fresh = [one for one in _anything(index, debate, options) if one.id not in used]
    if options.scheme_rule and options.argumentation_schemes:
        annotations = stored([one.id for one in fresh])
        # Arguments that are known to use no scheme are left out, unless there are no others.
        fresh = [
            one
            for one, annotation in zip(fresh, annotations, strict=True)
            if annotation is None or annotation.schemes
        ] or fresh
    ranked_by = _field(options.likeness, debate)
    cosines, of = likeness(index, ranked_by, history_text(debate), fresh)
    evidence = _different(top_k(fresh, cosines, len(fresh)), options.k, options.standalone)
    notes.append(f"ranked by the cosine of {of}")
    return Recall(tuple(keywords), len(fresh), tuple(evidence), notes=tuple(notes))


def _field(name: str, debate: Debate) -> str:
    """Return the field of a search: the debater that opens supports the motion, attacks nothing."""
    return "supports" if name == "attacks" and opens(debate) else name


def _anything(index: ArgumentIndex, debate: Debate, options: RdebaterOptions) -> list[Argument]:
    """Return the results for the last message, or any arguments."""
    query = (clean(debate.last.utterance) or clean(debate.claim))[:MAX_QUERY_LETTERS]
    fields = ("attacks", *options.searched, "text", "supports")
    searched = dict.fromkeys(_field(one, debate) for one in fields)
    hits = [hit for field in searched for hit in index.search(field, query, options.coarse)]
    arguments = {hit.argument.id: hit.argument for hit in hits}
    return list(arguments.values()) or list(islice(index.arguments(), options.k + 20))


def _different(ranked: Sequence[Record], k: int, standalone: bool) -> list[Record]:
    """Return the first k records without repeated texts.

    With `standalone`, texts that refer to another text are left out, unless all do.
    """
    by_text: dict[str, Record] = {}
    for one in ranked:
        by_text.setdefault(clean(one.argument.text).lower(), one)
    records = list(by_text.values())
    if standalone:
        readable = (one for one in records if not missing_context(one.argument.text))
        return list(islice(readable, k)) or records[:k]
    return records[:k]


def with_priors(recall: Recall, evidence: Sequence[Record], options: RdebaterOptions) -> Recall:
    """Add the means, S_prior and E_prior of the annotated records."""
    means = scheme_means(evidence, options.k)
    schemes = prior_schemes(means, options.prior_threshold)
    prior, notes = prior_evidence(evidence, schemes), recall.notes
    if not schemes:
        prior, notes = tuple(evidence), (*notes, "no scheme is above the threshold")
    return replace(
        recall, evidence=tuple(evidence), means=means, schemes=schemes, prior=prior, notes=notes
    )


CACHED: Final = 5_000


class SchemeAnnotations:
    """Adds annotations to retrieved records."""

    def __init__(self, index: ArgumentIndex, annotator: SchemeAnnotator | None) -> None:
        """Without an annotator, only the annotations of the index are used."""
        self._stored = annotations_of(index).get(SCHEMES)
        self._annotator = annotator
        # By debate and by the arguments of a call, so that the results of a debate do not depend
        # on other debates, or on where a run was killed.
        self._made: dict[tuple[str, ...], list[Annotation | None]] = {}

    def stored(self, ids: Sequence[str]) -> list[Annotation | None]:
        """Return the annotations of arguments that the index contains."""
        if self._stored is None:
            return [None] * len(ids)
        return [
            None if one is None else Annotation.model_validate(one)
            for one in self._stored.get_all(ids)
        ]

    async def add_to(
        self, evidence: Sequence[Record], allowance: Allowance, debate: str, *, keep: int
    ) -> list[Record]:
        """Return the records with their annotations; without them if a call fails.

        Annotations of earlier turns of a debate are used again. Of the turn's calls, `keep` must
        remain for later steps.
        """
        ids = [one.argument.id for one in evidence]
        stored = await anyio.to_thread.run_sync(self.stored, ids, abandon_on_cancel=True)
        records = [
            replace(one, annotation=annotation)
            for one, annotation in zip(evidence, stored, strict=True)
        ]
        missing = [place for place, one in enumerate(stored) if one is None]
        if self._annotator is None:
            return records
        annotator, step = self._annotator, self._annotator.per_call

        async def annotate(places: Sequence[int]) -> None:
            part = [records[place] for place in places]
            annotations = await self._annotate(annotator, part, allowance, debate, keep)
            for place, one, annotation in zip(places, part, annotations, strict=True):
                records[place] = replace(one, annotation=annotation)

        async with anyio.create_task_group() as group:
            for start in range(0, len(missing), step):
                group.start_soon(annotate, missing[start : start + step])
        return records

    async def _annotate(
        self,
        annotator: SchemeAnnotator,
        evidence: Sequence[Record],
        allowance: Allowance,
        debate: str,
        keep: int,
    ) -> list[Annotation | None]:
        """Annotate the records of one call."""
        key = (debate, *(one.argument.id for one in evidence))
        if key in self._made:
            return self._made[key]
        try:
            allowance.take(1 if annotator.options.calls == "merged" else 2, keep=keep)
        except ModelError:
            return [None] * len(evidence)
        answers = await annotator.annotate([one.argument.text for one in evidence])
        annotations = [None if isinstance(one, ModelError) else one for one in answers]
        if any(annotations):
            self._made[key] = annotations
            if len(self._made) > CACHED:
                del self._made[next(iter(self._made))]
        return annotations
