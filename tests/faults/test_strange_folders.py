"""The current folder may be a stranger's: no command runs its code, or replaces what its links name."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests import ROOT
from tests.cases import with_cases
from tests.cli.test_help import commands_with_words
from tests.demo import ARGUMENTS, CLAIMS
from tests.models.scripted import Handler, Scripted, says, serving
from tests.records import copy_lines, read_json, read_table
from tests.terminal import touche_rad, touche_rad_process
from touche_rad.demo import demo_file
from touche_rad.models._vllm import PYTHON
from touche_rad.plugins.profiles import prompt_files
from touche_rad.plugins.registry import Kind, registered
from touche_rad.users.persona import bundled_personas

MODULES = ("click", "huggingface_hub", "numpy", "pydantic", "touche_rad", "vllm")
PLANS = (("bench", "run"), ("train", "loop"))
"""The commands that read a plan, which may be a stranger's."""
RUNS = "import os, pathlib\npathlib.Path({place!r}).write_text(repr(dict(os.environ)))\n"
LOOP = """
topics = "claims.tsv"
model = "tiny"
teacher = "http://127.0.0.1:9/v1#teacher"
judge_model = "http://127.0.0.1:9/v1#judge"
index = "demo"
seed = 0
"""
BENCH = """
format = 1
name = "stranger"
plugins = ["evil.py"]
claims = "claims.tsv"
index = "demo"
turns = 1
seeds = [0]
model = "vllm:owner/name"
[users]
rules = "rules"
[debaters]
sinai = "sinai"
[judges]
length = "length"
"""


def write_modules(place: Path) -> None:
    """Write modules that leave a file beside their folder."""
    for name in MODULES:
        (place / name).mkdir()
        code = RUNS.format(place=str(place.parent / f"ran {name}"))
        (place / name / "__init__.py").write_text(code)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, whose modules would leave a file beside it."""
    place = tmp_path / "stranger"
    place.mkdir()
    monkeypatch.chdir(place)
    write_modules(place)
    copy_lines(CLAIMS, "claims.tsv", 6)
    Path("loop.toml").write_text(LOOP)
    Path("bench.toml").write_text(BENCH)
    Path("evil.py").write_text(RUNS.format(place=str(tmp_path / "ran evil")))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv(PYTHON, sys.executable)
    return place


def what_ran(folder: Path) -> list[Path]:
    return sorted(folder.parent.glob("ran *"))


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        pytest.param(
            "train loop loop.toml -o loop", 2, "round-0/debates.jsonl", marks=pytest.mark.services
        ),
        ("respond --say Zoos. -i demo -d sinai -m vllm:owner/name", 1, "No module named"),
        ("bench run .", 1, "vllm"),
    ],
)
def test_no_program_that_a_command_starts_takes_modules_of_the_folder(
    folder: Path, words: str, code: int, shown: str
) -> None:
    touche_rad(words, code=code, err=shown)
    assert what_ran(folder) == []


CALLS = read_table("faults/calls.tsv")
"""A call of each command; its outputs are all below `out`, and its index is `ix`."""
BESIDE = (".errors.txt", ".part", ".status.json", ".trace.jsonl")


@pytest.fixture(scope="module", name="asked")
def _asked() -> Iterator[Scripted]:
    """The server of the encoder that only an index names."""

    def embed(handler: Handler) -> None:
        rows = [{"index": at, "embedding": [1, at]} for at in range(len(handler.body["input"]))]
        says({"data": rows})(handler)

    with serving() as server:
        server.always = embed
        yield server


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, asked: Scripted) -> Path:
    """A folder with the inputs of all calls, modules that leave a file, and a stranger's index."""
    place = tmp_path_factory.mktemp("inputs")
    for name in ("arguments.jsonl", "debates.jsonl", "labels.jsonl"):
        shutil.copy(demo_file(name), place)
    shutil.copy(ROOT / "tira.yml", place)
    copy_lines(CLAIMS, place / "claims.tsv", 2)
    touche_rad("judge debates.jsonl -j length -o judged.jsonl", cwd=place)
    lines = (place / "judged.jsonl").read_text("utf-8").splitlines(keepends=True)
    (place / "shuffled.jsonl").write_text("".join(reversed(lines)), "utf-8")
    datasets = (
        "dataset debaters claims.tsv -o dataset",
        "simulate claims.tsv -d verbatim -i demo -o dataset-run/run.jsonl",
        "bench new bench --claims claims.tsv -i demo -d verbatim -j grounded --turns 1",
        "judge debates.jsonl -j length -o half.jsonl --shard 1/2",
        "judge debates.jsonl -j length -o half.jsonl --shard 2/2",
    )
    for words in datasets:
        touche_rad(words, cwd=place)
    vectors = ("--dense", f"openai:{asked.url}#mean")
    touche_rad("index arguments.jsonl -o ix", *vectors, cwd=place)
    (about,) = place.glob("ix/dense/*/about.json")
    about.write_text(json.dumps({**read_json(about), "encoder": vectors[1]}))
    (place / "judged.jsonl.trace.jsonl").touch()
    write_modules(place)
    asked.asked.clear()
    return place


