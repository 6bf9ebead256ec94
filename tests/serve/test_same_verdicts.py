"""A judge gives the same verdicts on a debate whether it comes from a file or over HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Iterator
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.models import scripted
from tests.models.by_schema import prompt_of
from tests.models.scripted import Handler, Scripted, reply
from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import Services, find, registered
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


@pytest.fixture(scope="module")
def model_server() -> Iterator[Scripted]:
    """An endpoint whose answers depend on the prompt and fit its schema."""
    with scripted.serving() as server:
        server.always = answer_by_prompt
        yield server


def answer_by_prompt(handler: Handler) -> None:
    schema = handler.body["response_format"]["json_schema"]["schema"]
    draw = random.Random(hashlib.sha256(prompt_of(handler.body).encode()).digest())
    content = json.dumps(_value(schema, schema.get("$defs", {}), draw))
    handler.say(200, json.dumps(reply(content)).encode())


def _value(part: dict[str, Any], whole: dict[str, Any], draw: random.Random) -> Any:
    if "$ref" in part:
        return _value(whole[part["$ref"].rpartition("/")[2]], whole, draw)
    if "enum" in part or "const" in part:
        return draw.choice(part.get("enum", [part.get("const")]))
    if "anyOf" in part:
        return _value(part["anyOf"][0], whole, draw)
    kind = part.get("type")
    if kind == "object":
        return {name: _value(of, whole, draw) for name, of in part["properties"].items()}
    if kind == "array":
        return [_value(part["items"], whole, draw) for _ in range(part.get("minItems", 1))]
    if kind in ("integer", "number"):
        return draw.randint(int(part.get("minimum", 0)), int(part.get("maximum", 9)))
    return {"string": "text", "boolean": draw.random() < 0.5}.get(str(kind))


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


def assert_same(name: str, rows: list[dict[str, Any]], server: Scripted, folder: Path) -> None:
    """Compare the verdicts on the views of a file with the answers of the server's endpoints."""
    source = folder / "simulations.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    async def compare() -> None:
        model = Model(Address(server.url, "tiny"), deadline=30)
        judge = find("judge", name).make(Services(model=model))
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
        await model.close()

    asyncio.run(compare())


@pytest.mark.parametrize("name", ["grounded", "random", "length", "fsl1"])
def test_a_judge_gives_the_same_verdicts(name: str, model_server: Scripted, tmp_path: Path) -> None:
    assert_same(name, demo_rows()[:4] + generated_rows(20), model_server, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(registered("judge")))
def test_every_judge_gives_the_same_verdicts(
    name: str, model_server: Scripted, tmp_path: Path
) -> None:
    assert_same(name, demo_rows() + generated_rows(40), model_server, tmp_path)
