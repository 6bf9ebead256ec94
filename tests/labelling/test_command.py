"""`touche-rad label`: its summary, its errors, and the scores that its file gives."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cases import with_cases
from tests.labelling.makers import answer, write_run, write_verdicts
from tests.labelling.served import labelling
from tests.records import read_records, write_records
from tests.screens import check_screen
from tests.terminal import touche_rad
from touche_rad.debate import Maxim
from touche_rad.serve.limits import Limits

DEBATES = 20
TURNS = 60


@pytest.fixture
def run() -> Path:
    return write_run(debates=DEBATES)


@pytest.fixture
def judges(run: Path) -> list[Path]:
    rising = [number / TURNS for number in range(TURNS)]
    return [
        write_verdicts("a.jsonl", run, [0.2] * TURNS),
        write_verdicts("b.jsonl", run, rising),
    ]


def label_turns(run: Path, turns: int, judges: list[Path], annotator: str = "ana") -> None:
    answer(run, [(at, None, int(at % 3 > 0)) for at in range(turns)], annotator, judges)


def summarise(*words: str | Path, **expected: Any) -> None:
    touche_rad("label --summary", *words, **expected)


def test_the_summary_writes_the_file_and_names_the_next_step(run: Path, judges: list[Path]) -> None:
    label_turns(run, 40, judges)
    answer(run, [(40, Maxim.QUALITY, 1)])
    words = ("run.jsonl", "a.jsonl", "b.jsonl", "-o", "labels.jsonl", "--summary")
    check_screen("label.summary", touche_rad("label", *words))
    scored = touche_rad("score --correct --json", judges[1], "labels.jsonl", "--debates", run)
    assert scored.json["labelled"] == {"b": 41}


def test_the_server_refuses_a_body_that_is_too_large(run: Path) -> None:
    with labelling(run, "-o", Path("labels.jsonl")) as (_, address):
        refused = httpx2.post(f"{address}answer", content=bytes(Limits().body + 1))
        assert refused.status_code == 413
        assert httpx2.get(address).is_success


def test_two_annotators_get_the_same_queue_and_their_agreement(
    run: Path, judges: list[Path]
) -> None:
    label_turns(run, 9, judges)
    label_turns(run, 6, [], "ben")
    words = ("label", "run.jsonl", "-o", "labels.jsonl", "--summary")
    check_screen("label.agreement", touche_rad(*words))
    answer(run, [(0, Maxim.MANNER, 1)], "ben")
    check_screen("label.disagreement", touche_rad(*words))
    others = ("label", "run.jsonl", "-o", "new.jsonl", "--with", "labels.jsonl")
    settling = f"touche-rad {' '.join(others)} --settle"  # without --with, the labels would be lost
    touche_rad(*others, "--summary", "--annotator", "cem", code=0, err=settling)


@with_cases(("annotators", "code"), "labelling/answers_of_strangers.json")
def test_answers_of_strangers(run: Path, annotators: object, code: int) -> None:
    summarise(run, "-o", "labels.jsonl")
    rows = read_records("labels.jsonl")
    rows[0][0] |= {"quantity": 1, "annotators": annotators}
    write_records("theirs.jsonl", *rows)
    words = (run, "-o", "mine.jsonl", "--annotator", "zoe", "--with")
    ended = touche_rad("label --summary", *words, "theirs.jsonl", code=code)
    assert "internal error" not in ended.err
    assert ended.out.replace("\n", "").isprintable()


@pytest.mark.parametrize("words", [("--annotator", "a\x1b[31m"), ("--with", "missing.jsonl")])
def test_wrong_options(run: Path, words: tuple[str, ...]) -> None:
    summarise(run, "-o", "labels.jsonl", *words, code=2)


def test_a_file_that_label_did_not_write_needs_replace(run: Path, tmp_path: Path) -> None:
    output = Path("labels.jsonl")
    output.write_text('[{"quality": 1}]\n')
    for begin in (None, "", "{"):  # no log, or one that another program may have begun
        if begin is not None:
            Path("labels.jsonl.log").write_text(begin)
        summarise(run, "-o", output, code=2, err=f"-o NEW --with {output}\n")
    assert output.read_text() == '[{"quality": 1}]\n'
    summarise(run, "-o", output, "--replace")
    label_turns(run, 2, [])
    summarise(run, "-o", output, "--replace")  # begins anew, and keeps the answers
    (old,) = tmp_path.glob("labels.jsonl.log.*")
    assert old.read_text().count('"by":"ana"') == 8


def test_a_run_without_responses_is_refused() -> None:
    claims = write_records("empty.jsonl", {"simulation": {"userTurns": [{"utterance": "Hm."}]}})
    summarise(claims, "-o", "x.jsonl", code=2, err="empty.jsonl")


def test_a_damaged_run_is_refused_with_the_command_that_repairs_it(run: Path) -> None:
    run.write_text(f"{run.read_text()}{{")
    summarise(run, "-o", "x.jsonl", code=2, err="; touche-rad check run.jsonl says how to repair")


def test_a_port_in_use_is_named(run: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        touche_rad("label -o y.jsonl", run, "--port", port, code=2, err=f"port {port} ")
