"""Print the F1 of a judge on the adversarial sets, with the baseline always-yes in brackets.

    python benchmarks/adversarial.py [JUDGE]

The judge works without a model; its default is `grounded`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import defaultdict
from typing import Any

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.demo import demo_file
from touche_rad.plugins import Services, find, parse_plugin
from touche_rad.runs.judging import judge_view
from touche_rad.score.measures import count, f1

FILES = ("adversarial", "adversarial-2", "adversarial-3")
HALVES = ("dev", "held-out", "dev-2", "dev-3")


async def f1_of(judge: Any) -> dict[str, dict[Maxim, tuple[float, float]]]:
    """Return F1 of the judge and of the baseline, by set and maxim."""
    pairs: dict[str, dict[Maxim, list[tuple[int | None, float | None]]]]
    pairs = defaultdict(lambda: defaultdict(list))
    for name in FILES:
        path, labels = demo_file(f"{name}.jsonl"), demo_file(f"{name}-labels.jsonl")
        halves = [json.loads(line)["half"] for line in path.read_text("utf-8").splitlines()]
        read = zip(halves, files.read_views(path), files.read_labels(labels), strict=True)
        for half, (_, views), turns in read:
            for view, truth in zip(views, turns, strict=True):
                given = await judge_view(judge, view)
                for maxim in Maxim:
                    pairs[half][maxim].append((truth.get(maxim), given.verdicts[maxim].score))
    return {
        half: {
            maxim: (f1(count(of)), f1(count((label, 1.0) for label, _ in of)))
            for maxim, of in pairs[half].items()
        }
        for half in HALVES
    }


def main() -> None:
    name, options = parse_plugin(sys.argv[1] if sys.argv[1:] else "grounded")
    found = asyncio.run(f1_of(find("judge", name).make(Services(), options)))
    print(f"| maxim | {' | '.join(f'`{half}`' for half in HALVES)} |")
    print(f"| {' | '.join('---' for _ in range(len(HALVES) + 1))} |")
    for maxim in Maxim:
        cells = ["{} ({})".format(*map(_short, found[half][maxim])) for half in HALVES]
        print(f"| {maxim.key.capitalize()} | {' | '.join(cells)} |")


def _short(value: float) -> str:
    return f"{value:.3f}".lstrip("0")


if __name__ == "__main__":
    main()
