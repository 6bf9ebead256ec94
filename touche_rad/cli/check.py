"""The command `check`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli.advice import command_on
from touche_rad.cli.console import (
    Label,
    line_of,
    plain,
    print_command,
    print_json,
    print_line,
    say,
)
from touche_rad.cli.program import command
from touche_rad.errors import InputProblem, UserError

if TYPE_CHECKING:
    from touche_rad.score.findings import Validation
    from touche_rad.score.repair import Repair

EXAMPLES: Final = 3
"""Examples of each kind of finding."""


@opt.offering("as_json", "quiet")
class CheckOptions(opt.Common):
    """The options of `check`."""

    runs: tuple[Path, ...] = opt.arguments("RUN...")
    source: Path | None = opt.option(
        "Input of the runs, to find missing debates: claims, or the debates that were judged.",
        "--input",
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
    from touche_rad.plugins import open_index
    from touche_rad.score.cautions import equal_files
    from touche_rad.score.validation import check

    runs = options.runs
    output = options.output
    if options.fix != bool(output):
        raise UserError("check: --fix and -o go together: check RUN --fix -o NEW.jsonl")
    index = open_index(options.index) if options.index else None
    repair = None
    if output:
        repair = _fix(runs, output, options.source)
        runs = (output,)
    check_run = partial(
        check,
        source=options.source,
        index=index,
        words=options.max_words,
        criteria=options.read_criteria(),
    )
    results = list(map(check_run, runs))
    if options.as_json:
        rows = [result.record() for result in results]
        if repair:
            rows[0]["repaired"] = repair.done
        print_json(rows)
    else:
        if repair:
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
            print_line(f"{plain(result.path)}: {kind}, {result.counts}: {verdict}")
        if any(len(group) > EXAMPLES for result in shown for group in result.groups):
            click.echo("Print every finding: --json")
        if shown and not options.source:
            say("without --input, missing debates and another order are not seen", Label.NOTE)
        for warning in equal_files(runs):
            say(warning, Label.WARNING)
        for result in shown:
            if len(shown) > 1 and result.findings:
                click.secho(f"\n{plain(result.path)}", bold=True)
            _print_findings(result)
            if Path(result.path).exists() and not result.valid and result.kind in ("", *_MADE_BY):
                _print_advice(_find_advice(result, options, check_run))
    if not all(Path(result.path).exists() for result in results):
        return 2
    return 0 if all(result.good for result in results) else 1


def _fix(places: tuple[Path, ...], out: Path, source: Path | None) -> Repair:
    """Write the repaired run to a new file."""
    from touche_rad.files.outputs import STATUS, known_status, last_status, sha256_of
    from touche_rad.files.records import path_beside, write_json
    from touche_rad.score.repair import repair
    from touche_rad.score.validation import runs_in

    runs = [run for place in places for run in runs_in(place)]
    if len(runs) != 1:
        raise UserError("check --fix: give one run file")
    run = runs[0]
    repaired = repair(run, source)
    repaired.write(out)
    status = last_status(run)
    if status:
        folder, *words = status.get("command") or ["."]
        status["command"] = [os.path.relpath(run.parent / folder, out.parent), *words]
        if known_status(run):  # how the run was made stays true of its copy
            status |= {"output": out.name, "sha256": sha256_of(out)}
        write_json(path_beside(out, STATUS), status)
    return repaired


def _print_findings(result: Validation) -> None:
    """Print the findings by kind, with examples."""
    from touche_rad.score.findings import times_of

    for group in result.groups:
        level = group[0].level
        click.secho(f"{level:7}", fg="red" if level == "fault" else "yellow", nl=False)
        click.echo(f" {times_of(group):6}  {group[0].kind}")
        for issue in group[:EXAMPLES]:
            if issue.message != issue.kind or issue.line:
                print_line(f"    {issue.place}: {plain(issue.message)}", 6)


_MADE_BY: Final = {
    "simulations": "simulate CLAIMS -i INDEX -d {debater} --turns {turns}",
    "responses": "respond DEBATES -i INDEX -d {debater}",
    "evaluations": "judge JUDGED_DEBATES -i INDEX -j JUDGE",
}
"""What makes a kind of run, where the command of the run is unknown.

