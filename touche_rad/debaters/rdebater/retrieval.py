"""Retrieval: keywords find candidates, similarity to the debate ranks them, schemes select."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Annotated

from pydantic import BaseModel, Field

from touche_rad.debate import Argument, Debate
from touche_rad.debaters.rdebater.history import lines, together
from touche_rad.debaters.rdebater.logic import Flaw, Formula, Logic, flaws, predicates
from touche_rad.debaters.rdebater.options import RdebaterOptions
from touche_rad.debaters.rdebater.recall import (
    Recall,
    Remembered,
    coarse,
    prior_evidence,
    prior_schemes,
    scheme_means,
    top_k,
)
from touche_rad.debaters.rdebater.remembering import Remembering
from touche_rad.errors import ToucheRadError
from touche_rad.models import Model, Prompt, drop_oldest
from touche_rad.models.output import Paragraph
from touche_rad.plugins import ArgumentIndex, Meaning, MeaningIndex
from touche_rad.text import clean, content_words, words

Keyword = Annotated[str, Field(json_schema_extra={"maxLength": 60})]


class Keywords(BaseModel):
    """What the agent answers."""

    keywords: list[Keyword] = Field(json_schema_extra={"maxItems": 16})


def kept(said: Iterable[str], most: int) -> tuple[str, ...]:
    """Return the keywords that say something, each once, as many as may be."""
    found: dict[str, str] = {}
    for keyword in map(clean, said):
        if content_words(keyword):
            found.setdefault(" ".join(words(keyword)), keyword)
    return tuple(found.values())[:most]


def plain_keywords(debate: Debate, most: int) -> tuple[str, ...]:
    """Return what is searched for where the model gave nothing: the last message's own words."""
    said = content_words(clean(debate.last.utterance)) or content_words(clean(debate.claim))
    often = Counter(said)
    ranked = sorted(often, key=lambda word: (-often[word], said.index(word)))
    return tuple(ranked[:most])


