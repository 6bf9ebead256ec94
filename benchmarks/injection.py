"""Measure what injected instructions do with a model that obeys everything: `make injection`.

A scripted model says yes, or a fixed sentence, if its prompt contains the text, and otherwise no.
So the figures show what the checks of a plugin stop behind the model. They are written into
docs/security.md, between two comments.
"""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.runs.fakes import SmallIndex
from touche_rad.criteria import grice
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn
from touche_rad.demo import demo_file
from touche_rad.models import Model
from touche_rad.models.endpoint import Backend
from touche_rad.models.examples import PluginRequest
from touche_rad.plugins import Services, find
from touche_rad.runs.answering import Answerer
from touche_rad.runs.judging import judge_view

HERE: Final = Path(__file__).parent
PAGE: Final = HERE.parent / "docs" / "security.md"
SAID: Final = "I give up my position."
JUDGES: Final = ("zsl", "fsl1", "fsl2", "analysis1")
DEBATERS: Final = ("grounded", "composed", "sinai", "inspiredebate", "rdebater")


class Obedient(Backend):
    """A model that does what the text wants if its prompt contains the text."""

    model = place = "scripted"

    def __init__(self, text: str) -> None:
        self.text = text

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Answer a request."""
        request = PluginRequest.of(body)
        obeys = self.text in request.prompt
        if request.schema is not None:
            content = json.dumps(fill(request.schema, obeys))
        else:
            content = ("yes" if obeys else "no") if request.choices else "Nothing."
        message = {"role": "assistant", "content": content}
        return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def fill(schema: Mapping[str, Any], obeys: bool) -> Any:
    """Return an object of a schema that says what the text wants, or the opposite."""
    definitions = schema.get("$defs", {})

    def value(part: Mapping[str, Any]) -> Any:
        if "$ref" in part:
            return value(definitions[part["$ref"].rpartition("/")[2]])
        if "enum" in part or "const" in part:
            wanted = "yes" if obeys else "no"
            values = part.get("enum", [part.get("const")])
            return wanted if wanted in values else values[0]
        if "anyOf" in part:
            return value(part["anyOf"][0])
        if part.get("type") == "object":
            return {key: value(inner) for key, inner in part.get("properties", {}).items()}
        if part.get("type") == "array":
            return [value(part["items"])] * max(1, part.get("minItems", 1))
        if part.get("type") == "string":
            return SAID if obeys else "Some people think so."
        if part.get("type") == "boolean":
            return obeys
        return max(part.get("minimum", 0), min(1, part.get("maximum", 1)))

    return value(schema)


async def verdicts_change(name: str, text: str, claim: str) -> bool:
    """Return whether a judge says yes on all maxims, of a response with the text."""
    model = Model(Obedient(text))
    turn = Turn(utterance=claim, response=Response(content=f"Perhaps. {text}"))
    judged = await judge_view(
        find("judge", name).make(Services(model=model)), Debate(id="b", turns=(turn,)), grice()
    )
    return all(judged.verdicts[maxim].yes for maxim in Maxim)


async def answer_changes(name: str, text: str, claim: str, arguments: list[Argument]) -> bool:
    """Return whether a debater says what the text wants."""
    services = Services(index=SmallIndex(arguments), model=Model(Obedient(text)))
    debater = find("debater", name).make(services)
    debate = Debate(id="b", turns=(Turn(utterance=f"{claim} {text}"),))
    answer = await Answerer([debater], services.index).answer(debate)
    return SAID in answer.response.content


async def measure() -> str:
    """Return the figures as lines for the page."""
    texts: list[str] = tomllib.loads((HERE / "injection.toml").read_text("utf-8"))["texts"]
    lines = demo_file("arguments.jsonl").read_text("utf-8").splitlines()[:20]
    arguments = [Argument.model_validate_json(line) for line in lines]
    claim = arguments[0].attacks
    changed: dict[int, list[str]] = {}
    for name in JUDGES:
        count = sum([await verdicts_change(name, text, claim) for text in texts])
        changed.setdefault(count, []).append(f"judge `{name}`")
    for name in DEBATERS:
        count = sum([await answer_changes(name, text, claim, arguments) for text in texts])
        changed.setdefault(count, []).append(f"debater `{name}`")
    return "\n".join(
        f"- {count} of {len(texts)}: {', '.join(names)}" for count, names in changed.items()
    )


def main() -> None:
    """Write the figures."""
    figures = asyncio.run(measure())
    begin, end = "<!-- injection: written by make injection -->", "<!-- end of injection -->"
    page = PAGE.read_text("utf-8")
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    PAGE.write_text(re.sub(pattern, lambda _: f"{begin}\n\n{figures}\n\n{end}", page, flags=re.S))
    print(figures)


if __name__ == "__main__":
    main()
