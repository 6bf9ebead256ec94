"""Respond and simulate from file to file, and what all runs share."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests import ROOT
from tests.records import read_records, write_records
from tests.refusals import expect_error
from tests.runs import fakes
from tests.runs.fakes import ARGUMENTS, Saying, SmallIndex
from tests.runs.playing import write_claims
from touche_rad import files
from touche_rad.debate import NOTHING_FOUND, Debate, Response
from touche_rad.errors import InputError, WorkError
from touche_rad.events import EventKind, Place
from touche_rad.files.outputs import Status
from touche_rad.plugins import LoadedDebater
from touche_rad.runs.answering import Answerer
from touche_rad.runs.play import respond, simulate
from touche_rad.runs.runner import run, run_work
from touche_rad.runs.work import RunOptions, Work
from touche_rad.users import RuleUser

INDEX = SmallIndex()
GOOD = Saying("Zoo breeding saves endangered species.", "1.1")
IDENTITY: Mapping[str, Any] = {"debater": "good", "seed": 1}
OUT = Path("out.jsonl")
RUN_OPTIONS = {option.name for option in fields(RunOptions)}


def answerer(debater: object = GOOD, **settings: Any) -> Answerer:
    return Answerer([LoadedDebater(debater, "good")], INDEX, **settings)  # type: ignore[arg-type]


def write_simulations(count: int = 1) -> Path:
    """Official simulations of two turns each, as another system left them."""
    records = []
    for number in range(count):
        turns = [
            {
                "utterance": f"Utterance {number}.{turn}",
                "systemResponse": {
                    "utterance": f"Recorded {number}.{turn}",
                    "response": {
                        "content": f"Recorded {number}.{turn}",
                        "arguments": [{"id": "1.4", "text": "Recorded argument"}],
                        "model": "other",
                    },
                    "milliseconds": 12.5,
                },
            }
            for turn in range(2)
        ]
        configuration = {
            "topic": {"description": f"Claim {number}"},
            "user": {"class": "Touche25RADUser", "model": "base-user"},
            "system": {"class": "BasicChatSystem", "url": "http://localhost:8080"},
            "maxTurns": 2,
        }
        simulation = {"configuration": configuration, "userTurns": turns, "milliseconds": 40.5}
        records.append({"simulation": simulation})
    return write_records("recorded.jsonl", *records)


def run_file(
    make_work: Callable[..., Work[Any]], source: Path, *plugins: Any, **named: Any
) -> Status:
    """Make the work on a file and run it; `named` are options of both."""
    options = RunOptions(**{key: named.pop(key) for key in [*named] if key in RUN_OPTIONS})
    work = make_work(source, *plugins, identity=IDENTITY, **named)
    return run(work, OUT, options)


class Listening(Saying):
    """Keeps what it was shown."""

    def __init__(self) -> None:
        super().__init__(GOOD.content, "1.1")
        self.seen: list[Debate] = []

    def answer(self, debate: Debate) -> Response:
        self.seen.append(debate)
        return super().answer(debate)


# --- respond


def test_every_user_turn_is_answered_given_the_recorded_words_before_it() -> None:
    listening = Listening()
    source = write_simulations()
    status = run_file(respond, source, answerer(listening))
    assert status.state == "done"
    assert status.done == 1
    assert status.counts == {"answers": 2}
    first_debate, second_debate = listening.seen
    assert [turn.utterance for turn in first_debate.turns] == ["Utterance 0.0"]
    assert [turn.utterance for turn in second_debate.turns] == ["Utterance 0.0", "Utterance 0.1"]
    assert second_debate.system_texts == ("Recorded 0.0",)
    assert second_debate.last.response is None
    first, second = read_records(OUT)
    assert first["content"] == GOOD.content
    assert first["turn"] == 0
    assert second["turn"] == 1
    assert [message["content"] for message in second["messages"]] == [
        "Utterance 0.0",
        "Recorded 0.0",
        "Utterance 0.1",
    ]


def test_only_the_last_user_turn_may_be_answered() -> None:
    source = write_simulations()
    run_file(respond, source, answerer(), last_only=True)
    assert [row["turn"] for row in read_records(OUT)] == [1]


def test_as_simulations_our_responses_replace_the_recorded_ones() -> None:
    source = write_simulations()
    run_file(respond, source, answerer(), shape="simulations")
    (row,) = read_records(OUT)
    simulation = row["simulation"]
    assert simulation["configuration"] == {
        "topic": {"description": "Claim 0"},
        "user": {"class": "Touche25RADUser", "model": "base-user"},
        "system": {"class": "touche-rad", "debater": "good"},
        "maxTurns": 2,
    }
    for number, turn in enumerate(simulation["userTurns"]):
        assert turn["utterance"] == f"Utterance 0.{number}"
        answer = turn["systemResponse"]
        assert answer["utterance"] == answer["response"]["content"] == GOOD.content
        assert [argument["id"] for argument in answer["response"]["arguments"]] == ["1.1"]
        assert answer["response"]["arguments"][0]["text"] == ARGUMENTS[0].text
    assert "milliseconds" not in OUT.read_text()


def test_workers_do_not_change_the_output() -> None:
    class Uneven:
        now = most = 0

        async def answer(self, debate: Debate) -> Response:
            self.now += 1
            self.most = max(self.most, self.now)
            await anyio.sleep(0.02 if debate.thesis.endswith(("0.0", "3.0")) else 0)
            self.now -= 1
            return Response(content=f"To {debate.last.utterance}")

    source = write_simulations(8)
    outputs = set()
    for workers in (1, 3, 50):
        uneven = Uneven()
        run_file(respond, source, answerer(uneven), workers=workers)
        outputs.add(OUT.read_bytes())
        assert uneven.most == min(workers, 8)
    assert len(outputs) == 1
    assert [row["content"] for row in read_records(OUT)][:2] == [
        "To Utterance 0.0",
        "To Utterance 0.1",
    ]


# --- simulate


def test_a_simulation_is_an_official_line() -> None:
    quoted = ('A "quoted" claim', "base-user")
    source = write_claims(("Zoos should be closed", "base-user"), quoted)
    good = Listening()
    status = run_file(simulate, source, answerer(good), RuleUser(INDEX, 1), turns=3, workers=1)
    assert [len(debate.turns) for debate in good.seen] == [1, 2, 3] * 2
    assert good.seen[2].system_texts == (GOOD.content,) * 2
    first, second = (row["simulation"] for row in read_records(OUT))
    assert first["configuration"] == {
        "topic": {"description": "Zoos should be closed"},
        "user": {"class": "RuleUser", "model": "base-user"},
        "system": {"class": "touche-rad", "debater": "good"},
        "maxTurns": 3,
    }
    assert second["configuration"]["topic"]["description"] == 'A "quoted" claim'
    assert len(first["userTurns"]) == len(second["userTurns"]) == 3
    assert all(turn["utterance"] for turn in first["userTurns"])
    assert status.counts == {"answers": 6}
    assert len(list(files.read_debates(OUT))) == 2


def test_a_debate_goes_on_when_everybody_fails() -> None:
    class Broken:
        def open(self, claim: Debate) -> str:
            return "  "

        async def reply(self, debate: Debate) -> str:
            raise OSError("gone")

    bad = answerer(fakes.Raising(ValueError("no")))
    source = write_claims(("Zoos should be closed", "base-user"))
    status = run_file(simulate, source, bad, Broken(), turns=2)
    (row,) = read_records("out.jsonl")
    turns = row["simulation"]["userTurns"]
    assert [turn["systemResponse"]["utterance"] for turn in turns] == [NOTHING_FOUND, NOTHING_FOUND]
    assert "Zoos should be closed" in turns[0]["utterance"]
    assert turns[1]["utterance"]
    assert status.replaced == 4
    counts = {events.examples[0].title: events.count for events in status.events}
    assert counts == {"user fallback": 2, "fallback from good": 2, "last-resort": 2}
    of_user = status.events[0].examples
    assert [event.place for event in of_user] == [
        Place(debate="debate-1", turn=1),
        Place(debate="debate-1", turn=2),
    ]
    assert of_user[1].detail == "OSError: gone"


# --- what all runs share


def test_the_status_says_what_was_done() -> None:
    source = write_simulations(2)
    path = Path("status.json")
    long = Saying("One two three. " * 30, "1.1", "no-such")
    status = run_file(respond, source, answerer(long), status_path=path)
    written = Status.model_validate_json(path.read_text())
    assert written == status
    assert {events.examples[0].kind: events.count for events in written.events} == {
        EventKind.UNKNOWN_ARGUMENT: 4,
        EventKind.CUT: 4,
    }
    assert written.replaced == 0
    assert written.identity["debater"] == "good"
    assert len(written.identity["input"]) == 64
    assert written.seconds >= 0
    assert written.started <= written.finished


def test_a_bad_line_may_be_skipped() -> None:
    source = write_simulations(3)
    source.write_text(source.read_text() + "{broken\n")
    seen: list[tuple[int, int | None]] = []
    status = run_file(
        respond,
        source,
        answerer(),
        bad=files.BadLines(skip=True),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert status.skipped == 1
    assert status.done == 3
    assert any("recorded.jsonl:4" in warning.detail for warning in status.warnings)
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_wrong_inputs_are_errors_of_the_user(tmp_path: Path) -> None:
    with expect_error(r"missing\.jsonl"):
        run_file(respond, Path("missing.jsonl"), answerer())
    with expect_error(tmp_path.name):
        run_file(respond, tmp_path, answerer())
    source = write_simulations(3)
    with expect_error("input"):
        run(respond(source, answerer(), identity=IDENTITY), source)
    empty = Path("empty.jsonl")
    empty.write_text("")
    with pytest.raises(InputError):
        run_file(respond, empty, answerer())


def test_one_failing_unit_does_not_lose_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_simulations(5)
    true_line = files.response_line

    def line(debate: Debate, turn: int, response: Response) -> str:
        if debate.claim == "Claim 2":
            raise ValueError("not to be written")
        return true_line(debate, turn, response)

    monkeypatch.setattr(files, "response_line", line)
    failure = r"1 of 5 failed.*ValueError: not to be written.*4 of 5 done"
    with expect_error(failure, WorkError):
        run_file(respond, source, answerer(), status_path=Path("status.json"))
    assert not OUT.exists()
    failed = Status.model_validate_json(Path("status.json").read_text())
    assert failed.state == "failed"
    assert failed.done == 4
    assert failed.units == 5
    assert failed.counts == {"answers": 8}
    monkeypatch.undo()
    listening = Listening()
    status = run_file(respond, source, answerer(listening))
    assert [debate.thesis for debate in listening.seen] == ["Utterance 2.0"] * 2
    assert status.done == 5
    assert status.resumed == 4
    assert len(read_records(OUT)) == 10


def test_an_unfinished_run_continues() -> None:
    source = write_simulations(3)

    async def stop() -> None:
        with anyio.CancelScope() as scope:

            def report(done: int, total: int | None) -> None:
                if done == 2:
                    scope.cancel()

            work = respond(source, answerer(), identity=IDENTITY)
            await run_work(work, OUT, RunOptions(workers=1, progress=report))

    anyio.run(stop)
    assert not OUT.exists()
    assert run_file(respond, source, answerer()).resumed == 2
    resumed = OUT.read_bytes()
    assert run_file(respond, source, answerer()).resumed == 0
    assert OUT.read_bytes() == resumed


# --- processes


CHILD = """
import os, sys, time
from pathlib import Path
from tests.runs import fakes
from tests.runs.test_runs import IDENTITY, answerer
from touche_rad.errors import ToucheRadError
from touche_rad.runs.play import respond
from touche_rad.runs.runner import RunOptions, run
source, out = Path(sys.argv[1]), Path(sys.argv[2])
work = respond(source, answerer({debater}), identity=IDENTITY)
options = RunOptions(workers=2, status_path=out.with_name("status.json"))
code = 0
try:
    {before}
    run(work, out, options)
