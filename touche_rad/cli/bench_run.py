"""Run a plan from the command line: its models and index, its progress, and what is printed."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import next_page, next_step, progress, say, terminal_width
from touche_rad.demo import DEMO
from touche_rad.errors import InputError, OptionError, UserError
from touche_rad.files.traces import TRACE

if TYPE_CHECKING:
    from touche_rad.editions.engine import Engine
    from touche_rad.editions.figures import Computed
    from touche_rad.editions.plan import Loaded
    from touche_rad.models import Model
    from touche_rad.models.endpoint import Backend
    from touche_rad.plugins import Services
    from touche_rad.runs.pool import RayEngine
    from touche_rad.runs.worker import Opened

RUN: Final = (
    opt.MODEL,
    opt.CACHE,
    opt.WAIT,
    opt.WITH_TRACE,
    opt.plugin_options(None),
    opt.WORKERS,
    opt.STRICT,
    opt.REPLACE,
    opt.RESTART,
    opt.ENGINE,
    opt.ACTORS,
)
"""The options of a plan that is run."""
_MOST_CELLS: Final = 64
"""Cells that the driver has open at the same time."""
INDEX: Final = click.option(
    "-i",
    "--index",
    envvar="TOUCHE_RAD_INDEX",
    metavar="DIR",
    help="Argument index, instead of the plan's.",
)


class Models:
    """Opens the models that a plan names; all cells share the server of a model."""

    def __init__(self, given: Mapping[str, Any], folder: Path | None = None) -> None:
        """Prepare; nothing is opened.

        Args:
            given: The values of the command's options.
            folder: The folder of a worker, for the traces and the cache of all cells.
        """
        self.given, self.folder = given, folder
        self._backends: dict[str, Backend | None] = {}

    def names(self, model: str) -> bool:
        """Whether the plan or the environment names a model."""
        return prepare.names_model({"model": model})

    def open(self, model: str, out: Path | None, seed: int) -> Model:
        """Return a model whose usage is that of one cell."""
        given = {**self.given, "model": model or None, "seed": seed}
        if self.folder is not None:
            from touche_rad.runs.worker import OUT

            given["trace"] = self.given["trace"] and out is not None
            out = self.folder / OUT
        if model not in self._backends:
            self._backends[model] = prepare.make_model(given).backend
        return prepare.make_model(given, out, self._backends[model])

    def check(self, models: Iterable[str]) -> None:
        """Check the endpoint of each model before anything is played."""
        for model in dict.fromkeys(models):
            prepare.check_endpoint(self.open(model, None, 0), self.given)

    async def close(self) -> None:
        """Close connections and stop servers."""
        for backend in self._backends.values():
            if backend is not None:
                await backend.close()


def open_index(loaded: Loaded, given: Mapping[str, Any]) -> Any:
    """Open the index of a plan, if an entry uses it; a folder is relative to the plan's file."""
    needed = loaded.debaters or any("index" in one.needs for one in loaded.plugins)
    place = given["index"] or loaded.plan.index
    if not place or not needed:
        return None
    if given["index"]:
        return prepare.open_index_of(given)
    beside = Path(os.path.normpath(loaded.folder / place))
    try:
        is_folder = place != DEMO and beside.is_dir()
        return prepare.open_index_of({**given, "index": str(beside) if is_folder else place})
    except UserError as error:
        raise InputError(loaded.path, str(error), field="index") from None


def play(loaded: Loaded, results: Path, given: Mapping[str, Any]) -> tuple[Engine, Computed]:
    """Run a plan to its end: debates, verdicts, figures, pages and record."""
    import anyio

    from touche_rad.editions.engine import Engine, Run
    from touche_rad.editions.finish import finish
    from touche_rad.runs.folders import alone_in
    from touche_rad.runs.runner import Interrupted

    models = Models(given)
    loaded.require_models(named=models.names(""))
    engine = Engine(loaded, results, open_index(loaded, given), models)
    engine.check_index()
    asked = [one.model for one in loaded.entries if one.plugin.uses_model]
    models.check(model for model in asked if models.names(model))
    _check_users(loaded, given)
    workers = _workers(engine, given)
    with alone_in(results):
        with progress("playing and judging", quiet=given["quiet"]) as report:
            run = Run(
                workers=prepare.parallel(given, model=bool(asked)),
                strict=given["strict"],
                replace=given["replace"],
                restart=given["restart"],
                progress=report,
                elsewhere=workers,
            )
            try:
                anyio.run(engine.play, run)
            except KeyboardInterrupt:
                raise Interrupted(
                    f"stopped; finished debates are kept in {results}: run the same command to "
                    "continue"
                ) from None
        return engine, finish(engine)


