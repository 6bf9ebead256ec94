"""The command `merge`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import next_after, next_step, progress, say
from touche_rad.cli.run_files import end_of_run
from touche_rad.files import detect_kind
from touche_rad.files.outputs import WARNING
from touche_rad.models.cache import Cache
from touche_rad.runs.parts import caches_of, find_parts, merge_parts


@dataclass(frozen=True, kw_only=True)
class MergeOptions:
    """The options of `merge`."""

    parts: tuple[Path, ...] = opt.argument("PART...")
    output: Path = opt.output("Run to write.", required=True)
    cache: Path | None = opt.option(
        "Add the model answers of the parts' caches to this cache.",
        env=["TOUCHE_RAD_CACHE", "CACHE_DIR"],
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
    )
    replace: bool = opt.REPLACE
    quiet: bool = opt.QUIET


@opt.command(
    "merge",
    "merge run.jsonl.shards -o run.jsonl",
    "merge node1/1-of-2 node2/2-of-2 -o run.jsonl",
)
def merge_command(options: MergeOptions) -> int:
    """Merge the parts of a run into the files that the run on one machine writes.

    A PART is a folder that --shard I/N made, or a folder that contains parts. All parts must be of
    the same input, plugins and options. The output has the same bytes as that of a run without
    --shard; the status, the trace and the tracebacks are those of all parts.
    """
    output, cache, quiet = options.output, options.cache, options.quiet
    parts = find_parts(options.parts)
    with progress("merging", quiet=quiet) as report:
        status = merge_parts(parts, output, replace=options.replace, progress=report)
    for line in status.lines():
        say(line, quiet=quiet and not line.startswith(WARNING))
    caches = caches_of(parts)
    if caches and cache is None:
        say(
            "note: the parts have caches of model answers: --cache DIR adds them to a cache",
            quiet=quiet,
        )
    elif cache is not None:
        into = Cache(cache)
        added = sum(into.add(Cache(one, make=False).rows()) for one in caches)
        say(f"{cache}: {added} new answers", quiet=quiet)
    say(f"written: {output}", quiet=quiet)
    code = end_of_run(status, output)
    source = Path(parts[0].record.source)
    if not code and source.is_file() and output.stat().st_size:
        next_step(*next_after(detect_kind(output), output, source, demo=status.demo), quiet=quiet)
    return code
