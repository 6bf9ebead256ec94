"""How many changed answers the grounded judge accepts, and its F1 on the demo's labels."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks import probes
from benchmarks.probes import Data, Probe, demo, real
from judges.grice.grounded import GroundedJudge
from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.demo import demo_file
from touche_rad.plugins import Services

JUDGE = GroundedJudge(GroundedJudge.Options(), Services())
Scored = tuple[int, float, bool]
"""Number of the debate, score and label of a turn."""


def report(every: int, *, variants: bool) -> None:
    """Print the rates on the demo, and on the official sample if TOUCHE_RAD_DATA names it."""
    show("demo", demo(), 1, variants)
    folder = os.environ.get("TOUCHE_RAD_DATA")
    if folder:
        show("official sample", real(Path(folder)), every, variants)
    show_labels()


def kinds(data: Data, every: int) -> Iterator[tuple[str, Iterable[Probe]]]:
    spread = data.spread(every)
    yield "verbatim quotations (all should pass)", probes.changed("verbatim", spread)
    yield "negated quotations", probes.changed("negated", spread)
    yield "swapped arguments", probes.swapped(data.arguments, data.found)
    yield "invented study or fact", probes.changed("study", spread)
    yield "invented number", probes.changed("number", spread)
    yield "exaggeration", probes.changed("exaggerated", spread)
    yield "echo of the user, on Quality", probes.changed("echo, quality", data.found)
    yield "echo of the user, on Relation", probes.changed("echo", data.found)
    yield "surrender", probes.changed("surrender", data.found)
    yield "agreement before a quotation", probes.changed("agreement", data.found)
    yield "quotation taken back", probes.changed("retraction", spread)
    yield "subject and object exchanged", probes.changed("roles", spread)
    yield "words shuffled", probes.changed("shuffled", spread)
    yield "insult before a quotation", probes.changed("insult", data.found)
    yield "foreign", probes.foreign(data.debates)
    yield "foreign, id and text alone", map(probes.without_fields, probes.foreign(data.debates))
    for title, found in (
        ("recorded answer (should pass)", probes.recorded(data.debates)),
        ("argument found for it (baseline)", probes.found_for(data.found)),
    ):
        found = list(found)
        yield title, found
        yield f"{title}, id and text alone", map(probes.without_fields, found)
    yield "four points, on Quantity", probes.listed(data.arguments, data.found)
    yield "padding, on Manner", probes.changed("padding", data.found)


def show(name: str, data: Data, every: int, variants: bool) -> None:
    print(f"\n{name}: {len(data.debates)} debates, {len(data.arguments)} arguments, each {every}.")
    started, count = time.perf_counter(), 0
    for title, found in kinds(data, every):
        yes, of = Counter[str](), Counter[str]()
        for probe in found:
            of[probe.variant] += 1
            yes[probe.variant] += JUDGE.judge(probe.debate)[probe.maxim].yes
        count += of.total()
        print(
            f"  {title:58} {yes.total():6} of {of.total():6} pass  {share(yes.total(), of.total())}"
        )
        for variant in of if variants else ():
            print(f"      {variant:54} {yes[variant]:6} of {of[variant]:6}")
    spent = time.perf_counter() - started
    print(f"  {1000 * spent / max(1, count):.2f} ms a judged turn, making the probe included")


def share(yes: int, count: int) -> str:
    return f"{yes / count:.3f}" if count else "-"


def show_labels() -> None:
    """Print F1 with the shipped threshold, one tuned on the other debates, and of always yes."""
    print("\ndemo labels: F1 of yes as shipped | threshold from the other debates | always yes")
    labelled = list(zip(demo().debates, files.read_labels(demo_file("labels.jsonl")), strict=True))
    for maxim in Maxim:
        scored = [
            (number, JUDGE.judge(debate.view(at))[maxim].score or 0.0, bool(labels[maxim]))
            for number, (debate, turns) in enumerate(labelled)
            for at, labels in enumerate(turns)
            if labels[maxim] is not None
        ]
        fixed = f1([(score >= 0.5, label) for _, score, label in scored])
        always = f1([(True, label) for *_, label in scored])
        print(f"  {maxim:10} {fixed:.3f} | {f1(left_out(scored)):.3f} | {always:.3f}")


def left_out(scored: Sequence[Scored]) -> list[tuple[bool, bool]]:
    """Return verdicts on each debate with the threshold that is best on all others."""
    found: list[tuple[bool, bool]] = []
    for number in sorted({number for number, *_ in scored}):
        line = best_threshold([turn for turn in scored if turn[0] != number])
        found += [(score >= line, label) for at, score, label in scored if at == number]
    return found


def best_threshold(scored: Sequence[Scored]) -> float:
    """Return the threshold with the best F1; among equals the one nearest to 0.5."""
    lines = [0.5, *(math.nextafter(score, 0) for _, score, _ in scored)]
    return max(
        lines,
        key=lambda line: (
            f1([(score >= line, label) for _, score, label in scored]),
            -abs(line - 0.5),
        ),
    )


def f1(verdicts: Sequence[tuple[bool, bool]]) -> float:
    hits = sum(said and label for said, label in verdicts)
    wrong = sum(said != label for said, label in verdicts)
    return 2 * hits / (2 * hits + wrong) if hits else 0.0