except ToucheRadError as error:
    print(error, flush=True)
    code = error.exit_code
os._exit(code)  # as the command line ends: without waiting for threads
"""


def start(source: Path, debater: str, before: str = "pass") -> subprocess.Popen[str]:
    code = CHILD.format(debater=debater, before=before)
    command = [sys.executable, "-c", code, source.resolve(), OUT.resolve()]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )


def wait_for_three_records(source: Path) -> None:
    part = source.parent / "out.jsonl.part"
    until = time.monotonic() + 30
    while not part.exists() or part.read_bytes().count(b"\n") <= 3:
        assert time.monotonic() < until, "no progress"
        time.sleep(0.01)


@pytest.mark.parametrize("debater", ["fakes.Slow(0.02)", "fakes.Hangs('Utterance 3.0')"])
def test_an_interrupt_stops_at_once_and_the_run_resumes(debater: str) -> None:
    source = write_simulations(60)
    process = start(source, debater)
    wait_for_three_records(source)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "out.jsonl.part" in out
    assert "Traceback" not in err
    status = Status.model_validate_json(Path("status.json").read_text())
    assert status.state == "stopped"
    assert status.done >= 3
    assert not OUT.exists()
    assert run_file(respond, source, answerer()).resumed >= 3


def test_a_thread_that_hangs_does_not_keep_the_process_alive() -> None:
    source = write_simulations(2)
    process = start(source, "fakes.Hanging(), deadline=0.05")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, out + err
    assert {row["content"] for row in read_records(OUT)} == {NOTHING_FOUND}


def test_a_disk_that_fills_at_the_very_end_keeps_the_journal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = write_simulations(2)

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "atomic_write", full)
    with expect_error(r"out\.jsonl: .*No space.*2 of 2 done", WorkError):
        run_file(respond, source, answerer(), status_path=Path("status.json"))
    monkeypatch.undo()
    assert run_file(respond, source, answerer()).resumed == 2
