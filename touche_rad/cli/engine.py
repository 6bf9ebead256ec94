"""The engine of a run: this process, or the workers of a Ray cluster with `--engine ray`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touche_rad.errors import OptionError

if TYPE_CHECKING:
    from touche_rad.plugins import Plugin, Services
    from touche_rad.runs.pool import Pool, RayEngine
    from touche_rad.runs.worker import Opened, Setup

Given = Mapping[str, Any]
OpenServices = Callable[..., "Services"]
Make = Callable[["Services"], Any]

_ENVIRONMENT = (
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "OPENAI_API_KEY",
    "TOUCHE_RAD_VLLM_PYTHON",
    "VLLM_BATCH_INVARIANT",
    "TOUCHE_RAD_ES_API_KEY",
    "TOUCHE_RAD_ES_USER",
    "TOUCHE_RAD_ES_PASSWORD",
    "TOUCHE_RAD_ES_CA",
    "TOUCHE_RAD_ES_TIMEOUT",
)
"""Variables of the driver's environment that the plugins of a worker read."""


def ray_engine(
    given: Given,
    plugins: Sequence[Plugin],
    make: Make,
    services: Services,
    open_services: OpenServices,
    trace: Path | None,
) -> RayEngine:
    """Return the engine of `--engine ray`.

    Args:
        given: The values of the command's options.
        plugins: The plugins of the run.
        make: Makes the work from the services; it is called in each worker.
        services: The driver's services.
        open_services: Opens the services of a worker.
        trace: Where the driver collects the trace of the model calls, if it does.

    Raises:
        UserError: Ray is not installed, or the run cannot have workers.
    """
    from touche_rad.runs.pool import RayEngine

    pool = new_pool(given, [given.get("model") or ""])
    has_index = services.index is not None
    opener = partial(_open, open_services, in_worker(given), plugins, make, has_index)
    return RayEngine(pool, setup_of(opener, services, trace))


def new_pool(given: Given, models: Iterable[str]) -> Pool:
    """Return workers that use these models.

    Raises:
        UserError: Ray is not installed, or a model cannot have workers.
    """
    from touche_rad.cli.console import say
    from touche_rad.runs.pool import Pool

    named = list(models)
    if any(model.startswith("vllm:") for model in named):
        raise OptionError(
            "--engine ray: each worker would start a vLLM server of its own: start the servers "
            "first, and name them with -m URL#MODEL"
        )
    return Pool(given["actors"], lambda line: say(line, quiet=given["quiet"]))


def in_worker(given: Given) -> dict[str, Any]:
    """Return the options of a command as a worker has them: the driver has budget and output."""
    own = {"quiet": True, "wait": None, "max_calls": None, "max_tokens": None, "run_deadline": None}
    return {**given, **own, "in_worker": True}


def setup_of(opener: Callable[[Path], Opened], services: Services, trace: Path | None) -> Setup:
    """Return what the workers need.

    Args:
        opener: Opens the services of a worker in its folder.
        services: The driver's services.
        trace: Where the driver collects the trace of the model calls, if it does.
    """
    from ray import cloudpickle

    from touche_rad.plugins.registry import IMPORTED
    from touche_rad.runs.worker import Setup

    return Setup(
        cloudpickle.dumps(opener),
        services.index.fingerprint if services.index is not None else None,
        trace,
        tuple(IMPORTED),
        {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    )


def _open(
    open_services: OpenServices,
    given: Given,
    plugins: Sequence[Plugin],
    make: Make,
    index: bool,
    folder: Path,
) -> Opened:
    """Open the services of a worker in its folder."""
    from touche_rad.runs.worker import OUT, Opened

    return Opened(open_services(given, *plugins, out=folder / OUT, index=index), make)
