"""The terminal: help, names, settings and where they come from, exit codes, one-line errors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.retrieval.small import changes_that_doctor_notices
from tests.terminal import touche_rad
from touche_rad.cli.commands import COMMANDS
from touche_rad.demo import demo_file

CLAIMS = demo_file("claims.tsv")
ENGINES = {"pyterrier", "pandas", "numpy", "scipy", "fastapi", "uvicorn", "ir_measures"}
HEAVY = ENGINES | {"pydantic", "ir_datasets", "jinja2", "rich", "anyio"}
IMPORTED = """
import json, sys
from touche_rad.cli import run
imported = []
for call in json.loads(sys.argv[1]):
    run(call)
    imported.append([*sys.modules])
print("\\n" + json.dumps(imported))
"""


def _modules(*calls: list[str]) -> list[list[str]]:
    """Return the modules that are imported after each of some calls in one process."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, json.dumps(calls)],
        capture_output=True,
        text=True,
        check=True,
    )
    modules: list[list[str]] = json.loads(done.stdout.splitlines()[-1])
    return modules


def _imported(*calls: list[str]) -> list[set[str]]:
    """Return the top-level packages that are imported after each of some calls in one process."""
    return [{name.partition(".")[0] for name in names} for names in _modules(*calls)]


def test_help_imports_nothing_heavy() -> None:
    for imported in _imported(["--version"], ["--help"], []):
        assert HEAVY & imported == set()


def test_the_help_of_a_command_imports_no_search_engine() -> None:
    after = _imported(*([verb, "--help"] for verb in COMMANDS))
    for verb, imported in zip(COMMANDS, after, strict=True):
        assert ENGINES & imported == set(), verb


