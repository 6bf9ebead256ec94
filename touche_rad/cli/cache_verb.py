"""`touche-rad cache`: what a model's kept answers are, moved between machines, and thrown away."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touche_rad.cli import options as shared
from touche_rad.cli.console import say

if TYPE_CHECKING:
    from touche_rad.models.cache import Cache, Row

_FOLDER = click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
_DAY = 86_400.0


@click.group("cache")
def command() -> None:
    """Show, export, merge and prune the answers that --cache DIR keeps."""


def _open(folder: Path) -> Cache:
    from touche_rad.models.cache import Cache

    return Cache(folder, make=False)


@command.command("show", cls=shared.Verb)
@_FOLDER
@shared.as_json
@shared.show_config
def show(folder: Path, as_json: bool) -> None:
    """Say how many answers of which models are there, how old, and how large."""
    from touche_rad.models.cache import CACHE_FILE as FILE
    from touche_rad.models.cache import VERSION

    cache = _open(folder)
    models: Counter[str] = Counter()
    letters: Counter[str] = Counter()
    damaged = outdated = 0
    oldest, newest = float("inf"), 0.0
    for row in cache.rows():
        models[row.model] += 1
        letters[row.model] += len(row.answer)
        damaged += not row.whole
        outdated += row.version != VERSION
        oldest, newest = min(oldest, row.kept), max(newest, row.kept)
    told = {
        "answers": sum(models.values()), "models": dict(models), "damaged": damaged,
        "outdated": outdated, "bytes": (folder / FILE).stat().st_size,
        "oldest": _date(oldest) if models else None, "newest": _date(newest) if models else None,
    }  # fmt: skip
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    click.echo(f"{told['answers']} answers, {told['bytes']} bytes, {told['oldest']} to "
               f"{told['newest']}")  # fmt: skip
    for model, count in models.most_common():
        click.echo(f"  {model}: {count} answers, {letters[model] / count:.0f} letters each")
    if damaged or outdated:
        click.echo(f"  {damaged} damaged, {outdated} of another version (touche-rad cache prune)")


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


@command.command("export", cls=shared.Verb)
@_FOLDER
@click.option("-o", "--output", default="-", metavar="FILE", help="[default: the screen]")
@shared.quiet
@shared.show_config
def export(folder: Path, output: str, quiet: bool) -> None:
    """Write all answers as JSON lines, which `merge` reads."""
    from touche_rad import files

    count = 0
    cache = _open(folder)
    with files.atomic_write(output) as out:
        for row in cache.rows():
            out.write(json.dumps(asdict(row)) + "\n")
            count += 1
    say(f"{count} answers", quiet=quiet)


@command.command("merge", cls=shared.Verb)
@_FOLDER
@click.argument(
    "others", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FROM..."
)
@shared.quiet
@shared.show_config
def merge(folder: Path, others: tuple[Path, ...], quiet: bool) -> None:
    """Take over the answers of other caches, or of exported files; what is there already stays."""
    from touche_rad.models.cache import Cache

    cache = Cache(folder)
    for other in others:
        added = cache.add(_open(other).rows() if other.is_dir() else _exported(other))
        say(f"{other}: {added} new answers", quiet=quiet)


def _exported(path: Path) -> Iterator[Row]:
    from touche_rad.errors import InputError, UserError
    from touche_rad.models.cache import Row

    kinds = {one.name: str(one.type) for one in fields(Row)}
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        try:
            given = json.loads(line)
        except ValueError as error:
            raise InputError(path, f"expected JSON: {error}", line=number) from None
        for name, kind in kinds.items():
            value = given.get(name) if isinstance(given, dict) else None
            if type(value).__name__ != kind and not (kind == "float" and isinstance(value, int)):
                raise InputError(path, f"expected {kind}", line=number, field=name)
        row = Row(**{name: given[name] for name in kinds})
        if not row.whole:
            raise InputError(path, "expected the answer's own digest", line=number, field="digest")
        yield row


@command.command("prune", cls=shared.Verb)
@_FOLDER
@click.option("--older", type=click.FloatRange(0), metavar="DAYS", help="What is older than this.")
@click.option("--model", metavar="NAME", help="What this model said.")
@shared.quiet
@shared.show_config
def prune(folder: Path, older: float | None, model: str | None, quiet: bool) -> None:
    """Throw away what is damaged or of another version, and what the options name."""
    from touche_rad.models.cache import VERSION

    cache = _open(folder)
    before = time.time() - older * _DAY if older is not None else float("-inf")
    gone = [
        row.key
        for row in cache.rows()
        if not row.whole or row.version != VERSION or row.kept < before or row.model == model
    ]
    say(f"{cache.remove(gone)} answers thrown away, {len(cache)} left", quiet=quiet)
