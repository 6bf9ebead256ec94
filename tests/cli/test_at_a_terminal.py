"""Progress bars, Ctrl-C and the chat, as a person at a real terminal sees them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.demo import ARGUMENTS, DEBATES, LABELS
from tests.terminal import touche_rad

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PLUGIN = '''
import time
from touche_rad.debate import Response
from touche_rad.plugins import Options, debater

@debater("echo-back")
class EchoBack:
    """Repeats the message; waits for ever if it is told to."""

    class Options(Options):
        """None."""

    def __init__(self, options, services):
        pass

    def answer(self, debate):
        while "wait" in debate.last.utterance:
            time.sleep(1)
        return Response(content=f"You said {debate.last.utterance!r}.")
'''


def call_at_terminal(width: int, *args: str | Path) -> pexpect.spawn:
    """Call `touche-rad ARGS` at a terminal of so many columns."""
    env = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "LINES")}
    words = ["-m", "touche_rad", *map(str, args)]
    env["TERM"] = "xterm-256color"
    return pexpect.spawn(
        sys.executable,
        words,
        dimensions=(30, width),
        env=env,
        timeout=60,
        encoding="utf-8",
        use_poll=True,  # `select` fails where a process has many open files
    )


def end_of(program: pexpect.spawn) -> tuple[int, str]:
    """Return the exit code, and what was shown since the last expectation."""
    program.expect(pexpect.EOF, timeout=240)
    program.close()
    return program.exitstatus, program.before


def test_a_bar_fits_the_terminal_and_is_wiped() -> None:
    code, shown = end_of(call_at_terminal(60, "index", ARGUMENTS, "-o", Path("index")))
    lines = CONTROL.sub("", shown).replace("\n", "\r").split("\r")
    bars = [line for line in lines if line.startswith("indexing ")]
    assert code == 0
    assert bars
    assert [bar for bar in bars if len(bar) > 60] == []
    assert shown.rindex("\x1b[2K") > shown.rindex("indexing ")


def test_the_evaluation_on_a_dataset_fits_the_terminal() -> None:
    touche_rad("dataset judges -o set", DEBATES, LABELS)
    touche_rad("judge -j length -o run/run.jsonl", DEBATES)
    program = call_at_terminal(40, "dataset", "evaluate", "run", "set/truths", "-o", "out")
    assert end_of(program)[1].splitlines()[-2:] == [
        "mean F1 .852 over 60 labelled turns of",
        "  20 debates",
    ]


def test_quiet_shows_nothing() -> None:
    assert end_of(call_at_terminal(100, "index", ARGUMENTS, "-o", Path("index"), "-q")) == (
        0,
        "",
    )


@pytest.mark.long
def test_ctrl_c_prints_one_line_and_the_run_can_be_resumed() -> None:
    out = "s.jsonl"
    command = ("simulate", DEBATES, "-i", "demo", "-o", out, "--turns", "10")
    program = call_at_terminal(60, *command)
    program.expect(r"\b1?[1-9]/20\b")
    program.sendintr()
    code, shown = end_of(program)
    assert code == 130
    _, _, last = CONTROL.sub("", shown).rpartition("touche-rad: error: ")
    assert last.startswith("stopped")
    assert f"{out}.part" in "".join(last.split())
    assert "Traceback" not in shown
    code, shown = end_of(call_at_terminal(60, *command))
    assert code == 0
    assert "taken over" in shown


@pytest.fixture(name="chat")
def _chat() -> Iterator[pexpect.spawn]:
    plugin = Path("plugin.py")
    plugin.write_text(PLUGIN)
    program = call_at_terminal(
        80, "--plugin", plugin, "chat", "-i", "demo", "-d", "echo-back", "-j", "off"
    )
    program.expect_exact("you> ")
    yield program
    program.close(force=True)


def interrupt(chat: pexpect.spawn) -> None:
    """Press Ctrl-C until the chat has seen it: readline forgets one between prompt and reading."""
    for _ in range(12):
        chat.sendintr()
        if chat.expect_exact(["Ctrl-D ends the chat", pexpect.TIMEOUT], timeout=5) == 0:
            return
    pytest.fail("Ctrl-C is not seen")


def test_messages_of_a_pipe_are_shown_at_a_terminal() -> None:
    command = f"echo Zoos. | {sys.executable} -m touche_rad chat -i demo -d verbatim -j off"
    shown = end_of(
        pexpect.spawn("sh", ["-c", command], timeout=60, encoding="utf-8", use_poll=True)
    )[1]
    assert "you> Zoos." in CONTROL.sub("", shown)


@pytest.mark.long
def test_ctrl_c_stops_the_answer_and_not_the_chat(chat: pexpect.spawn) -> None:
    chat.send("Please wait.\r")
    chat.expect_exact("echo-back is working")
    for _ in range(2):
        interrupt(chat)
        chat.expect_exact("you> ")
    chat.send("Go on.\r")
    chat.expect_exact("echo-back> You said 'Go on.'.")
    chat.expect_exact("you> ")
    chat.sendeof()
    assert end_of(chat)[0] == 0
