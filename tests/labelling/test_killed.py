"""Killed at any moment: no answer that was acknowledged is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.conftest import repeats
from tests.labelling.makers import write_run
from tests.labelling.served import labelling
from tests.terminal import touche_rad
from touche_rad.debate import Maxim

pytestmark = pytest.mark.long

KILLS = repeats(12)
Key = tuple[int, int, str]


def test_no_acknowledged_answer_is_lost_by_kills(tmp_path: Path) -> None:
    run, output = write_run(tmp_path / "run.jsonl", 2), tmp_path / "labels.jsonl"
    chance = random.Random(7)
    possible: dict[Key, set[Any]] = {}
    """What the log may have for each question: two labels if a kill came between them."""
    acknowledged = 0
    for _ in range(KILLS):
        with labelling(run, "-o", output, "--annotator", "ana", "-q") as (process, address):
            timer = threading.Timer(
                chance.uniform(0.0, 0.05), os.killpg, (process.pid, signal.SIGKILL)
            )
            rest = chance.randint(0, 6)  # answers until the timer starts
            try:
                with httpx2.Client(base_url=address) as client:
                    queue = client.get("queue").json()["places"]
                    for debate, turn in queue:
                        shown = client.get(f"turn?debate={debate}&turn={turn}").json()["answers"]
                        for maxim in Maxim:
                            key, label = (debate, turn, maxim.value), shown.get(maxim, "open")
                            assert label in possible.get(key, {"open"})
                            possible[key] = {label}
                    while True:
                        if rest == 0:
                            timer.start()
                        rest -= 1
                        (debate, turn), maxim = chance.choice(queue), chance.choice(list(Maxim))
                        label, key = chance.choice((1, 0, None)), (debate, turn, maxim.value)
                        possible[key].add(label)
                        body = {"debate": debate, "turn": turn, "maxim": maxim, "label": label}
                        assert client.post("answer", json=body).status_code == 200
                        possible[key] = {label}
                        acknowledged += 1
            except httpx2.HTTPError:
                pass  # killed
            timer.join()
    assert acknowledged > KILLS
    assert touche_rad("label", run, "-o", output, "--summary").code == 0
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    for (debate, turn, name), labels in possible.items():
        answers = rows[debate][turn].get("annotators", {}).get("ana", {})
        assert answers.get(name, "open") in labels
