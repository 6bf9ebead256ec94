"""`touche-rad chat`: debates, commands, and what is kept, with lines that are piped in."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from rich.cells import cell_len

from tests.screens import check_screen
from tests.terminal import Ended, touche_rad
from touche_rad import files

ZOOS = "Zoos should be closed because captivity harms animals."


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
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
FAST = ("-i", "demo", "-d", "verbatim", "-j", "length")
GROUNDED = ("-i", "demo")


def chat(*lines: str, args: tuple[str | Path, ...] = FAST) -> Ended:
    """Chat with these lines; they are all of the input."""
    with patch("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines))):
        return touche_rad("chat", *args)


def printed_after(line: str, ended: Ended) -> str:
    """Return what was printed after a line that the user typed, as one line."""
    assert ended.code == 0, ended.err
    words = r"\s+".join(map(re.escape, line.split()))  # long lines are wrapped
    shown = re.split(rf"you> {words}\n", ended.out, maxsplit=1)[1]
    return " ".join(shown.split("\nyou> ", 1)[0].split())


def test_a_message_is_answered_with_citations_and_verdicts() -> None:
    ended = chat(ZOOS, args=GROUNDED)
    answered = json.loads(touche_rad("respond", "--say", ZOOS, "-i", "demo", "--json").out)
    (cited,) = answered["arguments"]
    assert cited["text"] == answered["content"]
    answer = f"grounded> {answered['content']} [1] {cited['id']}, "
    assert printed_after(ZOOS, ended).startswith(answer)
    check_screen("chat", ended)


def test_explain_shows_why() -> None:
    ended = chat("/explain", ZOOS, "/explain")
    assert printed_after("/explain", ended).startswith("error: ")
    reasons = ended.out.split("you> /explain\n")[2].split("\nyou> ")[0]
    assert "the answer cites" in reasons.splitlines()[0]


def test_a_saved_debate_is_valid_and_replaces_only_its_own_file(tmp_path: Path) -> None:
    out = tmp_path / "my debate.jsonl"
    ended = chat("/save a.jsonl", "/save", ZOOS, "Zoos are old.", f"/save {out}", f"/save {out}")
    for line in ("/save a.jsonl", "/save"):
        assert printed_after(line, ended).startswith("error: /save FILE")
    assert printed_after(f"/save {out}", ended) == f"written: {out}"
    assert ended.out.count(f"written: {out}") == 2
    assert "not saved" not in ended.out
    before = out.read_bytes()
    again = chat(ZOOS, f"/save {out}")
    assert f"error: {out}" in " ".join(again.out.split())
    assert out.read_bytes() == before
    assert "not saved" in again.out
    (debate,) = files.read_debates(out)
    assert [turn.utterance for turn in debate.turns] == [ZOOS, "Zoos are old."]
    touche_rad("check", out, code=0)
    touche_rad("judge", out, "-o", tmp_path / "verdicts.jsonl", code=0)


def test_a_wrong_command_is_explained_and_empty_lines_are_ignored() -> None:
    ended = chat("", "/exlpain", "/help")
    check_screen("chat.help", ended)


def test_a_fallback_is_named_above_the_answer(tmp_path: Path) -> None:
    plugin = tmp_path / "odd.py"
    plugin.write_text(PLUGIN)
    ended = chat(
        "Please fail.",
        "Go on.",
        "/explain",
        args=("--plugin", plugin, "-i", "demo", "-d", "odd", "-j", "length"),
    )
    check_screen("chat.fallback", ended)
    assert all(letter == "\n" or letter.isprintable() for letter in ended.out + ended.err)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lines_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ended = chat(ZOOS, "/explain", "/help", "/nothing")
    assert ended.code == 0, ended.err
    assert max(map(cell_len, ended.out.splitlines())) <= min(columns, 100)


def test_the_index_and_the_judge_can_be_left_out() -> None:
    for args in ((), ("-i", "demo")):
        lines = chat(args=args).out
        assert "index: the demo collection" in lines
        assert "note: without a language model" in lines
    assert "language model" not in chat().out
    assert "no judge" in chat(args=("-i", "demo", "-j", "off")).out


def test_a_panel_is_refused() -> None:
    refused = chat(args=("-i", "demo", "-j", "grice"))
    assert refused.code == 2
    assert "grice" in refused.err
