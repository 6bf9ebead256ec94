"""The engine of a run: this process, or the workers of a Ray cluster with `--engine ray`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touche_rad.errors import OptionError

if TYPE_CHECKING:
    from touche_rad.plugins import Plugin, Services
    from touche_rad.runs.blocks import RayEngine

Given = Mapping[str, Any]
OpenServices = Callable[..., "Services"]
Make = Callable[["Services"], Any]

_ENVIRONMENT = (
    "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY", "TOUCHE_RAD_VLLM_PYTHON",
    "VLLM_BATCH_INVARIANT",
)  # fmt: skip
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
    from touche_rad.plugins.registry import IMPORTED
    from touche_rad.runs.blocks import RayEngine
    from touche_rad.runs.worker import Setup

    if (given.get("model") or "").startswith("vllm:"):
        raise OptionError(
            "--engine ray: each worker would start a vLLM server of its own: start the servers "
            "first, and name them with -m URL#MODEL, or use -m vllm-offline:MODEL"
        )
    engine = RayEngine(given["actors"])
    engine.cards = _cards(given)
    from ray import cloudpickle

    has_index = services.index is not None
    own = {"quiet": True, "wait": None, "max_calls": None, "max_tokens": None, "run_deadline": None}
    opener = partial(
        _open, open_services, {**given, **own, "in_worker": True}, plugins, make, has_index
    )
    engine.setup = Setup(
        cloudpickle.dumps(opener),
        services.index.fingerprint if services.index is not None else None,
        trace,
        tuple(IMPORTED),
        {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    )
    return engine


def _cards(given: Given) -> int:
    """Return the cards that each worker needs for an engine of its own."""
    if not (given.get("model") or "").startswith("vllm-offline:"):
        return 0
    options = given["options"].get("vllm", {})
    sizes = (options.get(name, "1") for name in ("tensor_parallel_size", "tensor-parallel-size"))
    return max(int(size) if size.isdigit() else 1 for size in sizes)


def _open(
    open_services: OpenServices,
    given: Given,
    plugins: Sequence[Plugin],
    make: Make,
    index: bool,
    folder: Path,
) -> tuple[Services, Make]:
    """Open the services of a worker in its folder."""
    from touche_rad.runs.worker import OUT

    return open_services(given, *plugins, out=folder / OUT, index=index), make
