"""A judge gives the same verdicts on a debate whether it comes from a file or over HTTP."""

from __future__ import annotations

import asyncio
import json
import random
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import httpx2
import pytest

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.plugins import Services, find
from touche_rad.runs.answering import Answerer
from touche_rad.runs.judging import judge_view
from touche_rad.serve import create_app

DEMO = Path(str(resources("touche_rad.demo") / "debates.jsonl"))
TEXTS = (
    "Zoos should be closed.",
    "Zoos should not be closed.",
    "Breeding in zoos saves rare species.",
    "Never!\n- cages harm\n- animals suffer",
    "Why?",
    " ",
    "half \ud83d a sign",
    "x\x00y\u2028z",
)


def demo_rows() -> list[dict[str, Any]]:
    return [json.loads(files.simulation_line(one)) for one in files.read_debates(DEMO)]


def generated_rows(count: int) -> list[dict[str, Any]]:
    """Simulations with missing, null and unknown fields, as clients and converters write them."""
    draw = random.Random(7)

    def argument(number: int) -> dict[str, Any]:
        fields = {
            "topic": draw.choice(TEXTS),
            "attacks": draw.choice(TEXTS),
            "supports": draw.choice(TEXTS),
            "tags": ["a", "b"],
            "references": None,
            "original": None,
            "key": number,
            "score": 0.5,
        }
        kept = {
            key: draw.choice([value, value, None])
            for key, value in fields.items()
            if draw.random() < 0.6
        }
        return {"id": f"{number}", "text": draw.choice(TEXTS), **kept}

    def turn() -> dict[str, Any]:
        cited = [argument(number) for number in range(draw.randrange(4))]
        body = {"content": draw.choice(TEXTS), "arguments": draw.choice([cited, cited, None])}
        said = draw.choice([body["content"], 42, None])
        system = {"utterance": said, "response": draw.choice([body, body, None])}
        return {"utterance": draw.choice(TEXTS), "systemResponse": system, "milliseconds": 1}

    rows = []
    for number in range(count):
        simulation: dict[str, Any] = {"userTurns": [turn() for _ in range(draw.randint(1, 3))]}
        if draw.random() < 0.5:
            topic = {"description": draw.choice([*TEXTS, None])}
            simulation["configuration"] = {"topic": topic, "user": {"model": "base-user"}}
        rows.append({"simulation": simulation, "id": draw.choice([f"row-{number}", 5, None])})
    return rows


def assert_same(name: str, rows: list[dict[str, Any]], folder: Path) -> None:
    """Compare the verdicts on the views of a file with the answers of the server's endpoints."""
    source = folder / "simulations.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    async def compare() -> None:
        judge: Any = find("judge", name).make(Services())
        app = create_app(Answerer([]), judge)
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            for row, (_, views) in zip(rows, files.read_views(source), strict=True):
                for view in views:
                    verdicts = (await judge_view(judge, view)).verdicts
                    for maxim in Maxim:
                        body = {**row, "userTurnIndex": len(view.turns) - 1}
                        answer = (
                            await client.post(
                                f"/{maxim}",
                                content=json.dumps(body),
                                headers={"content-type": "application/json"},
                            )
                        ).json()
                        verdict = verdicts[maxim]
                        assert answer == {"score": verdict.score, "explanation": verdict.rationale}

    asyncio.run(compare())


@pytest.mark.parametrize("name", ["grounded", "random", "length"])
def test_a_judge_gives_the_same_verdicts(name: str, tmp_path: Path) -> None:
    assert_same(name, demo_rows()[:4] + generated_rows(20), tmp_path)
