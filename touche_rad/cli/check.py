"""The command `check`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import Label, plain, print_command, print_json, print_line, say
from touche_rad.cli.program import command
from touche_rad.errors import UserError

if TYPE_CHECKING:
    from touche_rad.score.repair import Repair
    from touche_rad.score.validation import Validation

EXAMPLES: Final = 3
"""Examples of each kind of finding."""


@opt.offering("as_json", "quiet")
class CheckOptions(opt.Common):
    """The options of `check`."""

    runs: tuple[Path, ...] = opt.arguments("RUN...")
    source: Path | None = opt.option(
        "Input of the runs, to find missing debates (of verdicts: what was judged).", "--input"
    )
    index: str | None = opt.option(
        "Argument index, to check the cited arguments.", "-i --index", metavar="DIR"
    )
    criteria: str | None
    fix: bool = opt.flag("Write a repaired copy of one run file to -o.")
    output: Path | None = opt.output("With --fix: the repaired run.", checked=True)
    replace: bool
    max_words: int = opt.option(
        "Maximum words of a response; 0 = no limit.", least=0, env=True, default=60
    )


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
    of the index. Evaluations: each response has a score of 0 to 1 on each criterion, or an answer
    that its criteria have. The status beside the run says whether its index was the demo's and
    whether answers are fallbacks. If there is a fault, the exit code is 1.

    --fix changes no utterance. It repairs ids of debates, nulls, scores in quotes and names of
    maxims, and a missing verdict becomes a no. With --input (of evaluations: the simulations that
    were judged), each debate gets one line, in the input's order: the first of several, or an
    empty record, as the official client writes it.
    """
    from touche_rad.files.outputs import read_status, why_no_status
    from touche_rad.plugins import open_index
    from touche_rad.score.cautions import equal_files
    from touche_rad.score.validation import check, times_of

    runs = options.runs
    output = options.output
    if options.fix != (output is not None):
        raise UserError("check: --fix and -o go together: check RUN --fix -o NEW.jsonl")
    index = open_index(options.index) if options.index else None
    repair = None
    if output is not None:
        repair = _fix(runs, output, options.source)
        runs = (output,)
    check_run = partial(
        check,
        source=options.source,
        index=index,
        words=options.max_words,
        criteria=options.read_criteria(),
    )
    results = [*map(check_run, runs)]
    if options.as_json:
        rows = [result.record() for result in results]
        if repair is not None:
            rows[0]["repaired"] = repair.done
        print_json(rows)
    else:
        if repair is not None:
            for what, count in repair.done.most_common():
                click.echo(f"repaired {count:5}  {what}")
            if not repair.done:
                say("nothing was repaired: this is a copy")
            say(output, Label.WRITTEN)
        shown = [result for result in results if not (options.quiet and result.good)]
        if len(results) > 1 and shown:
            click.echo(f"{sum(result.good for result in results)} of {len(results)} runs are valid")
        for result in shown:
            verdict = click.style(result.verdict, fg="green" if result.good else "red")
            kind = result.kind or "unknown format"
            line = f"{plain(result.path)}: {kind}, {result.counts}: {verdict}"
            if result.findings and len(shown) > 1:
                reasons = (f"{group[0].kind} ({times_of(group)})" for group in result.groups)
                line += f": {', '.join(reasons)}"
            print_line(line)
        for result in shown:
            if len(shown) > 1 and result.findings:
                click.secho(f"\n{plain(result.path)}", bold=True)
            _print_findings(result)
            if (
                Path(result.path).exists()
                and not result.valid
                and (result.official or not result.kind)
            ):
                _print_advice(result, options, check_run)
        if any(len(group) > EXAMPLES for result in shown for group in result.groups):
            click.echo("Print every finding: --json")
        for warning in equal_files(runs):
            say(warning, Label.WARNING)
    if output is not None and not read_status(output):
        say(f"{output} gets no status: {why_no_status(options.runs[0])}")
    if not all(Path(result.path).exists() for result in results):
        return 2
    return 0 if all(result.good for result in results) else 1