def test_each_command_has_a_call_that_uses_what_it_can() -> None:
    """A new command is added to the table, so that all promises are tested with it."""
    calls = {command: (call, kind) for command, call, kind in CALLS}
    for words, command in commands_with_words():
        options = {option.name for option in command.params}
        call, kind = calls.pop(" ".join(words), ("", "group"))
        assert isinstance(command, click.Group) == (kind == "group"), words
        assert ("index" in options) == ("-i ix" in call), words
        assert kind != "reads" or "output" not in options, words
        assert ("trust" in options) == (words in PLANS)
    assert not calls


@pytest.mark.parametrize(("command", "call", "kind"), CALLS)
def test_no_command_is_harmed_by_a_folder(
    inputs: Path, tmp_path: Path, asked: Scripted, command: str, call: str, kind: str
) -> None:
    """No module of the folder runs, no server of an index is asked, and no link is followed.

    All files of a first call are links in the folders of the next ones, and then their folders are.
    """
    words = call.split()
    names: set[str] = set()
    for state in ("free", "linked to files", "linked to nothing", "in linked folders"):
        place = tmp_path / state
        shutil.copytree(inputs, place)
        if command == "bench run":
            (place / "bench").rename(place / "out")
        (place / "out").mkdir(exist_ok=True)
        before = {path for path in place.rglob("*") if path.is_file()}
        victims = tmp_path / f"victims, {state}"
        victims.mkdir()
        if state == "in linked folders":
            names = {str(folder) for name in names for folder in Path(name).parents} - set(words)
        for number, name in enumerate(sorted(names)):
            if state == "linked to files":
                (victims / str(number)).write_text("precious")
            elif state == "in linked folders":
                (victims / str(number)).mkdir()
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            if not (place / name).exists():
                (place / name).symlink_to(victims / str(number))
        ended = touche_rad(*words, cwd=place, code=None)
        linked = {name for name in names if (place / name).is_symlink()}
        while (
            ended.code == 2 and kind == "writes"
        ):  # without a link that is refused, the others count
            refused = {name for name in linked if name in ended.err.splitlines()[-1]}
            assert refused, ended.err
            linked -= refused
            for name in refused:
                (place / name).unlink(missing_ok=True)
            ended = touche_rad(*words, cwd=place, code=None)
        if state == "free":
            assert ended.code == 0 or kind != "writes", ended.err
            written = {path for path in place.rglob("*") if path.is_file()} - before
            names = {str(path.relative_to(place)) for path in written}
            assert names or kind != "writes", "it writes something"
            names |= {f"{name}{end}" for name in names & set(words) for end in BESIDE}
            names -= set(words)  # the output that the user names may be a link
        contents = {path.read_text() for path in victims.rglob("*") if path.is_file()}
        assert contents == ({"precious"} if names and state == "linked to files" else set())
    assert what_ran(inputs) == []
    assert asked.asked == []


