"""Kills commands at random moments, repeats them, and compares the bytes of their outputs.

    python -m tests.faults.kills KILLS SEED [VERB ...]

Each verb is killed until KILLS kills hit; without a verb, all are that train no network. The rows
are kept in build/kills.jsonl; the table of docs/reliability.md shows the row of each verb with the
most kills, so that a stopped campaign continues with the verbs that it names.
tests/labelling/test_killed.py for label.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tests.faults.cells import content
from tests.faults.machine_faults import preload, small_inputs, start
from tests.models.tiny import tiny_model
from tests.nli import by_chance
from tests.retrieval.small import encoder_by_chance
from tests.training.makers import DPO, SFT, chats, preferences
from touche_rad.demo import demo_file

VERBS: Final = (
    "respond",
    "simulate",
    "judge",
    "panel",
    "index",
    "train examples",
)
TRAININGS: Final = ("train encoder", "train stance", "train sft", "train dpo")
"""They train a tiny network that is made here. Compared are its weights and the metrics."""
ROOT: Final = Path(__file__).parents[2]
DONE: Final = ROOT / "build/kills.jsonl"
PAGE: Final = ROOT / "docs/reliability.md"
BEGIN, END = "<!-- kills: begin -->", "<!-- kills: end -->"


def words(verb: str, inputs: tuple[Path, Path, Path], out: Path) -> list[str]:
    """Return a command line."""
    debates, labels, claims = inputs
    if verb in TRAININGS:
        return [*_training(verb, debates.with_name("made")), "-o", str(out), "-q"]
    made: dict[str, tuple[object, ...]] = {
        "respond": ("respond", debates, "-i", "demo", "-d", "verbatim"),
        "simulate": ("simulate", claims, "-i", "demo", "--turns", "2"),
        "index": ("index", demo_file("arguments.jsonl")),
        "train examples": ("train", "examples", debates, labels, "--count", "1"),
        "judge": ("judge", debates, "-j", "grounded"),
        "panel": ("judge", debates, "-j", "grice"),
    }
    return [*map(str, made[verb]), "-o", str(out), "-q"]


def _training(verb: str, folder: Path) -> list[str]:
    """Return the command line of a training of a few seconds; its network is made once."""
    os.environ["OMP_NUM_THREADS"] = "1"  # sums round alike in each process
    arguments = demo_file("arguments.jsonl")
    trainings: dict[str, tuple[Callable[[Path], Path], Path, dict[str, Any]]] = {
        "train encoder": (encoder_by_chance, arguments, {"epochs": 4, "batch": 16, "layers": 0}),
        "train stance": (by_chance, arguments, {"epochs": 4, "batch": 16}),
        "train sft": (tiny_model, folder / "chats.jsonl", dict(SFT)),
        "train dpo": (tiny_model, folder / "preferences.jsonl", {**DPO, "epochs": 10}),
    }
    make, source, settings = trainings[verb]
    network = folder / "network.txt"
    if not network.exists():
        folder.mkdir()
        chats(folder / "chats.jsonl")
        preferences(folder / "preferences.jsonl")
        network.write_text(str(make(folder / "network")))
    given = {"base": network.read_text(), "save_every": 3, **settings}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    return [*verb.split(), str(source), *options]


def kill(verb: str, wanted: int, seed: int, folder: Path) -> str:
    """Kill a command until as many kills hit as wanted; each time the repetition must be the same.

    Raises:
        AssertionError: A repeated command fails, gives other bytes, or leaves something behind.
    """
    inputs = small_inputs(folder)

    def words_in(place: Path) -> list[str]:
        place.mkdir(exist_ok=True)
        return words(verb, inputs, place / "out")

    preload(words_in(folder / "preloaded"))
    whole = _run(words_in(folder / "undisturbed"))
    begun = time.monotonic()
    assert _run(words_in(folder / "again")) == whole, "the command itself gives other bytes"
    seconds = time.monotonic() - begun
    chance, kills, runs = random.Random(seed), 0, 0
    while kills < wanted:
        runs += 1
        place = folder / f"run{runs}"
        command = words_in(place)
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            if not _killed(command, chance.uniform(0, seconds)):
                break
            kills += 1
        assert _run(command) == whole, f"run {runs} differs (seed {seed})"
        left = {one.name for one in place.iterdir()} - {"out", "out.status.json"}
        assert not left, f"left behind: {left}"
        shutil.rmtree(place)
    return f"{verb}: {kills} kills in {runs} runs: all files equal"


def _run(command: list[str]) -> bytes:
    ended = start(command).ended()
    assert ended.code == 0, ended.err
    out = Path(command[command.index("-o") + 1])
    if not out.is_dir():
        return content(out)
    files = sorted((*out.rglob("*.safetensors"), *out.glob("metrics.jsonl")))
    if files:
        return b"".join(str(one.relative_to(out)).encode() + one.read_bytes() for one in files)
    (out / "manifest.json").unlink()  # it has the times of an index's files
    return content(out)


def _killed(command: list[str], seconds: float) -> bool:
    """Start the command and kill it; False if it ended before."""
    child = start(command)
    time.sleep(seconds)
    os.kill(child.process, signal.SIGKILL)
    ended = child.ended()
    assert ended.code in (0, -signal.SIGKILL), ended.err
    return ended.code != 0


def main(wanted: int, seed: int, verbs: Sequence[str]) -> None:
    """Kill the verbs, keep the rows, and write the table."""
    DONE.parent.mkdir(exist_ok=True)
    for verb in verbs:
        with tempfile.TemporaryDirectory() as made:
            said = kill(verb, wanted, seed, Path(made))
        print(said, flush=True)
        with DONE.open("a") as stream:
            stream.write(json.dumps([verb, wanted, said.partition(": ")[2]]) + "\n")
    rows = sorted(map(json.loads, DONE.read_text().splitlines()), key=lambda row: int(row[1]))
    best = {verb: said for verb, _, said in rows}
    lines = [f"| {verb} | {best[verb]} |" for verb in (*VERBS, *TRAININGS) if verb in best]
    table = "\n".join((BEGIN, "| command | kills |", "| --- | --- |", *lines, END))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + table + rest.partition(END)[2])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or VERBS)
