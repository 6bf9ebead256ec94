"""The command `check`."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import Label, plain, say
from touche_rad.cli.program import command
from touche_rad.errors import UserError

if TYPE_CHECKING:
    from touche_rad.score.repair import Repair
    from touche_rad.score.validation import Validation

EXAMPLES: Final = 3
"""Examples of each kind of finding."""


@opt.options
class CheckOptions:
    """The options of `check`."""

    runs: tuple[Path, ...] = opt.arguments("RUN...")
    source: Path | None = opt.option(Path, "Input of the runs, to find missing debates.", "--input")
    index: str | None = opt.option(
        str, "Argument index, to check the cited arguments.", "-i --index", metavar="DIR"
    )
    fix: bool = opt.flag("Write a repaired copy of one run file to -o.")
    output: Path | None = opt.output("With --fix: the repaired run.", checked=True)
    replace: bool = opt.REPLACE
    max_words: int = opt.option(
        int, "Maximum words of a response; 0 = no limit.", least=0, env=True, default=60
    )
    as_json: bool = opt.JSON
    quiet: bool = opt.QUIET


@command(
    "check",
    "check simulations.jsonl --input touche_rad/demo/claims.tsv -i demo",
    "check evaluations.jsonl --input simulations.jsonl",
    "check simulations.jsonl -i demo --fix -o fixed.jsonl",
)
def check_command(options: CheckOptions) -> int:
    """Check that each RUN is complete and valid.

    RUN is a run file, or a folder that contains exactly one *.jsonl.

    Simulations and responses: each turn has a response of at most 60 words, which cites arguments
    of the index. Evaluations: each response has a score of 0 to 1 on each maxim. The status beside
    the run says whether its index was the demo's and whether answers are fallbacks. If there is a
    fault, the exit code is 1.

    --fix changes no utterance. It repairs ids, nulls and scores in quotes, and a missing verdict
    becomes a no. With --input, each debate gets one line of evaluations, in the input's order.
    """
    from touche_rad.plugins import open_index
    from touche_rad.score.validation import check

    runs, output = options.runs, options.output
    if options.fix != (output is not None):
        raise UserError("check: --fix and -o go together: check RUN --fix -o NEW.jsonl")
    index = open_index(options.index) if options.index else None
    repaired = None
    if output is not None:
        repaired = _fix(runs, output, options.source)
        runs = (output,) if repaired.done else runs
    results = [
        check(run, source=options.source, index=index, words=options.max_words) for run in runs
    ]
    if options.as_json:
        rows = [one.record() for one in results]
        if repaired is not None:
            rows[0]["repaired"] = dict(repaired.done.most_common())
        click.echo(json.dumps(rows, indent=2))
    else:
        if repaired is not None:
            for what, count in repaired.done.most_common():
                click.echo(f"repaired {count:5}  {what}")
            if repaired.done:
                say(output, Label.WRITTEN)
            else:
                say("nothing could be repaired or written")
        reports = [one for one in results if not (options.quiet and one.good)]
        for one in reports:
            count = one.debates + one.unread
            lines = f"{count} line{'' if count == 1 else 's'}"
            verdict = click.style(one.verdict, fg="green" if one.good else "red")
            click.echo(f"{plain(one.path)}: {one.kind or 'unknown format'}, {lines}: {verdict}")
        for one in reports:
            if len(reports) > 1 and one.findings:
                click.echo(f"\n{plain(one.path)}")
            _print_findings(one)
            if not one.valid and (one.official or not one.kind):
                _print_advice(one, options.source, fixed=output in runs)
        if len(results) > 1 and reports:
            bad = [plain(one.path) for one in results if not one.good]
            rest = f"; the first that is not: {bad[0]}" if bad else ""
            click.echo(f"\n{len(results) - len(bad)} of {len(results)} runs are valid{rest}")
    return max((not one.good) + (not Path(one.path).exists()) for one in results)


def _fix(runs: tuple[Path, ...], out: Path, source: Path | None) -> Repair:
    """Write the repaired run to a new file, if something was repaired."""
    from touche_rad import files
    from touche_rad.files.outputs import read_status, sha256_of, status_beside
    from touche_rad.runs.work import write_readable
    from touche_rad.score.repair import repair

    if len(runs) != 1 or not runs[0].is_file():
        raise UserError("check --fix: give one run file")
    made = repair(runs[0], source)
    if not made.done:
        return made
    with files.atomic_write(out) as stream:
        stream.writelines(f"{line}\n" for line in made.lines)
    if status := read_status(runs[0]):  # how the run was made stays true of its copy
        more = {"output": out.name, "sha256": sha256_of(out)}
        write_readable(status_beside(out), {**status, **more})
    return made


def _print_findings(result: Validation) -> None:
    """Print the findings by kind, with examples."""
    for group in result.groups:
        level = group[0].level
        click.secho(f"{level:7}", fg="red" if level == "fault" else "yellow", nl=False)
        click.echo(f" {len(group):6}  {group[0].kind}")
        for one in group[:EXAMPLES]:
            if one.message != one.kind or one.line is not None:
                click.echo(f"    {one.place}: {plain(one.message)}")
    if any(len(group) > EXAMPLES for group in result.groups):
        click.echo("Print every finding: --json")


def _print_advice(result: Validation, source: Path | None, *, fixed: bool) -> None:
    """Print the command that repairs a run, or makes it again."""
    from touche_rad.score.repair import repair

    judged = result.kind != "simulations"
    given = plain(str(source)) if source else "DEBATES" if judged else "CLAIMS"
    what = f"judge {given} -j JUDGE" if judged else f"simulate {given} -i INDEX -d DEBATER"
    fix = "It cannot be repaired: get the file again, or make the run again"
    with suppress(UserError):
        is_lost = not judged and result.unread  # a debate that was not played to its end
        done = not (fixed or is_lost) and repair(Path(result.path), source).done
        if done or (judged and not source):
            fix, what = "To repair it", f"check {plain(result.path)} --input {given} --fix"
    click.echo(f"{fix}: touche-rad {what} -o NEW")
