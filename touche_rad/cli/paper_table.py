"""`bench run paper:TABLE`: run the commands of a paper's table, and print ours beside it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from touche_rad import __version__
from touche_rad.cli.bench_options import BenchRunOptions
from touche_rad.cli.console import Label, line_of, print_parts, say
from touche_rad.cli.program import run
from touche_rad.cli.score import ScoreOptions, score_runs
from touche_rad.cli.steps import Steps
from touche_rad.errors import OptionError, UserError, WorkError
from touche_rad.files.records import make_folder, write_text
from touche_rad.papers.comparison import Records, compare, records_of
from touche_rad.papers.tables import PREFIX, PaperRow, Reproduction, load
from touche_rad.text import json_text

RESULT: Final = "table"
_RUNS: Final = ("judge", "respond", "tournament")
"""The commands that play or judge."""


def run_table(options: BenchRunOptions) -> int:
    """Run the commands of a table with the options of `bench run`, and print its values."""
    name = str(options.plan).removeprefix(PREFIX)
    table = load(name)
    if not options.data or options.data.is_file():
        files = "; ".join(f"{file}: {what}" for file, what in table.data.items())
        raise UserError(f"bench run: give the folder with the data: --data DIR, with {files}")
    models: dict[str, str] = {}
    for text in options.model_of:
        row_name, _, models[row_name] = text.partition("=")
        if not models[row_name]:
            raise OptionError(f"--model-of {text}: expected NAME=URL#MODEL")
    work = Reproduction(
        table,
        options.data,
        options.output or Path(name.replace("/", "-")),
        index=options.index or "",
        model=options.model or "",
        models=models,
        votes=options.votes,
    )
    work.check()
    make_folder(work.out)
    refused: list[str] = []
    with redirect_stdout(sys.stderr):  # the commands print tables of their own
        work = _run_commands(work, options, refused)
    scores: list[Records] = []
    for part in work.table.parts:
        records: list[Mapping[str, Any]] = []
        for runs, truth in work.scored(part):
            score_options = ScoreOptions(
                paths=(*runs, truth),
                debates=work.file(part.debates),
                exclude=work.file(part.exclude),
                votes=work.votes and part.has_errors,
                criteria=None,
                replace=False,
                quiet=True,
            )
            report = score_runs(score_options)
            refused += report.refused.values()
            records += records_of(report)
        scores.append(records)
    comparison = compare(name, work, scores)
    as_json = json_text(comparison.to_json())
    in_full = "\n".join(comparison.lines(sys.maxsize))
    for suffix, text in ((".json", as_json), (".txt", in_full)):
        path = work.out / f"{RESULT}{suffix}"
        write_text(path, f"{click.unstyle(text)}\n")
        say(path, Label.WRITTEN)
    if options.as_json:
        click.echo(as_json)
    else:
        print_parts(comparison.parts())
    if all(cell.ours is None for cell in comparison.cells):
        refused.append(f"no row has a value: touche-rad score on the runs in {work.out} says why")
    for error in refused:
        say(error, Label.ERROR)
    return 1 if refused else 0


def _run_commands(work: Reproduction, options: BenchRunOptions, refused: list[str]) -> Reproduction:
    """Run the commands that are not finished, or all of them again.

    A row whose command fails is left out, and its error is added to `refused`. If no command of a
    row has succeeded yet, the error is raised: the other rows are likely to fail, too.
    """
    run_options: list[str] = []
    for key in ("cache", "workers", "wait"):
        value = getattr(options, key)
        if value is not None:
            run_options.append(f"--{key}={value}")
    if options.strict:
        run_options.append("--strict")
    if not options.trace:
        run_options.append("--no-trace")
    for plugin in ("model", "vllm"):
        for key, text in options.plugin_options[plugin].items():
            run_options += ["-O", f"{plugin}.{key}={text}"]

    commands = list(work.commands())
    lines: dict[str, PaperRow | None] = {}
    for row, row_commands in commands:
        for words in row_commands:
            if words[0] in _RUNS:
                words += run_options
            lines[line_of(words)] = row
    identity = {"version": __version__, "data": work.digests()}
    restart = options.restart or options.replace

    def call(words: Sequence[str]) -> int:
        return run([*words, "--replace", "--quiet"], is_step=True)

    failed: list[PaperRow] = []
    with closing(Steps(work.out, identity, restart=restart)) as steps:
        if not lines.keys() >= set(steps.finished):
            raise UserError(
                f"{work.out} has runs with other models or options: --replace makes them again; or "
                "name another folder with -o"
            )
        for row, row_commands in commands:
            try:
                steps.run(row_commands, call)
                if not row:
                    work.check_examples()
            except WorkError as error:
                is_first = not any(lines[line] for line in steps.finished)
                if not row or error.exit_code != 1 or options.strict or is_first:
                    raise
                failed.append(row)
                refused.append(str(error))
    return replace(work, failed=tuple(failed))
