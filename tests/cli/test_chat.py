"""`touche-rad chat`: debates with lines that are piped in."""

from __future__ import annotations

import io
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from rich.cells import cell_len

from tests.screens import check_screen
from tests.terminal import Ended, touche_rad

ZOOS = "Zoos should be closed because captivity harms animals."


@pytest.fixture(autouse=True)
def _in_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


PLUGIN = '''
from touche_rad.debate import Response
from touche_rad.plugins import debater

@debater("odd")
class Odd:
    """Fails, and answers with control characters."""

    def __init__(self, options, services): ...

    def answer(self, debate):
        if "fail" in debate.last.utterance:
            raise ValueError("no \\x1b[31mluck")
        return Response(content="Clear \\x1b[2J\\x1b]0;title\\x07text.")
'''
FAST = "-i demo -d verbatim -j length"


def chat(*lines: str, options: str = FAST) -> Ended:
    """Chat with these lines; they are all of the input."""
    with patch("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines))):
        return touche_rad(f"chat {options}", code=None)


def printed_after(line: str, ended: Ended) -> str:
    """Return what was printed after a line that the user typed, as one line."""
    assert ended.code == 0, ended.err
    words = r"\s+".join(map(re.escape, line.split()))  # long lines are wrapped
    shown = re.split(rf"you> {words}\n", ended.out, maxsplit=1)[1]
    return " ".join(shown.split("\nyou> ", 1)[0].split())


def test_a_message_is_answered_with_citations_and_verdicts() -> None:
    ended = chat(ZOOS, options="-i demo")
    answered = touche_rad("respond -i demo --json --say", ZOOS).json
    (cited,) = answered["arguments"]
    assert cited["text"] == answered["content"]
    answer = f"grounded> {answered['content']} [1] {cited['id']}, "
    assert printed_after(ZOOS, ended).startswith(answer)
    check_screen("chat", ended)


def test_the_debate_goes_on_and_empty_lines_are_ignored() -> None:
    ended = chat(ZOOS, "", "Zoos are old.")
    first, second = (printed_after(line, ended) for line in (ZOOS, "Zoos are old."))
    assert first.startswith("verbatim> ")
    assert second.startswith("verbatim> ")
    cited = [re.search(r"\[1\] (\S+)", shown) for shown in (first, second)]
    assert cited[0] is not None
    assert cited[1] is not None
    assert cited[0][1] != cited[1][1], "no argument twice"


def test_a_fallback_is_named_above_the_answer() -> None:
    Path("odd.py").write_text(PLUGIN)
    options = "--plugin odd.py -i demo -d odd -j length"
    ended = chat("Please fail.", "Go on.", options=options)
    check_screen("chat.fallback", ended)
    assert all(letter == "\n" or letter.isprintable() for letter in ended.out + ended.err)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lines_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ended = chat(ZOOS)
    assert ended.code == 0, ended.err
    assert max(map(cell_len, ended.out.splitlines())) <= min(columns, 100)


def test_the_index_and_the_judge_can_be_left_out() -> None:
    for options in ("", "-i demo"):
        lines = chat(options=options).out
        assert "index: the demo collection" in lines
        assert "note: without a language model" in lines
    assert "language model" not in chat().out
    assert "no judge" in chat(options="-i demo -j off").out


def test_a_panel_is_refused() -> None:
    refused = chat(options="-i demo -j grice")
    assert refused.code == 2
    assert "grice" in refused.err
