"""The command `label`."""

from __future__ import annotations

import getpass
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli import old_options as opt
from touche_rad.cli.console import next_step, say
from touche_rad.errors import OptionError, UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from touche_rad.labelling.exchanges import Exchanges, JudgeVerdicts
    from touche_rad.labelling.log import Log
    from touche_rad.labelling.session import Session

_SHARE: Final = 0.3


@opt.command(
    "label",
    "label run.jsonl -o labels.jsonl",
    "label touche_rad/demo/debates.jsonl judges/*.jsonl -o labels.jsonl --annotator ana",
    "label run.jsonl -o labels.jsonl --annotator ben",
    "label run.jsonl -o labels.jsonl --annotator ana --settle",
    "label run.jsonl -o labels.jsonl --summary",
)
@opt.path_argument("paths", "RUN [EVALUATIONS]...", nargs=-1, required=True)
@opt.options(
    opt.output("Labels file; a log with each answer is kept in FILE.log.", required=True),
    click.option("--annotator", metavar="NAME", help="Your name. [default: your user name]"),
    click.option(
        "--with",
        "others",
        type=click.Path(path_type=Path),
        metavar="FILE",
        multiple=True,
        help="Labels of another annotator on the same run; repeatable.",
    ),
    opt.flag("--settle", "Open the page at the turns where annotators disagree."),
    opt.flag("--summary", "Print progress and agreement, write the labels file, and exit."),
    click.option(
        "--random-share",
        type=opt.Number(0, 1),
        metavar="SHARE",
        default=_SHARE,
        show_default=True,
        help="Share of random turns; the others are where judges disagree.",
    ),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        metavar="N",
        default=0,
        show_default=True,
        help="Port on this machine; 0 = any free port.",
    ),
    opt.SEED,
    opt.REPLACE,
    opt.QUIET,
)
def label_command(paths: tuple[Path, ...], **given: Any) -> None:
    """Label the responses of RUN by hand, in the browser.

    EVALUATIONS of RUN, or the verdicts in RUN itself, choose which turns come first; the page shows
    them once a turn is labelled. Each answer is saved at once. The same command continues at the
    first open turn; another annotator of the same labels file gets the same turns.
    """
    from touche_rad.labelling.exchanges import read_exchanges
    from touche_rad.labelling.session import Session, log_beside, queue_of

    annotator = _annotator(given["annotator"])
    output: Path = given["output"]
    _check_output(output, log_beside(output), replace=given["replace"])
    exchanges = read_exchanges(paths[0])
    judges = _judges(paths, exchanges)
    log = _open(output, exchanges, judges, given)
    try:
        queue = queue_of(log, exchanges)
        session = Session(exchanges, log, queue, annotator, output, judges, given["others"])
        if log.broken:
            say(
                f"note: {log.path}: {log.broken} incomplete lines of interrupted writes are ignored"
            )
        if not given["summary"]:
            _serve(session, given)
        session.write()
        _print_summary(session, paths, quiet=given["quiet"])
    finally:
        log.close()


def _annotator(name: str | None) -> str:
    if name is None:
        with suppress(OSError, KeyError):
            name = getpass.getuser()
    name = " ".join((name or "annotator").split())
    if not name or len(name) > 60 or not name.isprintable():
        raise OptionError("--annotator: expected a name of 1 to 60 printable characters")
    return name


def _check_output(output: Path, log: Path, *, replace: bool) -> None:
    """Refuse a file that is not ours; with --replace, keep an old log under another name."""
    import time

    from touche_rad import files

    if str(output) == "-":
        raise OptionError("-o -: label needs a file, which it can reopen")
    if not log.exists():
        files.check_output(output, replace=replace)
    elif replace:
        log.rename(log.with_name(f"{log.name}.{time.strftime('%Y%m%d-%H%M%S')}"))


def _judges(paths: Sequence[Path], exchanges: Exchanges) -> list[JudgeVerdicts]:
    from touche_rad import files
    from touche_rad.labelling.exchanges import read_verdicts

    own = [paths[0]] if files.detect_kind(paths[0]) is files.Kind.EVALUATIONS else []
    return read_verdicts([*own, *paths[1:]], exchanges)


def _open(
    output: Path, exchanges: Exchanges, judges: Sequence[JudgeVerdicts], given: dict[str, Any]
) -> Log:
    """Open the log, or begin it with a queue."""
    from touche_rad.labelling.log import Log
    from touche_rad.labelling.queue import make_queue
    from touche_rad.labelling.session import header_of, log_beside

    path = log_beside(output)
    settings = {name: given[name] for name in ("seed", "random_share")}
    header: dict[str, Any] = {}
    if not path.exists():
        if not judges:
            note = "without EVALUATIONS (see touche-rad judge) the turns are in random order"
            say(f"note: {note}", quiet=given["quiet"])
        queue = make_queue(exchanges, judges, **settings)
        header = header_of(exchanges, queue, **settings)
    return Log(path, header)


def _serve(session: Session, given: dict[str, Any]) -> None:
    """Serve the page until Ctrl-C."""
    import uvicorn

    from touche_rad.labelling.app import HOSTS, create_app, new_token

    token = new_token()
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOSTS[0], given["port"]))
    except OSError as error:
        listening.close()
        raise UserError(
            f"port {given['port']} cannot be used ({error.strerror}): choose another with --port N"
        ) from None
    app = create_app(session, token, settle=given["settle"])
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=2,
            lifespan="on",
        )
    )
    done, total = session.done(), len(session.queue)
    where = f"{done} of {total} turns labelled" if done else f"{total} turns"
    say(f"{session.annotator}: {where}; stop with Ctrl-C", quiet=given["quiet"])
    address = f"http://{HOSTS[0]}:{listening.getsockname()[1]}/{token}/"
    listening.listen()
    click.echo(f"open in your browser: {address}")
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def _print_summary(session: Session, paths: Sequence[Path], *, quiet: bool) -> None:
    """Print how many turns are labelled, the agreement, and the next step."""
    from touche_rad.cli.console import terminal_width
    from touche_rad.score.tables import terminal_lines

    if quiet:
        return
    study = session.study
    for name in study.annotators or [session.annotator]:
        answers = study.answers[name]
        done = study.complete(name)
        begun = len(answers) - done
        more = f", {begun} unfinished: the open questions are null" if begun else ""
        click.echo(f"{name}: {done} turns labelled{more}")
    samples = session.samples()
    kinds = [samples[place].value for place in study.samples]
    if kinds:
        counts = ", ".join(f"{kinds.count(one)} {one}" for one in dict.fromkeys(kinds))
        click.echo(f"{len(kinds)} turns with a label: {counts}")
    parts = list(session.agreement().parts())
    if len(study.annotators) > 1:
        click.echo("\n".join(terminal_lines(parts, terminal_width())))
    left = len(study.open_disagreements())
    if left:
        click.echo(f"{left} disagreements are not settled: null in {session.output}")
    say(f"written: {session.output} (log: {session.log.path.name})")
    _next(session, paths, settle=bool(left))


def _next(session: Session, paths: Sequence[Path], *, settle: bool) -> None:
    from touche_rad import files

    steps: list[list[Any]] = []
    if settle:
        steps.append(["label", *paths, "-o", session.output, "--settle"])
    if session.study.samples:
        runs = [path for path in paths if files.detect_kind(path) is files.Kind.EVALUATIONS]
        runs = runs[:1] or [Path("EVALUATIONS")]
        steps.append(["score", *runs, session.output, "--debates", paths[0], "--correct"])
    next_step(*steps)
