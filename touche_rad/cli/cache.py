"""The command `cache`."""

from __future__ import annotations

from pathlib import Path

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import say
from touche_rad.cli.program import Group, command
from touche_rad.models.cache import Cache


@click.group("cache", cls=Group)
def cache_command() -> None:
    """Merge the folders of --cache."""


@opt.options
class CachesOptions:
    """The options of `cache merge`."""

    folder: Path = opt.argument(Path, "DIR")
    others: tuple[Path, ...] = opt.arguments("FROM...")
    quiet: bool = opt.QUIET


@command("merge", "cache merge cache other-cache one-more", group=cache_command)
def merge_caches(options: CachesOptions) -> None:
    """Add the model answers of other caches; existing answers are kept."""
    sources = [Cache(folder, make=False) for folder in options.others]  # each must be a cache
    cache = Cache(options.folder)
    for source in sources:
        say(f"{source.folder}: {cache.add(source.rows())} new answers")
