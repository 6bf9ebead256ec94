"""What a judged debate costs a panel in calls and prompt tokens, counted as `cost.py` does.

    python benchmarks/panel_cost.py [DEBATES]

Every panel judges all DEBATES (the demo's, unless given) with the demo's index. DebGraph's calls
depend on what is drawn: here each speech makes five arguments, and rebuts three of the other side.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
from cost import Endpoint, tokens

from touche_rad import files
from touche_rad.contest import Contest, contest_of
from touche_rad.demo import demo_file, ensure_index
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import Services, find, open_index

PANELS: tuple[tuple[str, dict[str, str]], ...] = (
    ("debatrix", {}),
    ("debatrix", {"columns": "single"}),
    ("debatrix", {"profile": "paper"}),
    ("debgraph", {}),
    ("debgraph", {"profile": "paper"}),
    ("inspirescore", {}),
    ("inspirescore", {"subjective_scope": "debate"}),
    ("inspirescore", {"facts_from": "none"}),
    ("inspirescore", {"logic": "solver", "cross_check": "false"}),
    ("inspirescore", {"profile": "paper"}),
    ("inspirescore", {"profile": "paper", "subjective_scope": "debate"}),
)


def graph(prompt: str) -> dict[str, Any]:
    """Draw a speech: a claim, two premises and two rebuttals, of which one strikes twice."""
    told = re.search(r"New ids begin at (\d+)", prompt)
    first = int(told[1]) if told else 1
    arguments = [
        {"id": first + n, "text": f"Argument {first + n} gives a short reason of some words."}
        for n in range(5)
    ]
    relations = [{"source": first, "relation": "claim", "target": 0}]
    relations += [
        {"source": first + n, "relation": "premise", "target": first}
        for n in ((1, 2) if told else (1, 2, 3, 4))
    ]
    if told:
        relations += [
            {"source": first + n, "relation": "rebuttal", "target": target}
            for n, target in ((3, first - 5), (4, first - 5), (4, first - 4))
        ]
    return {"arguments": arguments, "relations": relations}


async def judging(
    name: str, options: Mapping[str, str], contests: Sequence[Contest], url: str, index: str
) -> Any:
    model = Model(Address(url, "counted"))
    panel = find("panel", name).make(Services(index=open_index(index), model=model), options)
    for contest in contests:
        outcome = await panel.judge(contest)
        if outcome.winner is None:
            raise SystemExit(f"{name}: {contest.id} has no winner: {outcome.reason}")
    await model.close()
    return model.usage.total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("debates", nargs="?", type=Path, default=demo_file("debates.jsonl"))
    args = parser.parse_args()
    contests = [contest_of(debate) for debate, views in files.read_views(args.debates) if views]
    count, index = tokens(), str(ensure_index())
    speeches = [speech for contest in contests for speech in contest.speeches]
    text = sum(count(speech.text) for speech in speeches) / len(contests)
    print(f"{len(contests)} debates, {len(speeches)} speeches, {text:.0f} tokens a debate\n")
    server = Endpoint()
    server.answers["SceneGraph"] = graph
    Thread(target=server.serve_forever, daemon=True).start()
    print("| panel | calls a debate | prompt tokens a debate | shared |")
    print("| --- | --- | --- | --- |")
    for name, options in PANELS:
        server.prompts.clear()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        cost = anyio.run(judging, name, options, contests, url, index)
        spent = sum(count(prompt) for prompt in server.prompts) / len(contests)
        told = ", ".join(f"{key}={value}" for key, value in options.items())
        shared = cost.shared_letters / cost.prompt_letters
        calls = cost.calls / len(contests)
        named = f"{name} ({told})" if told else name
        print(f"| {named} | {calls:.2f} | {spent:.0f} | {shared:.0%} |", flush=True)


if __name__ == "__main__":
    main()
