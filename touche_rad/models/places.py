"""Where the model is: what `-m` may say, and what the environment says without it.

`http://HOST:PORT/v1#MODEL`   an OpenAI-compatible server; several addresses with commas between
`vllm:MODEL`                  a vLLM server of our own, for a folder or OWNER/NAME of the hub
`hf:MODEL`                    a small model in this process
`scripted:FILE`               answers from a file
`EMPTY`                       no model: the cache alone answers
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from touche_rad.errors import OptionError, UserError
from touche_rad.models.endpoint import URL, Address, Backend, Endpoint, parse_address

NAMED = ("vllm", "hf", "scripted")


def named_by_environment() -> bool:
    """Whether the environment says where a model is."""
    return bool(os.environ.get(URL))


def open_backend(
    given: str | None,
    *,
    vllm: Mapping[str, str] | None = None,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
    log_file: Path | None = None,
) -> Address | Backend:
    """Return what answers; nothing is started or asked yet.

    Args:
        given: What `-m` said, if anything.
        vllm: Options of `vllm serve`.
        seed: A started server's seed.
        report: Told how a server's start goes on.
        log_file: Where a started server's words go.
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
    """One endpoint, or several that serve the same model."""
    from touche_rad.models.endpoint import Pool

    said, _, model = (given or "").partition("#")
    urls = [url.strip() for url in (said or os.environ.get(URL, "")).split(",")]
    if len(urls) == 1:
        return parse_address(f"{urls[0]}#{model}")
    if not all(urls):
        raise UserError("-m: expected addresses with single commas between them")
    return Pool([Endpoint(parse_address(f"{url}#{model}")) for url in urls])
