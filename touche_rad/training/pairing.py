"""Preference pairs: of two answers the one that judges scored higher, by a margin.

The paper's y_w is what has the higher InspireScore, its y_l the lower. Pro and con have different
prompts, so that pairs of the same prompt need several answers to it (`context`, `prompt`); the
paper's own debates of a model with itself are paired by their sides (`sides`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final, Literal

from touche_rad.training.samples import digest
from touche_rad.training.scores import Scored

Pairing = Literal["context", "prompt", "debate", "sides"]
By = Literal["total", "each"]
_ROUNDING: Final = 1e-9
PAPERS: Final[Mapping[str, str]] = {
    "EA": "emotional_appeal", "AC": "argument_clarity", "AA": "argument_arrangement",
    "AR": "argument_arrangement", "TR": "topic_relevance", "FA": "fact_authenticity",
    "LV": "logical_validity",
}  # fmt: skip
"""InspireScore's dimensions as the paper's tables call them."""
_MADE_OF_OTHERS: Final = frozenset(("subjective", "objective", "total", "general"))
"""What panels make of their dimensions; where all count, these would count them twice."""


@dataclass(frozen=True)
class Rule:
    """When one answer is preferred to another."""

    reward: tuple[str, ...] = ()
    """The dimensions that count; none named are all."""
    margin: float = 0.1
    """The least gap of the mean of these dimensions."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """The least gap in a dimension; below nothing, how much it may lose."""
    by: By = "total"
    """`total`: by the mean; `each`: by every dimension that tells the two apart, none against."""
    pairing: Pairing = "context"
    most: int = 1
    """The most pairs of one context, the widest gaps first."""


@dataclass(frozen=True)
class Pair:
    """A preference."""

    better: Scored
    worse: Scored
    gap: float
    gaps: Mapping[str, float]

    def record(self) -> dict[str, Any]:
        """Return a line of preference data: a chat, and its two ends."""
        better, worse = self.better.sample, self.worse.sample
        return {
            "prompt": [one.wire() for one in better.prompt],
            "chosen": [{"role": "assistant", "content": better.answer}],
            "rejected": [{"role": "assistant", "content": worse.answer}],
            "gap": round(self.gap, 6),
            "gaps": {name: round(gap, 6) for name, gap in self.gaps.items()},
            "debate": better.debate, "turn": better.turn,
            "group": self.better.motion,
            "sources": [better.source, worse.source],
        }  # fmt: skip


def pairs(found: Sequence[Scored], rule: Rule) -> tuple[list[Pair], Counter[str]]:
    """Return the pairs, in the order of their contexts, and why others are none."""
    contexts: dict[str, list[Scored]] = defaultdict(list)
    for one in found:
        contexts[_CONTEXT[rule.pairing](one)].append(one)
    made: list[Pair] = []
    left_out: Counter[str] = Counter()
    for held in contexts.values():
        if len(held) < 2:
            left_out["alone in its context"] += 1
            continue
        good: list[Pair] = []
        for one, other in combinations(held, 2):
            pair = _pair(one, other, rule)
            if isinstance(pair, Pair):
                good.append(pair)
            else:
                left_out[pair] += 1
        good.sort(key=lambda pair: -pair.gap)
        left_out["more than asked for"] += max(0, len(good) - rule.most)
        made += good[: rule.most]
    return made, +left_out


_CONTEXT: Final[Mapping[Pairing, Callable[[Scored], str]]] = {
    "context": lambda one: f"{one.sample.side} {one.sample.history}",
    "prompt": lambda one: digest(message.content for message in one.sample.prompt),
    "debate": lambda one: f"{one.motion} {one.sample.side} {one.sample.turn}",
    "sides": lambda one: f"{one.contest} {one.sample.turn}",
}


def _pair(one: Scored, other: Scored, rule: Rule) -> Pair | str:
    """Return the pair of two answers, the better first, or why they are none."""
    if one.sample.spoken.strip() == other.sample.spoken.strip():
        return "the same words"
    if rule.pairing == "sides" and one.sample.side == other.sample.side:
        return "on the same side"
    gaps = _gaps(one.scores, other.scores, rule.reward)
    if not gaps:
        return "no dimension scored for both"
    told = _direction(gaps, rule)
    if isinstance(told, str):
        return told
    better, worse = (one, other) if told > 0 else (other, one)
    turned = {name: gap * told for name, gap in gaps.items()}
    short = [
        name for name, least in rule.margins.items() if turned.get(name, least) < least - _ROUNDING
    ]
    if rule.by == "total" and short:
        return "below a dimension's margin"
    return Pair(better, worse, sum(turned.values()) / len(turned), turned)


def _gaps(
    one: Mapping[str, float | None], other: Mapping[str, float | None], reward: Sequence[str]
) -> dict[str, float]:
    """Return how much the first is better, in each dimension that both have a score in."""
    found: dict[str, float] = {}
    shared = {*one} & {*other}
    for name in reward or sorted(shared - _MADE_OF_OTHERS or shared):
        first, second = one.get(name), other.get(name)
        if first is not None and second is not None:
            found[name] = first - second
    return found


def _direction(gaps: Mapping[str, float], rule: Rule) -> int | str:
    """Return 1 where the first is preferred, -1 where the second is, or why neither is."""
    if rule.by == "total":
        gap = sum(gaps.values()) / len(gaps)
        if abs(gap) <= _ROUNDING:
            return "equal"
        if abs(gap) < rule.margin - _ROUNDING:
            return "below the margin"
        return 1 if gap > 0 else -1
    told = {
        1 if gap > 0 else -1
        for name, gap in gaps.items()
        if abs(gap) > _ROUNDING and abs(gap) >= rule.margins.get(name, rule.margin) - _ROUNDING
    }
    if not told:
        return "below the margin"
    return "dimensions against each other" if len(told) > 1 else told.pop()
