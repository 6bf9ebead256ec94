from __future__ import annotations

import random
from pathlib import Path

import pytest

from touche_rad.errors import UserError
from touche_rad.runs.journal import Done, Journal

IDENTITY = {"verb": "respond", "debater": "grounded", "seed": 0, "limits": {"words": 60}}


def part(out: Path) -> Path:
    return out.with_name(out.name + ".part")


def done(unit: int) -> Done:
    return Done((f"line {unit} é\u2028",) * (unit % 3), {"answers": unit}, (f"cut: {unit}",))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "run.jsonl"


def left_by(out: Path, *units: int, finish: bool = False, **changed: object) -> None:
    with Journal(out, {**IDENTITY, **changed}) as journal:
        for unit in units:
            journal.append(unit, done(unit))
        if finish:
            journal.finish(lambda _: None)
            journal.remove()


def test_the_output_is_in_the_order_of_the_input(out: Path) -> None:
    left_by(out, 3, 1, 0, 2, finish=True)
    lines = [line for unit in range(4) for line in done(unit).lines]
    assert out.read_bytes() == "".join(f"{line}\n" for line in lines).encode()
    assert list(out.parent.iterdir()) == [out]


def test_an_earlier_run_is_taken_up(out: Path) -> None:
    left_by(out, 2, 0)
    assert not out.exists()
    with Journal(out, IDENTITY) as journal:
        assert (len(journal), journal.resumed) == (2, 2)
        assert [unit in journal for unit in range(4)] == [True, False, True, False]
        journal.append(1, done(1))
        told: list[Done] = []
        journal.finish(told.append)
        journal.remove()
    assert told == [done(0), done(1), done(2)]


def test_a_unit_that_was_done_twice_counts_once_and_the_later_word_stands(out: Path) -> None:
    with Journal(out, IDENTITY) as journal:
        journal.append(0, Done(("earlier",)))
        journal.append(0, Done(("later",)))
        assert len(journal) == 1
    with Journal(out, IDENTITY) as journal:
        assert list(journal.numbered()) == [(0, Done(("later",)))]
        assert len(journal) == 1


def test_a_finished_run_is_done_anew(out: Path) -> None:
    left_by(out, 0, 1, finish=True)
    with Journal(out, {**IDENTITY, "seed": 9}) as journal:
        assert len(journal) == 0
    assert out.exists()


def test_a_journal_torn_anywhere_loses_only_what_was_torn(out: Path) -> None:
    left_by(out, 1, 0, 2)
    whole = part(out).read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    chance = random.Random(5)
    for length in [*ends, *(end - 1 for end in ends), 0, *chance.sample(range(len(whole)), 60)]:
        part(out).write_bytes(whole[:length])
        with Journal(out, IDENTITY) as journal:
            kept = max(0, sum(end <= length for end in ends) - 1)
            assert len(journal) == kept
            for unit in range(3):
                if unit not in journal:
                    journal.append(unit, done(unit))
        assert sorted(part(out).read_bytes().splitlines()) == sorted(whole.splitlines())


@pytest.mark.parametrize(
    "rubbish", [b"\x00" * 50 + b"\n", b"[]\n", b'{"unit": 1}\n', b'{"unit": "x", "lines": []}\n']
)
def test_a_damaged_record_is_named_and_the_others_are_kept(
    out: Path, rubbish: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    left_by(out, 0)
    sound = part(out).read_bytes()
    left_by(out, 1)
    after = part(out).read_bytes()[len(sound) :]
    part(out).write_bytes(sound + rubbish + after)
    with Journal(out, IDENTITY) as journal:
        assert [unit in journal for unit in range(2)] == [True, True]
    assert f"{part(out)}:3 is damaged" in caplog.text


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"seed": 1}, "seed was 0 and is now 1"),
        ({"debater": "mine(k=2)"}, 'debater was "grounded" and is now "mine(k=2)"'),
        ({"limits": {"words": 9}}, 'limits was {"words": 60} and is now {"words": 9}'),
        ({"turns": 5}, "turns was not set and is now 5"),
    ],
)
def test_another_run_is_refused_by_what_differs(
    out: Path, changed: dict[str, object], said: str
) -> None:
    left_by(out, 0)
    before = part(out).read_bytes()
    with pytest.raises(UserError, match="start again with --restart") as caught:
        left_by(out, 1, **changed)
    assert said in str(caught.value)
    assert part(out).read_bytes() == before


def test_restart_throws_the_earlier_run_away(out: Path) -> None:
    left_by(out, 0, 1)
    with Journal(out, {"seed": 8}, restart=True) as journal:
        assert len(journal) == 0
        journal.append(0, Done(("new",)))
        journal.finish(lambda _: None)
        journal.remove()
    assert out.read_text() == "new\n"


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("foreign", [b"somebody's notes\n", b"x", b'{"journal": "other"}\n'])
def test_a_file_that_is_no_journal_is_not_touched(out: Path, foreign: bytes, restart: bool) -> None:
    out.parent.mkdir()
    part(out).write_bytes(foreign)
    with pytest.raises(UserError, match="is not a journal of touche-rad"):
        Journal(out, IDENTITY, restart=restart)
    assert part(out).read_bytes() == foreign


def test_a_damaged_header_is_told(out: Path) -> None:
    left_by(out, 0)
    part(out).write_bytes(b'{"journal": "touche-rad 1", "identi\n')
    with pytest.raises(UserError, match="damaged: start again with --restart"):
        left_by(out, 0)


def test_two_processes_do_not_share_a_run(out: Path) -> None:
    with Journal(out, IDENTITY), pytest.raises(UserError, match="another process is at work"):
        Journal(out, IDENTITY)
    left_by(out, 0)


def test_outputs_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder"):
        Journal(tmp_path, IDENTITY)
    with pytest.raises(UserError, match="not a regular file"):
        Journal(Path("/dev/null"), IDENTITY)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        Journal(tmp_path / "file" / "run.jsonl", IDENTITY)
