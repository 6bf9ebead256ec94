"""`touche-rad try`: a plugin beside the baselines, and again after an edit."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.makers import BRIEF, contents, write_data
from tests.cases import with_cases
from tests.screens import check_screen
from tests.terminal import touche_rad

JUDGE = '''
from touche_rad.debate import Maxim, Verdict
from touche_rad.plugins import Options, judge


@judge("short")
class Short:
    """Says yes to short answers."""

    class Options(Options):
        most: int = 40

    def __init__(self, options, services):
        self.most = options.most

    def judge(self, debate):
        words = len(debate.last.response.content.split())
        return {maxim: Verdict(score=float(words <= self.most)) for maxim in Maxim}
'''


@pytest.fixture(autouse=True)
def _files() -> None:
    """Data, and the files of two plugins."""
    write_data(".")
    Path("brief.py").write_text(BRIEF)
    Path("short.py").write_text(JUDGE)


def test_a_debater_is_compared_and_only_its_runs_are_made_again() -> None:
    line = "try brief.py --on claims.tsv -i demo"
    check_screen("try.debater", touche_rad(line))
    before = contents(Path("try/debates"))
    Path("brief.py").write_text(BRIEF.replace("Nothing", "No evidence"))
    again = touche_rad(line)
    assert again.err.count("again: debates/seed-0/rules/brief.") == again.err.count("again: ") == 2
    after = contents(Path("try/debates"))
    assert {name for name in before if before[name] != after[name]} == {
        f"seed-0/rules/brief.{end}"
        for end in (
            "jsonl",
            "jsonl.status.json",
            "by-grounded.jsonl",
            "by-grounded.jsonl.status.json",
        )
    }
    # What check advises for a damaged run makes it again, typed in another folder.
    run = Path("try/debates/seed-0/rules/brief.jsonl")
    run.write_text("{}\n")
    Path("elsewhere").mkdir()
    checked = touche_rad("check", f"../{run}", code=1, cwd=Path("elsewhere"))
    (advised,) = re.findall("^  touche-rad (.*)$", checked.out, re.M)
    touche_rad(advised, cwd=Path("elsewhere"))
    assert run.with_suffix(".new.jsonl").read_bytes() == after["seed-0/rules/brief.jsonl"]
    Path("brief.py").write_text(BRIEF.replace("invented = ", "invented = 1 / 0, "))
    failed = touche_rad(line, code=1).out
    assert failed.startswith("all answers in debates/seed-0/rules/brief.jsonl are of a fallback: ")
    Path("foreign").mkdir()
    Path("foreign/notes.txt").touch()
    refused = touche_rad(f"{line} -o foreign", code=2)
    assert "--replace" in refused.error


def test_a_judge_is_compared_on_labelled_debates() -> None:
    # A line with a path has one length in every folder that is not too deep.
    wide = {"COLUMNS": "120"}
    ended = touche_rad("try short.py -O most=50", env=wide)
    check_screen("try.judge", ended)
    line = "try length --on debates.jsonl --labels labels.jsonl -o few"
    touche_rad(line, out="too few")


@with_cases(("words", "expected"), "bench/wrong_tries.json")
def test_what_cannot_be_tried_is_one_error(words: tuple[str, ...], expected: str) -> None:
    Path("claims.py").touch()
    ended = touche_rad("try", *words, code=2)
    assert expected in ended.error
    assert not Path("try").exists()


@pytest.fixture
def watching() -> Iterator[subprocess.Popen[str]]:
    line = "try brief.py --watch --on claims.tsv -i demo --turns 1"
    call = [sys.executable, "-m", "touche_rad", *line.split()]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    yield process
    process.kill()
    process.communicate()


def test_a_plugin_is_tried_again_each_time_it_is_saved(watching: subprocess.Popen[str]) -> None:
    """5 CPU seconds: three calls in processes of their own."""
    assert watching.stdout is not None

    def lines_of_a_trial() -> list[str]:
        lines = []
        for line in watching.stdout or ():
            if "watching" in line:
                return lines
            lines.append(line)
        raise AssertionError("".join(lines))

    lines_of_a_trial()
    Path("#brief.py").symlink_to("nowhere")
    Path("brief.py").write_text("def broken(:\n")
    assert "brief.py" in "".join(lines_of_a_trial())
    Path("brief.py").write_text(BRIEF.replace("Nothing", "No evidence"))
    error, *lines = lines_of_a_trial()
    assert error.startswith("error: this trial failed")
    assert any(line.startswith("again: ") for line in lines)
    watching.send_signal(signal.SIGINT)
    assert watching.wait(60) == 0
    assert watching.stdout.read() == ""
