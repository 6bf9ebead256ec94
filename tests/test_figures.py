"""`make figures` writes the figures of the documents, and `make check-figures` fails if one is stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import ROOT

FIGURES = ROOT / "benchmarks" / "figures.py"
PAGE = """# Page

<!-- figure
python -c "print('the measured figure')"
-->
```text
{}
```
<!-- end of figure -->

More.
"""


def figures(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, FIGURES, *args], capture_output=True, text=True, check=False
    )


def test_a_stale_figure_fails_and_is_written_anew(tmp_path: Path) -> None:
    fresh, stale = tmp_path / "fresh.md", tmp_path / "stale.md"
    fresh.write_text(PAGE.format("the measured figure"))
    stale.write_text(PAGE.format("an older figure"))
    assert figures("--check", fresh).returncode == 0
    checked = figures("--check", fresh, stale)
    assert checked.returncode == 1
    assert "1 files" in checked.stderr
    assert "-an older figure" in checked.stdout
    assert "+the measured figure" in checked.stdout
    assert "fresh.md" not in checked.stdout
    assert stale.read_text() == PAGE.format("an older figure")
    written = figures(fresh, stale)
    assert written.returncode == 0
    assert written.stdout == f"written: {stale}\n"
    assert stale.read_text() == fresh.read_text()


def test_a_figure_whose_command_fails_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.format("x").replace("print('the measured figure')", "raise SystemExit(3)"))
    failed = figures("--check", page)
    assert failed.returncode == 1
    assert "exit code 3" in failed.stderr
    assert "| x" not in failed.stdout