def test_a_folder_for_outputs_is_no_link(
    inputs: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shutil.copytree(inputs, ".", dirs_exist_ok=True)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    Path("out").mkdir()
    for name in ("bench/results", "out/data", "part.jsonl.shards"):
        Path(name).symlink_to(elsewhere)
    for words in (
        "bench run bench",
        "report judged.jsonl -o out --replace",
        "judge debates.jsonl judged.jsonl -j length -o out --replace",
        "judge debates.jsonl -j length -o part.jsonl --shard 1/2",
    ):
        touche_rad(words, code=2, err="is a link")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("call", ["report --replace", "score", "judge -j length -o judged"])
def test_a_folder_of_runs_may_have_links_in_it(inputs: Path, call: str) -> None:
    Path("runs/part").mkdir(parents=True)
    shutil.copy(inputs / "judged.jsonl", "runs")
    Path("runs/part/loop").symlink_to("loop")
    touche_rad(call, "runs")


@with_cases(("name", "target", "call", "shown"), "faults/links_out_of_a_folder.json")
def test_no_run_and_nothing_beside_it_is_read_from_elsewhere(
    inputs: Path, name: str, target: str, call: str, shown: str
) -> None:
    shutil.copytree(inputs / "half.jsonl.shards", "runs")
    shutil.copy(inputs / "judged.jsonl", "runs")
    link = Path("runs", name)
    link.unlink(missing_ok=True)
    link.symlink_to(inputs / target)
    ended = touche_rad(call, cwd=Path("runs"), code=None)
    assert shown in ended.out + ended.err


def test_no_name_of_a_folder_leads_out_of_the_output(inputs: Path) -> None:
    """A mark of no width is left out where names are shown."""
    for folder in ("runs", "runs/\u200b.."):
        Path(folder).mkdir()
        shutil.copy(inputs / "debates.jsonl", folder)
    error = "expected another name of its folder"
    touche_rad("judge runs -j length -o out", code=2, err=error)


def test_an_output_that_the_user_names_may_be_a_link(inputs: Path) -> None:
    Path("latest.jsonl").symlink_to("june.jsonl")
    words = f"judge {inputs}/debates.jsonl -j length -o latest.jsonl"
    touche_rad(words)
    assert Path("latest.jsonl").is_symlink()
    assert not Path("june.jsonl").is_symlink()
    assert Path("june.jsonl").read_bytes() == (inputs / "judged.jsonl").read_bytes()


def calls_of_plans(line: str, change: str) -> Iterator[list[str]]:
    """Write the plans that have a line, changed, and yield the command of each."""
    for text, call in ((BENCH, "bench run bench.toml"), (LOOP, "train loop loop.toml")):
        if line in text:
            words = call.split()
            text = text.replace("vllm:owner/name", "http://127.0.0.1:9/v1#fake")
            Path(words[-1]).write_text(text.replace(line, change))
            yield [*words, "-o", "out"]


@with_cases(("line", "change"), "faults/changes_of_plans.tsv")
def test_a_plan_names_no_files_outside_its_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, line: str, change: str
) -> None:
    """A server that the plan names would get their content."""
    outside = folder.parent / "mine"
    outside.mkdir()
    monkeypatch.setenv("HOME", str(outside))
    shutil.copy(str(bundled_personas()["expert"]), outside)
    (outside / "own.toml").write_text('description = "Mine."')
    Path("extends.toml").write_text('description = ""\nextends = "../mine/own.toml"')
    Path("links").mkdir()
    Path("links/mine").symlink_to(outside)
    shutil.copy("claims.tsv", outside)
    touche_rad("index", ARGUMENTS, "-o", outside / "index")
    for call in calls_of_plans(line, change):
        ended = touche_rad(*call, env={"OPENAI_API_KEY": ""}, code=2)
        assert "--trust" in ended.error
        assert "outside" not in touche_rad(*call, "--trust", code=None).err


