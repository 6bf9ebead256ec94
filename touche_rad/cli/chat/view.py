"""What a chat prints: answers with their citations, verdicts, sources, and the progress."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.text import Text

from touche_rad.cli.screen import open_console, plain, shorten, wrapped
from touche_rad.text import count_words

if TYPE_CHECKING:
    from touche_rad.cli.chat.session import Reply, Spent
    from touche_rad.debate import Argument, Response, Verdict
    from touche_rad.evidence.highlights import SupportedSentence
    from touche_rad.runs.judging import ViewVerdicts

_INDENT: Final = "  "
_SOURCE_INDENT: Final = "      "
_RATIONALE_LINES: Final = 2


class View:
    """Prints on standard output."""

    def __init__(self) -> None:
        self.console = open_console()

    def note(self, text: str) -> None:
        """Print a notice, such as a fallback."""
        self._print(Text(f"note: {plain(text)}", "yellow"))

    def say(self, text: str, indent: str = "") -> None:
        """Print a message of the program."""
        self._print(Text(plain(text), "dim"), indent)

    def unwrapped(self, text: str) -> None:
        """Print a line with a path or a command, which stays whole when it is copied."""
        self.console.print(Text(plain(text), "dim"), soft_wrap=True)

    def error(self, text: str) -> None:
        """Print what went wrong."""
        self._print(Text(f"error: {plain(text)}", "red"))

    def echo(self, message: str) -> None:
        """Print the user's message, if the terminal does not show it."""
        self._print(Text.assemble(("you> ", "bold"), plain(message)))

    def blank(self) -> None:
        """Print an empty line."""
        self.console.print()

    def table(self, rows: Sequence[tuple[str, str]]) -> None:
        """Print names with their descriptions."""
        width = max(len(name) for name, _ in rows) + 2
        for name, text in rows:
            if width > self.console.width // 2:
                self._print(Text(name, "bold"))
                self._print(Text(text), _INDENT * 2)
            else:
                self._hanging(Text(name.ljust(width), "bold"), text)

    @contextmanager
    def working(self, who: str) -> Iterator[None]:
        """Show that a plugin works, on a terminal only."""
        if not sys.stdout.isatty():
            yield
            return
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        spinner = "line" if self.console.options.ascii_only else "dots"
        with Progress(
            SpinnerColumn(spinner),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
        ) as progress:
            progress.add_task(f"{plain(who)} is working (Ctrl-C stops it)", total=None)
            with _without_echo():
                yield

    def reply(self, reply: Reply, max_words: int) -> None:
        """Print an answer with its citations; above it, who stood in for another debater."""
        answer = reply.answer
        for notice in answer.notices or answer.notes:
            self.note(notice)
        self.response(answer.response, answer.by)
        words = count_words(answer.response.content)
        of = f" of {max_words}" if max_words else ""
        self.say(f"{words}{of} words, {_cost(reply.spent)}", _INDENT)

    def response(self, response: Response, who: str) -> None:
        """Print a response, and under it the arguments that it cites."""
        from touche_rad.evidence.highlights import supported_sentences

        content = plain(response.content)
        sources = [plain(argument.text) for argument in response.arguments]
        sentences = supported_sentences(content, sources)
        self._print(Text.assemble((f"{plain(who)}> ", "bold cyan"), content))
        if not sources:
            self.say("It cites no argument.", _INDENT)
        for number, (argument, text) in enumerate(zip(response.arguments, sources, strict=True)):
            self._source(number, argument, text, sentences)
        for at, one in enumerate(sentences, 1):
            if sources and not one.supported:
                self.say(f"Sentence {at} is not supported by the citations: {one.why}.", _INDENT)

    def _source(
        self, number: int, argument: Argument, text: str, sentences: Sequence[SupportedSentence]
    ) -> None:
        """Print a cited argument, with the words that support the answer highlighted."""
        from touche_rad.evidence.highlights import supporting_spans

        uses = [
            (at, one)
            for at, one in enumerate(sentences, 1)
            if one.source == number and one.supported
        ]
        shown = Text(text, "dim")
        for _, one in uses:
            for start, end in supporting_spans(one.text, text):
                shown.stylize("not dim bold green", start, end)
        how = f"  ({_uses(uses)})" if uses else ""
        self._print(Text(f"[{number + 1}] {plain(argument.id)}{how}"), _INDENT)
        self._print(shown, _SOURCE_INDENT)

    def verdicts(self, judged: ViewVerdicts, judge: str, spent: Spent) -> None:
        """Print the verdict on each maxim with the rationale in short."""
        for maxim, verdict in judged.verdicts.items():
            line = Text(f"{_INDENT}{maxim.key:9} ")
            if maxim in judged.unscored:
                line.append("none      ", "yellow")
                why = f"the judge failed: {judged.unscored[maxim]}"
            else:
                line.append_text(_verdict(verdict))
                why = _LONG_QUOTE.sub(_shorter_quote, verdict.rationale)
            self._hanging(line, plain(why))
        self.say(f"judge {judge}, {_cost(spent)}", _INDENT)

    def _hanging(self, head: Text, text: str) -> None:
        """Print a text beside a head, in at most two lines."""
        indent = Text(" " * head.cell_len)
        room = max(10, self.console.width - head.cell_len)
        lines = wrapped(Text(text), room)
        if len(lines) > _RATIONALE_LINES:
            rest = f"{lines[_RATIONALE_LINES - 1].plain} …"
            lines[_RATIONALE_LINES - 1 :] = [Text(shorten(rest, room))]
        for number, line in enumerate(lines or [Text()]):
            begin = (indent if number else head).copy().append_text(line)
            self.console.print(begin, no_wrap=True, overflow="crop")

    def argument(self, number: int, argument: Argument) -> None:
        """Print an argument whole, with all of its fields."""
        self._print(Text(f"[{number}] {plain(argument.id)}", "bold"))
        fields = argument.model_dump(mode="json", exclude={"id"}, exclude_defaults=True)
        for name, value in fields.items():
            said = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
            self._print(Text.assemble((f"{plain(name)}: ", "bold"), plain(said)), _INDENT)

    def support(self, response: Response) -> None:
        """Print how each sentence of a response is supported."""
        from touche_rad.evidence.highlights import supported_sentences

        texts = [plain(argument.text) for argument in response.arguments]
        for at, one in enumerate(supported_sentences(plain(response.content), texts), 1):
            where = f" [{one.source + 1}]" if one.source is not None else ""
            mark = "supported" if one.supported else "not supported"
            head = f"{at}. {mark}{where} ({one.why}): "
            room = max(20, self.console.width - len(head) - len(_INDENT))
            self._print(Text(f"{head}{shorten(one.text, room)}"), _INDENT)

    def steps(self, spent: Spent) -> None:
        """Print the steps that called the model."""
        for step, (calls, tokens) in spent.steps.items():
            self.say(f"model: {step}, {_count(calls, 'call')}, {tokens:,} tokens", _INDENT)

    def _print(self, text: Text, indent: str = "") -> None:
        for line in wrapped(text, self.console.width, indent):
            self.console.print(line, no_wrap=True, overflow="crop")


