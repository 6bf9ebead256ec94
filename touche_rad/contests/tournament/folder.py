"""A tournament's folder: its files, and the state of an interrupted run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, Field

from touche_rad import __version__, files
from touche_rad.contest import Contest, Outcome
from touche_rad.contests.tournament.result import FORMAT, VERSION, Tournament, debaters_of
from touche_rad.errors import UserError, WorkError, refuse_newer
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import read_json
from touche_rad.runs.folders import alone_in
from touche_rad.runs.journal import SUFFIX
from touche_rad.runs.recorded import Recorded

CONTESTS, OUTCOMES, RATINGS = "contests.jsonl", "outcomes.jsonl", "ratings.json"
GAMES: Final = "games.jsonl"
"""Every debate and verdict by its settings, for tournaments with other debaters or claims."""
_STATE: Final = "tournament.json"
_MAY_GROW: Final = ("debaters", "input")
"""Settings that may change: the debates that do not depend on them are kept."""


class _State(BaseModel):
    """The content of `tournament.json`: the settings of each part, before and after its work."""

    playing: dict[str, Any] = {}
    under_play: dict[str, Any] = Field({}, alias="under play")
    judging: dict[str, Any] = {}
    under_judgement: dict[str, Any] = Field({}, alias="under judgement")
    costs: dict[str, dict[str, int]] = {}


class Folder:
    """Records which of the two parts (playing, judging) is complete, and with which settings.

    Each part resumes from its own journal. A complete part runs again only if its settings change.
    """

    def __init__(self, path: Path, *, restart: bool = False) -> None:
        """Read the state of a folder; a damaged one is an error unless the tournament restarts."""
        self.path, self._restart = path, restart
        self.contests, self.outcomes = path / CONTESTS, path / OUTCOMES
        if path.exists() and not path.is_dir():
            raise UserError(f"{path} is a file: name a folder for the tournament")
        self._state = self._read()
        self.recorded = Recorded(path / GAMES)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from this folder, and read it again."""
        with alone_in(self.path):
            self._state, self.recorded = self._read(), Recorded(self.path / GAMES)
            yield

    def _read(self) -> dict[str, Any]:
        place = self.path / _STATE
        try:
            state = read_json(place)
            refuse_newer(place, state, VERSION)
            return _State.model_validate(state).model_dump(by_alias=True, exclude_unset=True)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            if self._restart:
                return {}
            raise UserError(f"{place} is damaged: start again with --restart") from None

    def restart(self) -> None:
        """Delete the debates, verdicts and ratings."""
        for name in (CONTESTS, OUTCOMES):
            (self.path / name).unlink(missing_ok=True)
            (self.path / f"{name}{SUFFIX}").unlink(missing_ok=True)
        (self.path / RATINGS).unlink(missing_ok=True)
        self.recorded.clear()
        self._write({})

    def played(self, identity: Mapping[str, Any], *, replace: bool) -> bool:
        """Whether the debates with these settings are complete.

        With other debaters, claims or limits they are not, but the folder may be continued.

        Args:
            identity: The settings.
            replace: Delete a finished tournament with other settings.

        Raises:
            UserError: The folder has debates with other settings.
        """
        if "playing" not in self._state or not self.contests.is_file():
            return False
        before, now = self._state["playing"], _plain(identity)
        if before == now:
            return True
        if self._continues(before, now):
            return False
        difference = _difference(before, now)
        if difference and replace:
            self.restart()
        elif difference:
            raise UserError(f"{self.path} contains another tournament: {difference}")
        return not difference

    @staticmethod
    def _continues(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
        """Whether only settings changed that let debates be kept.

        A model may be added or left out: then debates of debaters that do not use it are kept.
        """
        changed = {key for key in (*before, *now) if before.get(key) != now.get(key)}
        if "model" in changed and None in (before.get("model"), now.get("model")):
            changed.remove("model")
        return changed <= set(_MAY_GROW)

    def begin_playing(self, identity: Mapping[str, Any]) -> bool:
        """Record what is played, and return whether the debates in the folder may be replaced.

        The journal of the same tournament with other debaters is deleted; the record has its
        debates.
        """
        now = _plain(identity)
        begun = self._state.get("under play") or self._state.get("playing")
        mine = begun is not None and self._continues(begun, now)
        if mine and begun != now:
            (self.path / f"{CONTESTS}{SUFFIX}").unlink(missing_ok=True)
        if begun is None or mine:
            self._write({**self._state, "under play": now})
        return mine

    def set_played(self, identity: Mapping[str, Any], costs: Mapping[str, Any]) -> None:
        """Record that all debates are played, and their costs."""
        self._write({"playing": _plain(identity), "costs": costs})

    @property
    def costs(self) -> Mapping[str, Mapping[str, int]]:
        """Model calls and tokens of each debater."""
        costs: Mapping[str, Mapping[str, int]] = self._state.get("costs") or {}
        return costs

    def judged(self, identity: Mapping[str, Any], *, replace: bool) -> bool:
        """Whether this panel has judged all of these debates.

        Raises:
            UserError: Another panel has judged them, and its verdicts must not be replaced.
        """
        if "judging" not in self._state or not self.outcomes.is_file():
            return False
        before, now = self._state["judging"], self._judging(identity)
        difference = _difference(before, {**now, "contests": before.get("contests")})
        if difference and not replace:
            raise UserError(f"{self.path} contains the verdicts of another judge: {difference}")
        return bool(before == now)

    def begin_judging(self, identity: Mapping[str, Any]) -> None:
        """Delete the journal of another panel or of other debates."""
        now = self._judging(identity)
        if self._state.get("under judgement") != now:
            (self.path / f"{OUTCOMES}{SUFFIX}").unlink(missing_ok=True)
            self._write({**self._state, "under judgement": now})

    def set_judged(self, identity: Mapping[str, Any]) -> None:
        """Record that all debates are judged."""
        self._write({**self._state, "judging": self._judging(identity)})

    def _judging(self, identity: Mapping[str, Any]) -> dict[str, Any]:
        return {**_plain(identity), "contests": sha256_of(self.contests)}

    def results(self, names: Sequence[str]) -> Iterator[tuple[Contest, Outcome]]:
        """Yield each debate of these debaters with its verdict."""
        outcomes = {one.id: one.outcome for one in files.read_outcomes(self.outcomes)}
        for contest in files.read_contests(self.contests):
            if contest.id not in outcomes:
                raise WorkError(f"{self.outcomes} has no verdict on {contest.id!r}: use --restart")
            by = debaters_of(contest)
            if not all(by.get(speaker) in names for speaker in contest.speakers):
                raise WorkError(
                    f"{self.contests} does not name the debaters of {contest.id!r}: use --restart"
                )
            yield contest, outcomes[contest.id]

    def write(self, result: Tournament) -> None:
        """Write the ratings."""
        with files.atomic_write(self.path / RATINGS) as stream:
            stream.write(result.model_dump_json(indent=2) + "\n")

    def _write(self, state: Mapping[str, Any]) -> None:
        self._state = dict(state)
        self.path.mkdir(parents=True, exist_ok=True)
        with files.atomic_write(self.path / _STATE) as stream:
            stream.write(json.dumps({"format": FORMAT, **state}, indent=2) + "\n")


def _plain(identity: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(identity, default=str))
    return {**plain, "version": __version__}


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Describe the first setting that differs, and what to do; empty if none differs."""
    for key in (*now, *before):
        if before.get(key) != now.get(key):
            return (
                f"{key} was {_shown(before.get(key))} and is now {_shown(now.get(key))}; replace "
                "it with --replace, or name another folder"
            )
    return ""


def _shown(value: Any) -> str:
    text = "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
