"""The command `chat`: debate in the terminal; the page of `serve` has the rest."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Final

from rich.table import Column, Table
from rich.text import Text

from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import open_console, plain, verdict_text, wrapped
from touche_rad.cli.program import command
from touche_rad.criteria import grice
from touche_rad.debate import Debate
from touche_rad.demo import DEMO, is_demo
from touche_rad.errors import OptionError, ToucheRadError
from touche_rad.plugins import Configured, LoadedDebater, LoadedJudge
from touche_rad.runs.fallbacks import FailureLog
from touche_rad.runs.judging import judge_view
from touche_rad.session import Session
from touche_rad.text import count_words, printable

OFF: Final = "off"
_REASONS_COLUMN: Final = 22
"""The column in which the reasons of verdicts begin."""


@opt.offering("max_words", "index", "fallback_index", "deadline", "seed")
class ChatOptions(opt.ModelOptions):
    """The options of `chat`."""

    debater: opt.PluginSpec = opt.DEBATER
    judge: opt.PluginSpec = opt.JUDGE
    plugin_options: opt.PluginOptions = opt.plugin_options("debater", "judge")


@command(
    "chat -i demo -d verbatim -j off",
    "chat -i demo -d sinai -m http://localhost:8000/v1#llama",
)
def chat_command(options: ChatOptions) -> int:
    """Debate with a debater in the terminal.

    Type a message to get an answer with its citations and the verdicts of the judge (-j off: no
    judge). Ctrl-C stops an answer, Ctrl-D ends the chat. Lines can also be piped in. The page of
    touche-rad serve also shows why an answer cites an argument, and saves debates.
    """
    options = replace(options, index=options.index or DEMO)
    debater = options.debater.configure("debater")
    judge = None
    plugins: list[Configured] = [debater]
    if options.judge.name != OFF:
        if prepare.is_panel(options.judge.name):
            raise OptionError(f"{options.judge.name} judges whole debates, not responses")
        judge = options.judge.configure("judge")
        plugins.append(judge)
    with prepare.open_session(options, *plugins, needs_index=True) as session:
        Chat(options, session, debater, judge).run()
    return 0


class Chat:
    """A debate in progress."""

    def __init__(
        self,
        options: ChatOptions,
        session: Session,
        debater: Configured[LoadedDebater],
        judge: Configured[LoadedJudge] | None,
    ) -> None:
        """Make the plugins."""
        from touche_rad.runs.answering import make_answerer

        self._options = options
        self._session = session
        self._debater = debater
        self._answerer = make_answerer(
            debater, session.services, options.max_words, options.deadline
        )
        self._failures = FailureLog(shows=False)  # the notices of the answers name them
        self._judge_name = f"judge {judge.tag}" if judge else "no judge"
        self._judge = judge.make(session.services) if judge else None
        self._console = open_console()
        self._debate = Debate()

    def run(self) -> None:
        """Read and answer messages until the user ends the chat."""
        index = self._session.index
        size = len(index or ())
        self._say(
            f"debater {self._debater.tag}, {self._judge_name}, {size:,} arguments; Ctrl-D ends"
        )
        if index is not None and is_demo(index):
            self._say(prepare.ON_DEMO)
        if not self._session.model and self._debater.plugin.uses_model:
            self._say(f"note: {prepare.SIDE_UNKNOWN}", style="yellow")
        is_interactive = sys.stdin.isatty() and sys.stdout.isatty()
        if is_interactive and sys.platform != "win32":
            with suppress(ImportError):
                import readline  # noqa: F401, editing and a history for input()
        while True:
            try:
                message = printable(input("you> " if is_interactive else "")).strip()
                if not message:
                    continue
                if not is_interactive:
                    self._say(f"you> {message}", style="bold")
                self._answer(message)
            except ToucheRadError as error:
                self._say(f"error: {error}", style="red")
            except KeyboardInterrupt:
                self._say("stopped; Ctrl-D ends the chat")
            except EOFError:
                break

    def _answer(self, message: str) -> None:
        """Print the answer to a message with its citations, and the verdicts of the judge."""
        debate = self._debate.with_utterance(message)
        with self._working(self._debater.tag):
            answer = self._session.run(
                partial(self._answerer.answer, debate, failures=self._failures)
            )
        response = answer.response
        self._debate = debate.with_response(response)

        # Above the answer stands that it is from a fallback.
        notices = [event.text for event in answer.events]
        if answer.fallback:
            notices = [answer.fallback.notice]
        for notice in notices:
            self._say(f"note: {notice}", style="yellow")
        self._say(f"{answer.by}> {response.content}", style="bold")
        for number, argument in enumerate(response.arguments, 1):
            is_quoted = plain(argument.text) in plain(response.content)
            quoted = ", quoted in full" if is_quoted else ""
            self._say(f"[{number}] {argument.id}{quoted}", "  ", style="")
            if not is_quoted:
                self._say(argument.text, "      ")
        if not response.arguments:
            self._say("It cites no argument.", "  ")
        limit = f" of {self._options.max_words}" if self._options.max_words else ""
        self._say(f"{count_words(response.content)}{limit} words", "  ")

        if self._judge:
            with self._working(self._judge_name):
                verdicts = self._session.run(
                    partial(
                        judge_view,
                        self._judge,
                        self._debate,
                        grice(),
                        deadline=self._options.deadline,
                    )
                )
            table = Table.grid(Column(width=_REASONS_COLUMN), Column())
            for criterion in grice():
                verdict, reason = verdict_text(verdicts, criterion)
                table.add_row(verdict, Text(plain(reason)))
            self._console.print(table)

    def _say(self, text: str, indent: str = "", style: str = "dim") -> None:
        """Print a message of the program."""
        for line in wrapped(Text(plain(text), style), self._console.width, indent):
            self._console.print(line, no_wrap=True, overflow="crop")

    def _working(self, who: str) -> AbstractContextManager[object]:
        """Show on a terminal that a plugin works."""
        if not sys.stdout.isatty():
            return nullcontext()
        return self._console.status(f"{plain(who)} is working (Ctrl-C stops it)", spinner="line")
