"""The slim image on a minimal Debian: both sub-tasks, killed, resumed and replayed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.container.building import ROOT, Image, environment, size
from tests.terminal import check_kinds
from touche_rad import files
from touche_rad.demo import demo_file

pytestmark = pytest.mark.images

CLAIMS = demo_file("claims.tsv")
MOST_MEGABYTES = 500


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """An input that may be read and an output that may be written, as TIRA mounts them."""
    given, out = tmp_path / "input", tmp_path / "output"
    given.mkdir()
    out.mkdir()
    given.chmod(0o755)
    out.chmod(0o777)
    tmp_path.chmod(0o755)
    (given / "claims.tsv").write_text(CLAIMS.read_text())
    return given, out


TIRA = {"inputDataset": "/tira-data/input", "outputDir": "/tira-data/output"}


def mounts(places: tuple[Path, Path]) -> dict[Path, str]:
    return {places[0]: "/tira-data/input:ro", places[1]: "/tira-data/output"}


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_image_is_small_and_runs_without_rights_and_network(image: Image) -> None:
    more = (size(image.name) - size(image.base)) / 10**6
    print(f"the image is {more:.0f} MB over its base")
    assert 0 < more < MOST_MEGABYTES
    ran = image.run("sh", "-c", "id -u; touch /app/x /opt/x /usr/x; cat /proc/net/dev")
    assert ran.out.splitlines()[0] == "10001"
    assert ran.err.count("Permission denied") == 3
    devices = [line.split(":")[0].strip() for line in ran.out.splitlines() if ":" in line]
    assert devices == ["lo"]


def test_both_sub_tasks_go_from_input_to_output(image: Image, places: tuple[Path, Path]) -> None:
    first = image.run("touche-rad", "simulate", mounts=mounts(places), env=TIRA)
    assert first.code == 0, first.err
    simulations = places[1] / "simulations.jsonl"
    debates = list(files.read_debates(simulations))
    assert len(debates) == len(list(files.read_claims(CLAIMS)))
    known = {one.id for one in files.read_arguments(demo_file("arguments.jsonl"))}
    for debate in debates:
        for turn in debate.turns:
            assert turn.response is not None
            assert 0 < len(turn.response.content.split()) <= 60
            assert {one.id for one in turn.response.arguments} <= known
    assert json.loads((places[1] / "status.json").read_text())["state"] == "done"
    (places[0] / "claims.tsv").unlink()
    simulations.rename(places[0] / "simulations.jsonl")
    second = image.run("touche-rad", "judge", mounts=mounts(places), env=TIRA)
    assert second.code == 0, second.err
    verdicts = [
        of for one in files.read_evaluations(places[1] / "evaluations.jsonl") for of in one.turns
    ]
    assert len(verdicts) == sum(len(debate.turns) for debate in debates)
    assert all(0 <= float(one.score or 0) <= 1 for of in verdicts for one in of.values())


def test_a_killed_run_resumes_with_an_identical_file(
    image: Image, places: tuple[Path, Path]
) -> None:
    head, *claims = CLAIMS.read_text().splitlines()
    many = [f"Claim {number}: {claim}" for number in range(8) for claim in claims]
    (places[0] / "claims.tsv").write_text("\n".join([head, *many]) + "\n")
    whole = image.run("touche-rad", "simulate", mounts=mounts(places), env=TIRA)
    assert whole.code == 0, whole.err
    out = places[1] / "simulations.jsonl"
    wanted = out.read_bytes()
    out.unlink()
    with image.container() as container:
        command = image.command(container, ["touche-rad", "simulate"], mounts(places), TIRA)
        running = subprocess.Popen(
            command, env=environment(), start_new_session=True, stderr=subprocess.DEVNULL
        )
        part = places[1] / "simulations.jsonl.part"
        while running.poll() is None and not (part.is_file() and part.stat().st_size > 4_000):
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    assert not out.exists(), "it was not killed in the middle"
    again = image.run("touche-rad", "simulate", mounts=mounts(places), env=TIRA)
    assert again.code == 0, again.err
    assert "taken over from an earlier run" in again.err
    assert out.read_bytes() == wanted


def test_a_run_with_a_model_repeats_from_its_cache_without_one(
    image: Image, places: tuple[Path, Path], tmp_path: Path
) -> None:
    cache, script = tmp_path / "cache", places[0] / "answers.txt"
    cache.mkdir()
    cache.chmod(0o777)
    script.write_text('{"answer": {"number": 2, "frame": "not so"}}\n')
    common = {**TIRA, "CACHE_DIR": "/cache"}
    mounted = {**mounts(places), cache: "/cache"}
    first = image.run(
        "touche-rad",
        "simulate",
        "-m",
        "scripted:/tira-data/input/answers.txt",
        mounts=mounted,
        env=common,
    )
    assert first.code == 0, first.err
    out = places[1] / "simulations.jsonl"
    wanted = out.read_bytes()
    assert b"Not so: " in wanted
    assert any(cache.iterdir())
    out.unlink()
    script.unlink()
    empty = {
        "OPENAI_BASE_URL": "EMPTY",
        "OPENAI_API_KEY": "EMPTY",
        "OPENAI_MODEL": "scripted:answers.txt",
    }
    second = image.run("touche-rad", "simulate", mounts=mounted, env={**common, **empty})
    assert second.code == 0, second.err
    assert "model: 0 calls" in second.err
    assert out.read_bytes() == wanted


DEBATES = int(os.environ.get("TOUCHE_RAD_CARELESS_DEBATES", "200"))
"""A thousand take minutes on an idle machine: by hand."""


def test_a_careless_client_plays_many_debates_with_it(image: Image, tmp_path: Path) -> None:
    """As the task's client: all at once, nothing twice; a call in twenty of the model fails."""
    tmp_path.chmod(0o777)
    ran = image.run(
        *f"python3 -m tests.serve.careless {DEBATES} /out".split(),
        *"/app/start.sh -q -j zsl --deadline 280".split(),
        mounts={tmp_path: "/out", ROOT / "tests": "/check/tests:ro"},
        env={"PYTHONPATH": "/check", "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=900 + 5 * DEBATES,
    )
    assert ran.code == 0, ran.err[-2000:]
    counts = json.loads(ran.out.splitlines()[-1])
    print(f"{DEBATES} debates: {counts['seconds']:.0f} s, {counts['calls']} calls")
    assert (counts["lost"], counts["judged"]) == (0, DEBATES)
    assert counts["calls"] > DEBATES, "where time runs out, a turn is answered without the model"
    for name in ("simulations.jsonl", "evaluations.jsonl"):
        path = tmp_path / name
        assert len(rows(path)) == DEBATES
        assert check_kinds("--no-status", path) <= {"nothing is cited"}