def test_one_answer_on_the_terminal_imports_nothing_of_runs_on_files() -> None:
    (modules,) = _modules(["respond", "--say", "Zoos should be closed."])
    of_files = ("runs.runner", "runs.jobs", "runs.journal", "runs.judging", "plugins.digests")
    assert {f"touche_rad.{name}" for name in of_files}.isdisjoint(modules)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["jugde"], "did you mean 'judge'?"),
        (["explain"], "there is no command 'explain': use touche-rad respond --explain"),
        (["respond", "--say", " "], "--say: expected a text, got only blanks"),
        (["retrieve", "--say", "", "-i", "demo"], "--say: expected a text"),
        (["respond", "in.jsonl", "-d", "grund", "-o", "out"], "did you mean 'grounded'?"),
        (["judge", "in.jsonl", "-j", "allways-yes", "-o", "out"], "did you mean 'always-yes'?"),
        (["respond", "missing.jsonl", "-o", "out.jsonl"], "missing.jsonl"),
        (["respond"], "give an input file"),
        (["judge", "missing.jsonl"], "-o FILE"),
        (["index", "missing.jsonl"], "-o DIR"),
        (["score", "one.jsonl"], "TRUTH"),
        (["list", "nobody"], "there is no plugin 'nobody'"),
        (["--plugin", "no_such_module", "list"], "no_such_module"),
        (["--config", "no.toml", "list"], "no.toml"),
        (["respond", "a", "-o", "k=7"], "-o is the output; set an option with -O k=7"),
        (["serve", "-O", "k"], "-O k: expected KEY=VALUE"),
        (["simulate", "a.tsv", "-o", "x", "--turns", "0"], "--turns"),
        (["respond", "a", "-o", "x", "--seed", "-1"], "-1 is not in the range x>=0"),
        (["respond", "a", "-o", "x", "-d", ""], "'': expected NAME or NAME(KEY=VALUE,...)"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(tmp_path: Path, args: list[str], told: str) -> None:
    ended = touche_rad(*args, cwd=tmp_path)
    assert ended.code == 2
    assert told in ended.err
    assert "Traceback" not in ended.err
    assert ended.err.strip().splitlines()[-1].count("rror") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_nearest_source_of_a_setting_wins(tmp_path: Path) -> None:
    (tmp_path / "touche-rad.toml").write_text(
        'debater = "verbatim"\nmax_words = 40\nturns = 7\n[simulate]\nturns = 2\n'
    )
    env = {"TOUCHE_RAD_MAX_WORDS": "20", "TOUCHE_RAD_DEBATER": "grounded"}
    call = ("simulate", CLAIMS, "-i", "demo", "--max-words", "30", "-o", "run.jsonl")
    assert touche_rad("--config", "touche-rad.toml", *call, cwd=tmp_path, env=env).code == 0
    identity = json.loads((tmp_path / "run.jsonl.status.json").read_text())["identity"]
    used = {key: identity[key] for key in ("max_words", "debater", "turns")}
    assert used == {"max_words": 30, "debater": "grounded", "turns": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("debatr = 'x'", "debatr: there is no such setting (did you mean 'debater'?)"),
        ("debater =", "touche-rad.toml: expected TOML"),
        ("judge = 3\n[judge]\n", "expected TOML"),
        ("options = 3", "options: expected a table"),
        ("[list]\ntruns = 2", "list.truns: there is no such setting"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "touche-rad.toml").write_text(text)
    ended = touche_rad("list", "--config", "touche-rad.toml", cwd=tmp_path)
    assert (ended.code, message in ended.err) == (2, True)


def test_options_come_from_the_file_and_are_overridden_by_flags(tmp_path: Path) -> None:
    (tmp_path / "touche-rad.toml").write_text(
        'debater = "echo"\n[options]\nshrug = "Meh."\ntimes = 2\n'
    )
    call = ("respond", "--say", "Hi.", "-i", "demo", "--config", "touche-rad.toml")
    for flags, answer in (((), "Meh.Meh. Hi."), (("-O", "times=1"), "Meh. Hi.")):
        ended = touche_rad(*call, *flags, cwd=tmp_path, stranger=True)
        assert (ended.code, ended.out.strip()) == (0, answer), ended.err


def test_a_closed_pipe_is_no_error() -> None:
    closed = f"{sys.executable} -m touche_rad schema | true"  # it ends before anything is printed
    done = subprocess.run(closed, shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")


def test_doctor_reports_what_is_missing_and_the_fix(tmp_path: Path) -> None:
    well = touche_rad("doctor", "--json")
    assert well.code == 0, well.out
    lacking = [check for check in json.loads(well.out) if not check["ok"]]
    wanted = ("needs a language model (-m", "needs the extra ")
    assert all(check["found"].startswith(wanted) for check in lacking)
    assert all(check["optional"] for check in lacking)
    ill = touche_rad("doctor", "-i", tmp_path / "no-index")
    assert ill.code == 1
    assert "fix: build it with: touche-rad index" in ill.out


def test_doctor_notices_a_changed_byte_of_an_index(tmp_path: Path, demo_index_path: Path) -> None:
    index = shutil.copytree(demo_index_path, tmp_path / "index")
    assert changes_that_doctor_notices(index)
    assert "search works" in touche_rad("doctor", "-i", index).out


def test_nothing_that_is_printed_controls_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;title\x07"
    missing = touche_rad("respond", f"{evil}no.jsonl", "-o", tmp_path / "out.jsonl")
    assert missing.code == 2
    collection = tmp_path / "arguments.jsonl"
    one = {
        "id": f"1{evil}",
        "text": f"Zoos {evil}fund rangers.",
        "attacks": "Zoos should be closed.",
    }
    collection.write_text(json.dumps(one) + "\n")
    index = tmp_path / "index"
    assert touche_rad("index", collection, "-o", index).code == 0
    said = touche_rad(
        "respond", "--say", f"Zoos should be closed. {evil}", "-i", index, "-d", "verbatim"
    )
    assert said.code == 0
    assert "fund rangers" in said.out
    for shown in (missing.err, said.out, said.err):
        assert all(letter == "\n" or letter.isprintable() for letter in shown)


@pytest.mark.parametrize("columns", ["60", "80", "140"])
def test_the_plugins_with_their_needs_fit_the_terminal(columns: str) -> None:
    shown = touche_rad("list", env={"COLUMNS": columns, "OPENAI_BASE_URL": ""})
    assert shown.code == 0, shown.err
    assert max(map(len, shown.out.splitlines())) <= int(columns)
    assert "  zsl" in shown.out
    assert "(needs: model" in " ".join(shown.out.split())


def test_one_kind_of_plugins_and_one_plugin_are_listed() -> None:
    shown = touche_rad("list", "retrievers").out
    assert shown.startswith("Retrievers\n")
    assert "Judges" not in shown
    kinds = {row["kind"] for row in json.loads(touche_rad("list", "panel", "--json").out)}
    assert kinds == {"panel"}
    one = " ".join(touche_rad("list", "debgraph").out.split())
    assert "close_margin = 0.1 (largest difference of a close debate)" in one
    assert "without factuality. (like paper, but:) fact = 0.0 paper-no-history:" in one


SAY = ("respond", "--say", "Zoos should be closed.")


@pytest.mark.parametrize("call", [("list",), SAY])
def test_no_code_that_a_file_of_the_current_folder_names_is_run(
    tmp_path: Path, call: tuple[str, ...]
) -> None:
    (tmp_path / "stranger.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    (tmp_path / "touche-rad.toml").write_text('plugins = ["stranger.py"]\n')
    ended = touche_rad(*call, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "not used" in ended.err
    assert not (tmp_path / "ran").exists()
    assert touche_rad("--config", "touche-rad.toml", *call, cwd=tmp_path).code == 0
    assert (tmp_path / "ran").exists()
