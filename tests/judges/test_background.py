"""What panels are told beside the debate: never the user's own opening post."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.demo import CONTESTS, DEBATES
from tests.models.by_schema import filling, prompt_of
from tests.models.scripted import serving
from tests.records import read_records, write_records
from tests.terminal import touche_rad

POST = "I have kept parrots for twenty years and I know what a cage does."


def prompts_of(source: Path, panel: str, out: Path) -> list[str]:
    with serving() as server:
        filling(server)
        touche_rad("judge -q", source, "-j", panel, "-m", f"{server.url}#tiny", "-o", out)
        return [prompt_of(body) for body in server.asked]


@pytest.mark.parametrize("panel", ["debatrix", "debgraph", "inspirescore"])
def test_the_description_of_a_debate_of_the_task_is_no_background(panel: str) -> None:
    record = read_records(DEBATES)[0]
    record["simulation"]["configuration"]["topic"]["description"] = POST
    source = Path("debates.jsonl")
    write_records(source, record)
    prompts = prompts_of(source, panel, Path("out.jsonl"))
    assert prompts
    for prompt in prompts:
        before = prompt.partition(POST)[0]
        assert "ackground" not in before.rpartition("\n")[2]


@pytest.mark.parametrize(
    ("panel", "shown"), [("debgraph", True), ("debgraph(profile=paper)", False), ("debatrix", True)]
)
def test_background_of_a_contest_is_capped_and_not_in_debgraph_as_published(
    panel: str, shown: bool
) -> None:
    contest = read_records(CONTESTS)[0]
    contest["info"] = "An info slide. " * 2_000
    source = Path("contests.jsonl")
    write_records(source, contest)
    prompts = prompts_of(source, panel, Path("out.jsonl"))
    assert any("An info slide." in prompt for prompt in prompts) == shown
    assert max(prompt.count("An info slide.") for prompt in prompts) < 300
