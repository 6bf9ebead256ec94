"""An output that exists is replaced only by the same run, or where the user says so."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.demo import ARGUMENTS, CLAIMS, DEBATES, LABELS
from tests.records import copy_lines, read_json, read_status, read_table
from tests.refusals import expect_error
from tests.terminal import Ended, touche_rad, touche_rad_process
from touche_rad.files.append_log import AppendLog
from touche_rad.files.outputs import Setup, Status
from touche_rad.runs.journal import RUN
from touche_rad.training.folder import TrainingFolder

Call = Callable[..., Ended]


@pytest.fixture
def respond() -> Call:
    """A short run; the options decide which."""
    copy_lines(DEBATES, "in.jsonl")

    def call(options: str = "", code: int | None = 0) -> Ended:
        line = f"respond in.jsonl --last-only -d verbatim -i demo -o run.jsonl {options}"
        return touche_rad(line, code=code)

    return call


@pytest.fixture(scope="module")
def evaluations(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The demo's debates, judged."""
    out = tmp_path_factory.mktemp("judged") / "e.jsonl"
    touche_rad("judge -j length", DEBATES, "-o", out)
    return out.read_text()


def refused(ended: Ended) -> bool:
    is_one_line = ended.err.count("\n") == 1
    return ended.code == 2 and is_one_line and "exists" in ended.err and "--replace" in ended.err


@pytest.mark.parametrize(
    "call",
    read_table("files/calls_with_an_input_as_output.tsv"),
    ids=" ".join,
)
def test_an_input_is_never_replaced(
    call: tuple[str, ...], tmp_path: Path, evaluations: str
) -> None:
    held = {"d": DEBATES.read_text(), "l": LABELS.read_text(), "e": evaluations}
    for name, text in held.items():
        Path(name).write_text(text)
    Path("link").symlink_to("d")
    ended = touche_rad(*call, "--replace", code=2)
    assert "input" in ended.error
    assert {name: Path(name).read_text() for name in held} == held
    assert {path.name for path in tmp_path.iterdir()} == {*held, "link"}


@pytest.mark.parametrize("out", ["-", "/dev/stdout", "/"])
def test_a_run_needs_a_file(out: str, tmp_path: Path) -> None:
    ended = touche_rad("judge -j length", DEBATES, "-o", out, code=2)
    assert ended.out == ""
    assert f"-o {out}: " in ended.error
    assert list(tmp_path.iterdir()) == []


def test_another_run_does_not_replace_a_finished_one(tmp_path: Path, respond: Call) -> None:
    out = Path("run.jsonl")
    respond()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for options in ("-d grounded", "--max-words 20", "--seed 7"):
        ended = respond(options, code=2)
        assert refused(ended), ended.err
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    respond("--restart")  # the same run, made again
    respond("-d grounded --replace")
    assert out.read_bytes() != before["run.jsonl"]
    assert refused(respond(code=2))


def test_the_same_run_is_made_again_with_the_same_bytes(respond: Call) -> None:
    out = Path("run.jsonl")
    respond()
    before = out.read_bytes()
    respond()
    assert out.read_bytes() == before
    out.write_bytes(before + before)
    assert refused(respond(code=2))
    assert out.read_bytes() == before + before


def test_an_empty_file_and_a_device_are_free(respond: Call) -> None:
    Path("run.jsonl").touch()
    respond()
    retrieve = f"retrieve {CLAIMS} -i demo -k 1 -q -o"
    touche_rad(retrieve, os.devnull)
    assert touche_rad(retrieve, "-").out.count("\n") == 10


def test_a_run_that_was_stopped_goes_on_without_a_word(respond: Call) -> None:
    """The consent of the stopped call holds, and its journal names the run."""
    respond()
    out = Path("run.jsonl")
    status = read_status("run.jsonl")
    AppendLog(Path("run.jsonl.part"), RUN, {"identity": status["identity"]}).close()
    out.write_text("of another run\n")
    respond()
    assert "of another run" not in out.read_text()


def test_a_wrong_input_leaves_the_status_of_the_finished_run(respond: Call) -> None:
    respond()
    status = Path("run.jsonl.status.json").read_bytes()
    Path("in.jsonl").write_text("no debate\n")
    respond("--replace", code=2)
    assert Path("run.jsonl.status.json").read_bytes() == status


def test_under_tira_the_output_is_always_replaced() -> None:
    folder, out = Path("in"), Path("out")
    folder.mkdir()
    copy_lines(CLAIMS, folder / "claims.tsv", 2)
    env = {"inputDataset": str(folder), "outputDir": str(out)}
    for debater in ("verbatim", "grounded"):
        touche_rad(f"simulate -d {debater} -i demo --turns 1", env=env)
    assert read_json(out / "status.json")["identity"]["debater"] == "grounded"
    assert {path.name for path in out.glob("*.jsonl*")} == {"simulations.jsonl"}


@pytest.mark.parametrize(
    "call",
    [
        f"judge {DEBATES} -j length",
        f"retrieve {CLAIMS} -i demo",
        f"contests {DEBATES}",
        f"report {DEBATES}",
        f"index {ARGUMENTS}",
        f"score e.jsonl {LABELS}",
        f"audit {DEBATES} -j length",
        f"train examples {DEBATES} {LABELS}",
        "demo",
    ],
)
def test_no_command_replaces_what_is_not_its_own(
    tmp_path: Path, call: str, evaluations: str
) -> None:
    Path("e.jsonl").write_text(evaluations)
    Path("folder").mkdir()
    for out, path in (("file", Path("file")), ("folder", Path("folder/mine"))):
        path.write_text("mine\n")
        before = sorted(tmp_path.rglob("*"))
        ended = touche_rad(call, "-o", out, code=2)
        last = ended.err.splitlines()[-1]
        assert "folder" in last or "--replace" in last
        assert sorted(tmp_path.rglob("*")) == before
        assert path.read_text() == "mine\n"
    command = call.split()[0]
    place = "folder" if command in ("index", "score", "audit", "demo") else "file"
    touche_rad(f"{call} -o {place} --replace", code=2 if command == "index" else 0)
    assert Path(place).is_dir() or Path(place).read_text() != "mine\n"


@pytest.mark.parametrize("out", ["/dev/stdout", "-"])
def test_the_standard_output_has_no_status(tmp_path: Path, out: str) -> None:
    ended = touche_rad_process(f"train examples {DEBATES} {LABELS} -o {out} -q", timeout=60)
    assert json.loads(ended.out.splitlines()[0])
    assert list(tmp_path.iterdir()) == []


def test_a_training_is_replaced_by_another_only_on_request() -> None:
    folder = TrainingFolder(Path("model"))

    def start(seed: int, *, restart: bool = False) -> bool:
        with folder.exclusive():
            resumed = folder.start_or_resume({"seed": seed}, restart=restart)
        folder.data.write_text(f"{seed}\n")
        return resumed

    assert [start(1), start(1), start(1, restart=True)] == [False, True, False]
    for restart in (False, True):
        with expect_error(r"seed .* --replace"):
            start(2, restart=restart)
    assert folder.data.read_text() == "1\n"
    folder.replace()
    assert start(2) is False
    folder.identity.write_text("damaged")
    with expect_error("--restart"):
        start(2)
    assert start(2, restart=True) is False


def test_a_status_has_each_field_of_its_setup() -> None:
    assert set(Setup.__annotations__) <= set(Status.model_fields)
