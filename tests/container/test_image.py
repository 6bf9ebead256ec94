"""The slim image on a minimal Debian: its size and its rights."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.container.building import Image, build, buildah, size
from tests.demo import ARGUMENTS
from tests.terminal import touche_rad

pytestmark = pytest.mark.images

MOST_MEGABYTES = 500


def test_the_image_is_small_and_runs_without_rights_and_network(image: Image) -> None:
    megabytes = (size(image.name) - size(image.base)) / 10**6
    print(f"the image is {megabytes:.0f} MB over its base")
    assert 0 < megabytes < MOST_MEGABYTES
    ran = image.run("sh", "-c", "id -u; touch /app/x /opt/x /usr/x; cat /proc/net/dev")
    assert ran.out.splitlines()[0] == "10001"
    assert ran.err.count("Permission denied") == 3
    devices = [line.split(":")[0].strip() for line in ran.out.splitlines() if ":" in line]
    assert devices == ["lo"]


def test_a_new_package_is_built_on_it(image: Image, tmp_path: Path) -> None:
    """`touche-rad new` writes a Dockerfile; the task's collection replaces the demo's index."""
    project = tmp_path / "my-debater"
    touche_rad("new debater my-debater -o", project)
    collection = project / "docker" / "collection" / "arguments.jsonl"
    collection.write_text("".join(ARGUMENTS.open().readlines()[:60]))
    tag, where = f"{image.name}-mine", f"docker/collection/{collection.name}"
    build(tag, context=project, BASE=image.name, COLLECTION=where)
    try:
        image_of_participant = Image(tag, image.base)
        answer = image_of_participant.run(
            "touche-rad", "respond", "--say", "Zoos cost money.", "-d", "my-debater"
        )
        doctor = image_of_participant.run("touche-rad", "doctor", "-i", "/opt/index")
    finally:
        buildah("rmi", tag)
    assert answer.code == 0, answer.err
    assert "/opt/index: 60 arguments, search works" in doctor.out
