"""Properties that hold for any input, over readers, verbs and ways to run."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.models.by_schema import filling
from tests.models.scripted import Scripted
from tests.records import write_lines
from tests.terminal import Ended, touche_rad
from tests.test_injection import prompts_on
from touche_rad.text import clean

MANY: Any = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
TEXT = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs", "Cc")), max_size=60
)
BAD = st.sampled_from(
    [b"{}", b"nonsense", b'{"simulation": 3}', b'{"simulation": {"userTurns": [', b"\xff\xfe"]
)
LINES = st.lists(st.one_of(TEXT, BAD), min_size=1, max_size=6).filter(
    lambda lines: any(isinstance(line, str) for line in lines)
)
UNREAD = ("the debate is lost", "the line cannot be read")
FOLDERS = itertools.count()


def fresh(tmp_path: Path) -> Path:
    """Return an empty folder for one example."""
    folder = tmp_path / str(next(FOLDERS))
    folder.mkdir()
    return folder


def simulation(text: str, at: int) -> dict[str, Any]:
    turn = {"utterance": text, "systemResponse": {"utterance": text}}
    turn["systemResponse"]["response"] = {"arguments": [{"id": "1", "text": "t"}]}  # type: ignore[index]
    configuration = {"topic": {"description": text}}
    return {"id": f"d{at}", "simulation": {"configuration": configuration, "userTurns": [turn]}}


def write(path: Path, lines: Sequence[str | bytes]) -> Path:
    """Write a simulation of each text; bytes are a line as they are."""
    path.write_bytes(
        b"".join(
            (line if isinstance(line, bytes) else json.dumps(simulation(line, at)).encode()) + b"\n"
            for at, line in enumerate(lines)
        )
    )
    return path


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


@settings(max_examples=25, **MANY)
@given(lines=LINES)
def test_a_line_in_is_a_line_out_in_its_place_or_a_counted_loss(
    tmp_path: Path, lines: list[str | bytes]
) -> None:
    folder = fresh(tmp_path)
    source, good = write(folder / "in.jsonl", lines), [isinstance(line, str) for line in lines]
    lost = good.count(False)

    def run(*words: str | Path) -> Ended:
        ended = touche_rad(*words, cwd=folder, code=None)
        assert ended.code in (0, 1), ended.err
        return ended

    judged = folder / "judged.jsonl"
    run("judge", source, "-j", "always-yes", "-o", judged, "--skip-bad")
    verdicts = records(judged)
    assert [one.get("id") for one in verdicts] == [
        f"d{at}" if fine else None for at, fine in enumerate(good)
    ]
    assert [one["userTurnsEvaluations"][0]["Quality"]["score"] for one in verdicts] == list(
        map(float, good)
    )
    checked = touche_rad("check --json", judged, "--input", source, cwd=folder, code=None)
    kinds = {one["kind"] for one in checked.json[0]["findings"]}
    assert not kinds & {"the number of debates is not the input's", "the order is not the input's"}

    findings = touche_rad("check --json", source, cwd=folder, code=None).json[0]["findings"]
    faults = [one["line"] for one in findings if one["kind"] in UNREAD]
    assert faults == [at for at, fine in enumerate(good, 1) if not fine]

    labels = folder / "labels.jsonl"
    labels.write_text(f"{json.dumps([{'quality': 1}])}\n" * len(lines))
    table = run("score", judged, labels, "--json").json
    problems = [one["line"] for one in table["problems"] if one["kind"] == "lost debate"]
    assert problems == faults

    answered = run(
        "respond", source, "-d", "verbatim", "-i", "demo", "-o", "answers.jsonl", "--skip-bad"
    )
    names = [one["debate"] for one in records(folder / "answers.jsonl")]
    assert names == [f"d{at}" for at, fine in enumerate(good) if fine], answered.err
    assert (f": {lost}; the first: {source}:" in answered.err) == (lost > 0)


SIDES = {"Ada": "pro", "Bob": "con"}
CONTEST = {"motion": "m", "sides": SIDES, "speeches": [{"speaker": "Ada", "text": "t"}]}
GOOD: dict[str, Any] = {
    "judge": CONTEST,
    "contests": CONTEST,
    "index": {"text": "Zoos save animals."},
    "simulate": "Zoos should close.\tbase",
    "score": "q Q0 {} 1 2.0 tag",
}
"""What a verb reads in a good line."""
CALLS = {
    "judge": "judge in.jsonl -j grice -o out.jsonl",
    "contests": "contests in.jsonl -o out.jsonl",
    "index": "index in.jsonl -o index",
    "simulate": "simulate in.tsv -i demo -d verbatim --turns 1 -o out.jsonl",
    "score": "score in.run qrels",
}


@pytest.mark.parametrize("verb", CALLS)
@settings(max_examples=8, **MANY)
@given(pattern=st.lists(st.booleans(), min_size=1, max_size=6).filter(any))
def test_the_bad_lines_of_each_reader_are_counted(
    tmp_path: Path, verb: str, pattern: list[bool]
) -> None:
    folder, words, good = fresh(tmp_path), CALLS[verb].split(), GOOD[verb]
    lines = ["TOPIC_DESCRIPTION\tUSER"] if verb == "simulate" else []
    for at, fine in enumerate(pattern):
        line = json.dumps(good | {"id": f"d{at}"}) if isinstance(good, dict) else good
        lines.append(line.replace("{}", f"d{at}") if fine else "\u200b\t")
    write_lines(folder / words[1], lines)
    (folder / "qrels").write_text("".join(f"q 0 d{at} 1\n" for at in range(len(pattern))))
    bad, first = pattern.count(False), len(lines) - len(pattern) + 1
    touche_rad(*words, cwd=folder, code=2 if bad else 0)
    ended = touche_rad(
        *words, "--skip-bad", *["--replace"] * (verb != "score"), cwd=folder, code=None
    )
    assert ended.code in (0, 1), ended.err
    if bad:
        first += pattern.index(False)
        told = " ".join(f"{ended.out} {ended.err}".split())
        assert re.search(rf"\b{bad}\b.*{words[1]}:{first}:", told), told
    kept = {"index": f"indexed {len(pattern) - bad} arguments", "score": "1"}
    if verb in kept:
        assert kept[verb] in ended.out + ended.err
    else:
        assert len(records(folder / "out.jsonl")) == len(pattern) - bad


PLAYED = ("judge zsl", "debater composed", "debater inspiredebate")


@pytest.mark.long
@pytest.mark.parametrize("plugin", PLAYED)
@settings(max_examples=20, **MANY)
@given(text=TEXT.filter(clean))
def test_any_text_gives_as_many_prompts_and_is_in_them_unchanged(
    server: Scripted, plugin: str, text: str
) -> None:
    filling(server)
    usual = prompts_on(server, plugin, "Zoos save animals.")
    prompts = prompts_on(server, plugin, text)
    assert len(prompts) == len(usual) > 0
    assert any(clean(text) in prompt for prompt in prompts)
