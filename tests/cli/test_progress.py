"""Work that takes a while, as a person at a terminal sees it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

import pytest

from touche_rad.cli.console import progress
from touche_rad.demo import demo_file

CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


def at_a_terminal(width: int, *args: str | Path, stop_at: str = "") -> tuple[int, bytes]:
    """Call `touche-rad ARGS` at a terminal of so many columns; Ctrl-C is typed once it tells that."""
    pid, terminal = pty.fork()
    if not pid:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, width, 0, 0))
        # Not `execv`: libraries have told C's own environment how wide our terminal is.
        ours = {key: told for key, told in os.environ.items() if key not in ("COLUMNS", "LINES")}
        ours["TERM"] = "xterm-256color"
        os.execve(sys.executable, [sys.executable, "-m", "touche_rad", *map(str, args)], ours)
    told = b""
    try:
        while some := os.read(terminal, 65536):
            told += some
            if stop_at and re.search(stop_at.encode(), CONTROL.sub(b"", told)):
                os.write(terminal, b"\x03")
                stop_at = ""
    except OSError:  # Linux says so when the other end is closed
        pass
    finally:
        os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), told


def drawn(told: bytes) -> list[str]:
    """Return what was written from each line's beginning on."""
    return CONTROL.sub(b"", told).decode().replace("\n", "\r").split("\r")


@pytest.mark.parametrize("width", [60, 100])
def test_a_bar_leaves_room_for_ctrl_c_and_is_wiped(width: int, tmp_path: Path) -> None:
    source, out = demo_file("arguments.jsonl"), tmp_path / "index"
    code, told = at_a_terminal(width, "index", source, "-o", out)
    bars = [line for line in drawn(told) if line.startswith("indexing ")]
    assert code == 0
    assert bars
    assert [bar for bar in bars if len(bar) > width - len("^C")] == []
    assert told.rindex(b"\x1b[2K") > told.rindex(b"indexing ")


@pytest.mark.long
def test_ctrl_c_prints_one_line_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    """Whatever was drawn before it; the answer to it is one message, wrapped to the terminal."""
    out = tmp_path / "s.jsonl"
    command = ("simulate", demo_file("debates.jsonl"), "-i", "demo", "-o", out, "--turns", "10")
    code, told = at_a_terminal(60, *command, stop_at=r"\b1?[1-9]/20 ")
    assert code == 130
    _, _, last = CONTROL.sub(b"", told).rpartition(b"touche-rad: error: ")
    message = f"stopped; finished work is kept in {out}.part: run the same command to continue"
    assert " ".join(last.decode().split()) == message
    assert b"Traceback" not in told
    code, told = at_a_terminal(60, *command)
    assert code == 0
    assert b" of them were taken over from an earlier run" in told


@pytest.mark.parametrize("flags", [(), ("--quiet",)])
def test_quiet_shows_no_progress_bar(flags: tuple[str, ...], tmp_path: Path) -> None:
    source, out = demo_file("arguments.jsonl"), tmp_path / "index"
    code, told = at_a_terminal(100, "index", source, "-o", out, *flags)
    assert code == 0
    assert (told == b"") is bool(flags)


def test_the_rate_of_a_resumed_run_counts_only_its_own_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ninety were done before: ten more in twenty seconds leave forty for the rest."""
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    with progress("judging") as report:
        report(90, 120)
        report(100, 120)
    assert "judging: 100 of 120, 40 s left" in capsys.readouterr().err
