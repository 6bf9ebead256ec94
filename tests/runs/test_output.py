from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.terminal import touche_rad_process
from touche_rad.demo import demo_file
from touche_rad.errors import UserError
from touche_rad.events import Event, EventKind, Place
from touche_rad.files.outputs import Status
from touche_rad.runs.fallbacks import Fallback
from touche_rad.runs.runner import Output
from touche_rad.runs.work import MOST_EXAMPLES, Done, RunOptions, Tally, Work

IDENTITY = {"verb": "respond", "debater": "grounded", "seed": 0, "limits": {"words": 60}}


async def no_work(unit: object) -> Done:
    raise AssertionError


def journal_of(out: Path) -> Path:
    return out.with_name(out.name + ".part")


def done_unit(unit: int) -> Done:
    return Done(
        (f"line {unit} é\u2028",) * (unit % 3),
        {"answers": unit},
        (Event(kind=EventKind.CUT, detail=str(unit)),),
    )


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "run.jsonl"


@contextmanager
def open_output(out: Path, *, restart: bool = False, **changed: object) -> Iterator[Output]:
    identity = {**IDENTITY, **changed}
    work = Work[object]("respond", out, lambda bad: (), no_work, identity)
    output = Output(out, work, RunOptions(restart=restart))
    with output.begin(4):
        yield output


def run_units(out: Path, *units: int, finish: bool = False, **changed: object) -> Status | None:
    with open_output(out, **changed) as output:
        for unit in units:
            output.append(unit, done_unit(unit))
        return finish_output(output) if finish else None


def finish_output(output: Output) -> Status:
    status = output.finish()
    journal_of(output.path).unlink()
    return status


def finished_units(out: Path) -> list[bool]:
    with open_output(out) as output:
        assert len(output.journal.places) == output.resumed
        return [unit in output.journal.places for unit in range(4)]


def test_output_is_in_the_order_of_the_input_also_after_a_stop(out: Path) -> None:
    run_units(out, 3, 1)
    assert not out.exists()
    assert finished_units(out) == [False, True, False, True]
    status = run_units(out, 0, 2, finish=True)
    assert status is not None
    assert status.done == 4
    assert status.resumed == 2
    assert status.counts == {"answers": 6}
    lines = [line for unit in range(4) for line in done_unit(unit).lines]
    assert out.read_bytes() == "".join(f"{line}\n" for line in lines).encode()
    assert list(out.parent.iterdir()) == [out]
    run_units(out, seed=9)  # a finished run may be replaced
    assert out.exists()


def test_a_truncated_journal_loses_only_the_last_unit(out: Path) -> None:
    run_units(out, 1, 0, 2)
    journal = journal_of(out).read_bytes()
    ends = [place + 1 for place, byte in enumerate(journal) if byte == ord("\n")]
    chance = random.Random(5)
    for length in [*ends, *(end - 1 for end in ends), 0, *chance.sample(range(len(journal)), 60)]:
        journal_of(out).write_bytes(journal[:length])
        are_finished = finished_units(out)
        assert sum(are_finished) == max(0, sum(end <= length for end in ends) - 1)
        run_units(out, *(unit for unit in range(3) if not are_finished[unit]))
        assert sorted(journal_of(out).read_bytes().splitlines()) == sorted(journal.splitlines())


@pytest.mark.parametrize(
    "changed", [{"seed": 1}, {"debater": "mine(k=2)"}, {"limits": {"words": 9}}, {"turns": 5}]
)
def test_another_run_is_refused_with_the_setting_that_differs(
    out: Path, changed: dict[str, object]
) -> None:
    run_units(out, 0)
    before = journal_of(out).read_bytes()
    with pytest.raises(UserError, match=f"{next(iter(changed))} was .* and is now") as caught:
        run_units(out, 1, **changed)
    assert "--restart" in str(caught.value)
    assert journal_of(out).read_bytes() == before
    with open_output(out, restart=True, **changed) as output:
        assert not output.journal.places
        output.append(0, Done(("new",)))
        finish_output(output)
    assert out.read_text() == "new\n"


