"""`touche-rad train preferences`: pairs of a better and a worse answer, from judges' scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, TypeAdapter, ValidationError

from judges.inspirescore.aggregation import ABBREVIATIONS
from touche_rad import files
from touche_rad.debate import SYSTEM
from touche_rad.debaters._asking import Wording
from touche_rad.debaters.inspiredebate.training._recorded import (
    Answers,
    Reader,
    answered_in_contest,
    first_record,
)
from touche_rad.debaters.inspiredebate.training._samples import (
    TrainingData,
    TrainingSample,
    digest,
    hold_out,
    is_trace,
    messages_at,
    read_records,
    write_records,
)
from touche_rad.errors import InputError, UserError
from touche_rad.frozen import frozen
from touche_rad.plugins.profiles import expected as expected_of
from touche_rad.text import spaced_words

Scores = Mapping[str, float | None]


@frozen
class ScoredAnswer:
    """An answer and its scores by dimension; None if a score is missing."""

    sample: TrainingSample
    scores: Scores
    motion: str
    contest: str
    """The run of the debate that it is from."""


Scope = Literal["round", "debate"]


class _ScoredSpeech(BaseModel):
    """The scores that a panel gives a speech, in the details of an outcome."""

    speaker: str
    round: int
    scores: Scores = {}


_SPEECHES: Final = TypeAdapter(tuple[_ScoredSpeech, ...])


def scored(reader: Reader, paths: Sequence[Path], scope: Scope) -> Iterator[ScoredAnswer]:
    """Yield the scored answers of files of evaluations and of panels' outcomes.

    Outcomes name debates by their ids. The debates are in the file of debates or contests that was
    given last before the outcomes, because runs of the same debates have the same ids.
    """
    debates: Mapping[str, Answers] = {}
    for path in paths:
        kind = files.detect_kind(path)
        if kind is files.Kind.EVALUATIONS:
            yield from _of_evaluations(reader, path)
        elif kind is files.Kind.OUTCOMES:
            yield from _of_outcomes(reader, path, debates, scope)
        elif kind is files.Kind.CONTESTS:
            debates = {
                contest.id: answered_in_contest(contest) for contest in files.read_contests(path)
            }
        elif kind in files.DEBATES:
            debates = {
                debate.id: list(product([SYSTEM], views))
                for debate, views in files.read_views(path)
            }
        else:
            raise InputError(path, f"expected evaluations, outcomes or debates, got {kind}")


def _of_evaluations(reader: Reader, path: Path) -> Iterator[ScoredAnswer]:
    """Yield scored answers of evaluations: the verdicts of each turn, by criterion."""
    for number, evaluation in enumerate(files.read_evaluations(path)):
        motion = digest([evaluation.debate.thesis])
        for view, verdicts in zip(evaluation.debate.views(), evaluation.turns, strict=False):
            sample = reader.sample(view, path.name)
            if sample:
                scores = {
                    key: None if verdict.fallback else verdict.score
                    for key, verdict in verdicts.items()
                }
                yield ScoredAnswer(sample, scores, motion, f"{path.name}#{number}")


def _of_outcomes(
    reader: Reader, path: Path, debates: Mapping[str, Answers], scope: Scope
) -> Iterator[ScoredAnswer]:
    """Yield scored answers of outcomes.

    An answer has the scores of its round, if the panel gives such scores, or those of its speaker
    in the debate.
    """
    for number, record in enumerate(files.read_outcomes(path), 1):
        answers = debates.get(record.id)
        if answers is None:
            raise InputError(
                path,
                f"expected the debate {record.id!r} in a file that is given before this one",
                line=number,
                field="id",
            )
        try:
            speeches = _SPEECHES.validate_python(record.outcome.details.get("responses", ()))
        except ValidationError as error:
            raise InputError(
                path, f"outcome.details.responses: {expected_of(error)}", line=number
            ) from None
        of_round = {(speech.speaker, speech.round): speech.scores for speech in speeches}
        by_round = scope == "round" and any(of_round.values())
        for speaker, sample in reader.samples(answers, path.name):
            of_debate = record.outcome.scores.get(speaker, {})
            scores = of_round.get((speaker, sample.turn + 1), {}) if by_round else of_debate
            yield ScoredAnswer(sample, scores, digest([sample.topic]), f"{path.name}#{number}")


_ROUNDING: Final = 1e-9
_MADE_OF_OTHERS: Final = frozenset(("subjective", "objective", "total", "general"))
"""Scores that panels compute from other dimensions; they would count these twice."""


@frozen
class Rule:
    """The conditions under which one answer is preferred to another."""

    reward: tuple[str, ...] = ()
    """The dimensions that count; all if empty."""
    margin: float = 0.0
    """Minimum difference of the mean of these dimensions."""
    pairing: Literal["context", "sides"] = "context"
    score: Scope = "round"
    """The scores of outcomes: those of an answer's round, or of the debate."""


@frozen
class PreferencePair:
    """A pair of a better and a worse answer."""

    better: ScoredAnswer
    worse: ScoredAnswer
    gap: float
    gaps: Mapping[str, float]

    def record(self) -> dict[str, Any]:
        """Return the record for a file of preferences: a chat and its two answers."""
        better = self.better.sample
        worse = self.worse.sample
        return {
            "prompt": [message.wire() for message in better.prompt],
            "chosen": [{"role": "assistant", "content": better.answer}],
            "rejected": [{"role": "assistant", "content": worse.answer}],
            "gap": round(self.gap, 6),
            "gaps": {name: round(gap, 6) for name, gap in self.gaps.items()},
            "debate": better.debate,
            "turn": better.turn,
            "group": self.better.motion,
            "sources": [better.source, worse.source],
        }


