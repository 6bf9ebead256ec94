"""ir_metadata beside a run: what the official check wants, nothing private, and never in the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.terminal import Ended
from tests.terminal import touche_rad_process as touche_rad
from touche_rad.demo import demo_file

pytestmark = pytest.mark.services

CLAIMS, DEBATES = demo_file("claims.tsv"), demo_file("debates.jsonl")


def read(path: Path) -> dict[str, Any]:
    made = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(made, dict)
    return made


def is_valid(folder: Path, formats: str | list[str]) -> bool:
    """Whether TIRA's own format check accepts an output folder."""
    from tira.check_format import _fmt, check_format

    return bool(check_format(folder, formats)[0] == _fmt.OK)


def stub(folder: Path, name: str, text: str) -> dict[str, str]:
    """A module that goes before the installed one."""
    folder.mkdir()
    (folder / f"{name}.py").write_text(text)
    return {"PYTHONPATH": str(folder)}


@pytest.mark.parametrize(
    ("words", "name", "options"),
    [
        (("simulate", CLAIMS, "-i", "demo", "--turns", "1", "-d", "verbatim"), "verbatim", {}),
        (("judge", DEBATES, "-j", "length", "-O", "longest=70"), "length", {"longest": 70}),
        (
            ("respond", DEBATES, "-i", "demo", "--last-only", "-O", "k=7"),
            "grounded",
            {"k": 7, "frame": True},
        ),
    ],
)
def test_metadata_contains_the_method_and_the_costs(
    tmp_path: Path, words: tuple[str | Path, ...], name: str, options: dict[str, Any]
) -> None:
    ended = touche_rad(*words, "-o", tmp_path / "run.jsonl", "--metadata")
    assert ended.code == 0, ended.err
    told = read(tmp_path / "run.jsonl.ir-metadata.yml")
    assert is_valid(tmp_path, "ir_metadata")
    assert told["method"]["name"] == name
    assert options.items() <= told["method"]["options"].items()
    assert told["method"]["run"]["seed"] == 0
    assert told["implementation"]["executable"]["cmd"] == ["touche-rad", words[0]]
    assert any(one.startswith("pydantic==") for one in told["implementation"]["python"]["packages"])
    assert told["platform"]["hardware"]["cpu"]["number of cores"] == os.cpu_count()
    runtime = told["resources"]["runtime"]
    assert int(runtime["wallclock"].removesuffix(" ms")) > 0
    assert "energy used system" in told["resources"]["cpu"]


def test_metadata_contains_the_git_state_and_no_names_or_paths(tmp_path: Path) -> None:
    import git

    place = tmp_path / "jane-doe"
    repository = git.Repo.init(place, initial_branch="janes-branch")
    (place / "weights.json").write_text("{}")
    who = git.Actor("Jane Doe", "jane@example.org")
    repository.index.add(["weights.json"])
    commit = repository.index.commit("all", author=who, committer=who)
    repository.create_remote("origin", "https://jane:hunter2@example.org/jane/repository.git")
    (place / "weights.json").write_text("[]")
    secrets = {"OPENAI_API_KEY": "sk-of-mine", "HF_TOKEN": "hf-of-mine", "USER": "jane-doe"}
    plugin = place / "mine.py"
    plugin.write_text(PLUGIN)
    options = (
        f"file={place}/weights.json",
        "api_key=sk-option",
        "max_tokens=5",
        "where=https://jane:pw@host.example/v1",
        "note=see ~/notes and C:\\Users\\jane",
    )
    words = f"--plugin {plugin} simulate {CLAIMS} -i demo -d mine --metadata -o run.jsonl".split()
    values = [word for option in options for word in ("-O", option)]
    ended = touche_rad(*words, *values, cwd=place, env=secrets)
    assert ended.code == 0, ended.err
    text = (place / "run.jsonl.ir-metadata.yml").read_text()
    told = yaml.safe_load(text)
    source = told["implementation"]["source"]
    assert (source["commit"], source["uncommitted changes"]) == (commit.hexsha, 1)
    assert told["method"]["options"] == {
        "file": "weights.json",
        "max_tokens": 5,
        "where": "URL",
        "note": "see notes and jane",
    }
    private = "jane-doe janes-branch hunter2 of-mine sk-option example /tmp /home".split()
    private += [str(tmp_path), str(Path.home())]
    assert [one for one in private if one in text] == []


PLUGIN = """
from pydantic import BaseModel
from touche_rad.debate import Response
from touche_rad.plugins import debater

@debater("mine")
class Mine:
    class Options(BaseModel):
        file: str = ""
        api_key: str = ""
        max_tokens: int = 0
        where: str = ""
        note: str = ""
    def __init__(self, options, services): pass
    def answer(self, debate):
        return Response(content="No.", arguments=())
"""


def simulate(out: Path, *more: str, **env: str) -> Ended:
    words = f"simulate {CLAIMS} -i demo --turns 1 -o {out}"
    return touche_rad(*words.split(), *more, env=env)


def test_it_is_off_by_default_and_on_in_the_output_folder_of_tira(tmp_path: Path) -> None:
    assert simulate(tmp_path / "run.jsonl").code == 0
    assert not list(tmp_path.glob("*.yml"))
    out = tmp_path / "output"
    out.mkdir()
    env = {"inputDataset": str(CLAIMS.parent), "outputDir": str(out)}
    assert touche_rad("simulate", CLAIMS, "-i", "demo", "--turns", "1", env=env).code == 0
    assert {path.name for path in out.iterdir()} == {
        "simulations.jsonl",
        "status.json",
        "ir-metadata.yml",
    }
    assert is_valid(out, ["GenIR-Simulation", "ir_metadata"])
    (out / "ir-metadata.yml").unlink()
    assert touche_rad("simulate", CLAIMS, "-i", "demo", "--no-metadata", env=env).code == 0
    assert not (out / "ir-metadata.yml").exists()


MISSING = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "tirex_tracker":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Finder())
"""
DIES = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"


@pytest.mark.parametrize(
    ("module", "text", "told"),
    [
        ("sitecustomize", MISSING, "there is no tirex-tracker"),
        ("tirex_tracker", "raise OSError('no such library')\n", "no such library"),
        ("tirex_tracker", DIES, "it ended with -9"),
    ],
)
def test_a_failing_tracker_does_not_stop_the_run(
    tmp_path: Path, module: str, text: str, told: str
) -> None:
    good, out = tmp_path / "good.jsonl", tmp_path / "run.jsonl"
    assert simulate(good).code == 0
    ended = simulate(out, "--metadata", **stub(tmp_path / "stub", module, text))
    assert ended.code == 0, ended.err
    assert "note: no ir_metadata was written: " in ended.err
    assert told in ended.err
    assert out.read_bytes() == good.read_bytes()
    assert not list(tmp_path.glob("*.yml"))
