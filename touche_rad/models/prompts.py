"""Prompt files: Jinja templates with one part per message and named variables; debates in prompts.

A line `=== system`, `=== user` or `=== assistant` begins a message. Constant text comes first in a
file and variable text last, so that the prefix cache of a server helps. Values are data: they are
never read as a template, cannot begin a message, and are inserted unchanged. A text of somebody
else stands on one line behind its label, as a JSON string, or in an element that it does not close.
`{% include "untrusted.jinja" %}`, which every prompt has, tells the model that such texts are data;
it inserts a file of the folder `partials`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from types import BuiltinMethodType
from typing import TYPE_CHECKING, Any, Final, Literal

from touche_rad.calls import current_context
from touche_rad.debate import Debate
from touche_rad.errors import UserError, why
from touche_rad.files.records import read_file
from touche_rad.frozen import frozen
from touche_rad.text import clean, is_negation, words

if TYPE_CHECKING:
    import jinja2
    from pydantic import BaseModel

MAX_LETTERS: Final = 4_000
"""Longer utterances are cut; those of the task are far shorter."""
_BEGINS: Final = re.compile(r"^=== (system|user|assistant)[ \t]*\n", re.MULTILINE)


@frozen
class Message:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str

    def wire(self) -> dict[str, str]:
        """Return the message for the request, with unpaired surrogates replaced."""
        content = self.content.encode("utf-8", "replace").decode()
        return {"role": self.role, "content": content}


Shorten = Callable[[Sequence[Message]], Sequence[Message] | None]
"""Shortens a prompt that is too long for the model; None if it cannot be shortened."""


@frozen
class Prompt:
    """A prompt file."""

    name: str
    source: str

    @classmethod
    def load(cls, package: str, name: str) -> Prompt:
        """Load `NAME.jinja` from the user's folder of the call context, or from a package."""
        folder = current_context().prompts
        if folder and (folder / f"{name}.jinja").is_file():
            return _load(folder / f"{name}.jinja", f"{folder}/{name}")
        return _load(Path(str(files(package))) / f"{name}.jinja", f"{package}/{name}")

    @classmethod
    def read(cls, place: Path, name: str) -> Prompt:
        """Read a prompt file, or raise UserError."""
        import jinja2

        try:
            prompt = cls(name, read_file(place).decode())
            prompt.variables  # noqa: B018 - errors show now and not in a debate
        except jinja2.TemplateSyntaxError as error:
            raise UserError(f"{place}: line {error.lineno}: {error.message}") from None
        except (OSError, ValueError) as error:
            raise UserError(f"{place}: the prompt cannot be read: {why(error)}") from None
        if not prompt._parts:
            raise UserError(f"{place}: a prompt needs a line '=== system' or '=== user'")
        return prompt

    @cached_property
    def _parts(self) -> list[tuple[Literal["system", "user", "assistant"], jinja2.Template]]:
        _, *pieces = _BEGINS.split(self.source)
        return [
            (role, _jinja().from_string(text.strip("\n")))  # type: ignore[misc]
            for role, text in zip(pieces[::2], pieces[1::2], strict=True)
        ]

    @cached_property
    def variables(self) -> frozenset[str]:
        """Names of the variables, with those of the included partials."""
        from jinja2 import meta

        tree = _jinja().parse(self.source)
        names = frozenset(meta.find_undeclared_variables(tree))
        for name in map(str, meta.find_referenced_templates(tree)):
            names |= Prompt(name, _partial(name)).variables
        return names

    def messages(self, **values: object) -> tuple[Message, ...]:
        """Render the messages; a missing variable is a TypeError."""
        use = current_context().use
        if use:
            use.prompts.add(self.source)
        # A user's own prompt may leave out a variable of ours.
        missing = self.variables - set(values)
        if missing:
            raise TypeError(f"prompt {self.name}: missing {sorted(missing)}")
        rendered = [(role, part.render(**values).strip()) for role, part in self._parts]
        return tuple(Message(role, text) for role, text in rendered if text)

    def after(
        self, messages: Sequence[Message], answer: BaseModel, **values: object
    ) -> list[Message]:
        """Return messages, the model's answer to them, and the messages of this prompt."""
        answered = Message("assistant", answer.model_dump_json())
        return [*messages, answered, *self.messages(**values)]


_load = cache(Prompt.read)


def _partial(name: str) -> str:
    place = files(__package__).joinpath("partials", name)
    if "/" in name or not place.is_file():
        raise UserError(f"a prompt includes {name!r}, which is not among the shared partials")
    return place.read_text("utf-8")