def pairs(answers: Sequence[ScoredAnswer], rule: Rule) -> tuple[list[PreferencePair], Counter[str]]:
    """Return the pairs in the order of their contexts, and why other pairs are not used."""
    contexts: dict[str, list[ScoredAnswer]] = defaultdict(list)
    for answer in answers:
        sample = answer.sample
        context = f"{answer.contest} {sample.turn}"
        if rule.pairing == "context":
            context = f"{sample.side} {sample.history}"
        contexts[context].append(answer)
    preferences: list[PreferencePair] = []
    left_out: Counter[str] = Counter()
    for same_context in contexts.values():
        left_out["alone in its context"] += len(same_context) < 2
        good = []
        for first, second in combinations(same_context, 2):
            pair = _pair(first, second, rule)
            if isinstance(pair, PreferencePair):
                good.append(pair)
            else:
                left_out[pair] += 1
        if good:
            left_out["smaller than another of its context"] += len(good) - 1
            preferences.append(max(good, key=lambda pair: pair.gap))
    return preferences, +left_out


def _pair(first: ScoredAnswer, second: ScoredAnswer, rule: Rule) -> PreferencePair | str:
    """Return the pair of two answers, the better one first, or why it is not used."""
    if first.sample.argument.strip() == second.sample.argument.strip():
        return "the same words"
    if rule.pairing == "sides" and first.sample.side == second.sample.side:
        return "on the same side"
    # The difference in each dimension in which both have a score.
    shared = {*first.scores} & {*second.scores}
    gaps: dict[str, float] = {}
    for name in rule.reward or sorted(shared - _MADE_OF_OTHERS or shared):
        score = first.scores.get(name)
        second_score = second.scores.get(name)
        if score is not None and second_score is not None:
            gaps[name] = score - second_score
    if not gaps:
        return "no dimension scored for both"
    gap = sum(gaps.values()) / len(gaps)
    if abs(gap) < max(rule.margin - _ROUNDING, _ROUNDING):
        return "below the margin"
    if gap < 0:
        return _pair(second, first, rule)
    # A model would learn not to repeat a message, instead of a better answer to it.
    rejected = spaced_words(second.sample.argument)
    if any(rejected in spaced_words(message.content) for message in first.sample.prompt):
        return "the rejected answer stands in the prompt"
    return PreferencePair(first, second, gap, gaps)


def make_preferences(
    sources: Sequence[Path],
    out: Path,
    *,
    rule: Mapping[str, Any],
    wording: Wording = "close",
) -> Mapping[str, Any]:
    """Pair the scored answers of evaluations and outcomes, write the pairs, and return counts."""
    reader = Reader(wording=wording)
    reader.learn(sources)
    paths = [path for path in sources if not is_trace(first_record(path))]
    conditions = Rule(**rule)
    answers = list(scored(reader, paths, conditions.score))
    if not answers and not reader.left_out:
        raise UserError("no scores: run touche-rad judge first")
    preferences, left_out = pairs(answers, _with_full_names(answers, conditions))
    if not preferences:
        reasons = ", ".join(
            f"{name}: {count}" for name, count in (left_out + reader.left_out).items()
        )
        fix = ""
        if reader.left_out["no reasoning"]:
            fix = ": give also RUN.trace.jsonl of the debater's run (written unless --no-trace)"
        raise UserError(f"no pair can be made of {len(answers)} scored answers ({reasons}){fix}")
    write_records(out, (pair.record() for pair in preferences))
    dimensions = {}
    for name in sorted(set().union(*(pair.gaps for pair in preferences))):
        gaps = [pair.gaps.get(name) for pair in preferences]
        dimensions[name] = {
            "for": sum((gap or 0) > 0 for gap in gaps),
            "against": sum((gap or 0) < 0 for gap in gaps),
            "equal": gaps.count(0),
        }
    return {
        "answers": len(answers),
        "pairs": len(preferences),
        "mean_gap": round(sum(pair.gap for pair in preferences) / len(preferences), 4),
        "dimensions": dimensions,
        "left_out": dict(left_out),
        "answers_left_out": dict(reader.left_out),
    }


def read_pairs(sources: Sequence[Path], *, share: float, seed: int) -> TrainingData:
    """Read files of pairs, and hold a share of their motions out."""
    records: list[Mapping[str, Any]] = []
    for path in sources:
        for number, record in read_records(path):
            for name in ("prompt", "chosen", "rejected"):
                messages_at(record.get(name), path, number, name)
            if record["chosen"] == record["rejected"]:
                raise InputError(path, "chosen and rejected are identical", line=number)
            records.append(record)
    if not records:
        raise UserError("the files contain no preference pairs")

    def group(record: Mapping[str, Any]) -> str:
        return str(record.get("group") or record["prompt"])

    training, out = hold_out(records, group, share, seed)
    groups = len(set(map(group, records)))
    return TrainingData(training, out, {"pairs": len(records), "motions": groups})


def _with_full_names(answers: Sequence[ScoredAnswer], rule: Rule) -> Rule:
    """Replace abbreviations of dimensions by their names; raise an error for unknown ones."""
    if not answers:
        return rule
    scored_names = sorted(set().union(*(answer.scores for answer in answers)))
    reward = []
    for name in rule.reward:
        full = name if name in scored_names else ABBREVIATIONS.get(name.upper(), name)
        if full not in scored_names:
            raise UserError(f"no judge scored {name!r} (there is {', '.join(scored_names)})")
        reward.append(full)
    return replace(rule, reward=tuple(reward))