A user replaces the words in capitals. One of them also stands for an input that is not there.
"""
_PLACEHOLDERS: Final = {
    "CLAIMS": "the claims of the debates",
    "DEBATES": "the debates to answer",
    "JUDGED_DEBATES": "the debates that were judged",
    "INDEX": "the argument index",
    "DEBATER": "the debater",
    "JUDGE": "the judge",
    "N": "the turns of each debate",
}
_REPAIR: Final = "check {run} -i {index} --input {source} --fix -o {stem}.fixed.jsonl"
_NEW: Final = "-o {stem}.new.jsonl"


def _maker_of(run: Path, result: Validation, index: str | None) -> list[str]:
    """Return the command that made a run, or one that makes its kind, with the typed index."""
    from touche_rad.files.outputs import command_of
    from touche_rad.files.simulations import debater_of, planned_turns

    debater = debater_of(result.example) or "DEBATER"
    turns = planned_turns(result.example) or "N"
    template = _MADE_BY.get(result.kind, "COMMAND INPUT").split()
    made_by = [word.format(debater=debater, turns=turns) for word in template]
    words = command_of(run) or made_by
    if not os.path.exists(words[1]):
        words[1] = made_by[1]
    if index and "-i" in words:
        words[words.index("-i") + 1] = index
    return words


def _find_advice(
    result: Validation, options: CheckOptions, check_run: Callable[[Path], Validation]
) -> Mapping[str, Sequence[Sequence[str]]]:
    """Return the commands that make a run valid, in the order in which they have to be typed.

    They are grouped by headings, which say what they do.
    """
    from touche_rad.demo import DEMO
    from touche_rad.score.findings import ON_OTHERS, OTHER_RESPONSES
    from touche_rad.score.remedies import OF_ORDER, find_remedy
    from touche_rad.score.words import names_of

    run = Path(result.path)
    verb, source, *settings = _maker_of(run, result, options.index)
    if any("words" in kind for kind in result.faults):
        settings += ["--max-words", str(options.max_words)]
    remedy = find_remedy(result, verb, Path(source), options.source, check_run)

    debates = Path(remedy.source.path)
    source = str(debates)
    verb_of_source, claims, *settings_of_source = _maker_of(debates, remedy.source, options.index)
    claims = str(remedy.claims or claims)
    source_steps: list[list[str]] = []
    if remedy.repairs_source:
        source_steps = [command_on(debates, _REPAIR, claims, options.index)]
        source = source_steps[0][-1]
    repairing = (
        "check {run} -i {index} --fix -o {stem}.fixed.jsonl"
        if source.isupper()
        and {*OF_ORDER, InputProblem.EMPTY_RECORD}.isdisjoint(remedy.mended)  # an unknown input
        else _REPAIR
    )
    repair_steps = [*source_steps, command_on(run, repairing, source, options.index)]
    if remedy.suffices:
        return {"To repair it": repair_steps}

    if remedy.renews_source:
        output = command_on(debates, _NEW, claims)
        source_steps = [[verb_of_source, claims, *settings_of_source, *output]]
        source = output[-1]
    new_steps = [*source_steps, [verb, source, *settings, *command_on(run, _NEW, source)]]
    heading = "To make it valid, make it again (if it has the same faults: with other options)"
    if result.faults.keys() & {ON_OTHERS, OTHER_RESPONSES}:
        heading = "If --input is right, the run was made on another input: make it again"
    if verb != "judge" and DEMO in settings:
        heading += "; to upload it, with another index than demo"
    advice = {heading: new_steps}
    if remedy.mended:
        heading = (
            f"A repair alone does not make it valid (what remains: {names_of(remedy.remaining)})"
            if remedy.remaining
            else "A repair makes it valid, too, but each missing verdict becomes a no"
        )
        advice[heading] = [step for step in repair_steps if step not in new_steps]
    return advice


def _print_advice(advice: Mapping[str, Sequence[Sequence[str]]]) -> None:
    """Print commands by their headings, and what a user has to replace in them."""
    words = {*chain(*chain(*advice.values()))}
    unknown = "; ".join(
        f"{word} = {_PLACEHOLDERS[word]}" for word in _PLACEHOLDERS if word in words
    )
    if unknown:
        print_line(
            f"Replace every word in capitals (no status names it, or the file is gone): {unknown}"
        )
    for heading, steps in advice.items():
        if len(steps) > 1:
            heading += ", in this order (the last one makes it valid, also if one before it fails)"
        print_line(f"{heading}:")
        for command_words in steps:
            print_command(line_of(command_words))
