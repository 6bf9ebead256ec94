"""`bench run paper:TABLE`: run the commands of a paper's table, and print ours beside it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

import click

from touche_rad import __version__
from touche_rad.cli.console import say, terminal_width
from touche_rad.cli.options import Common
from touche_rad.cli.program import run
from touche_rad.cli.score import ScoreOptions, score_runs
from touche_rad.cli.steps import DONE, line_of, run_once
from touche_rad.errors import OptionError, UserError
from touche_rad.files.records import atomic_write
from touche_rad.papers.comparison import Comparison, Records, compare, records_of
from touche_rad.papers.tables import Reproduction, load

RECORD: Final = "commands.json"
"""The commands that are finished; they are not run again."""
RESULT: Final = "table"
_RUNS: Final = ("judge", "respond", "tournament")
"""The commands that play or judge."""


def run_table(
    name: str,
    options: Common,
    *,
    data: Path | None,
    out: Path | None,
    models: Sequence[str],
    again: bool,
    as_json: bool,
) -> int:
    """Run the commands of a table, and print its values beside ours."""
    table = load(name)
    if data is None:
        files = "; ".join(f"{file}: {what}" for file, what in table.data.items())
        raise UserError(f"bench run: give the folder with the data: --data DIR, with {files}")
    work = Reproduction(
        table,
        data,
        out or Path(name.replace("/", "-")),
        index=options.index or "",
        model=options.model or "",
        models=dict(_pair(text) for text in models),
    )
    work.check()
    work.out.mkdir(parents=True, exist_ok=True)
    with redirect_stdout(sys.stderr):  # the commands print tables of their own
        _run_commands(work, options, again=again)
    refused: list[str] = []
    comparison = _score(name, work, refused)
    as_text = json.dumps(comparison.to_json(), ensure_ascii=False, indent=2)
    for suffix, text in ((".json", as_text), (".txt", "\n".join(comparison.lines()))):
        path = work.out / f"{RESULT}{suffix}"
        with atomic_write(path) as stream:
            stream.write(f"{text}\n")
        say(f"written: {path}", quiet=options.quiet)
    click.echo(as_text if as_json else "\n".join(comparison.lines(terminal_width())))
    if all(cell.ours is None for cell in comparison.cells):
        refused.append(f"no row has a value: touche-rad score on the runs in {work.out} says why")
    for error in refused:
        say(f"error: {error}")
    return 1 if refused else 0


def _for_runs(options: Common) -> list[str]:
    """Return the options that a table passes on to the commands that play or judge."""
    words = [
        f"--{name}={value}"
        for name in ("cache", "workers", "wait")
        if (value := getattr(options, name)) is not None
    ]
    words += ["--strict"] * options.strict + ["--no-trace"] * (not options.trace)
    for plugin in ("model", "vllm"):
        for key, text in options.plugin_options.of(plugin).items():
            words += ["-O", f"{plugin}.{key}={text}"]
    return words


def _pair(text: str) -> tuple[str, str]:
    name, sign, model = text.partition("=")
    if not sign or not model:
        raise OptionError(f"--model-of {text}: expected NAME=URL#MODEL")
    return name, model


def _run_commands(work: Reproduction, options: Common, *, again: bool) -> None:
    """Run the commands that are not finished, or all of them again."""
    record, more = work.out / RECORD, _for_runs(options)
    state: dict[str, Any] = {"version": __version__, "data": work.digests(), DONE: []}
    commands = [[*words, *(more if words[0] in _RUNS else ())] for words in work.commands()]
    if record.is_file() and not again:
        known = json.loads(record.read_text("utf-8"))
        if {**known, DONE: []} != state or not set(known[DONE]) <= set(map(line_of, commands)):
            raise UserError(
                f"{work.out} has runs with other data, models or options: --replace makes them "
                "again; or name another folder with -o"
            )
        state = known

    def call(words: Sequence[str]) -> int:
        return run([*words, "--replace", "--quiet"], is_step=True)

    run_once(commands, record, state, call, quiet=options.quiet)


def _score(name: str, work: Reproduction, refused: list[str]) -> Comparison:
    """Score the runs of each part; errors of runs that cannot be scored are added to `refused`."""
    scores: list[Records] = []
    for part in work.table.parts:
        records: list[Mapping[str, Any]] = []
        for runs, truth in work.scored(part):
            options = ScoreOptions(
                paths=(*runs, truth),
                debates=work.file(part.debates),
                exclude=work.file(part.exclude),
                quiet=True,
            )
            report = score_runs(options)
            refused += report.refused.values()
            records += records_of(report)
        scores.append(records)
    return compare(name, work, scores)
