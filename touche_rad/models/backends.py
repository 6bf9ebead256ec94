"""Open the backend that `-m` names: an address, several, vLLM, a local model or a script."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from touche_rad.errors import OptionError, UserError
from touche_rad.models.endpoint import URL, Address, Backend, Endpoint, parse_address
from touche_rad.models.pool import Pool


def open_backend(
    given: str | None,
    *,
    vllm: Mapping[str, str] | None = None,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
    log_file: Path | None = None,
) -> Address | Backend:
    """Return the address or backend that `-m` names, without starting anything.

    Args:
        given: Value of `-m`, or None.
        vllm: Options of `vllm serve`.
        seed: Random seed of a server that is started.
        report: Called with the progress of a server's start.
        log_file: Log file of a server that is started.
    """
    kind, _, name = (given or "").partition(":")
    if vllm and kind != "vllm":
        raise OptionError("-O vllm.KEY=VALUE is for -m vllm:MODEL")
    if kind == "vllm":
        from touche_rad.models.vllm import Vllm

        return Vllm(name, vllm, seed=seed, report=report, log_file=log_file)
    if kind == "hf":
        from touche_rad.models.local import Local

        return Local(name)
    if kind == "scripted":
        from touche_rad.models.scripted import Scripted

        return Scripted(Path(name))
    return _server(given)


def _server(given: str | None) -> Address | Backend:
    """Return one address, or a pool of several with the same model.

    The model's name may follow the last address only, or each of them.
    """
    parts = [one.strip() for one in (given or "").split(",")]
    if len(parts) == 1 and not parts[0].partition("#")[0]:
        parts = [f"{url.strip()}{parts[0]}" for url in os.environ.get(URL, "").split(",")]
    if len(parts) == 1:
        return parse_address(parts[0])
    if not all(one.partition("#")[0] for one in parts):
        raise UserError("-m: expected addresses separated by single commas")
    last = parts[-1].partition("#")[2]
    found = [parse_address(one if "#" in one else f"{one}#{last}") for one in parts]
    models = dict.fromkeys(address.model for address in found)
    if len(models) > 1:
        raise UserError(
            f"-m: all addresses must have the same model, got {' and '.join(models)}; "
            "pass -m URL1,URL2#MODEL"
        )
    return Pool([Endpoint(address) for address in dict.fromkeys(found)])  # each address once
