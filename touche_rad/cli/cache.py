"""The command `cache`."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from touche_rad.cli import help_text
from touche_rad.cli import options as opt
from touche_rad.cli.console import say
from touche_rad.models.cache import CACHE_FILE, VERSION, Cache

_DAY: Final = 86_400.0


@click.group("cache", cls=help_text.Group)
def cache_command() -> None:
    """Show, merge and prune the model answers in a folder of --cache."""


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """The options of `cache show`."""

    folder: Path = opt.argument("DIR")
    as_json: bool = opt.JSON


@opt.command("show", "cache show cache", "cache show cache --json", group=cache_command)
def show(options: ShowOptions) -> None:
    """Show the number of answers per model, their age, and the size of the file."""
    rows = list(Cache(options.folder, make=False).rows())
    models = Counter(row.model for row in rows)
    outdated = sum(row.version != VERSION for row in rows)
    days = sorted(time.strftime("%Y-%m-%d", time.gmtime(row.kept)) for row in rows)
    summary = {
        "answers": len(rows),
        "models": dict(models),
        "outdated": outdated,
        "bytes": (options.folder / CACHE_FILE).stat().st_size,
        "oldest": days[0] if days else None,
        "newest": days[-1] if days else None,
    }
    if options.as_json:
        click.echo(json.dumps(summary, indent=2))
        return
    click.echo("{answers} answers, {bytes} bytes, {oldest} to {newest}".format(**summary))
    for model, count in models.most_common():
        click.echo(f"  {model}: {count} answers")
    if outdated:
        click.echo(f"  {outdated} of another version (touche-rad cache prune)")


@dataclass(frozen=True, kw_only=True)
class MergeOptions:
    """The options of `cache merge`."""

    folder: Path = opt.argument("DIR")
    others: tuple[Path, ...] = opt.argument("FROM...")
    quiet: bool = opt.QUIET


@opt.command("merge", "cache merge cache other-cache one-more", group=cache_command)
def merge(options: MergeOptions) -> None:
    """Add the answers of other caches; existing answers are kept."""
    sources = [Cache(other, make=False) for other in options.others]
    cache = Cache(options.folder)
    for other in sources:
        say(f"{other.folder}: {cache.add(other.rows())} new answers", quiet=options.quiet)


@dataclass(frozen=True, kw_only=True)
class PruneOptions:
    """The options of `cache prune`."""

    folder: Path = opt.argument("DIR")
    older: float | None = opt.option("Also delete answers that are older.", metavar="DAYS", least=0)
    model: str | None = opt.option("Also delete the answers of this model.", metavar="NAME")
    quiet: bool = opt.QUIET


@opt.command("prune", "cache prune cache", "cache prune cache --older 30", group=cache_command)
def prune(options: PruneOptions) -> None:
    """Delete answers of another version."""
    cache, older, model = Cache(options.folder, make=False), options.older, options.model
    before = time.time() - older * _DAY if older is not None else float("-inf")
    outdated = [
        row.key
        for row in cache.rows()
        if row.version != VERSION or row.kept < before or row.model == model
    ]
    say(f"{cache.remove(outdated)} answers deleted, {len(cache)} left", quiet=options.quiet)
