"""The command `label`."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touche_rad import files
from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.advice import with_repair
from touche_rad.cli.console import Label, next_step, print_parts, say, with_criteria
from touche_rad.cli.program import command
from touche_rad.errors import InputError, OptionError
from touche_rad.files.records import path_beside
from touche_rad.lists import unique
from touche_rad.text import count_of, printable

if TYPE_CHECKING:
    from touche_rad.labelling.session import LabelSession


@opt.offering("seed", "replace", "quiet")
class LabelOptions(opt.Common):
    """The options of `label`."""

    paths: tuple[Path, ...] = opt.arguments("RUN... [EVALUATIONS]...")
    output: Path = opt.output(
        "Labels file; a log with each answer is kept in FILE.log.", required=True
    )
    criteria: str | None
    annotator: str | None = opt.option("Your name. [default: your user name]", metavar="NAME")
    others: tuple[Path, ...] = opt.repeatable(
        "Labels of another annotator on the same run; repeatable.", "--with"
    )
    settle: bool = opt.flag("Open the page at the turns where annotators disagree.")
    summary: bool = opt.flag("Print progress and agreement, write the labels file, and exit.")
    port: int = opt.option(
        "Port on this machine; 0 = any free port.", least=0, most=65535, default=0
    )


@command(
    "label touche_rad/demo/debates.jsonl judges/*.jsonl -o labels.jsonl --annotator ana",
    "label team1.jsonl team2.jsonl --criteria mine.toml -o labels.jsonl --annotator ana",
    "label run.jsonl -o labels.jsonl --annotator ana --settle",
    "label run.jsonl -o labels.jsonl --summary",
)
def label_command(options: LabelOptions) -> None:
    """Label the responses of RUN by hand, in the browser, in random order.

    The debates of several runs are mixed, and the page does not show the run. EVALUATIONS have
    judges' verdicts, which the page shows once a turn is labelled. Each answer is saved at once.
    The same command continues at the first open turn; another annotator of the same labels file
    gets the same turns. Only one of them at a time can have the page open.
    """
    from touche_rad.files.criteria import criteria_of
    from touche_rad.labelling.exchanges import read_exchanges, read_verdicts
    from touche_rad.labelling.session import LOG, LabelSession, is_begun

    annotator = " ".join((options.annotator or os.environ.get("USER", "annotator")).split())
    if not annotator or len(annotator) > 60 or not annotator.isprintable():
        raise OptionError("--annotator: expected a name of 1 to 60 printable characters")
    paths = unique(options.paths)
    output = options.output
    log = path_beside(output, LOG)
    if str(output) == "-":
        raise OptionError("-o -: label needs a file, which it can reopen")
    if not is_begun(log):
        go_on = f"to go on with its labels, choose another output: -o NEW --with {output}"
        files.check_output(output, replace=options.replace, fix=go_on)
    elif options.replace:  # no label is lost: the old log gets another name
        log.rename(log.with_name(f"{log.name}.{time.strftime('%Y%m%d-%H%M%S')}"))
    chosen = options.read_criteria()
    evaluations = [path for path in paths if files.detect_kind(path) is files.Kind.EVALUATIONS]
    runs = [path for path in paths if path not in evaluations] or evaluations
    try:
        exchanges = read_exchanges(runs, chosen or criteria_of(None, *evaluations))
    except InputError as damaged:
        raise with_repair(damaged) from damaged
    refused: dict[str, str] = {}
    judges = read_verdicts(evaluations, exchanges, refused) if evaluations else {}
    for error in refused.values():
        say(f"left out: {error}", Label.WARNING)
    session = LabelSession(
        exchanges,
        judges,
        annotator,
        output,
        others=options.others,
        seed=options.seed,
    )
    try:
        if not options.summary:
            _serve(session, options)
        session.write()
        if not options.quiet:
            _print_summary(session, options, evaluations)
    finally:
        session.log.close()


def _serve(session: LabelSession, options: LabelOptions) -> None:
    """Serve the page until Ctrl-C."""
    import uvicorn

    from touche_rad.labelling.app import HOSTS, create_app
    from touche_rad.serve.limits import Access, Gate, Limits
    from touche_rad.session import cancel_all, run

    token = secrets.token_urlsafe(12)
    listening = prepare.bind(HOSTS[0], options.port)
    listening.listen()  # before the address is printed
    app = Gate(create_app(session, token, settle=options.settle), Limits(), Access())
    server = uvicorn.Server(
        uvicorn.Config(
            app, log_level="critical", access_log=False, timeout_graceful_shutdown=2, lifespan="on"
        )
    )
    done = session.done()
    total = len(session.queue)
    progress = f"{done} of {total} turns finished" if done else f"{total} turns"
    say(f"{session.annotator}: {progress}; stop with Ctrl-C")
    address = f"{HOSTS[0]}:{listening.getsockname()[1]}"
    click.echo(f"open in your browser: http://{address}/{token}/")
    # Python hands signals to the main thread only, where we wait for the event loop.
    with suppress(KeyboardInterrupt), server.capture_signals():
        run(server.serve, [listening])
        run(cancel_all)  # a second Ctrl-C ends the server before its tasks


def _print_summary(
    session: LabelSession, options: LabelOptions, evaluations: Sequence[Path]
) -> None:
    """Print how many turns are labelled, the agreement, and the next step."""
    from touche_rad.labelling.agreement import agreement

    study = session.study
    for name in study.annotators or [session.annotator]:
        answers = study.answers[name]
        done = sum(study.is_complete(name, place) for place in answers)
        line = f"{name}: {count_of(len(answers), 'turn')} labelled"
        if done < len(answers):
            line += f", {len(answers) - done} of them unfinished"
        click.echo(printable(line))
    if len(study.annotators) > 1:
        print_parts(agreement(study, options.seed).parts())
    steps: list[list[object]] = []
    chosen = with_criteria(options.criteria)
    unsettled = len(study.open_disagreements())
    if unsettled:
        click.echo(f"disagreements that are not settled: {unsettled}, null in {session.output}")
        others = [word for path in options.others for word in ("--with", path)]
        steps.append(["label", *options.paths, *chosen, "-o", session.output, *others, "--settle"])
    say(f"{session.output} (log: {session.log.path.name})", Label.WRITTEN)
    if study.places:
        step = ["score", *(evaluations or options.paths), session.output, *chosen]
        if session.exchanges.criteria.official and not session.exchanges.is_pooled:
            step += ["--debates", options.paths[0]]
        steps.append([*step, "--correct"] if evaluations else step)
    next_step(*steps)
