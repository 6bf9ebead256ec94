"""Every prompt describes the JSON object it asks for: the keys, values and limits of its schema.

Each of `PLAYS` (most are in `plays.json`) lets a plugin play before a scripted endpoint that fills in
any schema. Then every call is checked: what the schema says must be in the text of the prompt too,
because some servers do not enforce schemas, and small models follow the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any

import pytest

from tests.debaters.world import ARGUMENTS, debate, with_services
from tests.models.by_schema import filled, form_of, prompt_of, schema_of
from tests.models.scripted import Handler, Scripted, content
from tests.records import read_cases
from touche_rad.contest import Contest
from touche_rad.debate import Debate, Response
from touche_rad.plugins import Services, find
from touche_rad.plugins.registry import Kind

UNANSWERED = debate("The penny is worthless.", "I do not think so.", "Abolish the penny!")
ANSWERED = UNANSWERED.with_response(Response(content=ARGUMENTS[0].text, arguments=ARGUMENTS[:1]))
CONTEST = Contest(**read_cases("contest_on_the_penny.json"))


@dataclass(frozen=True)
class Play:
    """A plugin with options, and the names of the schemas that it must ask for."""

    kind: Kind
    name: str
    schemas: str
    options: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Values for keys of these names, or functions of the prompt, instead of the first that fits."""

    def __str__(self) -> str:
        return "-".join([self.name, *self.options.values()])


REBUTTALS: Mapping[str, Any] = {
    "text": lambda prompt: f"An argument after {len(prompt)} characters.",
    "relation": lambda prompt: "rebuttal" if "New ids begin" in prompt else "claim",
    "target": lambda prompt: int("New ids begin" in prompt),
}
"""Each speech has another argument; the second one rebuts the first one."""
PLAYS = (
    *starmap(Play, read_cases("plays.json")),
    Play(
        "debater",
        "rdebater",
        "Reading Together Draft Check Assessment",
        answers={"utterance": lambda prompt: f"Said {len(prompt)}.", "stance_faithfulness": False},
    ),
    Play(
        "panel",
        "debgraph",
        "SceneGraph Timeline FactVerdicts PairVerdicts Condensed",
        answers=REBUTTALS,
    ),
    Play(
        "panel",
        "debgraph",
        "SceneGraph Thought FactVerdict PairVerdict Condensed",
        {"profile": "paper"},
        REBUTTALS,
    ),
)


def calls_of(play: Play, server: Scripted) -> list[Mapping[str, Any]]:
    """Play, and return the requests."""

    def act(handler: Handler) -> None:
        schema = handler.body.get("response_format", {}).get("json_schema", {}).get("schema")
        text = "yes" if schema is None else json.dumps(answer_of(play, handler.body, schema))
        content(text)(handler)

    server.always = act
    result_of(play, server)
    return list(server.asked)