@contextmanager
def _without_echo() -> Iterator[None]:
    """Do not show what is typed, which would damage the progress line; it is read later."""
    import termios

    try:
        before = termios.tcgetattr(sys.stdin)
    except (termios.error, ValueError, OSError):
        yield
        return
    quiet = [*before]
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, before)


def _verdict(verdict: Verdict) -> Text:
    score = verdict.score or 0.0
    word, colour = ("yes", "green") if verdict.yes else ("no", "red")
    return Text.assemble((f"{word:3} ", f"bold {colour}"), f"{score:.2f}  ")


_LONG_QUOTE: Final = re.compile(r"“([^“”]{24,})”")


def _shorter_quote(match: re.Match[str]) -> str:
    """Return the first words of a quotation: the rationale behind it says more."""
    return f"“{match[1][:20].rsplit(' ', 1)[0]} …”"


def _uses(uses: Sequence[tuple[int, SupportedSentence]]) -> str:
    """Describe which sentences an argument supports, and how."""
    by_reason: dict[str, list[str]] = {}
    for at, one in uses:
        by_reason.setdefault(one.why, []).append(str(at))
    return "; ".join(
        f"sentence{'s' if len(numbers) > 1 else ''} {' and '.join(numbers)}: {why}"
        for why, numbers in by_reason.items()
    )


def _cost(spent: Spent) -> str:
    parts = [f"{spent.seconds:.1f} s"]
    if spent.calls:
        parts.append(f"{_count(spent.calls, 'call')}, {spent.tokens:,} tokens")
    return ", ".join(parts)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
