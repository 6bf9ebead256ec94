"""Playing debates from the terminal, in this process, and reading what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.records import read_records, read_status, write_lines
from tests.terminal import Ended, touche_rad
from touche_rad.events import EventCount, EventKind

OFTEN = "City centres should be closed to private cars."


@dataclass(frozen=True)
class Played(Ended):
    """How a call of `touche-rad simulate` ended, and its run."""

    run: Path

    @property
    def simulations(self) -> list[dict[str, Any]]:
        return [record["simulation"] for record in read_records(self.run)]

    @property
    def utterances(self) -> list[list[str]]:
        utterances: list[list[str]] = []
        for simulation in self.simulations:
            utterances.append([turn["utterance"] for turn in simulation["userTurns"]])
        return utterances

    @property
    def answers(self) -> list[list[str]]:
        answers: list[list[str]] = []
        for simulation in self.simulations:
            responses = [turn["systemResponse"] for turn in simulation["userTurns"]]
            answers.append([response["utterance"] for response in responses])
        return answers

    @property
    def user_fallbacks(self) -> list[str]:
        """Why and where the rules spoke for another user."""
        reasons: list[str] = []
        for events in map(EventCount.model_validate, self.status["events"]):
            if events.examples[0].kind is EventKind.USER_FALLBACK:
                reasons += [event.text.removeprefix("user fallback: ") for event in events.examples]
        return reasons

    @property
    def status(self) -> Any:
        return read_status(self.run)


def write_claims(*rows: tuple[str, str]) -> Path:
    lines = ["\t".join(row) for row in (("TOPIC_DESCRIPTION", "USER"), *rows)]
    return write_lines("claims.tsv", lines)


class Stage:
    """A folder to play in, with the demo's index and the simplest debater."""

    def __init__(self, folder: Path, index: Path) -> None:
        self.folder = folder
        self.index = index
        self.claims = write_claims((OFTEN, "base-user"))

    def play(self, user: str, *options: str, turns: int = 1, **checks: Any) -> Played:
        run = self.folder / "run.jsonl"
        words = f"simulate {self.claims} -i {self.index} -d verbatim --workers 1 -o {run}"
        ended = touche_rad(words, "--turns", turns, "--user", user, *options, **checks)
        return Played(ended.code, ended.out, ended.err, run)
