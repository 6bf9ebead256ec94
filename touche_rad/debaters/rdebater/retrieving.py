"""The Keyword Extraction Agent's second step: from keywords to E, S_prior and E_prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from touche_rad.debate import Argument, Debate
from touche_rad.debaters.rdebater.history import together
from touche_rad.debaters.rdebater.likeness import likeness, nearest
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
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean

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