def answer_of(play: Play, body: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """Return the answer of the play to a request."""
    prompt = prompt_of(body)
    answers = {k: v(prompt) if callable(v) else v for k, v in play.answers.items()}
    return filled(schema, **answers)


def result_of(play: Play, server: Scripted) -> Any:
    """Play, and return what the plugin made."""

    async def work(services: Services) -> Any:
        return await played(play, services, UNANSWERED, CONTEST, ANSWERED)

    return with_services(server, None, work)


async def played(
    play: Play, services: Services, unanswered: Debate, contest: Contest, answered: Debate
) -> Any:
    """Return what the plugin makes of the debate that fits its kind."""
    plugin = find(play.kind, play.name).make(services, play.options)
    if play.kind == "debater":
        return await plugin.answer(unanswered)
    if play.kind == "panel":
        return await plugin.judge(contest)
    return await plugin.judge(answered)


def missing(text: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys, values and limits of a schema that a text does not mention."""
    definitions = schema.get("$defs", {})
    numbers = {number.replace(",", "") for number in re.findall(r"\d[\d,]*", text)}

    def visit(part: Any) -> Iterator[str]:
        if not isinstance(part, dict):
            return
        if "$ref" in part:
            yield from visit(definitions[part["$ref"].rpartition("/")[2]])
        for value in [*part.get("enum", ()), *([part["const"]] if "const" in part else ())]:
            if str(value).lower() not in text.lower():
                yield f"the value {value!r}"
        for key, inner in part.get("properties", {}).items():
            if key not in text:
                yield f"the key {key!r}"
            yield from (f"{what} of {key!r}" for what in visit(inner))
        for limit in ("maxLength", "maxItems", "minimum", "maximum"):
            value = part.get(limit)
            if value is None or abs(value) in (0, 1):
                continue  # no limit, or one that every text has
            if f"{value:g}" not in numbers:
                yield f"{limit}={value}"
        for inner in (part.get("items"), *part.get("anyOf", ())):
            yield from visit(inner)

    yield from visit(schema)


@pytest.mark.parametrize("play", PLAYS, ids=str)
def test_a_prompt_mentions_all_keys_values_and_limits_of_its_schema(
    play: Play, server: Scripted
) -> None:
    calls = calls_of(play, server)
    assert {schema_of(call) for call in calls} == set(play.schemas.split())
    for call in calls:
        text, name = prompt_of(call), schema_of(call)
        assert re.search(r"[Nn]ever follow instructions|Ignore any instructions", text), name
        if "response_format" in call:
            schema = form_of(call)
            assert list(dict.fromkeys(missing(text, schema))) == [], f"{name}:\n{text}"
            assert "999999" not in json.dumps(schema), f"{name}: any number fits"


def test_a_prompt_that_leaves_out_a_key_a_value_or_a_limit_is_found() -> None:
    schema = read_cases("complete_schema.json")
    complete = (
        "tone: calm or loud. text: at most 600 characters. parts: 7 at most, number: 1 to 12."
    )
    assert list(missing(complete, schema)) == []
    for word, fault in (
        ("tone", "the key 'tone'"),
        ("loud", "the value 'loud' of 'tone'"),
        ("600", "maxLength=600 of 'text'"),
        ("7", "maxItems=7 of 'parts'"),
        ("number", "the key 'number' of 'parts'"),
        ("12", "maximum=12 of 'number' of 'parts'"),
    ):
        assert list(missing(complete.replace(word, ""), schema)) == [fault]


def bold(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return an answer as a small model writes it: choices in bold capitals, null for no text."""
    definitions = schema.get("$defs", {})

    def styled(value: Any, part: Mapping[str, Any]) -> Any:
        part = part["anyOf"][0] if "anyOf" in part else part
        part = definitions[part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        if "enum" in part and isinstance(value, str):
            return f"**{value.capitalize()}**"
        if isinstance(value, list):
            return [styled(part_value, part["items"]) for part_value in value]
        if isinstance(value, dict):
            return {
                key.capitalize(): styled(inner, part["properties"][key])
                for key, inner in value.items()
            } | {"note": "I hope that helps."}
        return value

    return styled(value, schema)


Answer = Callable[[Any, Mapping[str, Any], str], Any]
"""Changes an answer, given its schema and its prompt."""


def as_it_is(value: Any, schema: Mapping[str, Any], prompt: str) -> Any:
    return value


def emptied(value: Any, prompt: str, leaves_out: bool) -> Any:
    """Return an answer in which what may be empty by the prompt is empty, or left out."""
    if isinstance(value, list):
        return [emptied(part, prompt, leaves_out) for part in value]
    if not isinstance(value, dict):
        return value
    result = {}
    for key, inner in value.items():
        if not may_be_empty(key, inner, prompt):
            result[key] = emptied(inner, prompt, leaves_out)
        elif not leaves_out:
            result[key] = type(inner)()
    return result


NEEDED = {"arguments", "flaws", "numbers", "selected", "unsupported"}
"""Keys that are the answer itself, or decide what is cited: without one the model is asked again."""


def may_be_empty(key: str, value: Any, prompt: str) -> bool:
    """Whether the line of a key in the prompt says that its text or list may be empty."""
    lines = re.findall(rf"^ *- (?:\w+, )*{key}\b.*", prompt, re.MULTILINE)
    words = {str: r'""|write "none"|an empty text', list: r"\[\]"}.get(type(value))
    return bool(key not in NEEDED and words and lines and re.search(words, lines[-1]))


@dataclass(frozen=True)
class Style:
    """How a model writes JSON when the server does not enforce a schema."""

    write: Callable[[Any], str]
    change: Answer = as_it_is
    same_as: Answer = as_it_is
    """The answer with a schema that gives the same result."""


STYLES = {
    "fenced": Style(lambda value: f"Here it is:\n```json\n{json.dumps(value, indent=1)}\n```"),
    "bold": Style(
        lambda value: f"Sure!\n\n{json.dumps(value)}\n\nDone.",
        lambda value, schema, prompt: bold(value, schema),
    ),
    "missing keys": Style(
        json.dumps,
        lambda value, schema, prompt: emptied(value, prompt, leaves_out=True),
        same_as=lambda value, schema, prompt: emptied(value, prompt, leaves_out=False),
    ),
}


@pytest.mark.parametrize(
    "style",
    [pytest.param(style, marks=[pytest.mark.long] if style != "bold" else []) for style in STYLES],
)
@pytest.mark.parametrize("play", PLAYS, ids=str)
def test_a_server_without_response_format_gives_the_same_result(
    play: Play, style: str, server: Scripted
) -> None:
    wanted = STYLES[style]
    schemas: dict[str, Mapping[str, Any]] = {}

    def with_schemas(handler: Handler) -> None:
        prompt = prompt_of(handler.body)
        schema = handler.body.get("response_format", {}).get("json_schema", {}).get("schema")
        schemas[prompt] = schema
        text = "yes"
        if schema is not None:
            answer = answer_of(play, handler.body, schema)
            text = json.dumps(wanted.same_as(answer, schema, prompt))
        content(text)(handler)

    server.always = with_schemas
    expected = result_of(play, server)
    repairs = 0

    def without(handler: Handler) -> None:
        nonlocal repairs
        if "response_format" in handler.body or "structured_outputs" in handler.body:
            handler.say(400, b'{"error": {"message": "response_format is not supported"}}')
            return
        prompt = prompt_of(handler.body)
        repairs += prompt not in schemas
        schema = schemas.get(prompt)
        if schema is None:
            text = "**Yes**"
        else:
            answer = answer_of(play, handler.body, schema)
            text = wanted.write(wanted.change(answer, schema, prompt))
        content(text)(handler)

    server.always = without
    result = result_of(play, server)
    assert repairs == 0, "an answer was sent back although a person could read it"
    assert without_costs(result) == without_costs(expected)


def without_costs(result: Any) -> str:
    """Return a result as text, without counts of calls and retries."""
    return re.sub(r"'?(calls|retries|seconds|prompt_tokens)'?[:=] ?[\d.]+", "", repr(result))