def _workers(engine: Engine, given: Mapping[str, Any]) -> Workers | None:
    """Return the workers of `--engine ray`."""
    if given["engine"] == "local":
        if given["actors"] is not None:
            raise OptionError("--actors is for --engine ray")
        return None
    return Workers(engine, given)


class Workers:
    """The workers of `--engine ray`: all cells share them, and they open the index once."""

    def __init__(self, engine: Engine, given: Mapping[str, Any]) -> None:
        from touche_rad.cli.engine import in_worker, new_pool

        self.loaded, self.results, self.given = engine.loaded, engine.results, given
        named = (one.model for one in self.loaded.entries if one.plugin.uses_model)
        self._pool = new_pool(given, named)
        plan = (self.loaded.plan, self.loaded.path.absolute(), self.loaded.model)
        self._shared = pickle.dumps((plan, self.results.absolute(), in_worker(given)))

    def cells_at_once(self) -> int:
        """Return how many cells to run at the same time: each needs at least one worker."""
        return min(self._pool.most(), _MOST_CELLS)

    def for_cell(self, number: int, path: str, services: Services, of_user: Services) -> RayEngine:
        """Return the engine of a cell, with what its workers need."""
        from touche_rad.cli.engine import setup_of
        from touche_rad.runs.pool import RayEngine

        trace = None
        if self.given["trace"] and services.model is not None:
            trace = prepare.beside(self.results / path, TRACE)
        return RayEngine(
            self._pool,
            setup_of(partial(_open_cell, self._shared, path), services, trace),
            of_user.model if services.model is not None else None,
            number=number,
            keeps_workers=True,
        )

    def stop(self) -> None:
        """End the workers."""
        self._pool.stop()


def _open_cell(shared: bytes, path: str, folder: Path) -> Opened:
    """Open a cell in a worker."""
    from touche_rad.runs.worker import Opened

    engine = _engine_of(shared)
    models = engine.models
    assert isinstance(models, Models)
    models.folder = folder
    services, of_user, work = engine.open_cell(path)
    return Opened(services, work, of_user, models.close)


@lru_cache(maxsize=1)
def _engine_of(shared: bytes) -> Engine:
    """Open a plan in a worker; its index and its connections to models are those of all cells."""
    from touche_rad.editions.engine import Engine
    from touche_rad.editions.plan import Loaded

    plan, results, given = pickle.loads(shared)
    loaded = Loaded(*plan)
    return Engine(loaded, results, open_index(loaded, given), Models(given))


def _check_users(loaded: Loaded, given: Mapping[str, Any]) -> None:
    from touche_rad.cli.dead_endpoint import check_user
    from touche_rad.users import EndpointChoice

    for user in loaded.users:
        if isinstance(user.choice, EndpointChoice):
            check_user(user.choice.endpoint(), given, must_answer=True)


def show(
    engine: Engine, computed: Computed, given: Mapping[str, Any], following: Sequence[Any]
) -> int:
    """Print the figures, the warnings and the next step; return the exit code."""
    from touche_rad.editions.finish import all_replaced, warnings_of
    from touche_rad.editions.record import PAGE
    from touche_rad.report.page import INDEX as FIRST

    if given["as_json"]:
        click.echo(json.dumps(computed.figures.to_json(), ensure_ascii=False, indent=2))
    else:
        judges = computed.judges
        shown = [computed.figures.lines(terminal_width())]
        if judges is not None:
            ranked = judges.model_copy(update={"comparisons": ()})
            shown.append(ranked.lines(terminal_width()))
        click.echo("\n\n".join("\n".join(lines) for lines in shown if lines))
    for line in warnings_of(engine):
        say(f"warning: {line}")
    results = Path(os.path.relpath(engine.results))
    page = results / PAGE / FIRST
    say(f"written: {results}", quiet=given["quiet"])
    next_step(following, quiet=given["quiet"])
    next_page(page, further=True, quiet=given["quiet"])
    replaced = all_replaced(engine)
    for line in replaced:
        say(f"error: {line} are stand-ins: see the warnings above")
    return 1 if replaced else 0
