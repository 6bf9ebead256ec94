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
from touche_rad.demo import demo_file

ZOOS = "Zoos should be closed because captivity harms animals."


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "touche-rad"


@pytest.fixture(autouse=True)
def _in_a_folder(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


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
    assert f"grounded> {answered['content']} [1] {cited['id']} (sentence" in shown
    assert f"{cited['text']} {len(answered['content'].split())} of 60 words" in shown
    for maxim in ("Quantity", "Quality", "Relation", "Manner"):
        assert f"{maxim} " in shown
    assert "judge grounded, 0." in shown
    assert "\x1b" not in ended.out


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lines_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ended = chat(ZOOS, "/explain", "/sources", "/help", "/nothing")
    assert ended.code == 0, ended.err
    assert max(map(cell_len, ended.out.splitlines())) <= min(columns, 100)


def test_a_reason_on_two_lines_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    message, reasons = "Zoos should be closed.", set()
    for columns in ("80", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        shown = said(chat(message, args=GROUNDED), message)
        reasons.add(shown.partition("Relation ")[2].partition(" Manner")[0])
    assert len(reasons) == 1, reasons


def test_the_debate_goes_on_and_turns_are_taken_back() -> None:
    other = "But animals suffer in cages."
    ended = chat(ZOOS, other, "/undo", other, "/undo", "/undo", "/undo")
    first, again = ended.out.split(f"you> {other}\n")[1:]
    answer = again.split("words,")[0]
    assert first.startswith(answer)
    assert f"taken back: {ZOOS} (0 turns left)" in ended.out
    assert "error: there is no turn to take back" in ended.out


def test_another_debater_keeps_the_debate_and_the_judge_can_change() -> None:
    ended = chat(
        ZOOS,
        "/as verbatim",
        "Zoos are cruel.",
        "/judge length",
        "/judge off",
        "Zoos are old.",
        "/as grounded(k=7)",
        "/as nobody",
        "/as sinai",
        "/judge debatrix",
        "/judge nobody",
        "/as",
        args=GROUNDED,
    )
    assert said(ended, "Zoos are cruel.").startswith("verbatim> ")
    assert "judge length" in said(ended, "/judge length")
    assert "Quantity" not in said(ended, "Zoos are old.")
    assert said(ended, "/as grounded(k=7)") == "grounded(k=7) answers from now on"
    assert "there is no debater 'nobody'" in said(ended, "/as nobody")
    assert "needs a language model" in said(ended, "/as sinai")
    assert "debatrix judges whole debates" in said(ended, "/judge debatrix")
    assert "there is no judge 'nobody'" in said(ended, "/judge nobody")
    assert "/as: expected DEBATER" in said(ended, "/as")


def test_explain_and_sources_show_why_and_what_was_cited() -> None:
    ended = chat(
        "/explain", "/sources", ZOOS, "/explain", "/explain all", "/sources 1", "/sources 9"
    )
    assert "there is no answer to explain" in said(ended, "/explain")
    assert "cites no argument" in said(ended, "/sources")
    short = ended.out.split("you> /explain\n")[2].split("\nyou> ")[0]
    assert 5 < len(short.splitlines()) <= 20
    assert "which has the best score" in " ".join(short.split())
    assert said(ended, "/explain all").count("rank=") > 20
    source = said(ended, "/sources 1")
    assert all(f"{field}: " in source for field in ("text", "topic", "attacks", "supports"))
    assert "the last answer cites 1; there is no [9]" in said(ended, "/sources 9")


def test_a_saved_debate_is_a_valid_simulation_and_is_never_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "my debate.jsonl"
    ended = chat(
        "/save a.jsonl",
        ZOOS,
        "Zoos are cruel.",
        f"/save '{out}'",
        "/undo",
        f"/save '{out}'",
        f"/save! '{out}'",
        "/save",
        "/quit",
    )
    assert "there is nothing to save" in said(ended, "/save a.jsonl")
    assert f"written: {out}" in said(ended, f"/save '{out}'")
    assert "exists; /save! " in said(ended)
    assert "/save: expected FILE" in said(ended, "/save")
    assert "not saved" not in ended.out
    (debate,) = files.read_debates(out)
    assert [turn.utterance for turn in debate.turns] == [ZOOS]
    assert debate.claim == ZOOS
    assert touche_rad("check", out).code == 0
    assert touche_rad("judge", out, "-o", tmp_path / "verdicts.jsonl").code == 0


def test_a_recorded_debate_is_loaded_and_goes_on(tmp_path: Path) -> None:
    source = demo_file("debates.jsonl")
    second = list(files.read_debates(source))[1]
    out = tmp_path / "out.jsonl"
    ended = chat(
        f"/load {source} 2",
        "/explain",
        "And what about hats?",
        f"/save {out}",
        f"/load {source} 99",
        "/load no.jsonl",
        "/load a b c",
        f"/load {source} x",
    )
    loaded = said(ended, f"/load {source} 2")
    assert "debate 2 of 20" in loaded
    assert second.turns[-1].response is not None
    assert " ".join(second.turns[-1].response.content.split()) in ended.out.replace("\n", " ")
    assert "the answer was loaded" in said(ended, "/explain")
    (saved,) = files.read_debates(out)
    assert len(saved.turns) == len(second.turns) + 1
    assert touche_rad("check", out).code == 0
    assert "there is no debate 99" in ended.out
    assert "no.jsonl" in said(ended, "/load no.jsonl")
    assert "expected FILE" in said(ended, "/load a b c")
    assert "expected a number from 1, got 'x'" in ended.out


def test_a_last_message_without_answer_is_answered_by_retry(tmp_path: Path) -> None:
    source = tmp_path / "open.jsonl"
    source.write_text(json.dumps({"messages": [{"role": "user", "content": ZOOS}]}) + "\n")
    ended = chat(f"/load {source}", "/retry", "/retry")
    assert f"you> {ZOOS}\nthis message has no answer yet" in ended.out
    assert "verbatim> " in said(ended, "/retry")
    assert "the same answer again" in ended.out


def test_an_unfinished_chat_is_resumed(state: Path) -> None:
    first = chat(ZOOS)
    assert "not saved; go on and save with: touche-rad chat --resume" in " ".join(first.out.split())
    (kept,) = state.glob("chat-*.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    again = chat("/save out.jsonl", args=("-i", "demo", "--resume"))
    assert again.out.startswith("debater verbatim, judge length")
    assert f"you> {ZOOS}" in again.out
    assert next(iter(files.read_debates(Path("out.jsonl")))).last.utterance == ZOOS
    assert list(state.glob("chat-*.json")) == []
    nothing = chat(args=("-i", "demo", "--resume"))
    assert (nothing.code, "there is no unfinished chat" in nothing.err) == (2, True)


def test_a_broken_state_file_is_named(state: Path) -> None:
    state.mkdir(parents=True)
    (state / "chat-1.json").write_text("{")
    ended = chat(args=("-i", "demo", "--resume"))
    assert (ended.code, "chat-1.json: expected an unfinished chat" in ended.err) == (2, True)


def test_a_state_file_of_a_newer_version_is_refused(state: Path) -> None:
    state.mkdir(parents=True)
    (state / "chat-1.json").write_text('{"format": 99}')
    ended = chat(args=("-i", "demo", "--resume"))
    assert (ended.code, "newer" in ended.err) == (2, True)
    assert (state / "chat-1.json").exists()


def test_a_new_debate_keeps_the_one_before(state: Path) -> None:
    ended = chat(ZOOS, "/new", "Schools should ban phones.", "/undo")
    assert "the chat before is kept" in said(ended, "/new")
    assert len(list(state.glob("chat-*.json"))) == 1


def test_nothing_is_kept_without_history(state: Path) -> None:
    ended = chat(ZOOS, args=(*FAST, "--no-history"))
    assert ended.out.rstrip().endswith("\nnot saved")
    assert not state.exists()


def test_a_state_folder_that_cannot_be_written_is_no_reason_to_resume(
    state: Path, tmp_path: Path
) -> None:
    state.parent.touch()
    ended = chat(ZOOS)
    assert "note: the chat cannot be kept for --resume" in said(ended)
    assert ended.out.rstrip().endswith("\nnot saved")
    assert "written: z.jsonl" in said(chat(ZOOS, "/save z.jsonl"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/exlpain", "there is no command /exlpain (did you mean /explain"),
        ("/zzz", "there is no command /zzz; /help lists them"),
        ("/side", "there is no command /side (did you mean /save?); /help lists them"),
        ("/s", "there is no command /s (did you mean /sources or /save"),
        ("/undo 3", "/undo takes no argument"),
        ("/undo!", "there is no command /undo!"),
        ("/save 'a", "No closing quotation"),
        ("/explain me", "expected nothing or all"),
    ],
)
def test_a_wrong_command_is_explained(line: str, message: str) -> None:
    assert message in said(chat(line), line)


def test_help_lists_every_command_and_empty_lines_are_ignored() -> None:
    ended = chat("", "  ", "/help")
    assert all(f"/{name}" in ended.out for name in ("explain", "as", "judge", "save", "quit"))
    assert ended.out.count("you> ") == 1


def test_a_model_answers_and_its_cost_is_shown(tmp_path: Path) -> None:
    script = tmp_path / "model.jsonl"
    script.write_text(json.dumps({"answer": {"number": 2, "frame": "none"}}) + "\n")
    ended = chat(ZOOS, "/explain", args=("-i", "demo", "-m", f"scripted:{script}"))
    assert ", 1 call, " in said(ended, ZOOS)
    assert "model: grounded.choice, 1 call, " in said(ended, "/explain")
    assert "is number 2 by score" in said(ended, "/explain")


def test_a_model_is_opened_when_the_first_plugin_needs_it(tmp_path: Path) -> None:
    script = tmp_path / "model.jsonl"
    written = {"numbers": [1], "response": "Bees hum."}
    script.write_text(json.dumps({"answer": written}) + "\n")
    args = (*FAST, "-m", f"scripted:{script}")
    ended = chat("/as composed", ZOOS, args=args)
    assert said(ended, ZOOS).startswith("composed> ")
    assert " calls, " in said(ended, ZOOS)


def test_who_stood_in_is_said_above_the_answer(tmp_path: Path) -> None:
    plugin = tmp_path / "odd.py"
    plugin.write_text(
        "from touche_rad.debate import Response\n"
        "from touche_rad.plugins import Options, debater\n"
        '@debater("odd")\n'
        "class Odd:\n"
        '    """Fails, and answers with control characters."""\n'
        "    class Options(Options):\n"
        '        """None."""\n'
        "    def __init__(self, options, services): pass\n"
        "    def answer(self, debate):\n"
        '        if "fail" in debate.last.utterance: raise ValueError("no \\x1b[31mluck")\n'
        '        return Response(content="Clear \\x1b[2J\\x1b]0;title\\x07text.")\n'
    )
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


def test_without_an_index_the_demo_collection_is_named() -> None:
    assert chat("/quit", args=()).out.startswith("note: this is the demo collection")


def test_a_judge_can_be_left_out_and_a_panel_is_refused() -> None:
    assert "no judge" in chat(args=("-i", "demo", "-j", "off")).out
    refused = chat(args=("-i", "demo", "-j", "grice"))
    assert (refused.code, "judges whole debates" in refused.err) == (2, True)


def test_colour_is_used_where_it_is_forced_and_never_with_no_color(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in chat(ZOOS).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in chat(ZOOS).out