async def keywords(model: Model, debate: Debate, most: int) -> tuple[str, ...]:
    """Ask for the keywords of both sides' utterances."""
    prompt = Prompt.load(__package__, "keywords")
    values = {"most": most, "dialogue": lines(debate)}
    answer = await model.ask(
        prompt.messages(**values), Keywords, step="rdebater.keywords",
        shorten=drop_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    return kept(answer.keywords, most) or plain_keywords(debate, most)


class Reading(BaseModel):
    """The answer: each step stands on the one before it, and is therefore written after it."""

    predicates: list[Formula] = Field(json_schema_extra={"maxItems": 8})
    chain: Paragraph
    flaws: list[Flaw] = Field(json_schema_extra={"maxItems": 3})
    keywords: list[Keyword] = Field(json_schema_extra={"maxItems": 8})


async def reading(model: Model, debate: Debate, most: int) -> tuple[Logic, tuple[str, ...]]:
    """Ask for all of it in one call."""
    prompt = Prompt.load(__package__, "reading")
    values = {"most": most, "dialogue": lines(debate)}
    answer = await model.ask(
        prompt.messages(**values), Reading, step="rdebater.reading",
        shorten=drop_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    found = Logic(predicates(answer.predicates), answer.chain.strip(), flaws(answer.flaws))
    return found, kept(answer.keywords, most) or plain_keywords(debate, most)


def likeness(
    index: ArgumentIndex, field: str, said: str, arguments: Sequence[Argument]
) -> tuple[list[float], str]:
    """Return each argument's cosine with what was said, and what it was taken of."""
    meaning = _meaning(index)
    if meaning is not None and arguments:
        with suppress(ToucheRadError, KeyError):
            (found,) = meaning.likeness(field, [said], [one.id for one in arguments])
            return found, "vectors"
    return by_words(said, [str(getattr(one, field)) for one in arguments]), "words"


def nearest(index: ArgumentIndex, field: str, said: str, k: int) -> list[Argument]:
    """Return the arguments nearest to what was said, where there are vectors of the field."""
    meaning = _meaning(index)
    if meaning is None or not said.strip():
        return []
    with suppress(ToucheRadError, KeyError):
        (ids,) = meaning.nearest(field, [said], k)
        return [one for one in map(index.get, ids) if one is not None]
    return []


def _meaning(index: ArgumentIndex) -> Meaning | None:
    return index.meaning if isinstance(index, MeaningIndex) else None


def by_words(said: str, texts: Sequence[str]) -> list[float]:
    """Return the cosine of word counts, each word weighed by how few of the texts have it."""
    counts = [Counter(content_words(text)) for text in texts]
    often = Counter(word for count in counts for word in count)
    weights = {word: math.log(1 + len(texts) / times) for word, times in often.items()}
    asked = _weighed(Counter(content_words(said)), weights)
    return [_cosine(asked, _weighed(count, weights)) for count in counts]


def _weighed(count: Counter[str], weights: Mapping[str, float]) -> dict[str, float]:
    return {word: times * weights.get(word, 1.0) for word, times in count.items()}


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    product = sum(weight * other.get(word, 0.0) for word, weight in one.items())
    length = math.hypot(*one.values()) * math.hypot(*other.values())
    return product / length if length else 0.0


LONGEST_QUERY = 2_000


def retrieved(
    index: ArgumentIndex,
    remembering: Remembering,
    debate: Debate,
    keywords: Sequence[str],
    options: RdebaterOptions,
) -> Recall:
    """Return E: the k candidates most like the debate, not yet annotated."""
    notes: list[str] = []
    used = frozenset() if options.repeat else _cited(debate)
    spare = options.coarse + len(used)
    found = coarse(index, keywords, options.searched, spare, options.rule_match)
    fresh = [one for one in found if one.id not in used]
    if not fresh:
        notes.append("no keyword matched: all of the memory was searched")
        fresh = [one for one in _anything(index, debate, options) if one.id not in used]
    if options.scheme_rule and options.argumentation_schemes:
        fresh = _with_schemes(remembering, fresh)
    cosines, of = likeness(index, options.likeness, together(debate), fresh)
    evidence = top_k(fresh, cosines, options.k)
    notes.append(f"ranked by the cosine of {of}")
    return Recall(tuple(keywords), len(fresh), tuple(evidence), notes=tuple(notes))


def _cited(debate: Debate) -> frozenset[str]:
    responses = (turn.response for turn in debate.turns if turn.response is not None)
    return frozenset(argument.id for one in responses for argument in one.arguments)


def _anything(index: ArgumentIndex, debate: Debate, options: RdebaterOptions) -> list[Argument]:
    """Return what is nearest to the debate in meaning, or to the last message by any field.

    At last whatever there is.
    """
    near = nearest(index, options.likeness, together(debate), options.coarse)
    if near:
        return near
    said = clean(debate.last.utterance)[:LONGEST_QUERY] or clean(debate.claim)[:LONGEST_QUERY]
    fields = dict.fromkeys(("attacks", *options.searched, "text", "supports"))
    hits = [hit for field in fields for hit in index.search(field, said, options.coarse)]
    found = {hit.argument.id: hit.argument for hit in hits}
    return list(found.values()) or list(islice(index.arguments(), options.k + 20))


def _with_schemes(remembering: Remembering, arguments: Sequence[Argument]) -> list[Argument]:
    """Pass over what the memory knows to use no scheme, unless nothing else is left."""
    known = remembering.using([one.id for one in arguments])
    kept = [one for one, uses in zip(arguments, known, strict=True) if uses is not False]
    return kept or list(arguments)


def with_priors(found: Recall, evidence: Sequence[Remembered], options: RdebaterOptions) -> Recall:
    """Return the retrieval with the means, S_prior and E_prior of its annotated records."""
    over = options.k if options.divide_by == "k" else len(evidence)
    means = scheme_means(evidence, over, options.label_agg)
    schemes = prior_schemes(means, options.prior_threshold)
    prior, notes = prior_evidence(evidence, schemes), found.notes
    if not schemes:
        most = {"all": len(evidence), "first": 1, "none": 0}[options.without_priors]
        prior, notes = tuple(evidence[:most]), (*notes, "no scheme is above the threshold")
    return replace(
        found, evidence=tuple(evidence), means=means, schemes=schemes, prior=prior, notes=notes
    )
