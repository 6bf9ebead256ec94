"""`touche-rad chat` at a real terminal: Ctrl-C, Ctrl-D, history, pasted text and typed-ahead lines."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_progress import CONTROL

pytestmark = pytest.mark.long

WAIT = 60.0
"""Seconds after which a test gives up; nothing is measured."""
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


class Terminal:
    """A chat at a terminal of 80 columns."""

    def __init__(self, folder: Path) -> None:
        plugin = folder / "plugin.py"
        plugin.write_text(PLUGIN)
        pid, self._descriptor = pty.fork()
        if not pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            kept = {
                key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")
            }
            kept |= {"TERM": "xterm-256color"}
            words = ["-m", "touche_rad", "--plugin", str(plugin), "chat", "-i", "demo"]
            words += ["-d", "echo-back", "-j", "off"]
            os.execve(sys.executable, [sys.executable, *words], kept)
        self._pid, self.shown, self._read = pid, "", 0

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def wait_for(self, text: str, *, again: str = "") -> None:
        """Wait until a text is shown after the last one that was waited for.

        Args:
            text: The text.
            again: Keys that are pressed again where nothing has been shown for some seconds. Python's
                readline forgets a Ctrl-C between the moment that it shows its prompt and the moment
                that it waits for keys; a user presses it again.
        """
        end, quiet = time.monotonic() + WAIT, 0
        while text not in self.shown[self._read :]:
            assert time.monotonic() < end, f"{text!r} is not shown: {self.shown}"
            if select.select([self._descriptor], [], [], 1)[0]:
                some = os.read(self._descriptor, 65536)
                self.shown += CONTROL.sub(b"", some).decode("utf-8", "replace")
                quiet = 0
            else:
                quiet += 1
                if again and quiet % 5 == 0:
                    self.type(again)
        self._read = self.shown.index(text, self._read) + len(text)

    def end(self) -> int:
        """Type Ctrl-D, read the rest, and return the exit code."""
        self.type("\x04")
        try:
            while some := os.read(self._descriptor, 65536):
                self.shown += CONTROL.sub(b"", some).decode("utf-8", "replace")
        except OSError:
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    opened.wait_for("you> ")
    yield opened
    os.close(opened._descriptor)


def test_ctrl_c_stops_the_answer_and_not_the_chat(terminal: Terminal) -> None:
    terminal.type("Please wait.\r")
    terminal.wait_for("echo-back is working")
    terminal.type("\x03")
    terminal.wait_for("stopped; Ctrl-D or /quit ends the chat", again="\x03")
    terminal.wait_for("you> ")
    terminal.type("\x03")
    terminal.wait_for("Ctrl-D or /quit ends the chat", again="\x03")
    terminal.wait_for("you> ")
    terminal.type("Go on.\r")
    terminal.wait_for("echo-back> You said 'Go on.'.")
    terminal.wait_for("you> ")
    assert terminal.end() == 0
    assert "not saved; /save FILE writes a debate" in terminal.shown


def test_lines_that_are_typed_while_a_debater_works_come_next(terminal: Terminal) -> None:
    terminal.type("First.\rSecond.\r")
    terminal.wait_for("You said 'First.'.")
    terminal.wait_for("You said 'Second.'.")
    terminal.wait_for("you> ")
    assert terminal.end() == 0
