"""Killed at any moment: no answer that was acknowledged is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.conftest import repeats
from tests.labelling.makers import write_run
from tests.terminal import touche_rad
from touche_rad import cli
from touche_rad.debate import Maxim

pytestmark = pytest.mark.long

KILLS = repeats(25)


def test_no_acknowledged_answer_is_lost_by_kills(tmp_path: Path) -> None:
    run, output = write_run(tmp_path / "run.jsonl", 2), tmp_path / "labels.jsonl"
    chance = random.Random(7)
    known: dict[tuple[int, int, str], Any] = {}
    unsure: dict[tuple[int, int, str], set[Any]] = {}
    acknowledged = 0
    for _ in range(KILLS):
        with _forked("label", run, "-o", output, "--annotator", "ana", "-q") as (process, address):
            timer = threading.Timer(chance.uniform(0.0, 0.05), os.kill, (process, signal.SIGKILL))
            rest = chance.randint(0, 6)  # answers until the timer starts
            try:
                with httpx2.Client(base_url=address) as client:
                    queue = client.get("queue").json()["places"]
                    for debate, turn in queue:
                        _check(
                            client.get(f"turn?debate={debate}&turn={turn}").json(), known, unsure
                        )
                    while True:
                        if rest == 0:
                            timer.start()
                        rest -= 1
                        (debate, turn), maxim = chance.choice(queue), chance.choice(list(Maxim))
                        label = chance.choice((1, 0, None))
                        key = (debate, turn, maxim.value)
                        unsure[key] = {known.get(key, "open"), label}
                        body = {"debate": debate, "turn": turn, "maxim": maxim, "label": label}
                        assert client.post("answer", json=body).status_code == 200
                        known[key] = label
                        del unsure[key]
                        acknowledged += 1
            except httpx2.HTTPError:
                pass  # killed
            timer.join()
    assert acknowledged > KILLS
    assert touche_rad("label", run, "-o", output, "--summary").code == 0
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    for (debate, turn, maxim), label in known.items():
        if (debate, turn, maxim) not in unsure:
            assert rows[debate][turn]["annotators"]["ana"][maxim] == label


@contextmanager
def _forked(*words: str | Path) -> Iterator[tuple[int, str]]:
    """Start the command in a fork of this process, which saves the imports of a hundred starts."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.dup2(writing, 1)
        sys.stdout = os.fdopen(1, "w")
        try:
            cli.run([str(word) for word in words])
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as lines:
        line = lines.readline()
        try:
            yield process, line.split()[-1]
        finally:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _check(
    shown: dict[str, Any],
    known: dict[tuple[int, int, str], Any],
    unsure: dict[tuple[int, int, str], set[Any]],
) -> None:
    """Compare a turn with what was acknowledged; an answer in flight at a kill may be either."""
    for maxim in Maxim:
        key = (shown["debate"], shown["turn"], maxim.value)
        label = shown["answers"].get(maxim.value, "open")
        if key in unsure:
            assert label in unsure.pop(key)
            if label != "open":
                known[key] = label
        else:
            assert label == known.get(key, "open")
