"""The command `chat`: debate in the terminal."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from touche_rad.cli import options as opt

if TYPE_CHECKING:
    from touche_rad.cli.chat.commands import Chat
    from touche_rad.cli.chat.reader import Reader
    from touche_rad.cli.chat.session import Session
    from touche_rad.cli.chat.store import StateFile
    from touche_rad.cli.chat.view import View

HISTORY: Final = "chat-history"


@opt.command(
    "chat",
    "chat -i demo",
    "chat -i demo -d verbatim -j off",
    "chat -i demo -d sinai -m http://localhost:8000/v1#llama",
)
@opt.options(
    opt.DEBATER,
    opt.JUDGE,
    opt.plugin_options("debater", "judge"),
    opt.flag("--resume", "Go on with the last chat that was not saved."),
    click.option(
        "--history/--no-history",
        default=True,
        show_default=True,
        help="Keep typed lines and unfinished chats in the user's state folder.",
    ),
    opt.MAX_WORDS,
    opt.INDEX,
    opt.SPARE_INDEX,
    *opt.MODEL_OPTIONS,
    opt.DEADLINE,
    opt.SEED,
)
@click.pass_context
def chat_command(ctx: click.Context, /, **given: Any) -> int:
    """Debate with a debater in the terminal.

    Type a message to get an answer with its citations and the verdicts of the judge (-j off: no
    judge). Type /help for the commands, such as /explain, /as DEBATER and /save FILE. Ctrl-C stops
    an answer, Ctrl-D ends the chat. Lines can also be piped in.
    """
    from touche_rad.cli import prepare
    from touche_rad.cli.chat import store
    from touche_rad.cli.chat.session import Session, select_judge
    from touche_rad.cli.chat.view import View
    from touche_rad.cli.options import PluginSpec
    from touche_rad.cli.prepare import MAKE_INDEX
    from touche_rad.demo import DEMO
    from touche_rad.plugins import parse_plugin

    state = store.StateFile(enabled=given["history"])
    resumed = state.resume() if given["resume"] else None
    for key in ("debater", "judge"):
        if resumed and ctx.get_parameter_source(key) == ParameterSource.DEFAULT:
            given[key] = PluginSpec(*parse_plugin(resumed[key]))
    given["quiet"] = False
    debater = prepare.select_main("debater", given)
    judge = select_judge(given["judge"], given["options"].get("judge"))
    view = View()
    if not given["index"]:
        given["index"] = DEMO
        view.note(f"this is the demo collection, on 18 topics only; for your own: {MAKE_INDEX}")
    with _notes(view):
        session = Session(given, debater, judge)
        _chat(session, view, state, resumed)
    return 0


def _chat(session: Session, view: View, state: StateFile, resumed: dict[str, Any] | None) -> None:
    """Read and execute lines until the user ends the chat."""
    import asyncio

    from touche_rad.cli.chat import store
    from touche_rad.cli.chat.commands import Chat, completions
    from touche_rad.cli.chat.reader import Reader

    keep = state.enabled
    reader = Reader(store.state_folder() / HISTORY if keep else None, completions)
    with asyncio.Runner() as runner:
        states = iter([state])
        chat = Chat(
            session,
            view,
            reader,
            lambda: next(states, None) or store.StateFile(enabled=keep),
            runner.run,
        )
        try:
            _open(chat, resumed)
            _loop(chat, reader)
        finally:
            runner.run(session.close())


@contextmanager
def _notes(view: View) -> Iterator[None]:
    """Show warnings of the program as notes."""
    log = logging.getLogger("touche_rad")
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: view.note(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def _open(chat: Chat, resumed: dict[str, Any] | None) -> None:
    """Print with whom the user debates, and the debate that is resumed."""
    session, view = chat.session, chat.view
    judge = f"judge {session.judge.tag}" if session.judge is not None else "no judge"
    view.say(f"debater {session.debater.tag}, {judge}, {session.arguments:,} arguments; /help")
    if resumed is not None:
        session.start(resumed["debate"])
        session.pending = resumed["pending"]
        chat.saved = not session.debate.turns
        chat.show_last()


def _loop(chat: Chat, reader: Reader) -> None:
    """Read and execute lines until the user ends the chat."""
    from touche_rad.cli.chat.commands import Quit

    view = chat.view
    while True:
        try:
            line = reader.read()
            if not reader.interactive and line:
                view.echo(line)
            chat.execute(line)
        except KeyboardInterrupt:
            view.blank()
            view.say("Ctrl-D or /quit ends the chat")
        except EOFError:
            if reader.interactive:
                view.blank()
            break
        except Quit:
            break
    if not chat.saved:
        kept = chat.state.path.is_file()
        more = "; go on and save with: touche-rad chat --resume" if kept else ""
        view.say(f"not saved{more}")
