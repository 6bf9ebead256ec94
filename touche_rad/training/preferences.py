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
from touche_rad.training.pairing import PAPERS, Rule, pairs
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
        sources: Evaluations; outcomes, each after the debates they are on; traces.
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
    judged = [path for path in sources if not is_trace(first_record(path))]
    found = list(scored(reader, judged))
    rule = _named(found, rule)
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


def _named(found: Sequence[Scored], rule: Rule) -> Rule:
    """Give dimensions the names that the judge has for them; one that nobody scored is told."""
    known = sorted({name for one in found for name in one.scores})
    if not found:
        return rule

    def name(said: str) -> str:
        named = said if said in known else PAPERS.get(said.upper(), said)
        if named not in known:
            raise UserError(f"no judge scored {said!r} (there is {', '.join(known)})")
        return named

    return replace(
        rule, reward=tuple(map(name, rule.reward)),
        margins={name(said): least for said, least in rule.margins.items()},
    )  # fmt: skip


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
