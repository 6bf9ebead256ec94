"""TIRA's own client tries the image: with its mounts, its user and its tracker around the command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests import ROOT
from tests.container.building import Image, buildah
from tests.demo import DEBATES, LABELS
from tests.records import read_json
from tests.terminal import touche_rad
from tests.tira.client import call_client
from tests.tira.places import committed, repository, toy_dataset
from touche_rad.tira.submission import load

pytestmark = pytest.mark.images


@pytest.fixture(scope="module")
def submitted(image: Image) -> Iterator[Image]:
    """The image as tira.yml has it built: RUN_AS=0, which is its user and nothing else."""
    assert "ARG RUN_AS=10001:10001\nUSER ${RUN_AS}\n" in (ROOT / "Dockerfile").read_text()
    container = buildah("from", image.name)
    buildah("config", "--user", "0", container)
    tag = f"{image.name}-tira"
    buildah("commit", "-q", container, tag)
    buildah("rm", container)
    yield replace(image, name=tag)
    buildah("rmi", tag)


def test_both_sub_tasks_are_tried_in_the_image(submitted: Image, tmp_path: Path) -> None:
    place, dataset_folder = repository(tmp_path / "repository"), toy_dataset(tmp_path / "given")
    read = load(place / "tira.yml")
    words = read.words("grounded", path=str(place), upload=False)
    first = call_client(words, dataset_folder, tmp_path / "log.jsonl", image=submitted.name)
    assert first.code == 0, first.text
    assert "produced valid outputs" in first.text
    alone = tmp_path / "simulations"
    alone.mkdir()
    (first.output() / "simulations.jsonl").rename(alone / "simulations.jsonl")
    words = read.words("judge-grounded", path=str(place), upload=False)
    second = call_client(
        words,
        alone,
        tmp_path / "log.jsonl",
        image=submitted.name,
        formats=("GenIR-Simulation", "ir_metadata"),
    )
    assert second.code == 0, second.text
    names = {path.name for path in second.output().iterdir()}
    assert names == {"evaluations.jsonl", "status.json", ".tracking-results.yml"}
    assert read_json(second.output() / "status.json")["state"] == "done"


def test_a_dataset_is_played_and_evaluated_in_the_image(submitted: Image, tmp_path: Path) -> None:
    """The baseline's image and the evaluator's differ in what they start only."""
    place = tmp_path / "repository" / "rad"
    place.parent.mkdir()
    debates_and_labels = DEBATES, LABELS
    touche_rad("dataset judges", *debates_and_labels, "-o", place)
    committed(place.parent)
    words = ["tira-cli", "dataset-submission", "--path", f"{place}-smoke", "--task", "rad"]
    ended = call_client(
        [*words, "--split", "train", "--dry-run"],
        place,
        tmp_path / "log.jsonl",
        {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
        image=submitted.name,
    )
    assert ended.code == 0, ended.text
    (evaluated,) = ended.evaluations
    assert (Path(evaluated["out"]) / "evaluation.prototext").read_text().count("measure {") == 13
