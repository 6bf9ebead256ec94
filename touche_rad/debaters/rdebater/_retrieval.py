"""Retrieval: keywords find candidates, similarity to the debate ranks them, schemes select.

The formulas are the paper's: `rule_match`, the Top-k by cosine, the mean label of each scheme over
the k best, the priors above the threshold and the records that use one of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from operator import attrgetter
from typing import Final

import anyio

from touche_rad.debate import Argument, Debate
from touche_rad.debaters._asking import arguments_on_topic, on_topic_of
from touche_rad.debaters._citing import earlier_citations
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
from touche_rad.frozen import frozen
from touche_rad.lists import alternate, in_parts, unique
from touche_rad.models import ModelError
from touche_rad.plugins import ArgumentIndex, annotations_of, meaning_of
from touche_rad.text import clean, content_words, plain_words, spaced_words, words
from touche_rad.users.contest_views import opens


@frozen
class RetrievedArgument:
    """A retrieved argument, its similarity to the debate, and its annotation."""

    argument: Argument
    likeness: float
    annotation: Annotation | None = None

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """The schemes that the argument uses, as far as known."""
        return self.annotation.schemes if self.annotation else ()


@frozen
class Recall:
    """The result of retrieval: E, the means, S_prior and E_prior."""

    keywords: Sequence[str]
    coarse: int
    evidence: Sequence[RetrievedArgument]
    means: Mapping[Scheme, float] | None = None
    schemes: Sequence[Scheme] = ()
    prior: Sequence[RetrievedArgument] = ()
    notes: Sequence[str] = ()


def rule_match(text: str, keywords: Sequence[str]) -> bool:
    """Whether a text contains any keyword literally; a phrase must match as a whole."""
    spaced = spaced_words(text)
    return any(spaced_words(keyword) in spaced for keyword in keywords if words(keyword))


def coarse(
    index: ArgumentIndex, keywords: Sequence[str], fields: Sequence[str], most: int, match: Match
) -> list[Argument]:
    """Return E_coarse: the arguments that match any keyword, by rank in each field."""
    query = " ".join(keywords)

    def matching(field: str) -> Iterator[Argument | None]:
        for hit in index.search(field, query, most):
            text = str(getattr(hit.argument, field, hit.argument.text))
            yield hit.argument if match == "index" or rule_match(text, keywords) else None

    return unique(alternate(map(matching, fields)), key=attrgetter("id"))


def scheme_means(evidence: Sequence[RetrievedArgument], k: int) -> dict[Scheme, float]:
    """Return s̄(S): the mean label of each scheme over k records; 0 if a record does not use it."""
    annotations = [record.annotation for record in evidence if record.annotation]
    return {
        scheme: sum(annotation.level(scheme) for annotation in annotations) / k for scheme in Scheme
    }


def prior_schemes(means: Mapping[Scheme, float], threshold: float) -> list[Scheme]:
    """Return S_prior: the schemes with a mean above the threshold."""
    return [scheme for scheme, mean in means.items() if mean > threshold]


def prior_evidence(
    evidence: Sequence[RetrievedArgument], schemes: Sequence[Scheme]
) -> list[RetrievedArgument]:
    """Return E_prior: the records that use one of the schemes."""
    return [record for record in evidence if set(record.schemes) & set(schemes)]


def likeness(
    index: ArgumentIndex, field: str, history: str, arguments: Sequence[Argument]
) -> tuple[list[float], str]:
    """Return the cosine of each argument with the history, and of what: vectors or words."""
    meaning = meaning_of(index)
    if meaning is not None and arguments:
        with suppress(ToucheRadError, KeyError):
            ids = [argument.id for argument in arguments]
            (cosines,) = meaning.likeness(field, [history], ids)
            return cosines, "vectors"
    return by_words(history, [argument.text_of(field) for argument in arguments]), "words"


def by_words(history: str, texts: Sequence[str]) -> list[float]:
    """Return the cosine of word counts; rare words have more weight."""
    counts = [Counter(content_words(text)) for text in texts]
    texts_with = Counter(chain.from_iterable(counts))
    weights = {word: math.log(1 + len(texts) / number) for word, number in texts_with.items()}

    def weighted(count: Counter[str]) -> dict[str, float]:
        return {word: number * weights.get(word, 1.0) for word, number in count.items()}

    query = weighted(Counter(content_words(history)))
    cosines = []
    for vector in map(weighted, counts):
        product = sum(weight * vector.get(word, 0.0) for word, weight in query.items())
        length = math.hypot(*query.values()) * math.hypot(*vector.values())
        cosines.append(product / length if length else 0.0)
    return cosines


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
    earlier = earlier_citations(debate, index, repeat=options.repeat)
    fields = [_field(name, debate) for name in options.searched]
    # As many more hits as can drop out because they were cited before.
    matches = coarse(index, keywords, fields, options.coarse + len(earlier.ids), options.rule_match)
    candidates: Sequence[Argument] = earlier.uncited(matches)
    if not candidates:
        # Search all fields for the last message; if that has no result either, take any arguments.
        notes.append("no keyword matched: the opponent's words were searched")
        query = (clean(debate.last.utterance) or clean(debate.thesis))[:MAX_QUERY_LETTERS]
        all_fields = ("attacks", *options.searched, "text", "supports")
        by_id: dict[str, Argument] = {}
        for field in dict.fromkeys(_field(name, debate) for name in all_fields):
            for hit in index.search(field, query, options.coarse):
                by_id[hit.argument.id] = hit.argument
        candidates = earlier.uncited(by_id.values() or islice(index.arguments(), options.k + 20))
    candidates = earlier.not_contradicted(candidates) or candidates
    if options.on_topic:
        # Keywords can lead elsewhere; then the messages of the user are searched for.
        of_topic = arguments_on_topic(index, debate)
        candidates = (
            on_topic_of(of_topic, candidates)
            or earlier.not_contradicted(earlier.uncited(of_topic))
            or candidates
        )
    if options.scheme_rule and options.argumentation_schemes:
        annotations = stored([argument.id for argument in candidates])
        # Arguments that are known to use no scheme are left out, unless there are no others.
        candidates = [
            argument
            for argument, annotation in zip(candidates, annotations, strict=True)
            if not annotation or annotation.schemes
        ] or candidates
    cosines, basis = likeness(
        index, _field(options.likeness, debate), history_text(debate), candidates
    )
    notes.append(f"ranked by the cosine of {basis}")

    # The k most similar to the debate without repeated texts, and without texts that refer to
    # another text, unless all do; ties keep their order.
    records = map(RetrievedArgument, candidates, cosines)
    ordered = sorted(records, key=lambda record: -record.likeness)
    evidence = unique(ordered, key=lambda record: plain_words(record.argument.text))
    if options.standalone:
        readable = [record for record in evidence if not missing_context(record.argument.text)]
        evidence = readable or evidence
    return Recall(keywords, len(candidates), evidence[: options.k], notes=notes)


def _field(name: str, debate: Debate) -> str:
    """Return the field of a search: the debater that opens supports the motion, attacks nothing."""
    return "supports" if name == "attacks" and opens(debate) else name


MAX_CACHED_CALLS: Final = 5_000


class SchemeAnnotations:
    """Adds annotations to retrieved records."""

    def __init__(self, index: ArgumentIndex, annotator: SchemeAnnotator | None) -> None:
        """Without an annotator, only the annotations of the index are used."""
        self._stored = annotations_of(index).get(SCHEMES)
        self._annotator = annotator
        # By debate and by the arguments of a call, so that the results of a debate do not depend
        # on other debates, or on where a run was killed.
        self._cache: dict[tuple[str, ...], list[Annotation | None]] = {}

    def stored(self, ids: Sequence[str]) -> list[Annotation | None]:
        """Return the annotations of arguments that the index contains."""
        if self._stored is None:
            return [None] * len(ids)
        return [
            None if annotation is None else Annotation.model_validate(annotation)
            for annotation in self._stored.get_all(ids)
        ]

    async def add_to(
        self, evidence: Sequence[RetrievedArgument], allowance: Allowance, debate: str, *, keep: int
    ) -> list[RetrievedArgument]:
        """Return the records with their annotations; without them if a call fails.

        Annotations of earlier turns of a debate are used again. Of the turn's calls, `keep` must
        remain for later steps.
        """
        ids = [record.argument.id for record in evidence]
        stored = await anyio.to_thread.run_sync(self.stored, ids, abandon_on_cancel=True)
        records = [
            replace(record, annotation=annotation)
            for record, annotation in zip(evidence, stored, strict=True)
        ]
        annotator = self._annotator
        if not annotator:
            return records
        missing = [place for place, annotation in enumerate(stored) if not annotation]

        async def annotate(places: Sequence[int]) -> None:
            """Annotate the records of one call."""
            key = (debate, *(ids[place] for place in places))
            # Also a call that is not made again counts: the answer to a turn must not depend on
            # whether this process answered the turns before it.
            try:
                allowance.take(1 if annotator.options.calls == "merged" else 2, keep=keep)
            except ModelError:
                return
            annotations = self._cache.get(key)
            if annotations is None:
                texts = [records[place].argument.text for place in places]
                annotations = [
                    None if isinstance(answer, ModelError) else answer
                    for answer in await annotator.annotate(texts)
                ]
                if any(annotations):
                    self._cache[key] = annotations
                    if len(self._cache) > MAX_CACHED_CALLS:
                        del self._cache[next(iter(self._cache))]
            for place, annotation in zip(places, annotations, strict=True):
                records[place] = replace(records[place], annotation=annotation)

        async with anyio.create_task_group() as group:
            for places in in_parts(missing, annotator.per_call):
                group.start_soon(annotate, places)
        return records
