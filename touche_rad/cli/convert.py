"""The commands `schema`, `contests`, `merge` and `cache`."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from touche_rad import files
from touche_rad.cli import help_text
from touche_rad.cli import options as opt
from touche_rad.cli.console import next_after, next_step, progress, say
from touche_rad.cli.prepare import warn_of_copies
from touche_rad.cli.run_files import end_of_run
from touche_rad.contests.foreign import contests
from touche_rad.errors import OptionError, UserError, nearest
from touche_rad.files.outputs import WARNING
from touche_rad.files.schemas import names, schema_of
from touche_rad.models.cache import Cache
from touche_rad.runs.parts import caches_of, find_parts, merge_parts


@dataclass(frozen=True, kw_only=True)
class SchemaOptions:
    """The options of `schema`."""

    kind: str | None = opt.argument("[KIND]", required=False)


@opt.command("schema", "schema simulations", "schema evaluations")
def schema_command(options: SchemaOptions) -> None:
    """Print the JSON schema of a KIND of file, or of all kinds.

    A schema describes one line of a file. KIND is simulations, evaluations, chat-messages,
    responses, annotated-debates, claims (the columns of the TSV), labels, arguments, contests,
    outcomes or annotations.
    """
    kinds, kind = names(), options.kind
    if kind is not None and kind not in kinds:
        raise OptionError(f"there is no schema {kind!r}{nearest(kind, kinds)}")
    schema = schema_of(kinds[kind]) if kind else {name: schema_of(kinds[name]) for name in kinds}
    click.echo(json.dumps(schema, ensure_ascii=False, indent=2))


@dataclass(frozen=True, kw_only=True)
class ContestsOptions:
    """The options of `contests`."""

    source: Path = opt.argument("SOURCE")
    output: Path = opt.output("Contests to write.", checked=True, required=True)
    replace: bool = opt.REPLACE
    skip_bad: bool = opt.SKIP_BAD
    quiet: bool = opt.QUIET


@opt.command("contests", "contests debateart.json -o contests.jsonl")
def contests_command(options: ContestsOptions) -> None:
    """Convert whole debates to contests, which panels judge and touche-rad score reads.

    SOURCE is a JSON or JSONL file in the format of DebateArt, a folder in the format of PanelBench,
    or a file of debates of the shared task. The side with the higher mean of the votes wins.

    A line of DebateArt: {"title": "Ban cars.", "arguments": [{"side": "pro", "text": "Yes."},
    {"side": "con", "text": "No."}], "votes": [{"winner": "con"}]}

    PanelBench: motion/1.json is {"motion": "Ban cars.", "pro_side": ["Ann"], "con_side": ["Ben"],
    "speech_order": ["Ann", "Ben"]}, speech/1.json ["Yes.", "No."], gold.json {"1": "Ben"}.
    """
    source, output, quiet = options.source, options.output, options.quiet
    if not source.exists():
        raise UserError(f"{source} does not exist")
    bad = files.BadLines(skip=options.skip_bad)
    count = decided = 0
    with files.atomic_write(output) as stream:
        for contest in contests(source, bad):
            stream.write(files.contest_line(contest) + "\n")
            count += 1
            decided += bool(set(contest.gold) - {"votes", "scores"})
    if bad.count:
        say(f"{bad.count} invalid records were skipped; the first: {bad.first}", quiet=quiet)
    say(f"written: {output}: {count} contests, {decided} with a known result", quiet=quiet)
    warn_of_copies(output)
    next_step(*next_after(files.Kind.CONTESTS, output, source), quiet=quiet)


@dataclass(frozen=True, kw_only=True)
class MergeOptions:
    """The options of `merge`."""

    parts: tuple[Path, ...] = opt.argument("PART...")
    output: Path = opt.output("Run to write.", required=True)
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
    output, quiet = options.output, options.quiet
    parts = find_parts(options.parts)
    with progress("merging", quiet=quiet) as report:
        status = merge_parts(parts, output, replace=options.replace, progress=report)
    for line in status.lines():
        say(line, quiet=quiet and not line.startswith(WARNING))
    if caches := caches_of(parts):
        line = shlex.join(["touche-rad", "cache", "merge", "CACHE", *map(str, caches)])
        say(f"note: to add the model answers of the parts to a cache: {line}", quiet=quiet)
    say(f"written: {output}", quiet=quiet)
    code = end_of_run(status, output)
    source = Path(parts[0].record.source)
    if not code and source.is_file() and output.stat().st_size:
        kind = files.detect_kind(output)
        next_step(*next_after(kind, output, source, demo=status.demo), quiet=quiet)
    return code


@click.group("cache", cls=help_text.Group)
def cache_command() -> None:
    """Merge the folders of --cache."""


@dataclass(frozen=True, kw_only=True)
class CachesOptions:
    """The options of `cache merge`."""

    folder: Path = opt.argument("DIR")
    others: tuple[Path, ...] = opt.argument("FROM...")
    quiet: bool = opt.QUIET


@opt.command("merge", "cache merge cache other-cache one-more", group=cache_command)
def merge_caches(options: CachesOptions) -> None:
    """Add the model answers of other caches; existing answers are kept."""
    sources = [Cache(other, make=False) for other in options.others]
    cache = Cache(options.folder)
    for other in sources:
        say(f"{other.folder}: {cache.add(other.rows())} new answers", quiet=options.quiet)
