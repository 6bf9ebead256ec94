"""What the three panels ask of the same debate of six speeches, as docs/panels.md states it.

Without a web search: the paper's InspireScore makes six more calls for queries if it can search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.judges.inspire_world import contest
from tests.judges.makers import run_judge
from tests.models import scripted
from tests.models.by_schema import filled, form_of, prompt_of, schema_of
from tests.models.scripted import Handler, Scripted, content
from tests.records import read_table
from touche_rad.contest import Outcome
from touche_rad.plugins import find

SIX = contest(
    *((name, f"Speech {n} of {name} says this.") for n, name in enumerate(["Ada", "Bob"] * 3, 1)),
    Ada="pro",
    Bob="con",
)


def graph(prompt: str) -> dict[str, Any]:
    """Five arguments a speech; from the second speech on three rebuttals of the one before."""
    later = re.search(r"New ids begin at (\d+)", prompt)
    first = int(later[1]) if later else 1
    against = [(first + 3, first - 5), (first + 4, first - 5), (first + 4, first - 4)]
    edges = [(first, "claim", 0), (first + 1, "premise", first), (first + 2, "premise", first)]
    edges += [(source, "rebuttal", target) for source, target in against] if later else []
    return {
        "arguments": [{"id": first + n, "text": f"Argument {first + n}"} for n in range(5)],
        "relations": [
            {"source": source, "relation": relation, "target": target}
            for source, relation, target in edges
        ],
    }


def deepest(prompt: str) -> int:
    return max(map(int, re.findall(r"DEPTH-(\d+)", prompt)), default=0)


@pytest.fixture
def server() -> Iterator[Scripted]:
    """Each answer says how many answers it builds on, one after the other."""

    def act(handler: Handler) -> None:
        prompt = prompt_of(handler.body)
        if schema_of(handler.body) == "SceneGraph":
            answer = graph(prompt)
        else:
            depth = f"DEPTH-{1 + deepest(prompt)}"
            schema = form_of(handler.body)
            answer = filled(schema, analysis=depth, comment=depth)
        content(json.dumps(answer))(handler)

    with scripted.serving() as server:
        server.always = act
        yield server


def judge_contest(server: Scripted, panel: str, **options: str) -> Outcome:
    plugin = find("panel", panel)
    (outcome,) = run_judge(lambda services: plugin.make(services, options), server, SIX)
    return outcome


def test_debatrix_waits_for_no_more_than_the_speeches_and_two(server: Scripted) -> None:
    judge_contest(server, "debatrix")
    depth = max(deepest(prompt_of(body)) for body in server.asked)
    assert depth + 1 == len(SIX.speeches) + 2


PROFILES = read_table("judges/panel_calls.tsv")
"""A panel, a bundled profile, and its calls for six speeches."""


def marks(profile: str) -> list[pytest.MarkDecorator]:
    solver = [pytest.mark.services] if "solver" in profile else []
    return solver + ([] if profile in ("lean", "paper") else [pytest.mark.long])


@pytest.mark.parametrize(
    ("panel", "profile", "calls"),
    [
        pytest.param(panel, profile, int(calls), marks=marks(profile))
        for panel, profile, calls in PROFILES
    ],
)
def test_each_profile_judges_with_the_calls_of_its_description(
    server: Scripted, panel: str, profile: str, calls: int
) -> None:
    assert judge_contest(server, panel, profile=profile).winner is not None
    assert len(server.asked) == calls


def test_every_bundled_profile_is_tested() -> None:
    tested = {panel: {name for of, name, _ in PROFILES if of == panel} for panel, *_ in PROFILES}
    assert tested == {
        panel: {profile.name for profile in find("panel", panel).profiles()} for panel in tested
    }
