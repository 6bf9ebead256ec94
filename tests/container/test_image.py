"""The slim image on a minimal Debian: its rights, a killed run, and a careless client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.container.building import ROOT, Image, build, buildah, environment, size
from tests.container.declared import lent
from tests.terminal import check_kinds, touche_rad
from touche_rad.demo import demo_file

pytestmark = pytest.mark.images

CLAIMS = demo_file("claims.tsv")
MOST_MEGABYTES = 500


TIRA = {"inputDataset": "/tira-data/input", "outputDir": "/tira-data/output"}


def test_the_image_is_small_and_runs_without_rights_and_network(image: Image) -> None:
    more = (size(image.name) - size(image.base)) / 10**6
    print(f"the image is {more:.0f} MB over its base")
    assert 0 < more < MOST_MEGABYTES
    ran = image.run("sh", "-c", "id -u; touch /app/x /opt/x /usr/x; cat /proc/net/dev")
    assert ran.out.splitlines()[0] == "10001"
    assert ran.err.count("Permission denied") == 3
    devices = [line.split(":")[0].strip() for line in ran.out.splitlines() if ":" in line]
    assert devices == ["lo"]


def test_a_killed_run_resumes_with_an_identical_file(image: Image, tmp_path: Path) -> None:
    given, folder = lent(tmp_path, "input"), lent(tmp_path, "output")
    mounts = {given: "/tira-data/input:ro", folder: "/tira-data/output"}
    head, *claims = CLAIMS.read_text().splitlines()
    many = [f"Claim {number}: {claim}" for number in range(8) for claim in claims]
    (given / "claims.tsv").write_text("\n".join([head, *many]) + "\n")
    whole = image.run("touche-rad", "simulate", mounts=mounts, env=TIRA)
    assert whole.code == 0, whole.err
    out = folder / "simulations.jsonl"
    wanted = out.read_bytes()
    out.unlink()
    with image.container() as container:
        command = image.command(container, ["touche-rad", "simulate"], mounts, TIRA)
        running = subprocess.Popen(
            command, env=environment(), start_new_session=True, stderr=subprocess.DEVNULL
        )
        part = folder / "simulations.jsonl.part"
        while running.poll() is None and not (part.is_file() and part.stat().st_size > 4_000):
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    assert not out.exists(), "it was not killed in the middle"
    again = image.run("touche-rad", "simulate", mounts=mounts, env=TIRA)
    assert again.code == 0, again.err
    assert "taken over from an earlier run" in again.err
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
        assert len(path.read_text().splitlines()) == DEBATES
        assert check_kinds("--no-status", path) <= {"nothing is cited"}


def test_a_new_package_is_built_on_it(image: Image, tmp_path: Path) -> None:
    """`touche-rad new` writes a Dockerfile; the task's collection replaces the demo's index."""
    project = tmp_path / "my-debater"
    assert touche_rad("new", "debater", "my-debater", "-o", project).code == 0
    collection = project / "docker" / "collection" / "arguments.jsonl"
    collection.write_text("".join(demo_file("arguments.jsonl").open().readlines()[:60]))
    tag, where = f"{image.name}-mine", f"docker/collection/{collection.name}"
    build(tag, context=project, BASE=image.name, COLLECTION=where)
    try:
        mine = Image(tag, image.base)
        answer = mine.run("touche-rad", "respond", "--say", "Zoos cost money.", "-d", "my-debater")
        doctor = mine.run("touche-rad", "doctor", "-i", "/opt/index")
    finally:
        buildah("rmi", tag)
    assert answer.code == 0, answer.err
    assert "/opt/index: 60 arguments, search works" in doctor.out
