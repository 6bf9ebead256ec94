"""The command that each command names at its end."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from markupsafe import escape

from tests.demo import CLAIMS, CONTESTS, DEBATES
from tests.labelling.makers import open_session
from tests.models.by_schema import filling
from tests.models.scripted import Scripted
from tests.records import copy_lines
from tests.screens import check_screen
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.files.criteria import read_criteria
from touche_rad.score.reports import RANKS


def next_commands(err: str) -> list[list[str]]:
    """Return the words of the commands that standard error names, without `touche-rad`."""
    lines = err.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("next: "))
    return [shlex.split(line[len("next: ") :])[1:] for line in lines[begin:]]


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two claims, in a path with a space."""
    path = tmp_path_factory.mktemp("next steps") / "claims.tsv"
    return copy_lines(CLAIMS, path, 3)


def test_a_run_names_the_next_command_and_the_demos_index(claims: Path) -> None:
    folder = claims.parent
    command = "simulate claims.tsv -i demo -o runs.jsonl --turns 1"
    simulated = touche_rad(command, cwd=folder)
    check_screen("simulate", simulated)
    (judge,) = next_commands(simulated.err)
    check_screen("judge", touche_rad(*judge, cwd=folder))
    refused = "got simulations: touche-rad judge runs.jsonl -i INDEX "
    touche_rad("score runs.jsonl", judge[-1], cwd=folder, code=1, err=refused)


@pytest.mark.parametrize("scored", [False, True])
def test_the_next_report_of_outcomes_has_the_texts(scored: bool) -> None:
    source = CONTESTS if scored else DEBATES
    judged = touche_rad("judge -j grice -o out.jsonl", source)
    steps = next_commands(judged.err)
    assert [step[0] for step in steps] == ["score", "report"]
    for step in steps:
        touche_rad(*step)
    page = Path("out.html").read_text("utf-8")
    speech = next(files.read_contests(source)).speeches[0].text
    assert str(escape(speech))[:40] in page
    assert "significantly" not in page.replace(RANKS, "")
    assert ("with the right winner" in page) == scored
    assert ("Who won" in page) != scored


def test_the_next_steps_of_ones_own_criteria_work_as_printed(
    server: Scripted, claims: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filling(server)
    monkeypatch.setenv("TOUCHE_RAD_MODEL", f"{server.url}#tiny")

    def follow(*words: str | Path) -> None:
        for step in next_commands(touche_rad(*words).err):
            touche_rad(*step)

    criteria = ("--criteria", "my-questions.toml")
    follow("new", "criteria", "my-questions")
    follow("prompts", "zsl", *criteria, "-o", "prompts")
    touche_rad("simulate -i demo -o all.jsonl --turns 3", claims)
    follow("judge", "all.jsonl", "-j", "zsl", *criteria, "-o", "judged.jsonl")
    session = open_session(Path("all.jsonl"), criteria=read_criteria(criteria[1]))
    for at, place in enumerate(session.queue):
        for criterion in session.criteria:
            session.answer(place, criterion.key, at % len(criterion.answers.values))
    session.log.close()
    label = ("all.jsonl", "-o", "labels.jsonl", "--summary")
    follow("label", "judged.jsonl", *label)
    follow("label", *label, *criteria)
    follow("train", "examples", "all.jsonl", "labels.jsonl", *criteria, "-o", "examples.jsonl")


@pytest.mark.parametrize(
    "line",
    [
        "judge runs.jsonl -j length -o judged.jsonl",
        "judge runs.jsonl -j grice -o outcomes.jsonl",
        f"judge runs.jsonl {DEBATES} -j length -o judged",
        "check lost.jsonl",
    ],
)
def test_what_to_type_next_stands_below_the_finding(line: str) -> None:
    shutil.copy(DEBATES, "runs.jsonl")
    Path("lost.jsonl").write_text("{}\n")
    assert " touche-rad " in touche_rad(line, code=None, mixed=True).out.splitlines()[-1]


def test_quiet_commands_and_runs_under_tira_name_no_next_step(claims: Path) -> None:
    out = "evaluations.jsonl"
    assert "next:" not in touche_rad("judge -q", DEBATES, "-o", out).err
    Path("in").mkdir()
    Path("in/debates.jsonl").write_bytes(DEBATES.read_bytes())
    env = {"inputDataset": "in", "outputDir": "out"}
    assert "next:" not in touche_rad("judge -j length", env=env).err
