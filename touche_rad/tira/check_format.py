"""A format check for evaluations on Grice's maxims, in the shape of TIRA's `tira.check_format`.

It is written to be offered to TIRA, so it imports nothing of touche-rad. Until TIRA has it, a
program that uses TIRA's client adds it:

    from tira.check_format import FORMAT_TO_CHECK
    from touche_rad.tira.check_format import FORMAT, GriceEvaluationsFormat

    FORMAT_TO_CHECK[FORMAT] = GriceEvaluationsFormat

Each line evaluates one debate: `userTurnsEvaluations` has an object for each turn, with the keys
`Quantity`, `Quality`, `Relation` and `Manner`, and each of them a `score` between 0 and 1. The
official scorer refuses a complete run for one missing score.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from tira.check_format import CONF_MINIMUM_LINES, JsonlFormat, _fmt

FORMAT = "Grice-Evaluations"
MAXIMS = ("Quantity", "Quality", "Relation", "Manner")
TURNS = "userTurnsEvaluations"


class GriceEvaluationsFormat(JsonlFormat):  # type: ignore[misc]  # without TIRA's client it is Any
    """Checks if a given output contains a score for each maxim of each turn."""

    def apply_configuration_and_throw_if_invalid(
        self, configuration: dict[str, Any] | None
    ) -> None:
        """Take `minimum_lines` (default 1), `required_fields`, `max_size_mb` and `spot_check`."""
        super().apply_configuration_and_throw_if_invalid(
            {CONF_MINIMUM_LINES: 1, **(configuration or {})}
        )

    def check_format(self, run_output: Path) -> list[Any]:
        """Return the level and the message of the check."""
        level, message = super().check_format(run_output)
        if level == _fmt.OK:
            message = "The evaluations have a score for each maxim of each turn."
        return [level, message]

    def fail_if_json_line_is_not_valid(self, line: Any) -> None:
        """Raise a ValueError if a line is not the evaluation of a debate."""
        if not isinstance(line, dict):
            raise ValueError(f"Expected a JSON object in each line, got {line!r:.100}.")
        super().fail_if_json_line_is_not_valid(line)
        if TURNS not in line:
            raise ValueError(f'The json line misses the required field "{TURNS}".')
        turns = line[TURNS]
        if not isinstance(turns, list):
            raise ValueError(f'The field "{TURNS}" must be a list, with an object for each turn.')
        for number, turn in enumerate(turns):
            for maxim in MAXIMS:
                self._fail_if_not_a_score(turn, maxim, f"{TURNS}[{number}]")

    def _fail_if_not_a_score(self, turn: Any, maxim: str, place: str) -> None:
        if not isinstance(turn, dict) or not isinstance(turn.get(maxim), dict):
            raise ValueError(f'The json line misses the required object "{place}.{maxim}".')
        score = turn[maxim].get("score")
        is_number = isinstance(score, int | float) and not isinstance(score, bool)
        if not is_number or not (math.isfinite(score) and 0 <= score <= 1):
            field = f"{place}.{maxim}.score"
            raise ValueError(f'The field "{field}" must be a number from 0 to 1, got {score!r}.')
