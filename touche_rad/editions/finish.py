"""The last part of a run: figures, pages and the record, always computed from the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from touche_rad.editions.cells import Cell
from touche_rad.editions.engine import Engine, status_of
from touche_rad.editions.figures import Computed, compute
from touche_rad.editions.page import page_files, write_pages
from touche_rad.editions.record import FIGURES, RECORD, write_record
from touche_rad.files import outputs
from touche_rad.files.outputs import status_beside


def finish(engine: Engine) -> Computed:
    """Write the figures, the pages and, last, the record of a run whose cells are all done."""
    loaded, results = engine.loaded, engine.results
    computed = compute(loaded, results)
    computed.write(results)
    write_pages(loaded, results, computed)
    statuses = {cell.path: status_of(results / cell.path) for cell in engine.cells}
    write_record(results, loaded, engine.index, statuses, _models(engine.cells, statuses))
    return computed


def _models(cells: Sequence[Cell], statuses: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the identity of the model of each entry that uses one."""
    models: dict[str, Any] = {}
    for cell in cells:
        identity = statuses[cell.path].get("identity") or {}
        main = cell.judge or cell.debater
        if main is not None and "model" in identity:
            models[f"{main.plugin.kind}s.{main.name}"] = identity["model"]
        if cell.user is not None and "user_model" in identity:
            models[f"users.{cell.user.name}"] = identity["user_model"]
    return dict(sorted(models.items()))


def result_files(results: Path, cells: Sequence[Cell]) -> list[Path]:
    """Return the files of a finished run: outputs, statuses, figures, pages and the record."""
    paths = [results / cell.path for cell in cells]
    return [
        *paths,
        *map(status_beside, paths),
        results / FIGURES,
        *page_files(results),
        results / RECORD,
    ]


def warnings_of(engine: Engine) -> list[str]:
    """Return the warnings of all cells, each with its cell."""
    return [
        f"{cell.path}: {line}"
        for cell in engine.cells
        for line in status_of(engine.results / cell.path).get("warnings") or ()
    ]


def all_replaced(engine: Engine) -> list[str]:
    """Return the cells whose results all come from a fallback, such as `all answers in FILE`."""
    found = []
    for cell in engine.cells:
        status = status_of(engine.results / cell.path)
        kinds = outputs.all_replaced(status.get("stand_ins") or (), status.get("counts") or {})
        found += [f"all {what} in {cell.path}" for what in kinds]
    return found
