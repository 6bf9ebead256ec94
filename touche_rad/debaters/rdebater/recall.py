"""Retrieval: keywords find candidates, likeness to the debate ranks them, schemes select.

The formulas are the paper's: `rule_match`, the cosine's Top-k, the mean score of each scheme over
the k best, the priors above the threshold and the records that use one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from touche_rad.debate import Argument
from touche_rad.debaters.rdebater.schemes import Aggregation, Annotation, Scheme
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import words

Match = Literal["index", "literal"]


@dataclass(frozen=True)
class Remembered:
    """A record of the memory: an argument, how like the debate it is, and what it uses."""

    argument: Argument
    likeness: float
    annotation: Annotation | None = None

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """The schemes it is known to use."""
        return self.annotation.schemes if self.annotation else ()


@dataclass(frozen=True)
class Recall:
    """What retrieval found: E, the means, S_prior and E_prior."""

    keywords: tuple[str, ...] = ()
    coarse: int = 0
    evidence: tuple[Remembered, ...] = ()
    means: Mapping[Scheme, float] | None = None
    schemes: tuple[Scheme, ...] = ()
    prior: tuple[Remembered, ...] = ()
    notes: tuple[str, ...] = ()


def rule_match(text: str, keywords: Sequence[str]) -> bool:
    """Whether a text has any keyword, word for word; a phrase must stand as it is."""
    said = f" {' '.join(words(text))} "
    return any(f" {' '.join(words(keyword))} " in said for keyword in keywords if words(keyword))


def coarse(
    index: ArgumentIndex, keywords: Sequence[str], fields: Sequence[str], most: int, match: Match
) -> list[Argument]:
    """Return E_coarse: what any keyword matches, best first by each field in turn.

    Args:
        index: The memory's arguments.
        keywords: Any of them matches.
        fields: Which fields are searched.
        most: How many candidates each field gives at most.
        match: `index` takes the index's word that a stem matches, `literal` wants the word itself.
    """
    query = " ".join(keywords)
    if not query.strip():
        return []
    found = [index.search(field, query, most) for field in fields]
    ranked: dict[str, Argument] = {}
    for rank in range(max(map(len, found), default=0)):
        for field, hits in zip(fields, found, strict=True):
            for hit in hits[rank : rank + 1]:
                said = str(getattr(hit.argument, field, hit.argument.text))
                if match == "index" or rule_match(said, keywords):
                    ranked.setdefault(hit.argument.id, hit.argument)
    return list(ranked.values())


def top_k(arguments: Sequence[Argument], likeness: Sequence[float], k: int) -> list[Remembered]:
    """Return the k candidates that are most like the debate, equal ones as they stood."""
    scored = [Remembered(*one) for one in zip(arguments, likeness, strict=True)]
    return sorted(scored, key=lambda one: -one.likeness)[:k]


def scheme_means(
    evidence: Sequence[Remembered], k: int, by: Aggregation = "mean"
) -> dict[Scheme, float]:
    """Return s̄(S): the labels of each scheme over k records, 0 where one does not use it."""
    if k <= 0:
        return dict.fromkeys(Scheme, 0.0)
    return {
        scheme: sum(one.annotation.level(scheme, by) for one in evidence if one.annotation) / k
        for scheme in Scheme
    }


def prior_schemes(means: Mapping[Scheme, float], threshold: float) -> tuple[Scheme, ...]:
    """Return S_prior: the schemes whose mean is above the threshold."""
    return tuple(scheme for scheme, mean in means.items() if mean > threshold)


def prior_evidence(
    evidence: Sequence[Remembered], schemes: Sequence[Scheme]
) -> tuple[Remembered, ...]:
    """Return E_prior: the records that use one of the schemes."""
    return tuple(one for one in evidence if set(one.schemes) & set(schemes))
