"""Kills simulations at random moments, takes them up again, and compares the files.

Run as `python -m tests.runs.killing KILLS SEED FOLDER`. Children are forked, so that each run
starts in a millisecond and a hundred kills take seconds. A kill comes either from outside at a
random time, or from within at a random write to the journal, which is then torn at a random byte.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import time
from pathlib import Path

import anyio

from tests.forks import fork, survived
from tests.runs.fakes import SmallIndex
from touche_rad.debate import Debate, Response
from touche_rad.runs import simulate
from touche_rad.runs.answering import Answerer
from touche_rad.runs.output import Output
from touche_rad.runs.runner import run
from touche_rad.users import RuleUser

CLAIMS = 20
INDEX = SmallIndex()


class Unhurried:
    """Answers after a moment that its words decide, so that debates finish out of order."""

    async def answer(self, debate: Debate) -> Response:
        digest = hashlib.sha256(f"{debate.claim}{len(debate.turns)}".encode()).digest()
        await anyio.sleep(digest[0] / 256 * 0.004)
        hits = INDEX.search("attacks", f"{debate.claim} {debate.last.utterance}", 5)
        place = digest[1] % len(hits)
        argument = hits[place].argument
        extra = {"path": [debate.id, place]}
        return Response(content=argument.text, arguments=(argument,), extra=extra)


def write_claims(path: Path) -> Path:
    kinds = ("Zoos should be closed, says number {}.", "School uniforms are expensive, says {}.")
    rows = [f"{kinds[number % 2].format(number)}\tbase-user\n" for number in range(CLAIMS)]
    path.write_text("TOPIC_DESCRIPTION\tUSER\n" + "".join(rows))
    return path


def play(claims: Path, out: Path) -> None:
    answerer = Answerer([("unhurried", Unhurried())], INDEX)
    identity = {"debater": "unhurried", "seed": 7}
    run(simulate.work(claims, answerer, RuleUser(INDEX, 7), identity=identity), out)


def tear_at(write: int, share: float) -> None:
    """Let this process kill itself in the middle of its so-manieth write to the journal."""
    true_write, left = Output._write, [write]

    def torn(output: Output, line: bytes) -> int:
        left[0] -= 1
        if left[0] < 0:
            true_write(output, line[: int(len(line) * share)])
            os.kill(os.getpid(), signal.SIGKILL)
        return true_write(output, line)

    Output._write = torn  # type: ignore[method-assign]


def child(claims: Path, out: Path, tear: tuple[int, float] | None) -> int:
    """Start a run in a process of its own and return its id."""

    def work() -> int:
        if tear:
            tear_at(*tear)
        play(claims, out)
        return 0

    return fork(work)


def disturbed(claims: Path, out: Path, chance: random.Random, seconds: float) -> int:
    """Run with one kill or more, then to the end; return how many kills hit."""
    kills = 0
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        tear = (chance.randrange(CLAIMS + 1), chance.random()) if chance.random() < 0.5 else None
        pid = child(claims, out, tear)
        if tear is None:
            time.sleep(chance.uniform(0, seconds))
            os.kill(pid, signal.SIGKILL)
        if survived(pid):
            break
        kills += 1
    if kills or not out.exists():
        assert survived(child(claims, out, None))
    return kills


def main(wanted: int, seed: int, folder: Path) -> None:
    claims = write_claims(folder / "claims.tsv")
    begun = time.monotonic()
    assert survived(child(claims, folder / "undisturbed.jsonl", None))
    seconds = time.monotonic() - begun
    truth = (folder / "undisturbed.jsonl").read_bytes()
    assert truth.count(b"\n") == CLAIMS
    chance, kills, runs = random.Random(seed), 0, 0
    out = folder / "disturbed.jsonl"
    while kills < wanted:
        out.unlink(missing_ok=True)
        kills += disturbed(claims, out, chance, seconds)
        runs += 1
        assert out.read_bytes() == truth, f"run {runs} differs (seed {seed})"
        assert not out.with_name(out.name + ".part").exists()
    left = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    print(f"{kills} kills in {runs} runs: all files equal; left: {left}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
