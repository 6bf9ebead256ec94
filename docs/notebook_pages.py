"""Pages of the site for the notebooks, with the outputs that the notebooks contain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reference_pages import write_page


def write(notebooks: Path, folder: Path) -> None:
    """Write a page for each notebook to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(notebooks.glob("*.ipynb")):
        notebook = json.loads(path.read_text("utf-8"))
        write_page(folder / f"{path.stem}.md", _page(notebook["cells"]))


def _page(cells: list[dict[str, Any]]) -> Iterator[str]:
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield from (source.replace("](../", "](../../"), "")
            continue
        yield from _code(source)
        printed = "".join("".join(one.get("text", "")) for one in cell["outputs"]).rstrip()
        if printed:
            yield from ("```text", printed, "```", "")


def _code(source: str) -> Iterator[str]:
    """Yield a block of code, of the shell for the cells that start with `%%bash`."""
    first, _, rest = source.partition("\n")
    language, code = ("sh", rest) if first == "%%bash" else ("python", source)
    yield from (f"```{language}", code, "```", "")
