"""The places that ask a model: debater, judge, panel, simulated user."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.faults.cells import Command
from tests.terminal import Ended, touche_rad
from touche_rad.demo import demo_file

MARK = "Zanzibar"
"""A word of the affected turn, and of no other."""
DEBATES, TURNS = 2, 2
LIMITS = ("-O", "model.max_tokens=300")
PLACES = ("debater", "judge", "panel", "simulated user")


def command(place: str, folder: Path, model: str, deadline: float = 60) -> Command:
    """Return the command of a place; its inputs are written to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    make: dict[str, Callable[..., Command]] = {
        "debater": _debater,
        "judge": _judge,
        "panel": _panel,
        "simulated user": _user,
    }
    return make[place](folder, "-m", model, "-O", f"model.deadline={deadline}", *LIMITS)


def is_affected(place: str, schema: str, prompt: str) -> bool:
    """Whether a call is of the affected turn."""
    if place == "simulated user":
        return schema == "Utterance" and MARK in prompt and SPOKEN in prompt
    return MARK in prompt


SPOKEN = "The first utterance about it."
"""What the simulated user says in the first turn of the affected debate."""


def write_debates(folder: Path) -> Path:
    """Write debates of the demo, the last turn of the second with the mark."""
    records = [json.loads(line) for line in demo_file("debates.jsonl").open()][:DEBATES]
    for record in records:
        del record["simulation"]["userTurns"][TURNS:]
    turn = records[1]["simulation"]["userTurns"][-1]
    turn["utterance"] = f"{turn['utterance']} So they say in {MARK}."
    path = folder / "debates.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def _run(*words: str | Path) -> Callable[[], Ended]:
    return lambda: touche_rad(*words)


def _lines(truth: bytes, made: bytes) -> set[str]:
    """Return the numbers of the lines that differ."""
    pairs = enumerate(zip(truth.splitlines(), made.splitlines(), strict=True), 1)
    return {str(number) for number, (one, other) in pairs if one != other}


def compare_responses(truth: bytes, made: bytes) -> set[str]:
    places, debate = [], 0
    for line in truth.splitlines():
        turn = json.loads(line)["turn"]
        debate += turn == 0
        places.append(f"{debate}.{turn + 1}")
    return {places[int(number) - 1] for number in _lines(truth, made)}


def compare_turns(truth: bytes, made: bytes) -> set[str]:
    """Return the turns that differ in two files of simulations or evaluations."""
    found = set()
    for number, lines in enumerate(zip(truth.splitlines(), made.splitlines(), strict=True), 1):
        one, other = (_turns_of(json.loads(line)) for line in lines)
        pairs = enumerate(zip(one, other, strict=True), 1)
        found |= {f"{number}.{at}" for at, (a, b) in pairs if a != b}
    return found


def _turns_of(record: Any) -> list[Any]:
    turns: list[Any] = record["simulation"]["userTurns"]
    return list(zip(turns, record.get("userTurnsEvaluations", turns), strict=True))


def _debater(folder: Path, *model: str) -> Command:
    out = folder / "responses.jsonl"
    words = (
        "respond",
        write_debates(folder),
        "-i",
        "demo",
        "-d",
        "composed",
        *model,
        "-o",
        out,
    )
    return Command(folder, _run(*words), out.name, frozenset({"2.2"}), compare_responses)


def _judge(folder: Path, *model: str) -> Command:
    out = folder / "evaluations.jsonl"
    words = ("judge", write_debates(folder), "-j", "zsl", *model, "-o", out)
    return Command(folder, _run(*words), out.name, frozenset({"2.2"}), compare_turns)


def _panel(folder: Path, *model: str) -> Command:
    out = folder / "outcomes.jsonl"
    words = ("judge", write_debates(folder), "-j", "inspirescore", *model, "-o", out)
    return Command(folder, _run(*words), out.name, frozenset({"2"}), _lines)


def _user(folder: Path, *model: str) -> Command:
    out, claims = folder / "simulations.jsonl", folder / "claims.tsv"
    rows = (
        "Zoos should be closed.",
        f"City centres in {MARK} should be closed to cars.",
    )
    claims.write_text("TOPIC_DESCRIPTION\tUSER\n" + "".join(f"{one}\tbase-user\n" for one in rows))
    words = (
        "simulate",
        claims,
        "-i",
        "demo",
        "-d",
        "grounded",
        "--user",
        "model",
        "--turns",
        "2",
        *model,
        "-o",
        out,
    )
    return Command(folder, _run(*words), out.name, frozenset({"2.2"}), compare_turns)
