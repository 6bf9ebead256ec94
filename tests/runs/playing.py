"""Playing debates from the terminal, in this process, and reading what came of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touche_rad import cli
from touche_rad.events import EventCount, EventKind

OFTEN = "City centres should be closed to private cars."


@dataclass(frozen=True)
class Played:
    """A run of `touche-rad simulate`."""

    code: int
    out: Path

    @property
    def simulations(self) -> list[dict[str, Any]]:
        return [json.loads(line)["simulation"] for line in self.out.read_text().splitlines()]

    @property
    def said(self) -> list[list[str]]:
        return [[turn["utterance"] for turn in one["userTurns"]] for one in self.simulations]

    @property
    def answered(self) -> list[list[str]]:
        return [
            [turn["systemResponse"]["utterance"] for turn in one["userTurns"]]
            for one in self.simulations
        ]

    @property
    def stood_in(self) -> list[str]:
        """Why and where the rules spoke for another user."""
        counts = map(EventCount.model_validate, self.status["events"])
        return [
            event.text.removeprefix("user fallback: ")
            for events in counts
            for event in events.examples
            if event.kind is EventKind.USER_FALLBACK
        ]

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            self.out.with_name(f"{self.out.name}.status.json").read_text()
        )
        return found


def write_claims(folder: Path, *rows: tuple[str, str]) -> Path:
    path = folder / "claims.tsv"
    lines = ["\t".join(row) for row in (("TOPIC_DESCRIPTION", "USER"), *rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


class Stage:
    """A folder to play in, with the demo's index and the simplest debater."""

    def __init__(self, folder: Path, index: Path) -> None:
        self.folder = folder
        self.index = index
        self.claims = write_claims(folder, (OFTEN, "base-user"))

    def words(self, user: str, *more: str, turns: int = 3) -> list[str]:
        out = self.folder / "run.jsonl"
        words = f"simulate {self.claims} -i {self.index} -d verbatim --workers 1 -o {out}"
        return [*words.split(), "--turns", str(turns), "--user", user, *more]

    def play(self, user: str, *more: str, turns: int = 3) -> Played:
        code = cli.run(self.words(user, *more, turns=turns))
        return Played(code, self.folder / "run.jsonl")
