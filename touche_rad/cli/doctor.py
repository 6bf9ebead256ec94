"""The command `doctor`."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from touche_rad import __version__
from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import print_json, print_text
from touche_rad.cli.index import CLAIMS, without_attacks
from touche_rad.cli.program import command
from touche_rad.demo import DEMO
from touche_rad.errors import ToucheRadError
from touche_rad.models import Model
from touche_rad.models.checks import CONTEXT, Check, checks
from touche_rad.plugins import KINDS, Plugin, index_backend_of, registered, vectors_of
from touche_rad.plugins.registry import A_MODEL
from touche_rad.session import Session
from touche_rad.text import printable


@opt.offering("index", "trace", "as_json")
class DoctorOptions(opt.ModelOptions):
    """The options of `doctor`."""

    plugin_options: opt.PluginOptions = opt.plugin_options(None)


@command("doctor", "doctor -i index -m http://localhost:8000/v1#llama")
def doctor_command(options: DoctorOptions) -> int:
    """Check this machine, the plugins, the index and the language model.

    Each problem is printed with its fix; then the exit code is 1. "optional" marks what only some
    plugins need.
    """
    of_model = _check_model(options) if prepare.names_model(options) else []
    failed = {check.what for check in of_model if not (check.ok or check.optional)}
    has_model = bool(of_model) and failed <= {CONTEXT}
    of_index, has_vectors = _check_index(options.index)
    # A model that is given is not missing.
    needed = f"a model that passes: {', '.join(sorted(failed))}" if failed else A_MODEL
    plugins = [
        _check_plugin(plugin, needed, has_model=has_model, has_vectors=has_vectors)
        for kind in KINDS
        for plugin in registered(kind).values()
    ]
    version = f"{__version__} on Python {platform.python_version()}, {platform.machine()}"
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    checks = [
        Check("touche-rad", True, version),
        Check("disk", free > 1, f"{free:.1f} GiB free here", "free at least 1 GiB"),
        of_index,
        *of_model,
    ]
    all_checks = [*checks, *plugins]
    if options.as_json:
        print_json([asdict(check) for check in all_checks])
    else:
        for check in [*checks, *_summary_of(plugins)]:
            _print_check(check)
    return 0 if all(check.ok or check.optional for check in all_checks) else 1


def _check_plugin(
    plugin: Plugin[object], needed: str, *, has_model: bool, has_vectors: bool
) -> Check:
    """Check what a plugin needs; `needed` says what a model needs to have."""
    name = f"{plugin.kind} {plugin.name}"
    try:
        missing = plugin.missing(index=True, model=has_model, vectors=has_vectors)
    except ToucheRadError as error:
        return Check(name, False, str(error))
    state = f"needs {'; '.join(missing)}" if missing else "ready"
    state = state.replace(A_MODEL, needed)
    return Check(name, not missing, state, state, optional=plugin.optional)


def _summary_of(plugins: Sequence[Check]) -> Iterator[Check]:
    """Yield the failures, then one check for all plugins in each state."""
    groups: dict[tuple[str, bool], dict[str, list[str]]] = {}
    for check in plugins:
        if check.ok or check.optional:
            kind, _, name = check.what.partition(" ")
            names_by_kind = groups.setdefault((check.found, check.ok), {})
            names_by_kind.setdefault(kind, []).append(name)
        else:
            yield check
    for (state, is_ready), names_by_kind in groups.items():
        lists = [f"{kind} {', '.join(names)}" for kind, names in names_by_kind.items()]
        yield Check(state, is_ready, "; ".join(lists), optional=True)


def _print_check(check: Check) -> None:
    """Print a check, and its fix if it failed."""
    indent = " " * 9
    text = printable(f"{check.what}: {check.found}")
    if check.ok:
        print_text(text, click.style("ok       ", fg="green"), indent)
    elif check.optional:
        print_text(text, "optional ", indent)
    else:
        print_text(text, click.style("missing  ", fg="red"), indent)
        print_text(printable(f"fix: {check.fix}"), indent, indent)


def _check_index(place: str | None) -> tuple[Check, bool]:
    """Check that a search works; return also whether the index has vectors."""
    try:
        location = place or DEMO
        backend = index_backend_of(location)
        backend.verify(location)
        index = backend.open(location)
    except ToucheRadError as error:
        return (
            Check("index", False, str(error), "build it with: touche-rad index SOURCE -o DIR"),
            False,
        )
    first = next(iter(index.arguments()), None)
    works = first is not None and bool(index.search("text", first.text, 1))
    state = "search works" if works else "a search finds none"
    claims: set[str] = set()
    for argument in index.arguments():
        claims.update(field for field in CLAIMS if getattr(argument, field))
        if "attacks" in claims:
            break
    else:
        state += f"; {without_attacks(claims)}"
    name = place or "none given (-i DIR), the demo collection works"
    summary = f"{name}: {len(index)} arguments, {state}"
    check = Check("index", works, summary, "index a collection with arguments")
    return check, bool(vectors_of(index))


def _check_model(options: DoctorOptions) -> list[Check]:
    """Check what plugins need of a model; with `vllm:`, it is started."""

    async def check_all(model: Model) -> list[Check]:
        return [check async for check in checks(model)]

    try:
        with Session(options.seed) as session:
            model = session.close_later(prepare.make_model(options))
            if options.wait:
                prepare.check_model(model, options)
            return session.run(check_all, model)
    except ToucheRadError as error:
        return [Check("model", False, str(error), "see -m in: touche-rad respond --help")]
