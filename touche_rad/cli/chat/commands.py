"""The commands of a chat, such as /explain and /save."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Coroutine, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from touche_rad.cli.chat.session import OFF, Session, select_judge
from touche_rad.cli.options import PluginSpec
from touche_rad.errors import ToucheRadError, UserError

if TYPE_CHECKING:
    from touche_rad.cli.chat.reader import Reader
    from touche_rad.cli.chat.store import StateFile
    from touche_rad.cli.chat.view import View

T = TypeVar("T")

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "explain": ("[all]", "Show why the last answer cites what it cites."),
    "sources": ("[N]", "Show the cited arguments, or the N-th one, with all fields."),
    "as": ("DEBATER[(KEY=VALUE,...)]", "Let another debater answer from now on."),
    "judge": ("NAME[(KEY=VALUE,...)]|off", "Judge the last answer and all later ones."),
    "undo": ("", "Take back the last turn."),
    "retry": ("", "Answer the last message again, with another random seed."),
    "save": ("FILE", "Write the debate as an official simulation; /save! replaces a file."),
    "load": ("FILE [N]", "Go on from the N-th debate of a file."),
    "new": ("", "Begin a new debate."),
    "help": ("", "Show the commands."),
    "quit": ("", "End the chat; Ctrl-D does the same."),
}
"""Arguments and purpose of each command."""


class Quit(Exception):
    """The user ends the chat."""


class Chat:
    """Executes messages and commands on a session, and prints the results."""

    def __init__(
        self,
        session: Session,
        view: View,
        reader: Reader,
        new_state: Callable[[], StateFile],
        run: Callable[[Coroutine[Any, Any, Any]], Any],
    ) -> None:
        """Make a chat.

        Args:
            session: The debate and its plugins.
            view: Prints.
            reader: Asks the user.
            new_state: Makes the file for the unfinished chat.
            run: Runs a coroutine; raises KeyboardInterrupt if the user stops it.
        """
        self.session, self.view, self._reader = session, view, reader
        self._new_state, self._run = new_state, run
        self.state = new_state()
        self.saved = True
        """Whether the debate is empty or saved as it is."""
        self._with_arguments: dict[str, Callable[[str], None]] = {
            "explain": self._explain,
            "sources": self._sources,
            "as": self._as,
            "judge": self._judge_by,
            "load": self._load,
        }
        self._without_arguments: dict[str, Callable[[], None]] = {
            "undo": self._undo,
            "retry": self._retry,
            "new": self._new,
            "help": self._help,
            "quit": self._quit,
        }

    def execute(self, line: str) -> None:
        """Answer a message, or execute a command.

        Raises:
            Quit: The user ends the chat.
        """
        try:
            if line.startswith("/"):
                self._command(line[1:])
            elif line:
                self.answer(line)
        except ToucheRadError as error:
            self.view.error(str(error))

    def answer(self, message: str) -> None:
        """Answer a message, print the answer and judge it."""
        session = self.session
        try:
            with self.view.working(session.debater.tag):
                reply = self._run(session.answer(message))
        except KeyboardInterrupt:
            self.view.note("stopped; the message is not part of the debate; /retry sends it again")
            return
        self.saved = False
        self.view.reply(reply, session.given["max_words"])
        self._keep()
        self._judge()

    def _judge(self) -> None:
        session = self.session
        if session.judge is None or not session.debate.turns:
            return
        try:
            with self.view.working(f"judge {session.judge.tag}"):
                spent = self._run(session.judge_last())
        except KeyboardInterrupt:
            self.view.note("the judge was stopped")
            return
        if session.verdicts is not None:
            self.view.verdicts(session.verdicts, session.judge.tag, spent)

    def _keep(self) -> None:
        """Write the unfinished chat, so that it can be resumed."""
        session = self.session
        if not session.debate.turns and not session.pending:
            self.state.delete()
            return
        judge = session.judge.tag if session.judge is not None else OFF
        reason = self.state.write(session.debate, session.pending, session.debater.tag, judge)
        if reason:
            self.view.note(f"the chat cannot be kept for --resume: {reason}")

    def _command(self, line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        name, forced = word.removesuffix("!").lower(), word.endswith("!")
        if name == "exit":
            name = "quit"
        if name not in COMMANDS or (forced and name != "save"):
            raise UserError(f"there is no command /{word}{_nearest(name)}; /help lists them")
        arguments = rest.strip()
        if name == "save":
            self.save(arguments, replace=forced)
        elif name in self._with_arguments:
            self._with_arguments[name](arguments)
        elif arguments:
            raise UserError(f"/{name} takes no argument")
        else:
            self._without_arguments[name]()

    def _help(self) -> None:
        rows = [(f"/{name} {text}".rstrip(), purpose) for name, (text, purpose) in COMMANDS.items()]
        self.view.table(rows)

    def _quit(self) -> None:
        raise Quit

    def _explain(self, what: str) -> None:
        """Print the candidates of the last answer, or how its sentences are supported."""
        from touche_rad.cli.explain import explain, print_explanation
        from touche_rad.plugins import Explains

        if what not in ("", "all"):
            raise UserError("/explain: expected nothing or all")
        debate = self.session.debate
        response = debate.last.response if debate.turns else None
        if response is None:
            raise UserError("there is no answer to explain")
        reply = self.session.last_reply
        name = reply.answer.by if reply is not None else ""
        debater = reply.answerer.debater_of(reply.answer) if reply is not None else None
        if debater is not None and isinstance(debater, Explains):
            asked = debate.before_response(len(debate.turns) - 1)
            with self.view.working(name):
                explanation = self._run(explain(name, debater, asked, response))
            print_explanation(explanation, self.view.console, everything=what == "all")
        else:
            who = f"{name} does not list its candidates" if name else "the answer was loaded"
            self.view.say(f"{who}; this is how the citations support the answer:")
            self.view.support(response)
        if reply is not None:
            self.view.steps(reply.spent)

    def _sources(self, number: str) -> None:
        debate = self.session.debate
        response = debate.last.response if debate.turns else None
        cited = response.arguments if response is not None else ()
        if not cited:
            raise UserError("the last answer cites no argument")
        if not number:
            for at, argument in enumerate(cited, 1):
                self.view.argument(at, argument)
            return
        at = _number(number, "sources")
        if at > len(cited):
            raise UserError(f"the last answer cites {len(cited)}; there is no [{at}]")
        self.view.argument(at, cited[at - 1])

    def _as(self, text: str) -> None:
        self.session.set_debater(_spec("as", text))
        self.view.say(f"{self.session.debater.tag} answers from now on")
        self._keep()

    def _judge_by(self, text: str) -> None:
        judge = select_judge(_spec("judge", text))
        self.session.set_judge(judge)
        if judge is None:
            self.view.say("no judge")
        self._keep()
        self._judge()

    def _undo(self) -> None:
        message = self.session.undo()
        self.saved = not self.session.debate.turns
        turns = len(self.session.debate.turns)
        self.view.say(f"taken back: {message} ({turns} turn{'' if turns == 1 else 's'} left)")
        self._keep()

    def _retry(self) -> None:
        before = self.session.debate.last.response if self.session.debate.turns else None
        again = not self.session.pending
        message = self.session.retry()
        self.answer(message)
        after = self.session.debate.last.response if self.session.debate.turns else None
        if again and after is not None and before == after:
            self.view.say("the same answer again; /as DEBATER asks another debater")

    def save(self, name: str, *, replace: bool = False) -> None:
        """Write the debate as an official simulation."""
        from touche_rad.cli.chat import store

        path = Path(_one_word("save", name)).expanduser()
        debate = self.session.debate
        if not debate.turns:
            raise UserError("there is nothing to save: the debate has no turn")
        if path.exists() and not replace and self._reader.interactive:
            replace = self._reader.confirm(f"{path} exists. Replace it?")
            if not replace:
                self.view.say("not written")
                return
        names = [reply.answer.by if reply is not None else "" for reply in self.session.replies]
        store.save(path, store.simulation(debate, names), replace=replace)
        self.saved = True
        self.state.delete()
        self.view.unwrapped(f"written: {path}")
        self.view.unwrapped(f"next: touche-rad check {shlex.quote(str(path))}")

    def _load(self, text: str) -> None:
        from touche_rad.cli.chat import store

        words = _words("load", text)
        if not 1 <= len(words) <= 2:
            raise UserError("/load: expected FILE and perhaps the number of the debate")
        number = _number(words[1], "load") if len(words) == 2 else 1
        debate, count = store.load(Path(words[0]).expanduser(), number)
        self.begin()
        self.session.start(debate)
        self.view.say(f"debate {number} of {count}: {debate.claim or debate.key}")
        self.show_last()

    def show_last(self) -> None:
        """Print the last turn of a debate that was loaded or resumed."""
        debate = self.session.debate
        turns = len(debate.turns)
        if debate.turns:
            self.view.say(f"{turns} turn{'' if turns == 1 else 's'}; the last one:")
            self.view.echo(debate.last.utterance)
            if debate.last.response is not None:
                self.view.response(debate.last.response, "system")
        if self.session.pending:
            self.view.echo(self.session.pending)
            self.view.say("this message has no answer yet; /retry answers it")

    def begin(self) -> None:
        """Begin an empty debate; the one before stays in its state file."""
        from touche_rad.debate import Debate

        if not self.saved and self.state.enabled:
            self.view.say("the chat before is kept; touche-rad chat --resume goes on with it")
        self.session.start(Debate())
        self.state, self.saved = self._new_state(), True

    def _new(self) -> None:
        self.begin()
        self.view.say("a new debate")


def completions(line: str) -> Iterable[str]:
    """Return what a line can be completed to: commands, and plugins after /as and /judge."""
    from touche_rad.plugins import registered

    if line.startswith("/as "):
        return [f"/as {name}" for name in registered("debater")]
    if line.startswith("/judge "):
        return [f"/judge {name}" for name in (*registered("judge"), OFF)]
    if line.startswith("/"):
        return [f"/{name}{' ' if text else ''}" for name, (text, _) in COMMANDS.items()]
    return []


def _nearest(name: str) -> str:
    """Return the commands that begin like the name or are spelled like it."""
    begins = [one for one in COMMANDS if name and one.startswith(name)]
    others = [one for one in COMMANDS if one not in begins]
    close = [*begins, *get_close_matches(name, others, n=3, cutoff=0.5)]
    return f" (did you mean {' or '.join(f'/{one}' for one in close[:3])}?)" if close else ""


def _spec(command: str, text: str) -> PluginSpec:
    from touche_rad.plugins import parse_plugin

    if not text:
        raise UserError(f"/{command}: expected {COMMANDS[command][0]}")
    return PluginSpec(*parse_plugin(text))


def _words(command: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"/{command} {text}: {error}") from None


def _one_word(command: str, text: str) -> str:
    words = _words(command, text)
    if len(words) != 1:
        raise UserError(f"/{command}: expected {COMMANDS[command][0]}")
    return words[0]


def _number(text: str, command: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise UserError(f"/{command}: expected a number from 1, got {text!r}")
    return int(text)
