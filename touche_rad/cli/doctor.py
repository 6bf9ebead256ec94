"""The checks of `touche-rad doctor`."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touche_rad import __version__
from touche_rad.cli import prepare
from touche_rad.cli.options import Common
from touche_rad.demo import DEMO
from touche_rad.errors import ToucheRadError
from touche_rad.plugins import KINDS, open_index, registered

if TYPE_CHECKING:
    from touche_rad.models import Model

Check = dict[str, Any]


def run_checks(options: Common) -> list[Check]:
    """Run all checks; the model is checked only if the user names one."""
    with_model = prepare.names_model(options)
    checks = [*_machine(), *_packages(), _index(options.index), *_plugins(with_model)]
    if with_model:
        checks += _model(options)
    return [*checks, *_tira()]


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
        installed = importlib.util.find_spec(module) is not None
        fix = "pip install --force-reinstall touche-rad"
        yield _check(f"package {module}", installed, "installed" if installed else "missing", fix)


def _index(place: str | None) -> Check:
    try:
        opened = open_index(place or DEMO)
    except ToucheRadError as error:
        return _check("index", False, str(error), "build it with: touche-rad index SOURCE -o DIR")
    first = next(iter(opened.arguments()), None)
    works = first is not None and bool(opened.search("text", first.text, 1))
    where = place or "none given (-i DIR), the demo collection works"
    state = "search works" if works else "a search finds none"
    found = f"{where}: {len(opened)} arguments, {state}"
    return _check("index", works, found, "index a collection with arguments")


def _model(options: Common) -> list[Check]:
    """Check what plugins need of a model; with `vllm:`, it is started."""
    from touche_rad.models.checks import checks

    results: list[Check] = []

    async def check_all(model: Model) -> None:
        async for one in checks(model):
            optional = one.what in ("model thinking", "model schemas", "model logprobs")
            results.append(_check(one.what, one.ok, one.found, one.fix, optional=optional))

    try:
        model = prepare.make_model(options)
        if options.wait:
            prepare.check_endpoint(model, options)
        prepare.run_and_close(check_all(model), model)
    except ToucheRadError as error:
        results.append(_check("model", False, str(error), "see -m in: touche-rad respond --help"))
    return results


def _plugins(model: bool) -> Iterator[Check]:
    for kind in KINDS:
        for plugin in registered(kind).values():
            broken = False
            try:
                missing = plugin.missing(index=True, model=model)
                _ = plugin.options.model_fields
            except ToucheRadError as error:
                missing, broken = [str(error)], True
            state = "ready" if not missing else f"needs {'; '.join(missing)}"
            optional = not broken and plugin.optional
            name = f"{kind} {plugin.name}"
            yield _check(name, not missing, state, state, optional=optional)


def _tira() -> Iterator[Check]:
    source, target = os.environ.get("inputDataset"), os.environ.get("outputDir")
    if not (source or target):
        return
    readable = bool(source) and Path(source or "").is_dir()
    yield _check("TIRA input", readable, source or "not set", "set inputDataset to a folder")
    parent = Path(target or "")
    writable = bool(target) and os.access(parent if parent.exists() else parent.parent, os.W_OK)
    yield _check("TIRA output", writable, target or "not set", "set outputDir to a writable folder")