def _fix(places: tuple[Path, ...], out: Path, source: Path | None) -> Repair:
    """Write the repaired run to a new file."""
    from touche_rad.files.outputs import STATUS, read_status, sha256_of
    from touche_rad.files.records import path_beside, write_json, write_text
    from touche_rad.score.repair import repair
    from touche_rad.score.validation import runs_in

    runs = [run for place in places for run in runs_in(place)]
    if len(runs) != 1:
        raise UserError("check --fix: give one run file")
    repaired = repair(runs[0], source)
    write_text(out, "".join(f"{line}\n" for line in repaired.lines))
    status = read_status(runs[0])
    if status:  # how the run was made stays true of its copy
        write_json(
            path_beside(out, STATUS), {**status, "output": out.name, "sha256": sha256_of(out)}
        )
    return repaired


def _print_findings(result: Validation) -> None:
    """Print the findings by kind, with examples."""
    from touche_rad.score.validation import times_of

    for group in result.groups:
        level = group[0].level
        click.secho(f"{level:7}", fg="red" if level == "fault" else "yellow", nl=False)
        click.echo(f" {times_of(group):6}  {group[0].kind}")
        for issue in group[:EXAMPLES]:
            if issue.message != issue.kind or issue.line is not None:
                print_line(f"    {issue.place}: {plain(issue.message)}", 6)


_VERBS: Final = {"simulations": "simulate", "evaluations": "judge"}
"""The command that writes a kind of file, where no status names it."""


def _print_advice(
    result: Validation, options: CheckOptions, check_again: Callable[[Path], Validation]
) -> None:
    """Print the command that repairs a run, or makes it again."""
    from touche_rad.errors import InputProblem
    from touche_rad.files import BadLines, Kind, detect_kind
    from touche_rad.files.outputs import read_status
    from touche_rad.files.records import dump, records, write_text
    from touche_rad.score.evaluations import debate_of
    from touche_rad.score.validation import FOREIGN, MISSING, OTHER_ORDER, TWICE

    path = Path(result.path)
    verb = read_status(path).get("verb") or _VERBS.get(result.kind)
    usable_input = options.source
    of_claims = verb == "judge" and usable_input and detect_kind(usable_input) is Kind.CLAIMS
    if of_claims:
        usable_input = None  # verdicts are on debates, which get the claims' order first
    source = plain(str(usable_input or ("CLAIMS" if verb == "simulate" else "DEBATES")))
    index = f"-i {plain(options.index)} " if options.index else ""
    faults = result.faults
    fix = "It cannot be repaired: get the file again, or make the run again"
    if any(kind.startswith(FOREIGN) for kind in faults):
        fix = "Check --input: if it is right, make the run again"
    with suppress(UserError), TemporaryDirectory() as folder:
        copy = Path(folder, path.name)
        if of_claims:  # the debates with verdicts stand for those that were judged
            usable_input = Path(folder, "input")
            debates = Path(folder, "debates")
            write_text(
                debates,
                "\n".join(
                    dump({"simulation": line.value["simulation"]})
                    for line in records(path, BadLines(skip=True))
                    if debate_of(line.value).turns
                ),
            )
            _fix((debates,), usable_input, options.source)
        _fix((path,), copy, usable_input)
        remaining = check_again(copy).faults
        is_lost = InputProblem.EMPTY_RECORD in remaining
        # The input tells which copy is too many, and has the debates that a judge lost.
        needs_input = not usable_input and (
            faults.keys() & {TWICE, MISSING, OTHER_ORDER} or (verb == "judge" and is_lost)
        )
        if faults - remaining or needs_input:
            fix = "The other faults cannot be repaired: make the run again"
            click.echo("To repair it:")
            if of_claims:
                claims = plain(str(options.source))
                source = "NEW_DEBATES"
                print_command(f"touche-rad check DEBATES {index}--input {claims} --fix -o {source}")
            print_command(
                f"touche-rad check {plain(result.path)} {index}--input {source} --fix -o NEW"
            )
        if "DEBATES" in source:
            click.echo("DEBATES: the file of simulations that was judged")
        if is_lost and not (needs_input and verb == "judge"):
            fix = "A lost debate cannot be repaired and counts as no: make the run again"
        elif needs_input or not remaining:
            return
    print_line(f"{fix}:" if verb else f"{fix} with its command.")
    if verb:
        how = (index or "-i INDEX ") + ("-j JUDGE" if verb == "judge" else "-d DEBATER")
        if verb == "simulate" and result.most_turns:
            how += f" --turns {result.most_turns}"
        print_command(f"touche-rad {verb} {source} {how} -o NEW")
