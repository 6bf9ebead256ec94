"""Time `touche-rad score` with many runs (`benchmarks/speed.py score`)."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.debate import Maxim

SEED = 7
_WORDS = (
    "argument bees cost evidence fair harm health law people price reason risk school tax".split()
)


def report(options: argparse.Namespace) -> None:
    """Write runs and labels, score them in a new process, and print the seconds."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        paths = generate(folder, options.runs, options.debates, options.turns)
        print("| runs | debates | turns | options | seconds | lines |")
        print("| --- | --- | --- | --- | --- | --- |")
        for given in ([], ["--all-pairs"]):
            command = [sys.executable, "-m", "touche_rad", "score", *map(str, paths), *given]
            start = time.perf_counter()
            ended = subprocess.run(command, check=True, capture_output=True, text=True)
            spent = time.perf_counter() - start
            print(
                f"| {options.runs} | {options.debates} | {options.turns} | {' '.join(given)} | "
                f"{spent:.1f} | {len(ended.stdout.splitlines())} |",
                flush=True,
            )


def generate(folder: Path, runs: int, debates: int, turns: int) -> list[Path]:
    """Write runs of judges of different quality, then the labels; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(SEED)
    shares = {maxim: chance.uniform(0.3, 0.8) for maxim in Maxim}
    truth = [
        [{maxim: int(chance.random() < shares[maxim]) for maxim in Maxim} for _ in range(turns)]
        for _ in range(debates)
    ]
    simulations = [_simulation(number, turns, chance) for number in range(debates)]
    paths = []
    for run in range(runs):
        path = folder / f"judge-{run:02}.jsonl"
        wrong = chance.uniform(0.05, 0.5)
        lines = [
            {
                "simulation": simulation,
                "userTurnsEvaluations": [
                    {
                        maxim.key: {"score": abs(label - (chance.random() < wrong))}
                        for maxim, label in labels.items()
                    }
                    for labels in of_debate
                ],
            }
            for simulation, of_debate in zip(simulations, truth, strict=True)
        ]
        _write(path, lines)
        paths.append(path)
    labels_path = folder / "labels.jsonl"
    _write(labels_path, truth)
    return [*paths, labels_path]


def _simulation(number: int, turns: int, chance: random.Random) -> dict[str, Any]:
    def text() -> str:
        return " ".join(chance.choices(_WORDS, k=50))

    return {
        "configuration": {"topic": {"description": f"claim {number}"}},
        "userTurns": [
            {
                "utterance": text(),
                "systemResponse": {
                    "utterance": said,
                    "response": {
                        "content": said,
                        "arguments": [{"id": f"{number}.{turn}", "text": text()}],
                    },
                },
            }
            for turn in range(turns)
            for said in [text()]
        ],
    }


def _write(path: Path, lines: list[Any]) -> None:
    with files.atomic_write(path) as stream:
        stream.writelines(json.dumps(line) + "\n" for line in lines)