def drop_oldest(prompt: Prompt, name: str, values: Mapping[str, Any]) -> Shorten:
    """Return a function that shortens a prompt by removing the oldest items of a list variable.

    Each call removes half of the items; the last item and the rest of the prompt stay.
    """
    newest = list(values[name])

    def shorter(_: Sequence[Message]) -> Sequence[Message] | None:
        nonlocal newest
        if len(newest) <= 1:
            return None
        newest = newest[(len(newest) + 1) // 2 :]
        return prompt.messages(**{**values, name: newest})

    return shorter


@cache
def _jinja() -> jinja2.Environment:
    """Make the environment of all prompts; a command without a model does not load Jinja."""
    import jinja2.sandbox

    class Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
        """Runs templates of a folder that may be a stranger's: they reach no code of Python."""

        def is_safe_callable(self, obj: object) -> bool:
            """Allow macros, and methods of texts, numbers and collections, but not of objects."""
            owner = getattr(obj, "__self__", None)
            plain = isinstance(owner, str | int | float | Mapping | Sequence)
            method = plain and isinstance(obj, BuiltinMethodType)
            return method or obj is self.globals["range"] or isinstance(obj, jinja2.runtime.Macro)

    return Sandbox(
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=jinja2.FunctionLoader(_partial),
    )


_TITLE: Final = re.compile(r"^CMV:?\s+", re.IGNORECASE)
_NO_SIMPLE_CLAUSE: Final = re.compile(
    # Words of a second clause or of a reason.
    r"\b(?:and|or|but|nor|if|unless|because|since|so|as|due|owing|thanks|given|considering|based"
    r"|reasons|sake|despite|while|whil?st|whereas|(?:al)?though|until|till|before|after|once|except"
    r"|instead|rather|that|which|who\w*|wh(?:at|en|ere|y|ether)\w*|how|i"
    # Words that another place or the lack of the negation makes wrong, or that change its meaning.
    r"|any\w*|some\w*|most|many|few|ever|yet|either|longer|at all|even|too|only|just|merely|simply"
    r")\b"
    # A part of its own, and a second sentence.
    r"|[,;:?(/…–—]|\s-|\.\.|[.!][\"'”’]*\s+\S",
    re.IGNORECASE,
)
_MODALS: Final = "should|must|can|could|will|would|may|might"
_FINITE_VERB: Final = re.compile(
    rf"(?<!free )\b(?:(?:{_MODALS}|wo|ca|is|are|was|were|does|did|has)(?:n['’]?t|not)?"
    r"|(?:it|there|that|[st]?he|they|we|you)['’](?:s|re|ve|ll|d))\b",
    re.IGNORECASE,
)
_VERBS: Final = rf"{_MODALS}|is|are|was|were|does|do|did|has|have"
_EXISTS: Final = r"\b(is|are|was|were|has|have|see|there['’]s)"
_OPPOSITES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), opposite)
    for pattern, opposite in (
        (r"\bcan(?:not|['’]t)\b", "can"),
        (r"\bwon['’]t\b", "will"),
        (rf"\b({_VERBS})(?: not|n['’]t)\b", r"\1"),
        (rf"^(?:no one|nobody) ({_MODALS})\b", r"Some people \1"),
        (rf"{_EXISTS} nothing\b", r"\1 something"),
        (rf"{_EXISTS} no (?!one\b|worse\b|better\b|more\b|less\b|\w+er\b)", r"\1 some "),
        (r"(?<!will )\bnever\b", "sometimes"),
    )
)


def is_simple_clause(text: str) -> bool:
    """Whether a text is one clause without a reason or a condition, as far as its words show.

    The negation of another text would keep a part of it that is not to be defended.
    """
    return not _NO_SIMPLE_CLAUSE.search(text) and len(_FINITE_VERB.findall(text)) <= 1


@frozen
class Thesis:
    """What the user claims at the beginning, for the partials `stance` and `thesis`."""

    text: str

    @classmethod
    def of(cls, debate: Debate) -> Thesis:
        """Return the user's first message, or the motion of a debate between two debaters."""
        return cls(clean(debate.thesis)[:MAX_LETTERS])

    @property
    def opposite(self) -> str:
        """The opposite of a negated simple clause, without the negation; else empty.

        A small model that must turn a negation around by itself defends the wrong side.
        """
        text = _TITLE.sub("", self.text)
        simple = is_simple_clause(re.sub(r"^I (?:can )?(?:see|have) ", "", text))
        if simple and sum(map(is_negation, words(text))) == 1:
            for pattern, opposite in _OPPOSITES:
                if pattern.search(text):
                    return pattern.sub(opposite, text, count=1)
        return ""


def render_dialogue(
    debate: Debate,
    *,
    user: str = "Opponent",
    system: str = "You",
    last_response: bool = True,
    max_letters: int = MAX_LETTERS,
) -> list[str]:
    """Return one line per utterance, oldest first."""
    lines: list[str] = []
    for turn in debate.turns:
        lines.append(f"{user}: {clean(turn.utterance)[:max_letters]}")
        if turn.response and (last_response or turn is not debate.turns[-1]):
            lines.append(f"{system}: {clean(turn.response.content)[:max_letters]}")
    return lines
