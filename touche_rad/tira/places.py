"""Under TIRA a verb finds its input in `$inputDataset` and writes to `$outputDir`.

TIRA drops the exit code, so a status.json beside the run says what was done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from touche_rad.errors import InputError, UserError

if TYPE_CHECKING:
    from touche_rad.files import Kind
    from touche_rad.models import Model

STATUS = ".status.json"
METADATA = "ir-metadata.yml"


@dataclass(frozen=True)
class Places:
    """Where a run reads and writes, and where its status goes, if anywhere."""

    source: Path
    out: Path
    status: Path | None = None

    def status_of(self, model: Model | None, elsewhere: bool = False) -> Path | None:
        """Where the status goes: beside the run as well, where there is much to tell.

        Args:
            model: The model that is asked, whose costs are told.
            elsewhere: Whether somebody else's server has a part in the run, and may fail.
        """
        if self.status is None and (model is not None or elsewhere):
            return self.out.with_name(f"{self.out.name}{STATUS}")
        return self.status

    @property
    def metadata(self) -> Path:
        """Where ir_metadata goes; in TIRA's output folder, by the name that TIRA looks for."""
        name = METADATA if is_output(self.out.parent) else f"{self.out.name}.{METADATA}"
        return self.out.with_name(name)


def places(
    verb: str, source: Path | None, out: Path | None, kinds: Collection[Kind], name: str
) -> Places:
    """Take what was given; what was not, from TIRA's environment."""
    folder, target = os.environ.get("inputDataset"), os.environ.get("outputDir")
    if source is None:
        if not folder:
            raise UserError(f"{verb}: give an input file (under TIRA, inputDataset names a folder)")
        source = find_input(Path(folder), kinds)
    if out is not None:
        return Places(source, out)
    if not target:
        raise UserError(f"{verb}: say where the run goes: -o FILE (under TIRA, outputDir says it)")
    return Places(source, Path(target) / name, Path(target) / "status.json")


def is_output(folder: Path) -> bool:
    """Whether TIRA looks at this folder, where it takes exactly one `*.jsonl`."""
    target = os.environ.get("outputDir")
    return bool(target) and folder.resolve() == Path(str(target)).resolve()


def configured_turns() -> int | None:
    """Return `maxTurns` of the official client's configuration in the input folder, if any."""
    folder = Path(os.environ.get("inputDataset") or os.devnull)
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            turns = json.loads(path.read_text("utf-8"))["simulation"]["maxTurns"]
        except (OSError, ValueError, LookupError, TypeError):
            continue
        if isinstance(turns, int) and turns > 0:
            return turns
    return None


def find_input(folder: Path, kinds: Collection[Kind]) -> Path:
    """Return the one file of a fitting kind in a folder."""
    from touche_rad.files import detect_kind

    wanted = " or ".join(sorted(kind.value for kind in kinds))
    if not folder.is_dir():
        raise UserError(f"{folder}: expected a folder with {wanted}")
    fitting = []
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        try:
            if detect_kind(path) in kinds:
                fitting.append(path)
        except InputError:
            continue
    if len(fitting) != 1:
        found = ", ".join(path.name for path in fitting) or "none"
        raise UserError(f"{folder}: expected exactly one file with {wanted}, found {found}")
    return fitting[0]
