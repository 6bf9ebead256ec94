"""The targets beside slim, built on stand-ins of their bases, and all three run as they declare it.

Read-only root, no network: the health check, an answered turn, a judged turn; as root and not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.cases import with_cases
from tests.container.building import ROOT, Image, build, buildah
from tests.container.declared import Declared, declared, lent
from tests.demo import CLAIMS
from tests.records import read_json, read_records, write_lines
from tests.terminal import check_kinds

pytestmark = pytest.mark.images

STANDINS = Path(__file__).parent / "standins"
SOFTWARE = yaml.safe_load((ROOT / "tira.yml").read_text())["software"]
TIRA = {"inputDataset": "/tira-data/input", "outputDir": "/tira-data/output"}

SERVES = """
import json, subprocess, sys, time, urllib.request as u
command, health, more = map(json.loads, sys.argv[1:])
begun = time.monotonic()
server = subprocess.Popen(command + more)
while subprocess.run(health, capture_output=True).returncode:
    assert server.poll() is None and time.monotonic() - begun < 240
    time.sleep(0.1)
def ask(path, body):
    url, data = "http://127.0.0.1:8080" + path, json.dumps(body).encode()
    return json.load(u.urlopen(u.Request(url, data, {"content-type": "application/json"}), timeout=120))
answer = ask("/", {"messages": [{"role": "user", "content": "Zoos should be closed."}]})
turn = {"utterance": "Zoos should be closed.", "systemResponse":
        {"utterance": answer["content"], "response": answer}}
verdict = ask("/quality", {"simulation": {"userTurns": [turn]}, "userTurnIndex": 0})
seconds = time.monotonic() - begun
written = []
for place in ("/app/x", "/opt/x", "/root/x", "/usr/x", "/x"):
    try:
        open(place, "w").close()
        written.append(place)
    except OSError:
        pass
server.terminate()
server.wait(60)
print(json.dumps({"answer": answer, "verdict": verdict, "written": written, "seconds": seconds}))
"""
"""Starts what the image declares, waits as its health check does, and asks for a turn of each kind."""


@contextmanager
def _on_its_standin(image: Image, target: str, **arguments: str) -> Iterator[str]:
    base, tag = f"{image.name}-base-of-{target}", f"{image.name}-{target}"
    build(base, target=target, context=STANDINS, **arguments)
    build(tag, target=target, **{f"{target.upper()}_BASE": base})
    yield tag
    buildah("rmi", tag, base)


@pytest.fixture(scope="module")
def _official(image: Image) -> Iterator[str]:
    with _on_its_standin(image, "official", BASE=image.base, PACKAGES=image.name) as tag:
        yield tag


@pytest.fixture(scope="module")
def _gpu(image: Image, _official: str) -> Iterator[str]:
    with _on_its_standin(image, "gpu", PACKAGES=_official) as tag:
        yield tag


@pytest.fixture(scope="module")
def slim(image: Image) -> Iterator[Declared]:
    with declared(image.name) as declaration:
        yield declaration


@pytest.fixture(scope="module")
def official(_official: str) -> Iterator[Declared]:
    with declared(_official) as declaration:
        yield declaration


@pytest.fixture(scope="module")
def gpu(_gpu: str) -> Iterator[Declared]:
    with declared(_gpu) as declaration:
        yield declaration


@with_cases(("target", "user"), "container/images_and_users.json")
def test_it_answers_and_judges_a_turn_on_a_root_that_cannot_be_written_to(
    target: str, user: str | None, request: pytest.FixtureRequest
) -> None:
    declaration: Declared = request.getfixturevalue(target)
    arguments = (
        json.dumps(words) for words in (declaration.command, declaration.health, ["-j", "grounded"])
    )
    ran = declaration.run("python3", "-c", SERVES, *arguments, user=user)
    report = json.loads(ran.out.splitlines()[-1])
    print(f"{target}: start, an answer and a verdict took {report['seconds']:.1f} s")
    assert report["answer"]["content"]
    assert {"id", "text"} <= set(report["answer"]["arguments"][0])
    assert 0 <= report["verdict"]["score"] <= 1
    assert report["written"] == []


def test_the_official_scripts_play_and_evaluate_in_it(official: Declared, tmp_path: Path) -> None:
    """The commands of tira.yml, as TIRA's client words them: sub-task 1, and 2 on what it wrote."""
    input_folder, out = lent(tmp_path, "input"), lent(tmp_path, "output")
    claims = CLAIMS.read_text().splitlines()[:4]
    write_lines(input_folder / "claims.tsv", claims)
    configuration = official.root / "genirsim" / "touche25-rad-tira.json"
    (input_folder / "official.json").write_text(configuration.read_text())
    mounts = {input_folder: "/tira-data/input:ro", out: "/tira-data/output"}
    official.run("sh", "-c", _worded("official-debater"), mounts=mounts, env=TIRA)
    simulations = out / "simulations.jsonl"
    rows = read_records(simulations)
    assert [len(row["simulation"]["userTurns"]) for row in rows] == [3] * len(claims[1:])
    kinds = check_kinds(simulations, "--input", input_folder / "claims.tsv")
    assert kinds <= {"nothing is cited"}
    (input_folder / "claims.tsv").unlink()
    simulations.rename(input_folder / "simulations.jsonl")
    official.run("sh", "-c", _worded("official-judge"), mounts=mounts, env=TIRA)
    assert check_kinds(out / "evaluations.jsonl") <= {"nothing is cited"}


def test_serve_sh_starts_it_too(official: Declared) -> None:
    arguments = (json.dumps(words) for words in (["/genirsim/serve.sh"], official.health, []))
    official.run("python3", "-c", SERVES.replace("server.terminate", "server.kill"), *arguments)


def test_a_mounted_model_is_served_by_vllm(gpu: Declared, tmp_path: Path) -> None:
    """tira.yml's entry with a model of one's own, with the mounts of TIRA's client."""
    input_folder, out = lent(tmp_path, "input"), lent(tmp_path, "output")
    (input_folder / "claims.tsv").write_text("\n".join(CLAIMS.read_text().split("\n")[:2]))
    software = SOFTWARE["sinai-vllm"]
    (name,) = software["hf_models"]
    cached = f"models/{name}".replace("/", "--")
    (lent(tmp_path, "hub") / "config.json").write_text("{}")
    mounts = {
        input_folder: "/tira-data/input:ro",
        out: "/tira-data/output",
        ROOT / "tests": "/check/tests:ro",
        tmp_path / "hub": f"/root/.cache/huggingface/hub/{cached}:ro",
    }
    env = {**TIRA, "PYTHONPATH": "/check"}
    ran = gpu.run("sh", "-c", _worded("sinai-vllm"), mounts=mounts, env=env)
    assert "vLLM: ready" in ran.err
    # A model may find that no argument can be used.
    assert check_kinds(out / "simulations.jsonl") <= {"nothing is cited", "no argument is found"}
    status = read_json(out / "status.json")
    assert status["usage"]["total"]["calls"] > 0


def _worded(entry: str) -> str:
    """An entry's command as the client gives it to the container's shell."""
    command = str(SOFTWARE[entry]["command"])
    for name, place in TIRA.items():
        command = command.replace(f"${name}", place)
    return f"sleep .1; {command}"
