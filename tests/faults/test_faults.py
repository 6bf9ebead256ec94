"""What the commands that write do when the machine, a model, an index or a file fails."""

from __future__ import annotations

import gc
import os
import random
import re
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.bench.makers import SMALL
from tests.forks import fork, survived
from tests.records import copy_lines, read_cases, write_lines
from tests.terminal import touche_rad
from touche_rad import cli
from touche_rad.demo import demo_file

VERBS: Final[dict[str, list[str]]] = read_cases("faults/commands.json")
"""Each command without its output."""
OTHERS: Final = {"dataset": ("dataset", "debaters", "claims.tsv")}
"""Commands that begin again after a kill."""
DEAD: Final = "http://127.0.0.1:9"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with small inputs, which is the current folder."""
    for name, count in {"debates.jsonl": 4, "claims.tsv": 5, "arguments.jsonl": 100}.items():
        copy_lines(demo_file(name), tmp_path / name, count)
    (tmp_path / "bench.toml").write_text(SMALL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


TIME: Final = re.compile(
    rb"\d{4}-\d\d-\d\d( |%20)\d\d(:|%3A)\d\d" rb'|(?<=page/index.html": ")[0-9a-f]{64}'
)
"""A minute on a page, also in the address of its CSV, and the digest of a page with a minute."""


def content(path: Path) -> dict[str, bytes]:
    """Return the bytes of an output by file, without times and without what depends on them."""
    several = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {
        str(file.relative_to(path)): TIME.sub(b"", file.read_bytes())
        for file in several
        if file.is_file()
        and ".status." not in file.name
        and file.name not in ("manifest.json", "README.md")  # has the name of its folder
        and file.suffix != ".new"  # a file that a killed command had not written completely
    }


def start(verb: str, out: str, place: Path, prepare: Callable[[], object] = lambda: None) -> int:
    """Start a command in a fork, and return its process id."""

    def work() -> int:
        sys.stderr = (place / "stderr.txt").open("w", buffering=1)
        prepare()
        return cli.run([*{**VERBS, **OTHERS}[verb], "-o", out, "-q"])

    return fork(work)


@pytest.mark.parametrize("verb", VERBS)
def test_killed_command_continues_to_the_same_bytes(verb: str, place: Path) -> None:
    begun = time.monotonic()
    assert survived(start(verb, "whole", place))
    seconds = time.monotonic() - begun
    chance = random.Random(verb)
    for _ in range(3):
        process = start(verb, "killed", place)
        time.sleep(chance.uniform(0, seconds))
        os.kill(process, signal.SIGKILL)
        survived(process)
    assert survived(start(verb, "killed", place))
    assert content(place / "killed") == content(place / "whole")
    assert not list(place.rglob("*.part"))


@pytest.mark.parametrize("verb", [*VERBS, *OTHERS])
def test_full_disk_stops_the_command_with_one_line(verb: str, place: Path) -> None:
    def fill() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, resource.RLIM_INFINITY))

    status = os.waitpid(start(verb, "out", place, fill), 0)[1]
    assert os.waitstatus_to_exitcode(status) in (1, 2)
    assert (place / "stderr.txt").read_text().count("error: ") == 1
    assert "Traceback" not in (place / "stderr.txt").read_text()
    named = re.search(r"\bout\b|demo-index", (place / "stderr.txt").read_text())
    assert named, "what cannot be written"
    assert survived(start(verb, "out", place))
    assert survived(start(verb, "whole", place))
    assert content(place / "out") == content(place / "whole")


@pytest.mark.parametrize(
    "words",
    [
        "respond debates.jsonl -i demo -d composed -m MODEL",
        "simulate claims.tsv -i demo --user model(persona=stubborn) -m MODEL",
        "judge debates.jsonl -j zsl -m MODEL",
        "judge debates.jsonl -j debatrix -m MODEL",
        pytest.param("respond debates.jsonl -d verbatim -i INDEX", marks=pytest.mark.services),
        pytest.param("simulate claims.tsv -i INDEX", marks=pytest.mark.services),
        pytest.param("retrieve debates.jsonl -i INDEX", marks=pytest.mark.services),
    ],
)
def test_a_dead_model_or_index_stops_the_command(words: str, place: Path) -> None:
    servers = {"MODEL": f"{DEAD}/v1#m", "INDEX": f"elasticsearch:{DEAD}/arguments"}
    ended = touche_rad(
        *(servers.get(word, word) for word in words.split()), "-o", "out", code=None, err=DEAD
    )
    assert ended.code in (1, 2)
    assert ended.err.count("error: ") == 1
    assert not (place / "out").exists()


@pytest.mark.parametrize("verb", ["respond", "judge", "panel", "index"])
def test_damaged_line_is_named_before_any_work(verb: str, place: Path) -> None:
    source = place / VERBS[verb][1]
    lines = source.read_text().splitlines()
    write_lines(source, [*lines[:2], '{"id": ', *lines[2:]])
    touche_rad(*VERBS[verb], "-o", "out", code=2, err=f"{source.name}:3: ")
    assert not (place / "out").exists()


def test_output_with_a_damaged_status_is_not_replaced(place: Path) -> None:
    words = (*VERBS["judge"], "-o", "out.jsonl", "-q")
    touche_rad(*words)
    (place / "out.jsonl.status.json").write_text("{")
    before = (place / "out.jsonl").read_bytes()
    touche_rad(*words, "--workers", "2", code=2, err="out.jsonl.status.json: made by an earlier")
    touche_rad("check out.jsonl", out="the status beside it cannot be read: damaged")
    assert (place / "out.jsonl").read_bytes() == before


def test_a_command_in_a_program_leaves_no_file_open(place: Path) -> None:
    run = [*VERBS["respond"], "-o", "out", "-q", "--replace"]
    gc.collect()
    gc.disable()
    try:
        counts = [(cli.run(run), len(os.listdir("/proc/self/fd")))[1] for _ in range(3)]
    finally:
        gc.enable()
    assert counts[2] == counts[1]  # without the collector of cycles
