"""tira.yml is handed in with TIRA's own client: both sub-tasks, and the repetition from the cache."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cases import with_cases
from tests.cli.test_examples import parse_call
from tests.demo import ARGUMENTS
from tests.models.scripted import content, serving
from tests.records import read_json
from tests.terminal import touche_rad
from tests.tira.client import ClientRun, call_client
from tests.tira.places import FILE, ROOT, repository, toy_dataset
from touche_rad.plugins import find
from touche_rad.tira.submission import MODEL_VARIABLES, load


@pytest.fixture(name="repository")
def _repository(tmp_path: Path) -> Path:
    return repository(tmp_path / "repository")


@pytest.fixture(name="dataset_folder")
def _dataset_folder(tmp_path: Path) -> Path:
    return toy_dataset(tmp_path / "given")


def submit_with_client(
    repository: Path,
    dataset_folder: Path,
    name: str,
    env: dict[str, str] | None = None,
    *options: str,
) -> ClientRun:
    """What a person does: `touche-rad submit NAME | sh`."""
    printed = touche_rad("submit", name, "--file", repository / "tira.yml", *options)
    return call_client(
        shlex.split(printed.out), dataset_folder, repository.parent / "log.jsonl", env
    )


@pytest.mark.parametrize("name", sorted(load(FILE).software))
def test_each_command_is_one_that_the_image_has(name: str) -> None:
    software = load(FILE).find(name)
    program, *words = shlex.split(software.command)
    if program == "/genirsim/run.sh":
        assert software.build == "--target official"
        assert software.network
        words = ["simulate" if software.sub_task == 1 else "judge", *words[words.index("--") + 1 :]]
    else:
        assert program == "touche-rad"
    verb, flag, plugin, *rest = words
    assert (verb, flag) == (("simulate", "-d") if software.sub_task == 1 else ("judge", "-j"))
    needs = find("debater" if flag == "-d" else "judge", plugin).needs
    if "model" in needs:
        assert software.cache == "CACHE_DIR" or (
            software.hf_models and rest == ["-m", f"vllm:{software.hf_models[0]}"]
        )
    if program == "touche-rad":
        parse_call(shlex.join(words))


@pytest.mark.parametrize("name", sorted(load(FILE).software))
def test_each_build_is_one_that_the_dockerfile_knows(name: str) -> None:
    text = (ROOT / "Dockerfile").read_text()
    words = load(FILE).find(name).build.split()
    for flag, value in zip(words[::2], words[1::2], strict=True):
        if flag == "--target":
            assert f" AS {value}\n" in text
        else:
            assert flag == "--build-arg"
            assert f"ARG {value.partition('=')[0]}=" in text


@pytest.mark.services
def test_a_debater_is_tried_by_the_client_and_its_output_is_valid(
    repository: Path, dataset_folder: Path
) -> None:
    ended = submit_with_client(repository, dataset_folder, "grounded")
    assert ended.code == 0, ended.text
    assert "produced valid outputs" in ended.text
    assert ended.builds == [["--target", "slim", "--build-arg", "RUN_AS=0"]]
    assert [run["allow_network"] for run in ended.runs] == [False]
    rows = (ended.output() / "simulations.jsonl").read_text().splitlines()
    assert [len(json.loads(row)["simulation"]["userTurns"]) for row in rows] == [2, 2]


@pytest.mark.services
def test_a_run_with_a_model_is_repeated_from_the_cache_without_an_endpoint(
    repository: Path, dataset_folder: Path
) -> None:
    text = FILE.read_text().replace("simulate -d composed", "simulate -d grounded")
    (repository / "tira.yml").write_text(text)
    with serving() as server:
        server.always = content('{"number": 2}')
        environment = dict(zip(MODEL_VARIABLES, (server.url, "sk-of-mine", "tiny"), strict=True))
        ended = submit_with_client(repository, dataset_folder, "composed", environment)
    assert ended.code == 0, ended.text
    assert "from the CACHE_DIR did yield valid results" in ended.text
    first, second = (run["environment"] for run in ended.runs)
    assert first == environment
    assert second == {**environment, "OPENAI_BASE_URL": "EMPTY", "OPENAI_API_KEY": "EMPTY"}
    wrote = [(ended.output(run) / "simulations.jsonl").read_bytes() for run in (0, 1)]
    assert wrote[0] == wrote[1]
    assert b'"fallback"' not in wrote[0]
    again = read_json(ended.output() / "status.json")["usage"]["total"]
    assert again["calls"] == 0
    assert again["from_cache"] == 4
    files = [path for run in (0, 1) for path in ended.output(run).rglob("*") if path.is_file()]
    assert len(files) >= 6
    assert not [path for path in files if b"sk-of-mine" in path.read_bytes()]


def test_submit_only_tries_unless_it_is_told_to_upload() -> None:
    assert touche_rad("submit grounded --file", FILE).out.endswith(" --dry-run\n")
    judge = ("submit", "judge-always-yes", "--file", FILE)
    uploads = shlex.split(touche_rad(*judge, "--upload").out)
    assert shlex.split(touche_rad(*judge).out) == [*uploads, "--dry-run"]
    listed = touche_rad("submit --file", FILE).out.splitlines()
    assert [line.split()[0] for line in listed[1:] if line[0] != " "] == list(load(FILE).software)
    assert max(map(len, listed)) <= 80


@pytest.mark.parametrize("entry", ["grounded", "judge-grounded"])
def test_an_image_with_the_demo_index_is_not_uploaded(entry: str, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / "docker" / "collection").mkdir(parents=True)
    file = shutil.copy(FILE, repository)
    words = ("submit", entry, "--file", file, "--upload")
    refused = touche_rad(*words, code=2)
    assert refused.out == ""
    assert "demo index" in refused.error
    touche_rad(*words[:-1], err=f"note: {entry} is not fit to upload")
    demo = Path(shutil.copy(ARGUMENTS, repository / "docker" / "collection"))
    assert touche_rad(*words, "--collection", demo, code=2) == refused
    words += ("--collection", repository / "docker" / "collection" / "ours.jsonl")
    touche_rad(*words, code=2, err="not found")
    words[-1].write_text(demo.read_text().partition("\n")[2])
    touche_rad(*words, out="--build-arg COLLECTION=docker/collection/ours.jsonl")


def test_the_forwarded_variables_of_the_shell_are_checked() -> None:
    words = ("submit", "sinai", "--file", FILE)
    refused = touche_rad(
        *words,
        env={"OPENAI_BASE_URL": "http://localhost:9/v1"},
        code=2,
        err="OPENAI_BASE_URL: http://",
    )
    assert refused.out == ""
    touche_rad(
        *words,
        env={"OPENAI_BASE_URL": "EMPTY", "OPENAI_MODEL": "m"},
        err="not set: OPENAI_API_KEY: export them for TIRA's client (OPENAI_API_KEY=EMPTY for a "
        "server without a key)\nnote: the container gets these variables of your shell: "
        "OPENAI_BASE_URL, OPENAI_MODEL\n",
    )
    touche_rad(*words, env={"OPENAI_BASE_URL": "x:8/v1"}, code=2, err="_URL=http://x:8/v1\n")


def test_a_strangers_entry_shows_no_file_and_hides_no_text() -> None:
    text = FILE.read_text().replace("-d grounded", "-d grounded\u202e")
    Path("tira.yml").write_text(text.replace("RUN_AS=0", "COLLECTION=../mine"))
    assert "\u202e" not in touche_rad("submit").out
    touche_rad("submit grounded", code=2, err="../mine leads out of .")


@with_cases(("change", "expected"), "tira/wrong_files.json")
def test_an_invalid_tira_yml_is_reported_in_one_line(
    tmp_path: Path, change: tuple[str, str], expected: str
) -> None:
    text = FILE.read_text()
    assert change[0] in text
    new = change[1].replace("MANY", "f" * 5_000).replace("LONG", " " * 2**20)
    (tmp_path / "tira.yml").write_text(text.replace(change[0], new, 1))
    ended = touche_rad(
        "submit --file", tmp_path / "tira.yml", code=2, err=str(tmp_path / "tira.yml")
    )
    assert expected in ended.error


@pytest.mark.parametrize("words", ["", "--collection arguments.jsonl -d grounded"])
def test_a_missing_tira_yml_is_reported_at_once(words: str) -> None:
    ended = touche_rad(f"submit {words}", code=2, err="--file FILE")
    assert ended.out == ""
    assert ended.err.startswith("touche-rad: error: tira.yml: ")
