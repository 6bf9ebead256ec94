"""Self-debate: what both speakers say becomes training data, with the reasoning of each."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.models.by_schema import filling, prompt_of
from tests.models.scripted import serving
from tests.terminal import touche_rad

CLAIMS = ("Zoos should be closed.", "Homework should be abolished in primary schools.")
ROUNDS = 2


@pytest.fixture(name="played")
def _played(tmp_path: Path) -> Path:
    """A self-debate on each claim; every speech has its own words."""
    claims, out = tmp_path / "claims.tsv", tmp_path / "contests.jsonl"
    rows = "".join(f"{claim}\tbase-user\n" for claim in CLAIMS)
    claims.write_text(f"TOPIC_DESCRIPTION\tUSER\n{rows}")
    said: Counter[str] = Counter()

    def speech(prompt: str) -> dict[str, object]:
        said[""] += 1
        number = said[""]
        return {"evidence": [], "reasoning": f"Thought {number}.", "argument": f"Point {number}."}

    with serving() as server:
        filling(server, Speech=speech)
        ended = touche_rad(
            *("simulate", claims, "--both-sides", "-d", "inspiredebate", "-i", "demo"),
            *("--rounds", str(ROUNDS), "-m", f"{server.url}#tiny", "-o", out, "-q"),
        )
    assert ended.code == 0, ended.err
    openings = [text for text in map(prompt_of, server.asked) if "You speak first" in text]
    # Before the first speech there is no opponent and no earlier turn that a prompt could mean.
    assert len(openings) == len(CLAIMS)
    assert not any("opponent" in text.lower() or "You claim" in text for text in openings)
    return out


@pytest.mark.parametrize("source", ["run", "trace"])
def test_each_speech_of_both_sides_is_one_sample(played: Path, tmp_path: Path, source: str) -> None:
    given = played if source == "run" else played.with_name(played.name + ".trace.jsonl")
    ended = touche_rad("train", "sft", given, "--data-only", "-o", tmp_path / "sft")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["answers"] == 2 * ROUNDS * len(CLAIMS)


def test_the_sides_of_a_round_can_be_paired(played: Path, tmp_path: Path) -> None:
    outcomes = tmp_path / "outcomes.jsonl"
    with serving() as server:
        filling(server)
        judged = touche_rad(
            *("judge", played, "-j", "inspirescore", "-O", "dimensions=AC,AA", "-o", outcomes),
            *("-m", f"{server.url}#tiny", "-q"),
        )
    assert judged.code == 0, judged.err
    records = [json.loads(line) for line in outcomes.read_text().splitlines()]
    for record in records:  # the endpoint scores all speeches alike, so the con side loses here
        record["outcome"]["scores"]["second"] |= {"argument_clarity": 0.2, "total": 0.2}
    outcomes.write_text("".join(json.dumps(record) + "\n" for record in records))
    pairs = tmp_path / "pairs.jsonl"
    ended = touche_rad("train", "preferences", played, outcomes, "--pairing", "sides", "-o", pairs)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["pairs"] == ROUNDS * len(CLAIMS)


def test_the_prompt_of_a_long_answer_names_a_limit_that_it_keeps(tmp_path: Path) -> None:
    speech = " ".join(["Word"] * 149) + " end."
    contest = {
        "id": "long",
        "motion": CLAIMS[0],
        "sides": {"A": "pro", "B": "con"},
        "speeches": [
            {"speaker": "A", "text": "Animals suffer."},
            {"speaker": "B", "text": f"<reasoning and analysis process> Why. <argument> {speech}"},
        ],
    }
    source, out = tmp_path / "contests.jsonl", tmp_path / "sft.jsonl"
    source.write_text(json.dumps(contest) + "\n")
    ended = touche_rad("train", "sft", source, "--data-only", "-o", out)
    assert ended.code == 0, ended.err
    text = out.read_text()
    assert "150 words" in text
    assert "60 words" not in text
