"""The bars: what may pass of turns whose verdict is known."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import pytest

from benchmarks import probes
from benchmarks.probe_changes import CHANGES
from benchmarks.probes import Data, Probe, demo, real
from tests.judges.makers import judge

BARS = {
    "negated": 0.15,
    "swapped": 0.05,
    "study": 0.05,
    "number": 0.05,
    "exaggerated": 0.05,
    "foreign": 0.10,
    "echo": 0.05,
    "echo, quality": 0.05,
    "surrender": 0.10,
    "padding": 0.10,
    "list": 0.05,
    "agreement": 0.05,
    "retraction": 0.05,
    "roles": 0.20,
    "shuffled": 0.15,
}
"""At most this share may pass."""
MAKERS = {
    "negated": lambda data, every: probes.changed("negated", data.spread(every)),
    "swapped": lambda data, every: islice(
        probes.swapped(data.arguments, data.found), 0, None, max(1, every // 8)
    ),
    "study": lambda data, every: probes.changed("study", data.spread(every)),
    "number": lambda data, every: probes.changed("number", data.spread(every)),
    "exaggerated": lambda data, every: probes.changed("exaggerated", data.spread(every)),
    "foreign": lambda data, every: probes.foreign(data.debates, 1 if every > 1 else 2),
    "echo": lambda data, every: probes.changed("echo", data.found[:: max(1, every // 8)]),
    "echo, quality": lambda data, every: probes.changed(
        "echo, quality", data.found[:: max(1, every // 4)]
    ),
    "surrender": lambda data, every: probes.changed("surrender", data.found[:: max(1, every // 4)]),
    "padding": lambda data, every: probes.changed("padding", data.found[:: max(1, every // 4)]),
    "agreement": lambda data, every: probes.changed("agreement", data.found[:: max(1, every // 4)]),
    "retraction": lambda data, every: probes.changed("retraction", data.spread(every)),
    "roles": lambda data, every: probes.changed("roles", data.spread(max(1, every // 8))),
    "shuffled": lambda data, every: probes.changed("shuffled", data.spread(every)),
    "list": lambda data, every: probes.listed(data.arguments, data.found),
}
EVERY_REAL = 32
"""Of the real arguments each so-many-th is changed; `benchmarks/quality.py probes` changes all."""


def passed(found: Iterable[Probe]) -> tuple[int, int]:
    verdicts = [judge().judge(probe.debate)[probe.maxim].yes for probe in found]
    return sum(verdicts), len(verdicts)


def holds(kind: str, data: Data, every: int) -> None:
    yes, count = passed(MAKERS[kind](data, every))
    assert count >= 15
    assert yes / count <= BARS[kind], f"{yes} of {count} pass"


def failing(found: Iterable[Probe]) -> list[str]:
    return [
        f"{probe.variant}: {verdict.rationale}"
        for probe in found
        if not (verdict := judge().judge(probe.debate)[probe.maxim]).yes
    ]


def one_change_each(data: Data) -> Iterable[Probe]:
    """Each argument quoted whole, and once more with one of the changes in turn."""
    kinds = list(CHANGES["verbatim"])
    for at, base in enumerate(data.spread()):
        wanted = ("whole", kinds[at % len(kinds)])
        for probe in probes.changed("verbatim", [base]):
            if probe.variant in wanted:
                yield probe


def test_there_are_many_ways_of_each_kind():
    assert len(CHANGES["negations"]) >= 12
    assert len(CHANGES["studies"]) >= 8
    assert len(CHANGES["echoes"]) >= 6


@pytest.mark.long
@pytest.mark.parametrize("kind", BARS)
def test_the_demo_fools_nobody(kind):
    holds(kind, demo(), 4 if kind not in ("foreign", "echo") else 1)


@pytest.mark.long
def test_every_quotation_of_the_demo_passes():
    assert failing(one_change_each(demo())) == []


@pytest.mark.long
@pytest.mark.parametrize("kind", BARS)
def test_the_real_sample_fools_nobody(kind, real_data):
    holds(kind, real(real_data), EVERY_REAL)


@pytest.mark.long
def test_every_quotation_of_the_real_sample_passes(real_data):
    assert failing(one_change_each(real(real_data))) == []


@pytest.mark.long
def test_answers_written_for_their_debate_pass_far_more_often_than_foreign_ones(real_data):
    data = real(real_data)
    own, count = passed(probes.recorded(data.debates))
    assert own / count >= 0.85
    bare, count = passed(map(probes.without_fields, probes.recorded(data.debates)))
    assert bare / count >= 0.75
