from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.demo import DEBATES
from tests.refusals import expect_error
from tests.terminal import touche_rad_process
from touche_rad.errors import WorkError
from touche_rad.events import Event, EventKind, Place
from touche_rad.files.append_log import checked_line, read_checked
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
def out() -> Path:
    return Path("new folder/run.jsonl")


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


def test_a_journal_of_an_earlier_version_is_refused(out: Path) -> None:
    out.parent.mkdir()
    journal_of(out).write_text('{"journal": "touche-rad 1", "identity": {}}\n')
    with expect_error(journal_of(out).name):
        run_units(out, 0)


@pytest.mark.parametrize("unit", [[1], -1, 4, "1", None])
def test_units_that_a_run_does_not_have_are_processed_again(out: Path, unit: object) -> None:
    run_units(out, 1)
    header, line = journal_of(out).read_bytes().splitlines(keepends=True)
    record = read_checked(line)
    journal_of(out).write_bytes(header + checked_line({**record, "unit": unit}))
    assert finished_units(out) == [False] * 4
    journal_of(out).write_bytes(header + checked_line({**record, "lines": ["{}\n{}"]}))
    with expect_error("unit 1 of the run is damaged", WorkError):
        run_units(out, finish=True)


def test_places_that_cannot_be_an_output_are_refused(tmp_path: Path) -> None:
    Path("file").touch()
    for place in (tmp_path, Path("/dev/null"), Path("file/run.jsonl")):
        with expect_error(str(place)):
            run_units(place)


def test_a_tally_adds_up_and_keeps_a_few_examples() -> None:
    tally = Tally()
    cut = Event(kind=EventKind.CUT, detail="70 words to 55")
    fallback = Fallback("debater x", "verbatim", "answers", "KeyError", "failure 1", turn=3)
    later = replace(fallback, reason="failure 2", turn=1)
    for number in range(6):
        fallbacks = (later, fallback) if number == 4 else (fallback,) * (number == 1)
        tally.add(Done((), {"answers": 5}, (cut.at(f"d{number}", 0),), fallbacks))
    now = datetime(2026, 1, 2, tzinfo=UTC)
    status = tally.status(
        Path("out"), verb="respond", state="done", started=now, finished=now, seconds=1
    )
    assert status.counts == {"answers": 30}
    assert status.replaced == 3
    (row,) = status.fallbacks
    assert row["count"] == 3
    assert row["reason"] == "failure 1"
    assert row["turns"] == ["2.3", "5.1", "5.3"]
    (cuts,) = status.events
    assert cuts.count == 6
    assert len(cuts.examples) == MOST_EXAMPLES
    assert cuts.examples[1].place == Place(debate="d1", turn=1)


@pytest.mark.parametrize("where", ["import", "init", "answer"])
def test_a_plugin_may_change_the_folder(where: str) -> None:
    Path("mover.py").write_text(
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
    words = ("respond", DEBATES, "-i", "demo", "--plugin", "mover.py")
    touche_rad_process(*words, "-d", "mover", "-o", "out.jsonl")
    assert len(Path("out.jsonl").read_text().splitlines()) == 60