def test_a_journal_of_an_earlier_version_is_refused(out: Path) -> None:
    out.parent.mkdir()
    journal_of(out).write_text('{"journal": "touche-rad 1", "identity": {}}\n')
    with pytest.raises(UserError, match=journal_of(out).name):
        run_units(out, 0)


def test_a_changed_word_in_a_journal_reaches_no_output(
    out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_units(out, 0, 1, 2)
    journal_of(out).write_bytes(journal_of(out).read_bytes().replace(b"line 1", b"lime 1"))
    assert finished_units(out) == [True, False, True, False]
    assert f"{journal_of(out)}:3 is damaged" in caplog.text


def test_two_processes_do_not_share_a_run(out: Path) -> None:
    with open_output(out), pytest.raises(UserError, match="another process"):
        run_units(out)
    run_units(out, 0)


def test_places_that_cannot_be_an_output_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path, Path("/dev/null"), tmp_path / "file" / "run.jsonl"):
        with pytest.raises(UserError, match=str(place)):
            run_units(place)


def test_a_tally_adds_up_and_keeps_a_few_examples() -> None:
    tally = Tally()
    for number in range(8):
        cut = Event(kind=EventKind.CUT, detail="70 words to 55")
        last = Event(kind=EventKind.LAST_RESORT, detail="x")
        events = (cut.at(f"d{number}", 0), last) if number % 2 else ()
        fallback = Fallback("debater x", "verbatim", "answers", "KeyError", f"failure {number}")
        fallback = replace(fallback, turn=number % 5 + 1)
        fallbacks = (fallback,) * (number % 2)
        tally.add(Done((), {"answers": 5}, (*events, cut), fallbacks))
    now = datetime(2026, 1, 2, tzinfo=UTC)
    status = tally.status(
        Path("out"), verb="respond", state="done", started=now, finished=now, seconds=1
    )
    assert status.counts == {"answers": 40}
    assert status.replaced == 4
    assert [(row["count"], row["reason"]) for row in status.fallbacks] == [(4, "failure 1")]
    assert status.fallbacks[0]["turns"] == list(status.replaced_turns)
    assert status.replaced_turns == ("2.2", "4.4", "6.1", "8.3")
    cuts, last_resorts = status.events
    assert cuts.examples[0].kind == EventKind.CUT
    assert cuts.count == 12
    assert cuts.examples[1].place == Place(debate="d1", turn=1)
    assert len(cuts.examples) == MOST_EXAMPLES
    assert last_resorts.count == 4
    assert last_resorts.examples == (last,) * 4
    (warning,) = status.warnings
    assert warning.kind is EventKind.FALLBACKS
    assert warning.detail.startswith("4 of 40 answers ")
    assert warning.detail.endswith("verbatim: failure 1")


@pytest.mark.parametrize("where", ["import", "init", "answer"])
def test_a_plugin_may_change_the_folder(tmp_path: Path, where: str) -> None:
    (tmp_path / "mover.py").write_text(
        "import os\n"
        f"if {where == 'import'}: os.chdir('/')\n"
        "from touche_rad.debate import Response\n"
        "from touche_rad.plugins import debater\n"
        "@debater('mover')\n"
        "class Mover:\n"
        "    def __init__(self, services, options):\n"
        f"        if {where == 'init'}: os.chdir('/')\n"
        "    def answer(self, debate):\n"
        f"        if {where == 'answer'}: os.chdir('/')\n"
        "        return Response(content='No.')\n"
    )
    words = ("respond", demo_file("debates.jsonl"), "-i", "demo", "--plugin", "mover.py")
    ended = touche_rad_process(*words, "-d", "mover", "-o", "out.jsonl", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 60
