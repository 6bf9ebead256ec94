"""What panels' outcomes hold for other programs, such as a graph, written as files of a folder."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.contest import Outcome
from touche_rad.files import BadLines, Kind
from touche_rad.plugins import Exports, registered
from touche_rad.score.naming import names

log = logging.getLogger("touche_rad")

_LONGEST: Final = 60


def write_exports(runs: Sequence[Path], folder: Path, *, bad: BadLines | None = None) -> list[Path]:
    """Write what the outcomes among the runs hold, and return the files.

    Names are made of the run, the number of its line and the debate's id, so that none of a debate
    is ever a path.
    """
    written: list[Path] = []
    for name, path in zip(names(runs), runs, strict=True):
        if path.is_dir() or files.recognise(path) is not Kind.OUTCOMES:
            continue
        for number, one in enumerate(files.read_outcomes(path, bad or BadLines()), 1):
            stem = f"{_plain(name)}-{number:03d}-{_plain(one.id)}"
            for also, outcome in (("", one.outcome), ("-swapped", one.swapped)):
                for ending, text in _of(one.judge, outcome):
                    written.append(_write(folder / f"{stem}{also}.{ending}", text))
    return written


def _of(judge: str, outcome: Outcome | None) -> Iterator[tuple[str, str]]:
    plugin = registered("panel").get(judge.partition("(")[0].partition(" ")[0])
    try:
        panel: Any = plugin.factory if plugin else None
        if outcome is not None and isinstance(panel, Exports):
            made: Mapping[str, str] = panel.exports(outcome)
            yield from made.items()
    except Exception as error:
        log.warning("an outcome of %s could not be exported: %s", judge, error)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.atomic_write(path) as file:
        file.write(text)
    return path


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:_LONGEST] or "debate"
