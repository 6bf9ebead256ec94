"""The notebooks run, and each of their cells prints something where it did.

nbmake only runs them; it does not compare what the cells print.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def printing(notebook: Any) -> list[bool]:
    return [
        any(output.get("text") for output in cell["outputs"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To renew the outputs that a notebook contains: jupyter execute --inplace NOTEBOOK."""
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    stored = nbformat.read(path, as_version=4)
    run = nbformat.read(path, as_version=4)
    NotebookClient(run, timeout=300, kernel_name="python3").execute()
    assert printing(run) == printing(stored)


def test_each_notebook_has_a_page_of_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import notebook_pages

    notebook_pages.write(ROOT / "docs/notebooks", tmp_path)
    contents = (ROOT / "docs/conf.py").read_text("utf-8")
    assert [path.stem for path in sorted(tmp_path.glob("*.md"))] == [
        path.stem for path in NOTEBOOKS
    ]
    for path in NOTEBOOKS:
        assert f"reference/notebooks/{path.stem}" in contents
    text = (tmp_path / "judges.md").read_text("utf-8")
    assert "```sh\ntouche-rad judge debates.jsonl" in text
    assert "```text\n" in text
