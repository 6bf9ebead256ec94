"""`touche-rad train preferences`: pairs of a better and a worse answer, from scores of judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from touche_rad.debaters.inspiredebate.conversation import Wording
from touche_rad.errors import UserError
from touche_rad.models import Model
from touche_rad.training.pairing import Rule, pairs
from touche_rad.training.reasoning import Whence
from touche_rad.training.recorded import Reader, first_record, learn_traces
from touche_rad.training.samples import write_records
from touche_rad.training.scores import Scored, scored
from touche_rad.training.traces import is_trace


def make_preferences(
    sources: Sequence[Path],
    out: Path,
    *,
    rule: Rule | None = None,
    whence: Whence = "given",
    wording: Wording = "close",
    teacher: Model | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Mapping[str, Any]:
    """Pair the scored answers of evaluations and outcomes, and write the pairs.

    Args:
        sources: Evaluations, outcomes of whole debates, and traces that have the reasoning.
        out: The pairs to write.
        rule: When one answer is preferred to another.
        whence: Where the reasoning of an answer comes from that was recorded without it.
        wording: How the debater's prompt asks for evidence to be used.
        teacher: The language model that is asked for reasoning.
        report: Told (done, total) while a teacher is asked.

    Returns:
        Counts, of what was left out too.
    """
    rule = rule or Rule()
    reader = Reader(whence=whence, wording=wording)
    learn_traces(reader, sources)
    found: list[Scored] = []
    for path in sources:
        if not is_trace(first_record(path)):
            found += scored(reader, path)
    _check(found, rule)
    thought = reader.thought_through([one.sample for one in found], teacher, report)
    whole = [replace(found[at], sample=sample) for at, sample in thought.items()]
    made, left_out = pairs(whole, rule)
    if not made:
        told = ", ".join(f"{name}: {n}" for name, n in (left_out + reader.left_out).items())
        raise UserError(f"no pair can be made of {len(whole)} scored answers ({told or 'none'})")
    write_records(out, (pair.record() for pair in made))
    return {
        "answers": len(whole),
        "pairs": len(made),
        "mean_gap": round(sum(pair.gap for pair in made) / len(made), 4),
        "dimensions": _directions([pair.gaps for pair in made]),
        "reasoning": dict(Counter(one.sample.reasoning for one in whole)),
        "left_out": dict(left_out),
        "answers_left_out": dict(reader.left_out),
    }


def _check(found: Sequence[Scored], rule: Rule) -> None:
    """Tell a dimension that nobody scored, before it silently leaves nothing."""
    known = sorted({name for one in found for name in one.scores})
    unknown = [name for name in (*rule.reward, *rule.margins) if name not in known]
    if found and unknown:
        raise UserError(f"no judge scored {unknown[0]!r} (there is {', '.join(known)})")


def _directions(gaps: Sequence[Mapping[str, float]]) -> dict[str, dict[str, int]]:
    """Say in how many pairs each dimension agrees with the preference, and in how many not."""
    names = sorted({name for one in gaps for name in one})
    return {
        name: {
            "for": sum(one.get(name, 0) > 0 for one in gaps),
            "against": sum(one.get(name, 0) < 0 for one in gaps),
            "equal": sum(one.get(name) == 0 for one in gaps),
        }
        for name in names
    }
