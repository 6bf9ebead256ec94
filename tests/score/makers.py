"""Runs, labels and debates in the official shapes, made small."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from touche_rad.debate import Maxim

Four = Sequence[float | int | None]
"""A turn's scores or labels: quantity, quality, relation, manner."""


def labels_file(path: Path, debates: Sequence[Sequence[Four]]) -> Path:
    """Write labels."""
    return _write(
        path,
        [
            [
                {maxim.value: label for maxim, label in zip(Maxim, turn, strict=True)}
                for turn in turns
            ]
            for turns in debates
        ],
    )


def evaluation(scores: Sequence[Four], name: str = "", answered: Sequence[bool] = ()) -> Any:
    """One line of a run; with a name, it holds a debate whose words carry the name."""
    line: dict[str, Any] = {"userTurnsEvaluations": [verdicts(turn) for turn in scores]}
    if name:
        line["simulation"] = {
            "userTurns": [
                user_turn(name, turn, has_answer)
                for turn, has_answer in enumerate(answered or [True] * len(scores))
            ]
        }
    return line


def verdicts(scores: Four) -> dict[str, Any]:
    """One turn's verdicts, as the official client writes them."""
    return {
        maxim.key: {"score": score, "explanation": "so it seems", "milliseconds": 1.5}
        for maxim, score in zip(Maxim, scores, strict=True)
    } | {"milliseconds": 6.0}


def user_turn(name: str, turn: int, answered: bool = True) -> dict[str, Any]:
    """One user turn of a debate and its answer."""
    said: dict[str, Any] = {"utterance": f"I hold that {name} is right, for reason {turn}."}
    if answered:
        content = f"Reason {turn} speaks against {name}."
        arguments = [{"id": f"{name}.{turn}", "text": content}]
        said["systemResponse"] = {
            "utterance": content,
            "response": {"content": content, "arguments": arguments},
        }
    return said


def run_file(path: Path, lines: Sequence[Any]) -> Path:
    """Write a run; a string stands for itself."""
    return _write(path, lines)


def debates_file(path: Path, names: Mapping[str, int]) -> Path:
    """Write simulations: by name, how many turns."""
    return _write(
        path,
        [
            {"simulation": {"userTurns": [user_turn(name, turn) for turn in range(turns)]}}
            for name, turns in names.items()
        ],
    )


def _write(path: Path, lines: Sequence[Any]) -> Path:
    shown = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{line}\n" for line in shown), "utf-8")
    return path
