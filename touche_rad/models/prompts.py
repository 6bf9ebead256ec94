"""Prompts as files: Jinja with one part a message, and named variables.

A line `=== system`, `=== user` or `=== assistant` begins a message. What is the same for every
call comes first in a file, what is new last, so that a server's prefix cache serves it. Values are
data: they are put in as they stand, never read as a template, and a line in them that looks like
the beginning of a message begins none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final, Literal

import jinja2
from jinja2 import meta

from touche_rad.errors import UserError

Role = Literal["system", "user", "assistant"]
_BEGINS: Final = re.compile(r"^=== (system|user|assistant)[ \t]*\n", re.MULTILINE)


@dataclass(frozen=True)
class Message:
    """What somebody says to the model, or the model said."""

    role: Role
    content: str

    def wire(self) -> dict[str, str]:
        """Return the message as it is sent; half characters cannot be."""
        whole = self.content.encode("utf-8", "replace").decode("utf-8")
        return {"role": self.role, "content": whole}


@dataclass(frozen=True)
class Prompt:
    """A prompt file that was read."""

    name: str
    source: str

    @classmethod
    @cache
    def load(cls, package: str, name: str) -> Prompt:
        """Read `NAME.jinja` beside a package's modules, once."""
        return cls.read(files(package).joinpath(f"{name}.jinja"), f"{package}/{name}")

    @classmethod
    def read(cls, place: Traversable, name: str) -> Prompt:
        """Read a prompt from a file; one that cannot be used is told in one line."""
        try:
            prompt = cls(name, place.read_text("utf-8"))
            prompt.variables  # noqa: B018 - what is wrong shows now and not in a debate
        except jinja2.TemplateSyntaxError as error:
            raise UserError(f"{place}: line {error.lineno}: {error.message}") from None
        except (OSError, ValueError) as error:
            raise UserError(f"{place}: the prompt cannot be read: {error}") from None
        if not prompt._parts:
            raise UserError(f"{place}: a prompt needs a line '=== system' or '=== user'")
        return prompt

    @cached_property
    def _parts(self) -> list[tuple[Role, jinja2.Template]]:
        pieces = _BEGINS.split(self.source)
        roles, texts = pieces[1::2], pieces[2::2]
        return [
            (role, _JINJA.from_string(text.strip("\n")))  # type: ignore[misc]
            for role, text in zip(roles, texts, strict=True)
        ]

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names that must be given."""
        return frozenset(meta.find_undeclared_variables(_JINJA.parse(self.source)))

    def messages(self, **values: Any) -> tuple[Message, ...]:
        """Return the messages with the values in them.

        Raises:
            TypeError: A variable is missing, or one is given that the prompt has not.
        """
        missing, more = self.variables - set(values), set(values) - self.variables
        if missing or more:
            raise TypeError(
                f"prompt {self.name}: missing {sorted(missing)}, unknown {sorted(more)}"
            )
        found = ((role, part.render(**values).strip()) for role, part in self._parts)
        return tuple(Message(role, text) for role, text in found if text)


def drop_oldest(
    prompt: Prompt, name: str, values: Mapping[str, Any]
) -> Callable[[Sequence[Message]], Sequence[Message] | None]:
    """Return how a prompt that is too long is made shorter: without the oldest of a list.

    Half of what is left goes each time; the last item stays, and all that is no item of the list,
    so that the task is never cut.
    """
    left = list(values[name])

    def shorter(_: Sequence[Message]) -> Sequence[Message] | None:
        nonlocal left
        if len(left) <= 1:
            return None
        left = left[(len(left) + 1) // 2 :]
        return prompt.messages(**{**values, name: left})

    return shorter


_JINJA: Final = jinja2.Environment(
    undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True,
    keep_trailing_newline=False,
)  # fmt: skip
