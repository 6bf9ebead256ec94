"""The engine of `--engine ray`, from the options of a command."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from touche_rad.cli import prepare
from touche_rad.cli.console import say
from touche_rad.cli.options import Common, FileOptions
from touche_rad.credentials import trusted_servers
from touche_rad.errors import OptionError, UserError

if TYPE_CHECKING:
    from touche_rad.plugins import ArgumentIndex, Services
    from touche_rad.runs.jobs import JobSpec
    from touche_rad.runs.ray import Block
    from touche_rad.runs.work import Process, Work
    from touche_rad.session import Session

_ENVIRONMENT: Final = ("OPENAI_", "TOUCHE_RAD_")
"""Beginnings of the variables of the driver's environment that the plugins of a task read."""


def ray_engine(
    job: JobSpec, options: FileOptions, work: Work[Any], services: Services, out: Path | None
) -> Process:
    """Return what processes the units of a run with `--engine ray`."""
    from touche_rad import __version__
    from touche_rad.files.traces import TRACE
    from touche_rad.plugins.registry import IMPORTED
    from touche_rad.runs.ray import INSTALL, Task, process_on_ray
    from touche_rad.runs.work import RunOptions

    if (options.model or "").startswith("vllm:"):
        raise OptionError(
            "--engine ray: each worker would start a vLLM server of its own: start the servers "
            "first, and name them with -m URL#MODEL"
        )
    try:
        from ray import cloudpickle
    except ImportError:
        raise UserError(INSTALL) from None
    has_model = services.model is not None
    opening = partial(_open, job, options, has_model, services.index is not None)
    task = Task(
        cloudpickle.dumps(opening),
        identity={**work.identity, "version": __version__},
        options=RunOptions(
            workers=prepare.parallel(options, model=has_model),
            strict=options.strict,
            must_finish=prepare.tira_takes(out),
        ),
        plugins=tuple(IMPORTED),
        trusted=trusted_servers(),
        environment={
            name: value for name, value in os.environ.items() if name.startswith(_ENVIRONMENT)
        },
    )
    is_traced = has_model and options.trace
    return partial(
        process_on_ray,
        task,
        prepare.beside(out, TRACE) if is_traced and out is not None else None,
        options.actors,
        lambda line: say(line, quiet=options.quiet),
    )


def _open(
    job: JobSpec,
    options: FileOptions,
    has_model: bool,
    has_index: bool,
    session: Session,
    folder: Path,
    block: Block,
) -> tuple[Services, Work[Any]]:
    """Open the services of a task in its folder, and make its work."""
    from touche_rad.plugins import Services
    from touche_rad.runs.ray import OUT

    # Each block of units has its part of what is left of the run's budget.
    options = replace(
        options,
        quiet=True,
        in_worker=True,
        max_calls=block.calls,
        max_tokens=block.tokens,
        run_deadline=block.seconds,
    )
    services = Services(
        _index_of(options.index, options.fallback_index) if has_index else None,
        options.seed,
        session.close_later(prepare.make_model(options, folder / OUT)) if has_model else None,
    )
    return services, job.open(services)


@cache
def _index_of(place: str | None, fallback: str | None) -> ArgumentIndex:
    """Open an index once per process."""
    return prepare.open_index_of(Common(index=place, fallback_index=fallback, quiet=True))
