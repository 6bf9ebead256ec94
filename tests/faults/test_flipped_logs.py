"""Work that goes on from a log with a flipped bit gives the same bytes, or says one clear line.

At most FLIPS bits of each log are flipped, at least 50 bits apart.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from tests.faults.test_faults import content
from tests.records import copy_lines, with_flipped_bits
from tests.refusals import expect_error
from tests.terminal import Ended, touche_rad
from touche_rad.cli.steps import Steps
from touche_rad.debate import Argument
from touche_rad.demo import demo_file
from touche_rad.errors import UserError
from touche_rad.plugins import build_index, index_backend_of

pytestmark = pytest.mark.long

FLIPS: Final = 60
PLUGIN: Final = """
from pathlib import Path

from touche_rad.debate import Maxim, Response, Verdict
from touche_rad.plugins import debater, judge

FAIL = Path(__file__).with_name("fail")


CALLS = []


def work(debate):
    CALLS.append(debate)
    if FAIL.exists() and len(CALLS) > 5:
        raise ValueError("broken")


@debater("breakable")
class BreakableDebater:
    def __init__(self, options, services): ...

    def answer(self, debate):
        work(debate)
        return Response(content="No.")


@judge("breakable")
class BreakableJudge:
    def __init__(self, options, services): ...

    def judge(self, debate):
        work(debate)
        return {maxim: Verdict(score=0.25) for maxim in Maxim}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return the current folder, with small inputs."""
    for name, count in {"debates.jsonl": 4, "claims.tsv": 3}.items():
        copy_lines(demo_file(name), name, count)
    Path("plugin.py").write_text(PLUGIN)
    return tmp_path


def flipped(log: bytes) -> Iterator[bytes]:
    """Yield copies of a log, each with another bit."""
    return (changed for _, changed in with_flipped_bits(log, max(50, 8 * len(log) // FLIPS)))


def is_one_line(ended: Ended) -> bool:
    """Whether a command refused its work in one line."""
    is_refused = ended.code in (1, 2) and ended.err.count("error: ") == 1
    return is_refused and "Traceback" not in ended.err


def refusal(function: Callable[[], None]) -> str:
    """Return the error with which a function refuses its work; empty if it does it."""
    try:
        function()
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "line",
    [
        "respond debates.jsonl -i demo -d breakable",
        "judge debates.jsonl -j breakable",
        "respond debates.jsonl -i demo -d breakable --shard 1/1",
    ],
    ids=["respond", "judge", "shard"],
)
def test_journal_of_a_run(place: Path, line: str) -> None:
    call = f"{line} --plugin plugin.py --workers 1 -q -o"

    def output(name: str) -> Path:
        return place / (f"{name}.shards/1-of-1/{name}" if "--shard" in line else name)

    touche_rad(call, "whole")
    Path("fail").touch()
    touche_rad(call, "out", "--strict", code=1)
    Path("fail").unlink()
    out = output("out")
    journal = out.with_name("out.part")
    for log in flipped(journal.read_bytes()):
        out.unlink(missing_ok=True)
        journal.write_bytes(log)
        ended = touche_rad(call, "out", "--replace", code=None)
        if ended.code:
            assert is_one_line(ended)
            assert journal.read_bytes() == log
        else:
            assert out.read_bytes() == output("whole").read_bytes()


def test_finished_part(place: Path) -> None:
    for shard in ("1/2", "2/2"):
        touche_rad(f"judge debates.jsonl -j length -q -o out --shard {shard}")
    part = place / "out.shards/2-of-2/units.jsonl"
    for log in flipped(part.read_bytes()):
        part.write_bytes(log)
        ended = touche_rad("merge out.shards -o out --replace", code=None, err="2-of-2")
        assert is_one_line(ended)
        assert not (place / "out").exists()


class FailingAnnotator:
    """Annotates each text with its words; it can fail after the first block."""

    model: Any = None
    name = "words"
    per_call = 1
    identity: Final = {"model": "none", "k": 2}

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks

    async def annotate_all(
        self, texts: Sequence[str], report: Callable[[int], None]
    ) -> list[Mapping[str, Any]]:
        if not self.blocks:
            raise UserError("the model is down")
        self.blocks -= 1
        return [{"words": text.split()} for text in texts]


def test_progress_of_annotations(place: Path) -> None:
    arguments = [Argument(id=f"{n:04}", text=f"Argument {n} on bees.") for n in range(130)]
    build_index(arguments, "index")
    folder = place / "index/annotations"

    def annotate(blocks: int) -> None:
        index_backend_of("index").annotate("index", FailingAnnotator(blocks))

    annotate(3)
    undamaged = content(folder)
    shutil.rmtree(folder)
    with expect_error("is down"):
        annotate(2)
    log = folder / "words.part"
    for damaged in flipped(log.read_bytes()):
        shutil.rmtree(folder)
        folder.mkdir()
        log.write_bytes(damaged)
        error = refusal(lambda: annotate(3))
        assert "annotations/words.part" in error or not error
        assert content(folder) == ({"words.part": damaged} if error else undamaged)


def test_commands_that_run_once(place: Path) -> None:
    commands = [["judge", f"{number}.jsonl"] for number in range(5)]
    calls: list[Sequence[str]] = []

    def call(words: Sequence[str]) -> int:
        calls.append(words)
        return 0

    def run_commands() -> None:
        with closing(Steps(place / "steps", {"plan": {"seed": 0}})) as steps:
            steps.run(commands, call)

    run_commands()
    log = place / "steps/commands.jsonl"
    for damaged in flipped(log.read_bytes()):
        log.write_bytes(damaged)
        calls.clear()
        error = refusal(run_commands)
        assert "commands.jsonl" in error or not error
        assert len(calls) <= (0 if error else 2)
