"""The terminal: help, names, settings and where they come from, exit codes, one-line errors."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo import CLAIMS, DEBATES
from tests.records import read_status
from tests.retrieval.small import changes_that_doctor_notices
from tests.screens import check_messages, check_screen
from tests.terminal import touche_rad
from touche_rad.cli.commands import COMMANDS

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


def test_a_list_of_plugins_imports_no_library_that_is_slow_to_import() -> None:
    (imported,) = _imported(["list"])
    assert {"ir_datasets", "networkx", "pandas", "pyterrier"} & imported == set()


def test_one_answer_on_the_terminal_imports_nothing_of_runs_on_files() -> None:
    (modules,) = _modules(["respond", "--say", "Zoos should be closed."])
    names = ("runs.runner", "runs.jobs", "runs.journal", "runs.judging", "plugins.digests")
    assert {f"touche_rad.{name}" for name in names}.isdisjoint(modules)


MISTAKES = (
    "jugde",
    "respond --say ' '",
    "retrieve --say '' -i demo",
    "respond in.jsonl -d grund -o out",
    "judge in.jsonl -j allways-yes -o out",
    "respond missing.jsonl -o out.jsonl",
    "respond",
    "judge missing.jsonl",
    "index missing.jsonl",
    "score one.jsonl",
    "list nobody",
    "--plugin no_such_module list",
    "--plugin FOLDER/bare.py respond --say Hi. -d bare",
    "--config no.toml list",
    "respond a -o k=7",
    "serve -O k",
    "simulate a.tsv -o x --turns 0",
    "respond a -o x --seed -1",
    "respond a -o x -d ''",
)


def test_a_mistake_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    folder = Path("work")
    folder.mkdir()
    Path("bare.py").write_text("class Bare: ...\n")
    messages = {}
    for line in MISTAKES:
        words = shlex.split(line.replace("FOLDER", str(tmp_path)))
        ended = touche_rad(*words, cwd=folder, code=2)
        assert ended.err.count("\n") == 1, line
        assert list(folder.iterdir()) == [], line
        messages[f"touche-rad {line}"] = ended
    check_messages("mistakes", messages)


def test_the_nearest_source_of_a_setting_wins() -> None:
    Path("touche-rad.toml").write_text(
        'debater = "verbatim"\nmax_words = 40\nturns = 7\n[simulate]\nturns = 2\n'
    )
    env = {"TOUCHE_RAD_MAX_WORDS": "20", "TOUCHE_RAD_DEBATER": "grounded"}
    words = "--config touche-rad.toml simulate -i demo --max-words 30 -o run.jsonl"
    touche_rad(words, CLAIMS, env=env)
    identity = read_status("run.jsonl")["identity"]
    used = {key: identity[key] for key in ("max_words", "debater", "turns")}
    assert used == {"max_words": 30, "debater": "grounded", "turns": 2}


def test_a_wrong_setting_is_named() -> None:
    messages = {}
    for text in (
        "debatr = 'x'",
        "options = 3",
        "[list]\ntruns = 2",
        "list = 3",
        "[list]\noptions = 3",
        "plugins = 5",
        "plugins = [['a']]",
    ):
        Path("touche-rad.toml").write_text(text)
        messages[text] = touche_rad("list --config touche-rad.toml", code=None)
        assert messages[text].code == 2, text
    check_messages("settings", messages)


@pytest.mark.parametrize("name", ["seed", "deadline"])
@pytest.mark.parametrize("value", ["1e400", "nan"])
def test_a_number_is_finite(name: str, value: str) -> None:
    Path("touche-rad.toml").write_text(f"{name} = {value}")
    call = ("judge -j length -o out", DEBATES)
    touche_rad(*call, "--config", "touche-rad.toml", code=2, err=f"'--{name}': ")
    touche_rad(*call, f"--{name}", value, code=2, err=f"'--{name}': ")


@pytest.mark.parametrize("text", ["debater =", "judge = 3\n[judge]\n"])
def test_settings_that_are_no_toml_are_refused(text: str) -> None:
    Path("touche-rad.toml").write_text(text)
    touche_rad("list --config touche-rad.toml", code=2, err="touche-rad.toml: ")


def test_options_come_from_the_file_and_are_overridden_by_flags() -> None:
    Path("touche-rad.toml").write_text('debater = "echo"\n[options]\nshrug = "Meh."\ntimes = 2\n')
    call = "respond --say Hi. -i demo --config touche-rad.toml"
    for flags, answer in (((), "Meh.Meh. Hi."), (("-O", "times=1"), "Meh. Hi.")):
        ended = touche_rad(call, *flags, stranger=True)
        assert ended.out.strip() == answer, ended.err


@pytest.mark.parametrize(
    "words", ["schema", "list", "respond --say X -i demo --explain", "retrieve --say X -i demo"]
)
def test_a_closed_pipe_is_no_error(words: str) -> None:
    closed = f"{sys.executable} -m touche_rad {words} | true"  # it ends before anything is printed
    done = subprocess.run(closed, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.stderr == ""


def test_doctor_reports_what_is_missing_and_the_fix() -> None:
    checked = touche_rad("doctor --json")
    lacking = [check for check in checked.json if not check["ok"]]
    needs = ("needs a language model (-m", "needs the extra ", "needs an index with vectors (")
    assert all(check["found"].startswith(needs) for check in lacking)
    assert "retriever dense" in {check["what"] for check in lacking}
    assert all(check["optional"] for check in lacking)
    without_index = touche_rad("doctor -i no-index", code=1)
    assert "touche-rad index" in without_index.out


def test_doctor_notices_a_changed_byte_of_an_index(demo_index_path: Path) -> None:
    index = shutil.copytree(demo_index_path, "index")
    assert changes_that_doctor_notices(index)
    assert "search works" in touche_rad("doctor -i", index).out


@pytest.mark.parametrize("columns", ["60", "80", "140"])
def test_the_plugins_with_their_needs_fit_the_terminal(columns: str) -> None:
    shown = touche_rad("list", env={"COLUMNS": columns, "OPENAI_BASE_URL": ""})
    assert max(map(len, shown.out.splitlines())) <= int(columns)
    assert "  zsl" in shown.out
    assert "(needs: model" in " ".join(shown.out.split())


def test_one_kind_of_plugins_and_one_plugin_are_listed() -> None:
    shown = touche_rad("list retrievers").out
    assert shown.startswith("Retrievers\n")
    assert "Judges" not in shown
    kinds = {row["kind"] for row in touche_rad("list panel --json").json}
    assert kinds == {"panel"}
    check_screen("list.debgraph", touche_rad("list debgraph"))
    users = {row["name"] for row in touche_rad("list users --json").json}
    assert users == {"rules", "model", "official"}
    (rules,) = touche_rad("list rules --json").json
    assert {"max_words", "candidates"} < {option["name"] for option in rules["options"]}
    unknown = touche_rad("list nope", code=2).error
    assert "did you mean" not in unknown
    assert "debaters, judges, " in unknown


SAY = ("respond", "--say", "Zoos should be closed.")


@pytest.mark.parametrize("call", [("list",), SAY])
def test_no_code_that_a_file_of_the_current_folder_names_is_run(call: tuple[str, ...]) -> None:
    Path("stranger.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    Path("touche-rad.toml").write_text('plugins = ["stranger.py"]\n')
    touche_rad(*call, err="not used")
    assert not Path("ran").exists()
    touche_rad("--config touche-rad.toml", *call)
    assert Path("ran").exists()
