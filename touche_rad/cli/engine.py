"""The engine of `--engine ray`, from the options of a command."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from touche_rad.cli import prepare
from touche_rad.errors import OptionError, UserError

if TYPE_CHECKING:
    from touche_rad.plugins import Services
    from touche_rad.runs.ray import RayEngine
    from touche_rad.runs.ray_task import Block
    from touche_rad.runs.work import Work

Make = Callable[["Services"], "Work[Any]"]

_ENVIRONMENT: Final = (
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "OPENAI_API_KEY",
    "TOUCHE_RAD_ES_API_KEY",
    "TOUCHE_RAD_ES_USER",
    "TOUCHE_RAD_ES_PASSWORD",
    "TOUCHE_RAD_ES_CA",
    "TOUCHE_RAD_ES_TIMEOUT",
)
"""Variables of the driver's environment that the plugins of a task read."""


def ray_engine(
    given: prepare.Given,
    make: Make,
    work: Work[Any],
    services: Services,
    out: Path,
) -> RayEngine:
    """Return the engine of `--engine ray`.

    Args:
        given: The values of the command's options.
        make: Makes the work from the services; each task calls it.
        work: The driver's work.
        services: The driver's services.
        out: The output of the run.

    Raises:
        UserError: Ray is not installed, or the run cannot have tasks.
    """
    from touche_rad.cli.console import say
    from touche_rad.files.traces import TRACE
    from touche_rad.plugins.registry import IMPORTED
    from touche_rad.runs.journal import as_written
    from touche_rad.runs.ray import INSTALL, RayEngine
    from touche_rad.runs.ray_task import Task

    if (given.get("model") or "").startswith("vllm:"):
        raise OptionError(
            "--engine ray: each worker would start a vLLM server of its own: start the servers "
            "first, and name them with -m URL#MODEL"
        )
    try:
        from ray import cloudpickle
    except ImportError:
        raise UserError(INSTALL) from None
    used = services.model is not None, services.index is not None
    task = Task(
        cloudpickle.dumps(partial(_open, dict(given), make, *used)),
        identity=as_written(work.identity),
        workers=prepare.parallel(given, model=services.model is not None),
        strict=given["strict"],
        hand_in=prepare.is_tira(out),
        plugins=tuple(IMPORTED),
        environment={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    )
    traced = services.model is not None and given.get("trace", True)
    return RayEngine(
        task,
        prepare.beside(out, TRACE) if traced else None,
        given["actors"],
        lambda line: say(line, quiet=given["quiet"]),
    )


def _open(
    given: dict[str, Any], make: Make, model: bool, index: bool, folder: Path, block: Block
) -> tuple[Services, Work[Any]]:
    """Open the services of a task in its folder, and make its work."""
    from touche_rad.plugins import Services
    from touche_rad.runs.ray_task import OUT

    own = {
        "quiet": True,
        "in_worker": True,
        "max_calls": block.calls,
        "max_tokens": block.tokens,
        "run_deadline": block.seconds,
    }
    settings = {**given, **own}
    opened = _index_of(given["index"], given.get("spare_index")) if index else None
    made = prepare.make_model(settings, folder / OUT, _local_model(given)) if model else None
    services = Services(opened, given["seed"], made)
    return services, make(services)


@lru_cache(maxsize=1)
def _index_of(place: str | None, spare: str | None) -> Any:
    """Open an index once per process."""
    return prepare.open_index_of({"index": place, "spare_index": spare, "quiet": True})


def _local_model(given: Mapping[str, Any]) -> Any:
    """Return a model that this process itself computes; a server is connected for each block."""
    name = given.get("model") or ""
    return _loaded(name) if name.startswith("hf:") else None


@lru_cache(maxsize=1)
def _loaded(name: str) -> Any:
    from touche_rad.models.model import open_backend

    return open_backend(name)
