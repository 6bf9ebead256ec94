"""`touche-rad chat`: debates, commands, and what is kept, with lines that are piped in."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from rich.cells import cell_len

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


def said(ended: Ended, after: str = "") -> str:
    """Return what was printed after a line that the user typed, as one line."""
    assert ended.code == 0, ended.err
    typed = r"\s+".join(map(re.escape, after.split()))  # long lines are wrapped
    shown = re.split(rf"you> {typed}\n", ended.out, maxsplit=1)[1] if after else ended.out
    return " ".join((shown.split("\nyou> ", 1)[0] if after else shown).split())


def test_a_message_is_answered_with_citations_and_verdicts() -> None:
    ended = chat(ZOOS, args=GROUNDED)
    shown = said(ended, ZOOS)
    answered = json.loads(touche_rad("respond", "--say", ZOOS, "-i", "demo", "--json").out)
    (cited,) = answered["arguments"]
    words = len(answered["content"].split())
    assert f"grounded> {answered['content']} [1] {cited['id']} {cited['text']} {words} of" in shown
    assert all(f"{maxim} " in shown for maxim in ("Quantity", "Quality", "Relation", "Manner"))
    assert "\x1b" not in ended.out


def test_explain_shows_why() -> None:
    ended = chat("/explain", ZOOS, "/explain")
    assert "there is no answer to explain" in said(ended, "/explain")
    short = ended.out.split("you> /explain\n")[2].split("\nyou> ")[0]
    assert 5 < len(short.splitlines()) <= 20


def test_a_saved_debate_is_valid_and_replaces_only_its_own_file(tmp_path: Path) -> None:
    out = tmp_path / "my debate.jsonl"
    ended = chat("/save a.jsonl", "/save", ZOOS, "Zoos are old.", f"/save {out}", f"/save {out}")
    for line in ("/save a.jsonl", "/save"):
        assert "a debate with at least one answer" in said(ended, line)
    assert f"written: {out}" in said(ended, f"/save {out}")
    assert ended.out.count(f"written: {out}") == 2
    assert "exists: name" in chat(ZOOS, f"/save {out}").out
    assert "not saved" not in ended.out
    assert "not saved; /save FILE writes a debate" in chat(ZOOS).out
    (debate,) = files.read_debates(out)
    assert [turn.utterance for turn in debate.turns] == [ZOOS, "Zoos are old."]
    assert touche_rad("check", out).code == 0
    assert touche_rad("judge", out, "-o", tmp_path / "verdicts.jsonl").code == 0


def test_a_wrong_command_is_explained_and_empty_lines_are_ignored() -> None:
    ended = chat("", "/exlpain", "/help")
    assert "did you mean '/explain'?" in said(ended, "/exlpain")
    assert all(f"/{name}" in said(ended, "/help") for name in ("explain", "save", "quit"))


def test_a_fallback_is_named_above_the_answer(tmp_path: Path) -> None:
    plugin = tmp_path / "odd.py"
    plugin.write_text(PLUGIN)
    with patch("sys.stdin", io.StringIO("Please fail.\nGo on.\n/explain\n")):
        ended = touche_rad("--plugin", plugin, "chat", "-i", "demo", "-d", "odd")
    above, answer = said(ended, "Please fail.").split("grounded> ")
    assert above.startswith("note: ")
    assert "odd" in above
    assert "no luck" in above
    assert answer
    assert said(ended, "Go on.").startswith("odd> Clear ")
    assert "It cites no argument." in ended.out
    assert "odd does not list its candidates" in said(ended, "/explain")
    assert all(letter == "\n" or letter.isprintable() for letter in ended.out + ended.err)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lines_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ended = chat(ZOOS, "/explain", "/help", "/nothing")
    assert ended.code == 0, ended.err
    assert max(map(cell_len, ended.out.splitlines())) <= min(columns, 100)


def test_the_index_and_the_judge_can_be_left_out_and_a_panel_is_refused() -> None:
    for args in ((), ("-i", "demo")):
        first = said(chat(args=args))
        assert "index: the demo collection, on 18 topics only; for your own:" in first
        assert "without a language model, an answer can be on the wrong side" in first
    assert "language model" not in said(chat())
    assert "no judge" in chat(args=("-i", "demo", "-j", "off")).out
    refused = chat(args=("-i", "demo", "-j", "grice"))
    assert refused.code == 2
    assert "judges whole debates" in refused.err
