"""A tournament's folder: its files, and what of them is already made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.contest import Contest, Outcome
from touche_rad.contests.two_sides import debaters_of
from touche_rad.errors import UserError, WorkError
from touche_rad.files.append_log import refuse_other_identity
from touche_rad.files.outputs import read_status
from touche_rad.files.records import drop_keys, path_beside
from touche_rad.files.traces import TRACE
from touche_rad.runs.journal import is_finished
from touche_rad.runs.judging import VERDICTS
from touche_rad.runs.runner import whole_identity
from touche_rad.runs.work import Work

CONTESTS: Final = "contests.jsonl"
OUTCOMES: Final = "outcomes.jsonl"
RATINGS: Final = "ratings.json"
GAMES: Final = "games.jsonl"
"""Every debate and verdict by its settings, also for other debaters or claims."""


class TournamentFolder:
    """The files of a tournament.

    The debates and the verdicts are two runs, each with a status that has its settings. A finished
    debate or verdict is in `games.jsonl`, so that none is made twice.
    """

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise UserError(f"{path} is a file: name a folder for the tournament")
        self.path = path
        self.contests = path / CONTESTS
        self.outcomes = path / OUTCOMES
        self.ratings = path / RATINGS
        self.games = path / GAMES

    def restart(self) -> None:
        """Delete the debates, verdicts, traces and ratings."""
        for path in (self.contests, self.outcomes, self.ratings, self.games):
            path.unlink(missing_ok=True)
            path_beside(path, TRACE).unlink(missing_ok=True)

    def is_done(self, work: Work[Any], out: Path, *, replace: bool) -> bool:
        """Whether a run of these settings has written an output completely.

        With other debaters or claims it has not, but the output is continued. A model may be added
        or left out: the debates of debaters that do not use it are kept. Failed verdicts and the
        journal of a killed run are to be finished.

        Raises:
            UserError: The output is of a run with other settings.
        """
        before = self.settings_of(out)
        if not before:
            return False
        now = whole_identity(work.verb, work.identity, work.source)
        fallbacks = read_status(out).get("fallbacks", ())
        has_failed = any(fallback["what"] == VERDICTS for fallback in fallbacks)
        if is_finished(out, now) and not has_failed:
            return True
        if not replace:
            may_change = ["debaters", "input"]  # what does not depend on them is kept
            if before.get("model") is None or now.get("model") is None:
                may_change.append("model")
            refuse_other_identity(
                f"{out} is of other settings:",
                drop_keys(before, may_change),
                drop_keys(now, may_change),
                "replace it with --replace, or name another folder",
            )
        return False

    def settings_of(self, out: Path) -> Mapping[str, Any]:
        """Return the settings of the run that wrote an output; empty if no run did."""
        return read_status(out).get("identity", {}) if out.is_file() else {}

    def results(self, names: Sequence[str]) -> Iterator[tuple[Contest, Outcome]]:
        """Yield each debate of these debaters with its verdict."""
        judgements = files.read_outcomes(self.outcomes)
        outcomes = {judgement.id: judgement.outcome for judgement in judgements}
        for contest in files.read_contests(self.contests):
            if contest.id not in outcomes:
                raise WorkError(f"{self.outcomes} has no verdict on {contest.id!r}: use --restart")
            debaters = debaters_of(contest)
            if not all(debaters.get(speaker) in names for speaker in contest.speakers):
                raise WorkError(
                    f"{self.contests} does not name the debaters of {contest.id!r}: use --restart"
                )
            yield contest, outcomes[contest.id]
