"""Runs the cells of a plan one after the other; a bench that was killed continues.

Each cell is a plain run of `simulate` or `judge` with its own journal and status. A cell whose
output has the status of the same settings is not run again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import anyio

from touche_rad import files
from touche_rad.bench._cells import DebateCell, VerdictCell, cells_of
from touche_rad.bench._page import judge_warnings, judges_without_index, write_pages
from touche_rad.bench.figures import Figures, compute
from touche_rad.bench.plan import PlanFile, PluginEntry, UserEntry
from touche_rad.bench.record import FIGURES, PAGE, begin_record, is_ours, write_record
from touche_rad.demo import is_demo
from touche_rad.errors import InputError, ToucheRadError, WorkError
from touche_rad.files.outputs import (
    STATUS,
    all_replaced,
    changes_of_answers,
    check_output,
    read_status,
)
from touche_rad.files.records import make_folder, path_beside, refuse_links, write_json
from touche_rad.models import Model
from touche_rad.plugins import ArgumentIndex, Services
from touche_rad.plugins.registry import IMPORTED
from touche_rad.runs.fallbacks import ERRORS
from touche_rad.runs.jobs import JobSpec
from touche_rad.runs.journal import identity_of, is_finished
from touche_rad.runs.judging import JudgeJob
from touche_rad.runs.play import SimulateJob
from touche_rad.runs.runner import run_work, whole_identity
from touche_rad.runs.work import Progress, RunOptions

_EDITED: Final = re.compile(r"--plugin |.* of \w+ ")
"""Keys of an identity that are of the code of a plugin, or of a file that its options name."""
_OPTIONS: Final = "-m {cell.entry.model}, --seed {cell.seed}, --deadline {deadline}, -i {index}, "
_JUDGE: Final = _OPTIONS + "-j {cell.entry.text}, --criteria {criteria}"
_SIMULATE: Final = (
    _OPTIONS + "-d {cell.entry.text}, --user {cell.user.text}, --turns {plan.turns}, "
    "--max-words {plan.max_words}"
)
"""The options of the command of a cell."""


@dataclass
class Bench:
    """A plan with the folder of its results."""

    plan_file: PlanFile
    results: Path
    index: ArgumentIndex | None
    index_place: str
    open_model: Callable[[str, Path | None, int], Model | None]
    """Opens the model of an entry, with its trace beside an output and a random seed; None if the
    plan and the environment name no model. All cells share the server of a model, each has its own
    usage."""
    say: Callable[[str], None]
    """Gets a line for each cell that is run again after an edit."""

    def __post_init__(self) -> None:
        """Check the index, and make each plugin; nothing is written."""
        plan_file = self.plan_file
        index = self.index
        self.cells = list(cells_of(plan_file))
        expected = plan_file.plan.index_fingerprint
        if expected and index is not None and index.fingerprint != expected:
            raise InputError(
                plan_file.path,
                f"expected an index with the fingerprint {expected}, got {index.fingerprint}",
                field="index",
            )
        self.failed: dict[str, str] = {}
        """The errors of the cells that failed, and of those whose input failed."""
        seed = plan_file.plan.seeds[0]
        for group, entries in plan_file.groups.items():
            for entry in entries:
                services = Services(index, seed, self._model(entry, seed))
                if group == "judges":
                    services = replace(services, criteria=plan_file.criteria)
                try:
                    if isinstance(entry, UserEntry):
                        entry.choice.make(services)
                    else:
                        entry.configured.make(services)
                except ToucheRadError as error:
                    raise InputError(
                        plan_file.path, str(error), field=f"{group}.{entry.name}"
                    ) from None

    async def run(self, options: RunOptions) -> None:
        """Play and judge everything that is not finished; failed cells do not stop the others.

        Raises:
            UserError: The folder has other results, which must not be replaced.
            WorkError: A result is a fallback, and the run is strict; or nothing can be written.
        """
        refuse_links(self.results)
        if not is_ours(self.results):
            check_output(self.results, replace=options.replace)
        # Everything is read once before the first cell, so that a wrong line is reported at once.
        sizes: dict[str, int] = {}
        for key, read in (("claims", files.read_claims), ("debates", files.read_debates)):
            path = self.plan_file.data.get(key)
            if path:
                sizes[key] = sum(1 for _ in read(path))
                if not sizes[key]:
                    raise InputError(path, "expected at least one debate, found none")
        begin_record(self.results, self.plan_file)

        # A judge of a debater's run has a debate for each claim.
        counts = [sizes.get(cell.input, sizes.get("claims", 0)) for cell in self.cells]
        done = 0
        total = sum(counts)
        for cell, count in zip(self.cells, counts, strict=True):
            report = partial(_report_after, options.progress, done, total)
            try:
                if cell.input in self.failed:
                    raise WorkError(f"{cell.input} failed")
                await self._run(cell, replace(options, progress=report))
            except ToucheRadError as error:
                if options.strict or isinstance(error.__cause__, OSError):  # such as a full disk
                    raise
                self.failed[cell.path] = str(error)
            done += count
            options.progress(done, total)

    async def _run(self, cell: DebateCell | VerdictCell, options: RunOptions) -> None:
        """Run a cell, unless its output is that of a finished run with the same settings."""
        plan = self.plan_file.plan
        out = self.results / cell.path
        source = self.plan_file.data.get(cell.input) or self.results / cell.input
        model = self._model(cell.entry, cell.seed, out)
        services = Services(self.index, cell.seed, model)
        job: JobSpec
        if isinstance(cell, DebateCell):
            user_model = self._model(cell.user, cell.seed)
            if model and user_model:
                user_model = user_model.copy(usage=model.usage)  # the status has that of both
            job = SimulateJob(
                source=source,
                debater=cell.entry.configured,
                user=cell.user.choice,
                max_words=plan.max_words,
                deadline=plan.deadline,
                turns=plan.turns,
                user_services=replace(services, model=user_model),
            )
            model = model or user_model
        else:
            job = JudgeJob(source=source, judge=cell.entry.configured, deadline=plan.deadline)
            services = replace(services, criteria=self.plan_file.criteria)
            # The labelled debates may cite another collection than the debaters' index.
            if not cell.of and self.plan_file.debaters and not job.needs_index:
                services = replace(services, index=None)
        identity = whole_identity(job.verb, job.identity(services), job.source)
        if not options.restart and is_finished(out, identity):
            return
        # The keys in which the identity of an earlier run differs; none without such a run.
        earlier = identity_of(out)
        keys = earlier.keys() | identity.keys() if earlier else ()
        changes = sorted(key for key in keys if earlier.get(key) != identity.get(key))
        of_cell = {"input"} if isinstance(cell, VerdictCell) and cell.of else set()
        is_edit = all(_EDITED.match(key) or key in of_cell for key in changes)
        if changes and (is_edit or options.replace):
            self.say(f"again: {cell.path} ({', '.join(changes)} changed)")
            options = replace(options, restart=True, replace=True)
        make_folder(out.parent)
        content = {} if services.criteria.official else services.criteria.model_dump(mode="json")
        options = replace(
            options,
            status_path=path_beside(out, STATUS),
            model=model,
            setup={
                "demo": self.index is not None and is_demo(self.index),
                "criteria": content,
                "command": self._command(
                    cell, source, out.parent, "" if services.index is None else self.index_place
                ),
            },
            errors=path_beside(out, ERRORS),
        )
        # Not in the loop: plugins read models and ask servers while they are made.
        await run_work(await anyio.to_thread.run_sync(lambda: job.open(services)), out, options)

    def _command(
        self, cell: DebateCell | VerdictCell, source: Path, folder: Path, index: str
    ) -> list[str]:
        """Return the command that makes the output of a cell, for its status in a folder.

        The user has the model of the debater there. Files that options of plugins name are
        relative to the plan.
        """
        plan = self.plan_file.plan
        words = [os.path.relpath(".", folder), os.path.relpath(source)]
        for option in (_SIMULATE if isinstance(cell, DebateCell) else _JUDGE).split(", "):
            name, text = option.split()
            value = text.format(
                cell=cell,
                plan=plan,
                criteria=self.plan_file.data.get("criteria", plan.criteria),
                index=index,
                deadline=plan.deadline or "",
            )
            if value:
                words += [name, value]
        for file in IMPORTED:
            words += ["--plugin", file]
        return words

    def _model(
        self, entry: PluginEntry[object], seed: int, out: Path | None = None
    ) -> Model | None:
        return (
            self.open_model(entry.model, out, seed) if entry.configured.plugin.uses_model else None
        )

    def finish(self) -> Figures:
        """Write the figures, the pages and, last, the record; the cells must be done."""
        figures = compute(self.plan_file, self.results)
        write_json(self.results / FIGURES, figures.to_json())
        write_pages(self.plan_file, self.results, figures)
        pages = sorted(filter(Path.is_file, (self.results / PAGE).rglob("[!.]*")))
        write_record(self.results, self.plan_file, self.index, self.statuses, pages)
        return figures

    @cached_property
    def statuses(self) -> dict[str, dict[str, Any]]:
        """The statuses of the cells, which must be done."""
        return {cell.path: read_status(self.results / cell.path) for cell in self.cells}

    def warnings(self) -> Iterator[str]:
        """Yield each warning once, with its first cell and the number of its other cells."""
        paths: dict[str, list[str]] = {}
        for path, status in self.statuses.items():
            for warning in status.get("warnings", ()):
                paths.setdefault(warning.get("detail", ""), []).append(path)
            for events in changes_of_answers(status):
                paths.setdefault(events.text, []).append(path)
        for warning_text, of_warning in paths.items():
            place = of_warning[0]
            if len(of_warning) > 1:
                place += f" (and {len(of_warning) - 1} more)"
            yield f"{place}: {warning_text}"
        yield from judge_warnings(self.plan_file, self.results)
        yield from judges_without_index(self.plan_file)

    def all_replaced(self) -> Iterator[str]:
        """Yield the cells whose results all come from a fallback, such as `all answers in FILE`."""
        for path, status in self.statuses.items():
            kinds = all_replaced(status.get("fallbacks", ()), status.get("counts", {}))
            yield from (f"all {what} in {path}" for what in kinds)


def _report_after(report: Progress, before: int, total: int, done: int, _: int | None) -> None:
    """Report the progress of a cell as that of the bench, which has done so much before."""
    report(before + done, total)