@with_cases(("kind", "line", "change"), "faults/plugins_of_plans.tsv")
def test_no_option_of_a_plugin_names_a_file_outside_the_folder_of_a_plan(
    folder: Path, kind: Kind, line: str, change: str
) -> None:
    refused = 0
    for name, plugin in registered(kind).items():
        for option, field in plugin.options.model_fields.items():
            about = f"{field.description} {field.annotation} {field.metadata}"
            if re.search("folder|path|MayNameFile", about, re.IGNORECASE):
                place = folder.parent / name / option
                place.mkdir(parents=True)
                if option == "prompts":
                    shutil.copy(next(iter(prompt_files(plugin.factory).values())), place)
                problem = "a prompt file is a program" if option == "prompts" else " is outside"
                value = f"nli:{place}" if "nli:" in about else place
                for call in calls_of_plans(line, change.format(f"{name}({option}={value})")):
                    assert str(place) in touche_rad(*call, code=2, err=problem).error
                    refused += 1
    assert refused > 0


def test_a_plan_of_a_loop_imports_nothing(folder: Path) -> None:
    word = '= "--plugin=evil.py"'
    plans = [f"{LOOP}preferences = {{ reward = true, score {word} }}"]
    plans += [LOOP.replace(value, word) for value in re.findall('= ".+"', LOOP)]
    for plan in plans:
        Path("loop.toml").write_text(plan)
        touche_rad("train loop loop.toml -o loop --dry-run", code=2)
        assert what_ran(folder) == []


def test_a_server_that_only_a_plan_names_is_told(folder: Path) -> None:
    plan = Path("bench.toml")
    web = 'description = ""\n[settings]\nweb = "http://127.0.0.1:8/v1"'
    Path("own.toml").write_text(web)
    text = BENCH.replace('"sinai"', '"inspiredebate(profile=own.toml)"')
    plan.write_text(text.replace("vllm:owner/name", "http://127.0.0.1:9/v1#fake"))
    touche_rad(
        "bench run .",
        env={"OPENAI_API_KEY": ""},
        code=None,
        err="only bench.toml names http://127.0.0.1:8, http://127.0.0.1:9, which get",
    )
    named = ("bench", "run", ".", "-m", "http://127.0.0.1:9/v1#mine")
    assert "127.0.0.1:9, which get" not in touche_rad(*named, code=None).err


def test_a_download_that_only_a_plan_names_is_told_first(folder: Path) -> None:
    guarded = BENCH.replace('"sinai"', '"composed(guard=nli:owner/judge)"')
    Path("bench.toml").write_text(guarded.replace('"demo"', '"irds:no/such"'))
    for call, told in (
        ("bench run .", "irds:no/such, nli:owner/judge, vllm:owner/name"),
        ("bench run . -m vllm:owner/name -i irds:no/such", "nli:owner/judge"),
        ("train loop loop.toml -o loop --dry-run", "http://127.0.0.1:9, vllm:tiny"),
    ):
        err = f"names {told}, which get texts of this run, or are downloaded"
        touche_rad(call, code=None, err=err)


@with_cases(("name", "words"), "faults/an_input_that_never_ends_is_no_file.json")
@pytest.mark.parametrize("kind", ["a pipe", "a link to a device"])
def test_an_input_that_never_ends_is_no_file(
    monkeypatch: pytest.MonkeyPatch, name: str, words: str, kind: str
) -> None:
    monkeypatch.setenv(PYTHON, sys.executable)
    place = Path(name)
    place.parent.mkdir(exist_ok=True)
    shutil.copytree(CLAIMS.parent, ".", dirs_exist_ok=True)
    shutil.copy(ROOT / "tira.yml", ".")
    place.unlink(missing_ok=True)
    if kind == "a pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero")
    ended = touche_rad_process(words, timeout=60, code=None)
    assert "Traceback" not in ended.err
    if name == "debates.jsonl.status.json":  # a run needs no status
        assert ended.code in (0, 1)
    else:
        assert ended.code == 2
        assert place.name in ended.err or place.parent.name in ended.err
