"""The tutorial, followed word by word: files are saved, commands run, outputs compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^```(?P<kind>console|python)\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)

INSTALLATION = ("make demo", ". .venv/bin/activate")
"""Commands whose work is done where the test runs."""


@pytest.mark.long
def test_the_tutorial_runs_as_written(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    (tmp_path / "touche_rad").symlink_to(ROOT / "touche_rad")
    end, commands = 0, 0
    for block in BLOCK.finditer(text):
        before, end = text[end : block.start()], block.end()
        if block["kind"] == "python":
            names = re.findall(r"Save (?:it|this) as\s+`([^`]+)`", before)
            assert len(names) == 1, before
            (tmp_path / names[0]).write_text(block["body"], "utf-8")
        else:
            for call in re.split(r"^\$ ", block["body"], flags=re.MULTILINE)[1:]:
                command, _, expected = call.partition("\n")
                if command in INSTALLATION:
                    continue
                output = _run(command, tmp_path)
                assert not expected or output.split() == expected.split(), command
                commands += 1
    assert commands > 8


def _run(command: str, folder: Path) -> str:
    """Run a command of a person in an activated environment."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, timeout=240, check=False,
        env={**os.environ, "PATH": programs, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout
