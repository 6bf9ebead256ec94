"""The command `merge`."""

from __future__ import annotations

from pathlib import Path

from touche_rad.cli import options as opt
from touche_rad.cli.console import Label, progress, say, show_status
from touche_rad.cli.program import command
from touche_rad.cli.run_files import end_of_run
from touche_rad.runs.parts import find_parts, merge_parts


@opt.offering("replace", "quiet")
class MergeOptions(opt.Common):
    """The options of `merge`."""

    parts: tuple[Path, ...] = opt.arguments("PART...")
    output: Path = opt.output("Run to write.", required=True)


@command(
    "merge run.jsonl.shards -o run.jsonl",
    "merge node1/1-of-2 node2/2-of-2 -o run.jsonl",
)
def merge_command(options: MergeOptions) -> int:
    """Merge the parts of a run into the files that the run on one machine writes.

    A PART is a folder that --shard I/N made, or a folder that contains parts. All parts must be of
    the same input, plugins and options. The output has the same bytes as that of a run without
    --shard, and the status is that of all parts; traces and tracebacks stay in the parts.
    """
    output = options.output
    parts = find_parts(options.parts)
    with progress("merging") as report:
        status = merge_parts(parts, output, replace=options.replace, progress=report)
    show_status(status)
    say(output, Label.WRITTEN)
    return end_of_run(status, output)
