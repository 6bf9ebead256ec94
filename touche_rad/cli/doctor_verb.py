"""`touche-rad doctor`: what this machine has and lacks, each line with its fix."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from touche_rad import __version__
from touche_rad.cli import options as shared
from touche_rad.errors import ToucheRadError
from touche_rad.models.endpoint import named_by_environment
from touche_rad.plugins import KINDS, open_index, registered

Check = dict[str, Any]


@click.command("doctor", cls=shared.Verb)
@shared.index
@shared.options
@shared.option
@shared.as_json
@shared.show_config
@click.pass_context
def command(ctx: click.Context, /, index: str | None, as_json: bool, **given: Any) -> int:
    """Check this machine, the plugins and the index; the exit code is 1 where something lacks.

    What is marked `more` is an extra that nobody needs for the rest.
    """
    asked = bool(given["model"]) or named_by_environment()
    checks = [*_machine(), *_packages(), *_index(index), *_plugins(asked)]
    if asked:
        checks += _model(given, shared.choose(ctx, "model", None, given["option"]))
    checks += _tira()
    if as_json:
        click.echo(json.dumps(checks, ensure_ascii=False, indent=2))
    else:
        for check in checks:
            mark = "ok  " if check["ok"] else "more" if check["optional"] else "LACK"
            colour = {"ok  ": "green", "LACK": "red"}.get(mark)
            click.echo(f"{click.style(mark, fg=colour)} {check['what']}: {check['found']}")
            if mark == "LACK":
                click.echo(f"     fix: {check['fix']}")
    return 0 if all(check["ok"] or check["optional"] for check in checks) else 1


def _check(what: str, ok: bool, found: str, fix: str = "", *, optional: bool = False) -> Check:
    return {"what": what, "ok": ok, "found": found, "fix": fix, "optional": optional}


def _machine() -> Iterator[Check]:
    version = platform.python_version()
    yield _check("touche-rad", True, f"{__version__} on Python {version}, {platform.machine()}")
    yield _check("Python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    yield _check("disk", free > 1, f"{free:.1f} GiB free here", "free at least 1 GiB")


def _packages() -> Iterator[Check]:
    for module in ("pyterrier", "pyterrier_pisa", "ir_measures", "ir_datasets", "fastapi"):
        found = importlib.util.find_spec(module) is not None
        fix = "pip install --force-reinstall touche-rad"
        yield _check(f"package {module}", found, "here" if found else "missing", fix)


def _index(place: str | None) -> Iterator[Check]:
    try:
        if place is None:
            from touche_rad.demo import ensure_index

            place = str(ensure_index())
        opened = open_index(place)
    except ToucheRadError as error:
        yield _check("index", False, str(error), "make it with: touche-rad index SOURCE -o DIR")
        return
    hits = opened.search("attacks", "a claim that somebody makes", 1)
    yield _check("index", len(opened) > 0, f"{place}: {len(opened)} arguments, search answers "
                 f"({len(hits)} hit)", "index a collection that has arguments")  # fmt: skip


def _model(given: dict[str, Any], chosen: shared.Chosen) -> list[Check]:
    """Ask the model for what plugins need; a server that has to be started is started."""
    import anyio

    from touche_rad.models.checks import checks, graphics

    found: list[Check] = []
    kind, _, folder = str(given["model"] or "").partition(":")
    size = graphics(folder) if kind == "vllm" else None
    if size is not None:
        found.append(_check(size.what, size.ok, size.found, size.fix))

    async def ask() -> None:
        model = shared.made({**given, "quiet": False}, chosen)
        try:
            async for one in checks(model):
                optional = one.what in ("model schemas", "model logprobs")
                found.append(_check(one.what, one.ok, one.found, one.fix, optional=optional))
        finally:
            await model.close()

    try:
        anyio.run(ask)
    except ToucheRadError as error:
        found.append(_check("model", False, str(error), "see -m in: touche-rad respond --help"))
    return found


def _plugins(model: bool) -> Iterator[Check]:
    for kind in KINDS:
        for plugin in registered(kind).values():
            broken = False
            try:
                missing = plugin.missing(index=True, model=model)
                _ = plugin.options.model_fields
            except ToucheRadError as error:
                missing, broken = [str(error)], True
            found = "ready" if not missing else f"needs {'; '.join(missing)}"
            optional = not broken and plugin.optional
            name = f"{kind} {plugin.name}"
            yield _check(name, not missing, found, found, optional=optional)


def _tira() -> Iterator[Check]:
    source, target = os.environ.get("inputDataset"), os.environ.get("outputDir")
    if not (source or target):
        return
    readable = bool(source) and Path(source or "").is_dir()
    yield _check("TIRA input", readable, source or "not set", "set inputDataset to a folder")
    parent = Path(target or "")
    writable = bool(target) and os.access(parent if parent.exists() else parent.parent, os.W_OK)
    yield _check("TIRA output", writable, target or "not set", "set outputDir to a writable folder")
