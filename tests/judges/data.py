"""The debates and arguments that probes are made from: the demo's, and the real ones if given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.judges.probes import Base, bases
from touche_rad import files
from touche_rad.debate import Argument, Debate
from touche_rad.demo import demo_file


@dataclass(frozen=True)
class Data:
    """Debates, arguments, and a base for each: an argument as the answer to some user turn."""

    debates: tuple[Debate, ...]
    arguments: tuple[Argument, ...]

    @property
    def found(self) -> list[Base]:
        """User turns with the argument that was cited for them."""
        return list(bases(self.debates))

    def spread(self, every: int = 1) -> list[Base]:
        """Each `every`-th argument, as if it had been found for one user turn after another."""
        found = self.found
        return [
            Base(found[at % len(found)].asked, argument)
            for at, argument in enumerate(self.arguments[::every])
        ]


@cache
def demo() -> Data:
    """What the package brings along."""
    return Data(
        tuple(files.read_debates(demo_file("debates.jsonl"))),
        tuple(files.read_arguments(demo_file("arguments.jsonl"))),
    )


@cache
def real(folder: Path) -> Data:
    """The official sample."""
    return Data(
        tuple(files.read_debates(folder / "cmv-debates-100.jsonl.gz")),
        tuple(files.read_arguments(folder / "claimrev-4441.jsonl.gz")),
    )
