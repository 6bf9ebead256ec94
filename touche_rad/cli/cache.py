"""The command `cache`."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from touche_rad.cli import help_text
from touche_rad.cli import old_options as opt
from touche_rad.cli.console import say
from touche_rad.cli.program import Command

if TYPE_CHECKING:
    from touche_rad.models.cache import Cache

_FOLDER: Final = opt.path_argument("folder", "DIR")
_DAY: Final = 86_400.0


@click.group("cache", cls=help_text.Group)
def cache_command() -> None:
    """Show, merge and prune the model answers in a folder of --cache."""


def _open(folder: Path) -> Cache:
    from touche_rad.models.cache import Cache

    return Cache(folder, make=False)


@cache_command.command(
    "show",
    cls=Command,
    examples=(
        "cache show cache",
        "cache show cache --json",
        "cache show backup",
    ),
)
@_FOLDER
@opt.JSON
def show(folder: Path, as_json: bool) -> None:
    """Show the number of answers per model, their age, and the size of the file."""
    from touche_rad.models.cache import CACHE_FILE, VERSION

    models: Counter[str] = Counter()
    damaged = outdated = 0
    oldest, newest = float("inf"), 0.0
    cache = _open(folder)
    for row in cache.rows():
        models[row.model] += 1
        damaged += not row.whole
        outdated += row.version != VERSION
        oldest, newest = min(oldest, row.kept), max(newest, row.kept)
    summary = {
        "answers": sum(models.values()),
        "models": dict(models),
        "damaged": damaged,
        "outdated": outdated,
        "bytes": (folder / CACHE_FILE).stat().st_size,
        "oldest": _date(oldest) if models else None,
        "newest": _date(newest) if models else None,
    }
    if as_json:
        click.echo(json.dumps(summary, indent=2))
        return
    click.echo("{answers} answers, {bytes} bytes, {oldest} to {newest}".format(**summary))
    for model, count in models.most_common():
        click.echo(f"  {model}: {count} answers")
    if damaged or outdated:
        click.echo(f"  {damaged} damaged, {outdated} of another version (touche-rad cache prune)")


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


@cache_command.command(
    "merge",
    cls=Command,
    examples=(
        "cache merge cache other-cache",
        "cache merge cache run.jsonl.shards/1-of-2/cache",
        "cache merge cache one two three",
    ),
)
@_FOLDER
@opt.path_argument("others", "FROM...", nargs=-1, required=True)
@opt.QUIET
def merge(folder: Path, others: tuple[Path, ...], quiet: bool) -> None:
    """Add the answers of other caches; existing answers are kept."""
    from touche_rad.models.cache import Cache

    sources = [_open(other) for other in others]
    cache = Cache(folder)
    for other in sources:
        say(f"{other.folder}: {cache.add(other.rows())} new answers", quiet=quiet)


@cache_command.command(
    "prune",
    cls=Command,
    examples=(
        "cache prune cache",
        "cache prune cache --older 30",
        "cache prune cache --model llama",
    ),
)
@_FOLDER
@click.option(
    "--older", type=opt.Number(0), metavar="DAYS", help="Also delete answers that are older."
)
@click.option("--model", metavar="NAME", help="Also delete the answers of this model.")
@opt.QUIET
def prune(folder: Path, older: float | None, model: str | None, quiet: bool) -> None:
    """Delete answers that are damaged or of another version."""
    from touche_rad.models.cache import VERSION

    cache = _open(folder)
    before = time.time() - older * _DAY if older is not None else float("-inf")
    outdated = [
        row.key
        for row in cache.rows()
        if not row.whole or row.version != VERSION or row.kept < before or row.model == model
    ]
    say(f"{cache.remove(outdated)} answers deleted, {len(cache)} left", quiet=quiet)
