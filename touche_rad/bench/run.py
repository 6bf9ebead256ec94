"""Runs the cells of a plan one after the other; a bench that was killed continues.

Each cell is a plain run of `simulate` or `judge` with its own journal and status. A cell whose
output has the status of the same settings is not run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import anyio

from touche_rad import files
from touche_rad.bench.cells import Cell, cells_of
from touche_rad.bench.figures import Computed, compute
from touche_rad.bench.page import page_files, write_pages
from touche_rad.bench.plan import Chosen, ChosenUser, Loaded
from touche_rad.bench.record import begin_record, is_ours, status_of, write_record
from touche_rad.demo import is_demo
from touche_rad.errors import InputError
from touche_rad.files import outputs
from touche_rad.files.outputs import check_output, is_output_of, status_beside
from touche_rad.models import Model
from touche_rad.plugins import ArgumentIndex, Services
from touche_rad.runs import judging, simulate
from touche_rad.runs.answering import Answerer, make_chain
from touche_rad.runs.fallbacks import ERRORS
from touche_rad.runs.output import SUFFIX, whole_identity
from touche_rad.runs.runner import identity_of, run_work
from touche_rad.runs.work import Progress, RunOptions


class Models(Protocol):
    """Opens the language models of the entries; all cells share the server of a model."""

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
class Settings:
    """Settings of a run that do not change its results."""

    workers: int = 4
    strict: bool = False
    replace: bool = False
    """Whether results with other settings may be replaced."""
    restart: bool = False
    """Start from the beginning instead of resuming."""
    progress: Progress = lambda done, total: None


class Bench:
    """A plan with the folder of its results."""

    def __init__(
        self, loaded: Loaded, results: Path, index: ArgumentIndex | None, models: Models
    ) -> None:
        """Prepare; nothing is read or written."""
        self.loaded, self.results, self.index = loaded, results, index
        self.models = models
        self.cells: Sequence[Cell] = cells_of(loaded)

    def check_index(self) -> None:
        """Refuse another index than the plan was made for."""
        expected = self.loaded.plan.index_fingerprint
        if expected and self.index is not None and self.index.fingerprint != expected:
            raise InputError(
                self.loaded.path,
                f"expected an index with the fingerprint {expected}, got {self.index.fingerprint}",
                field="index",
            )

    async def run(self, settings: Settings) -> None:
        """Play and judge everything that is not finished.

        Raises:
            UserError: The folder has other results, which must not be replaced.
            WorkError: A cell failed; what is finished is kept.
        """
        if not is_ours(self.results):
            check_output(self.results, replace=settings.replace)
        sizes = self._sizes()
        counts = [sizes.get(cell.input, sizes.get("claims", 0)) for cell in self.cells]
        done, total = 0, sum(counts)
        begin_record(self.results, self.loaded)
        try:
            for cell, count in zip(self.cells, counts, strict=True):
                if settings.restart or not self._is_done(cell):
                    await self._run(cell, settings, done, total)
                done += count
                settings.progress(done, total)
        finally:
            with anyio.CancelScope(shield=True):
                await self.models.close()

    def _sizes(self) -> dict[str, int]:
        """Count the claims and the labelled debates, so that a wrong line is reported at once."""
        readers = {"claims": files.read_claims, "debates": files.read_debates}
        data = self.loaded.data
        counts = {
            key: sum(1 for _ in read(data[key])) for key, read in readers.items() if key in data
        }
        for key, count in counts.items():
            if not count:
                raise InputError(data[key], "expected at least one debate, found none")
        return counts

    def _is_done(self, cell: Cell) -> bool:
        out = self.results / cell.path
        source = cell.source(self.loaded, self.results)
        if not source.is_file() or out.with_name(f"{out.name}{SUFFIX}").exists():
            return False
        verb = "simulate" if cell.plays else "judge"
        settings = self._settings(cell, *self._services(cell))
        return is_output_of(out, whole_identity(verb, settings, source))

    def _settings(self, cell: Cell, ours: Services, of_user: Services) -> dict[str, Any]:
        """Return what decides the results of a cell, besides its input."""
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
        if model is not None and of_user is not None:
            of_user = of_user.spending(model.usage)  # the status has the usage of both
        return Services(index, cell.seed, model), Services(index, cell.seed, of_user)

    def _model(self, entry: Chosen | ChosenUser, out: Path | None, seed: int) -> Model | None:
        if not entry.plugin.uses_model or not self.models.names(entry.model):
            return None
        return self.models.open(entry.model, out, seed)

    async def _run(self, cell: Cell, settings: Settings, before: int, total: int) -> None:
        plan, out = self.loaded.plan, self.results / cell.path
        source = cell.source(self.loaded, self.results)
        ours, of_user = self._services(cell)
        identity = self._settings(cell, ours, of_user)
        options = RunOptions(
            workers=settings.workers,
            restart=settings.restart,
            replace=settings.replace,
            progress=lambda done, _: settings.progress(before + done, total),
            status_path=status_beside(out),
            model=ours.model or of_user.model,
            strict=settings.strict,
            demo=self.index is not None and is_demo(self.index),
            errors=out.with_name(f"{out.name}{ERRORS}"),
        )
        out.parent.mkdir(parents=True, exist_ok=True)
        if cell.judge is not None:
            made = cell.judge.plugin.make(ours, cell.judge.options)
            await run_work(
                judging.work(source, made, identity=identity, deadline=plan.deadline), out, options
            )
            return
        assert cell.debater is not None
        assert cell.user is not None
        chain = make_chain(cell.debater.plugin.name, cell.debater.options, ours)
        answerer = Answerer(chain, self.index, max_words=plan.max_words, deadline=plan.deadline)
        speaker = cell.user.choice.speaker(of_user, plan.deadline)
        work = simulate.work(source, answerer, speaker, identity=identity, turns=plan.turns)
        await run_work(work, out, options)

    def finish(self) -> Computed:
        """Write the figures, the pages and, last, the record; the cells must be done."""
        computed = compute(self.loaded, self.results)
        computed.write(self.results)
        write_pages(self.loaded, self.results, computed)
        statuses = {cell.path: status_of(self.results / cell.path) for cell in self.cells}
        write_record(self.results, self.loaded, self.index, statuses, page_files(self.results))
        return computed

    def warnings(self) -> Iterator[str]:
        """Yield the warnings of all cells, each with its cell."""
        for cell in self.cells:
            for line in status_of(self.results / cell.path).get("warnings") or ():
                yield f"{cell.path}: {line}"

    def all_replaced(self) -> Iterator[str]:
        """Yield the cells whose results all come from a fallback, such as `all answers in FILE`."""
        for cell in self.cells:
            status = status_of(self.results / cell.path)
            kinds = outputs.all_replaced(status.get("fallbacks") or (), status.get("counts") or {})
            yield from (f"all {what} in {cell.path}" for what in kinds)
