"""Runs, labels and debates in the official shapes, made small."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.records import write_lines
from touche_rad.debate import Maxim

Four = Sequence[float | int | None]
"""A turn's scores or labels: quantity, quality, relation, manner."""
YES = (1, 1, 1, 1)
NO = (0, 0, 0, 0)


def labels_file(path: str | Path, debates: Sequence[Sequence[Four]]) -> Path:
    """Write labels."""
    lines = []
    for turns in debates:
        lines.append([dict(zip(Maxim, turn, strict=True)) for turn in turns])
    return run_file(path, lines)


def evaluation(scores: Sequence[Four], name: str = "", answered: Sequence[bool] = ()) -> Any:
    """One line of a run; with a name, it holds a debate whose words carry the name."""
    line: dict[str, Any] = {"userTurnsEvaluations": [verdicts(turn) for turn in scores]}
    if name:
        has_answer = answered or [True] * len(scores)
        user_turns = [user_turn(name, turn, has_answer[turn]) for turn in range(len(has_answer))]
        line["simulation"] = {"userTurns": user_turns}
    return line


def verdicts(scores: Four) -> dict[str, Any]:
    """One turn's verdicts, as the official client writes them."""
    record: dict[str, Any] = {"milliseconds": 6.0}
    for maxim, score in zip(Maxim, scores, strict=True):
        record[maxim.key] = {"score": score, "explanation": "so it seems", "milliseconds": 1.5}
    return record


def user_turn(name: str, turn: int, answered: bool = True) -> dict[str, Any]:
    """One user turn of a debate and its answer."""
    record: dict[str, Any] = {"utterance": f"I hold that {name} is right, for reason {turn}."}
    if answered:
        content = f"Reason {turn} speaks against {name}."
        arguments = [{"id": f"{name}.{turn}", "text": content}]
        record["systemResponse"] = {
            "utterance": content,
            "response": {"content": content, "arguments": arguments},
        }
    return record


def run_file(path: str | Path, lines: Sequence[Any]) -> Path:
    """Write a run; a string stands for itself."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return write_lines(path, texts)


def simulations_file(path: str | Path, lines: Sequence[Any]) -> Path:
    """Write the debates of the lines of a run; those of lost debates are empty."""
    return run_file(path, [line and {"simulation": line["simulation"]} for line in lines])


def debates_file(path: str | Path, names: Mapping[str, int]) -> Path:
    """Write simulations: by name, how many turns."""
    lines = []
    for name, turns in names.items():
        user_turns = [user_turn(name, turn) for turn in range(turns)]
        lines.append({"simulation": {"userTurns": user_turns}})
    return run_file(path, lines)
