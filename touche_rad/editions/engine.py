"""Plays and judges the cells of a plan; a killed run continues.

In this process the cells run one after the other, on a cluster as many as there are workers.

Each cell has its own journal. A finished cell is recognised by its status, which is kept without
times, so that the files do not depend on how often a run was stopped.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import anyio

from touche_rad import __version__, files
from touche_rad.demo import is_demo
from touche_rad.editions.cells import Cell, cells_of, check_foreign, files_of
from touche_rad.editions.plan import Chosen, ChosenUser, Loaded
from touche_rad.editions.record import RECORD, begin_record, is_ours
from touche_rad.errors import InputError, UserError
from touche_rad.files.outputs import Status, check_output, is_output_of, sha256_of, status_beside
from touche_rad.files.records import read_json, remove_unfinished
from touche_rad.models import Model
from touche_rad.plugins import ArgumentIndex, Services
from touche_rad.runs.answering import Answerer, make_chain
from touche_rad.runs.journal import SUFFIX, as_written
from touche_rad.runs.judging import judge
from touche_rad.runs.runner import identity_of
from touche_rad.runs.simulate import simulate
from touche_rad.runs.stand_ins import ERRORS
from touche_rad.runs.work import Engine as RunEngine
from touche_rad.runs.work import Progress, RunOptions

_TIMES: Final = ("started", "finished", "seconds", "resumed", "estimate")
"""The fields of a status that differ between a run and its repetition."""
Entry = Chosen | ChosenUser
Work = Callable[[RunOptions], Coroutine[Any, Any, Status]]


class Workers(Protocol):
    """Process the units of each cell in other processes."""

    def cells_at_once(self) -> int:
        """Return how many cells to run at the same time; this starts what the processes need."""
        ...

    def for_cell(self, number: int, path: str, services: Services, of_user: Services) -> RunEngine:
        """Return the engine of a cell, with its place and the services that the driver has."""
        ...

    def stop(self) -> None:
        """End the processes."""
        ...


class Models(Protocol):
    """Opens the language models of the entries; servers are shared by all cells."""

    def names(self, model: str) -> bool:
        """Whether a model is named, by the plan or in the environment."""
        ...

    def open(self, model: str, out: Path | None, seed: int) -> Model:
        """Return a model whose usage is that of one cell, with its trace beside an output."""
        ...

    async def close(self) -> None:
        """Close connections and stop servers."""
        ...


@dataclass(frozen=True)
class Run:
    """Settings of a run that do not change its results."""

    workers: int = 4
    strict: bool = False
    replace: bool = False
    """Whether results with other settings may be replaced."""
    restart: bool = False
    """Start from the beginning instead of resuming."""
    progress: Progress = lambda done, total: None
    elsewhere: Workers | None = None
    """Processes the debates elsewhere; None is this process."""


class Engine:
    """Plays, judges and knows the results of one plan."""

    def __init__(
        self, loaded: Loaded, results: Path, index: ArgumentIndex | None, models: Models
    ) -> None:
        """Prepare; nothing is read or written.

        Args:
            loaded: The plan.
            results: The folder of the results.
            index: The index of the debaters.
            models: Opens the language models.
        """
        self.loaded, self.results, self.index = loaded, results, index
        self.models = models
        self.cells: Sequence[Cell] = cells_of(loaded)

    def check_index(self) -> None:
        """Refuse another index than the plan was made for."""
        wanted = self.loaded.plan.index_fingerprint
        if wanted and self.index is not None and self.index.fingerprint != wanted:
            raise InputError(
                self.loaded.path,
                f"expected an index with the fingerprint {wanted}, got "
                f"{self.index.fingerprint}: use the index of this edition",
                field="index",
            )

    async def play(self, run: Run) -> None:
        """Play and judge everything that is not finished.

        Raises:
            UserError: The folder has other results, which must not be replaced.
            WorkError: A cell failed; what is finished is kept.
        """
        self._check_folder(run)
        remove_unfinished(self.results)
        units = self._units()
        begin_record(self.results, self.loaded, finished=all(map(self._is_done, self.cells)))
        try:
            await self._play_all(run, _Sum(run.progress, self._all_units(units)), units)
        finally:
            if run.elsewhere is not None:
                run.elsewhere.stop()
            with anyio.CancelScope(shield=True):
                await self.models.close()

    async def _play_all(self, run: Run, progress: _Sum, units: Mapping[str, int]) -> None:
        """Take the cells in the plan's order; a cell waits for its input."""
        waiting = deque(self.cells)
        unfinished = {cell.path for cell in self.cells}
        changed = anyio.Event()
        failures: list[Exception] = []

        async def take() -> None:
            nonlocal changed
            try:
                while waiting:
                    cell = next((one for one in waiting if one.input not in unfinished), None)
                    if cell is None:
                        await changed.wait()
                        continue
                    waiting.remove(cell)
                    if self._is_done(cell):
                        count = units[cell.input if cell.input in units else "claims"]
                        progress.of(cell)(count, count)
                    else:
                        more(run.elsewhere)
                        await self._run(cell, run, progress.of(cell))
                    self._settle(cell)
                    unfinished.remove(cell.path)
                    changed.set()
                    changed = anyio.Event()
            except Exception as error:
                failures.append(error)
                group.cancel_scope.cancel()

        takers = 1

        def more(elsewhere: Workers | None) -> None:
            """Take more cells at a time, once there is something to do for the workers."""
            nonlocal takers
            most = min(elsewhere.cells_at_once(), len(self.cells)) if elsewhere is not None else 1
            while takers < most:
                takers += 1
                group.start_soon(take)

        async with anyio.create_task_group() as group:
            group.start_soon(take)
        if failures:
            raise failures[0]

    def _units(self) -> dict[str, int]:
        """Count the claims and the labelled debates, so that a wrong line is reported at once."""
        readers = {"claims": files.read_claims, "debates": files.read_debates}
        counts = {
            key: sum(1 for _ in reader(self.loaded.data[key]))
            for key, reader in readers.items()
            if key in self.loaded.data
        }
        for key, count in counts.items():
            if not count:
                raise InputError(self.loaded.data[key], "expected at least one debate, found none")
        return counts

    def _all_units(self, total: Mapping[str, int]) -> int:
        return sum(total[one.input if one.input in total else "claims"] for one in self.cells)

    def _check_folder(self, run: Run) -> None:
        """Check before any work that no other results are replaced."""
        if not is_ours(self.results):
            check_output(self.results, replace=run.replace)
        if run.restart:
            for path in (
                path for cell in self.cells for path in files_of(self.results / cell.path)
            ):
                path.unlink(missing_ok=True)
            (self.results / RECORD).unlink(missing_ok=True)
        check_foreign(self.results, self.cells, replace=run.replace)
        if run.replace:
            return
        for cell in self.cells:
            out = self.results / cell.path
            unfinished = out.with_name(f"{out.name}{SUFFIX}").exists()
            if not out.exists() or unfinished or not self._source(cell).is_file():
                continue
            if (difference := self._difference(cell)) is not None:
                raise UserError(
                    f"{out} was made with other settings: {difference}; replace it with --replace, "
                    "or choose another folder"
                )

    def _difference(self, cell: Cell) -> str | None:
        """Describe the first setting in which a finished cell differs from the plan."""
        out = self.results / cell.path
        now = self._identity(cell)
        if is_output_of(out, now):
            return None
        status = status_of(out)
        before = status.get("identity") or {}
        for key in (*now, *before):
            if before.get(key) != now.get(key):
                if key == "input":
                    return f"{self._source(cell)} has changed"
                return f"{key} was {_short(before.get(key))} and is now {_short(now.get(key))}"
        return "the file has changed"

    def _is_done(self, cell: Cell) -> bool:
        out = self.results / cell.path
        if not out.is_file() or out.with_name(f"{out.name}{SUFFIX}").exists():
            return False
        return self._source(cell).is_file() and is_output_of(out, self._identity(cell))

    def _source(self, cell: Cell) -> Path:
        return cell.source(self.loaded, self.results)

    def _identity(self, cell: Cell) -> dict[str, Any]:
        """Return the identity that the status of the finished cell has."""
        settings = self._settings(cell, *self._services(cell))
        whole = {"verb": "simulate" if cell.plays else "judge", **settings}
        source = sha256_of(self._source(cell))
        return as_written(whole | {"input": source, "version": __version__})

    def _settings(self, cell: Cell, ours: Services, of_user: Services) -> dict[str, Any]:
        plan = self.loaded.plan
        if cell.judge is not None:
            return identity_of(
                ours, cell.judge.plugin, deadline=plan.deadline, judge=cell.judge.tag
            )
        assert cell.debater is not None
        assert cell.user is not None
        settings = identity_of(
            ours,
            cell.debater.plugin,
            deadline=plan.deadline,
            debater=cell.debater.tag,
            max_words=plan.max_words,
        )
        if of_user.model is not None:
            settings["user_model"] = of_user.model.identity
        return settings | cell.user.choice.identity | {"turns": plan.turns}

    def _services(self, cell: Cell) -> tuple[Services, Services]:
        """Return what the debater or the judge can use, and what the user can use."""
        main = cell.judge or cell.debater
        assert main is not None
        index = self.index if cell.plays or "index" in main.plugin.needs else None
        model = self._model(main, self.results / cell.path, cell.seed)
        of_user = self._model(cell.user, None, cell.seed) if cell.plays and cell.user else None
        return Services(index, cell.seed, model), Services(index, cell.seed, of_user)

    def _model(self, entry: Entry, out: Path | None, seed: int) -> Model | None:
        if not entry.plugin.uses_model or not self.models.names(entry.model):
            return None
        return self.models.open(entry.model, out, seed)

    async def _run(self, cell: Cell, run: Run, progress: Progress) -> None:
        """Run one cell; the usage of the user's model is added to its status."""
        out = self.results / cell.path
        services, of_user = self._services(cell)
        engine = None
        if run.elsewhere is not None:
            number = self.cells.index(cell)
            engine = run.elsewhere.for_cell(number, cell.path, services, of_user)
        options = RunOptions(
            workers=run.workers,
            progress=progress,
            status_path=status_beside(out),
            model=services.model or of_user.model,
            strict=run.strict,
            demo=self.index is not None and is_demo(self.index),
            errors=out.with_name(f"{out.name}{ERRORS}"),
            engine=engine,
        )
        out.parent.mkdir(parents=True, exist_ok=True)
        await self._work(cell, services, of_user)(options)
        if services.model is not None and of_user.model is not None:
            self._settle(cell, of_user.model.usage.record())

    def open_cell(self, path: str) -> tuple[Services, Model | None, Callable[[Services], Work]]:
        """Return a cell's services, its user's model, and what makes its work from the services."""
        cell = next(cell for cell in self.cells if cell.path == path)
        services, of_user = self._services(cell)
        return services, of_user.model, lambda ours: self._work(cell, ours, of_user)

    def _work(self, cell: Cell, services: Services, of_user: Services) -> Work:
        """Return the work of a cell, which takes the options of the run."""
        plan, out, source = self.loaded.plan, self.results / cell.path, self._source(cell)
        settings = self._settings(cell, services, of_user)
        if cell.judge is not None:
            made = cell.judge.plugin.make(services, cell.judge.options)
            return lambda options: judge(
                source, out, made, identity=settings, deadline=plan.deadline, options=options
            )
        assert cell.debater is not None
        assert cell.user is not None
        chain = make_chain(cell.debater.plugin.name, cell.debater.options, services)
        answerer = Answerer(chain, self.index, max_words=plan.max_words, deadline=plan.deadline)
        speaker = cell.user.choice.speaker(of_user, plan.deadline)
        return lambda options: simulate(
            source, out, answerer, speaker, identity=settings, turns=plan.turns, options=options
        )

    def _settle(self, cell: Cell, of_user: Mapping[str, Any] | None = None) -> None:
        """Remove from a status what another run would not repeat: times, and folders."""
        out = self.results / cell.path
        status = {key: value for key, value in status_of(out).items() if key not in _TIMES}
        status |= {"output": out.name, "errors": Path(str(status.get("errors", ""))).name}
        if of_user:
            status["usage_of_user"] = of_user
        text = json.dumps(status, ensure_ascii=False, indent=2) + "\n"
        path = status_beside(out)
        if path.read_text("utf-8") != text:
            with files.atomic_write(path) as stream:
                stream.write(text)


def status_of(out: Path) -> dict[str, Any]:
    """Return the status beside an output; empty if there is none."""
    with suppress(OSError, ValueError):
        status = read_json(status_beside(out))
        if isinstance(status, dict):
            return status
    return {}


class _Sum:
    """The progress of all cells."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total = progress, total
        self._done: dict[str, int] = {}

    def of(self, cell: Cell) -> Callable[[int, int | None], None]:
        """Return the progress of one cell."""

        def report(done: int, _: int | None) -> None:
            self._done[cell.path] = done
            self._progress(sum(self._done.values()), self._total)

        return report


def _short(value: Any) -> str:
    text = "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
