"""A plugin as the registry knows it: its name, its class, and what that one needs and takes."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ValidationError

from touche_rad import secret
from touche_rad.errors import OptionError, WorkError, nearest
from touche_rad.plugins.given import Options, Services

Kind = Literal["debater", "judge", "panel", "retriever", "index", "user"]
KINDS: tuple[Kind, ...] = ("debater", "judge", "panel", "retriever", "index")


@dataclass(frozen=True)
class Plugin:
    """A registered class: what it is called, what it is for, and what it needs."""

    kind: Kind
    name: str
    source: str
    load: Callable[[], type] = field(repr=False)

    @property
    def factory(self) -> type:
        """The plugin's class; importing it may fail, which names the plugin."""
        try:
            return self.load()
        except Exception as error:
            raise WorkError(
                f"{self.kind} {self.name!r} of {self.source} is broken: {error}"
            ) from error

    @property
    def purpose(self) -> str:
        """The first line of the class's docstring."""
        return (inspect.getdoc(self.factory) or "").partition("\n")[0]

    @property
    def needs(self) -> tuple[str, ...]:
        """What it needs.

        `index`, `model`, `module:NAME` for a package that may be missing, or `extra:EXTRA/NAME` for
        one that an extra of ours brings.
        """
        return tuple(getattr(self.factory, "needs", ()))

    @property
    def uses(self) -> tuple[str, ...]:
        """What it makes use of where it is there, such as `model`, and does without where not."""
        return tuple(getattr(self.factory, "uses", ()))

    @property
    def options(self) -> type[Options]:
        """The class of its options."""
        return getattr(self.factory, "Options", Options)

    @property
    def secrets(self) -> frozenset[str]:
        """The names of its secret options; no value of one is told to anybody."""
        return secret.secret_fields(self.options)

    def missing(self, *, index: bool, model: bool = False) -> list[str]:
        """List what this machine lacks for it, each with what to do about it."""
        lacking: list[str] = []
        for need in self.needs:
            if need == "index" and not index:
                lacking.append("an argument index (-i DIR; make one with: touche-rad index)")
            elif need == "model" and not model:
                lacking.append("a language model (-m URL#MODEL, or -m vllm:MODEL)")
            elif need.startswith("extra:"):
                extra, _, module = need.removeprefix("extra:").partition("/")
                if importlib.util.find_spec(module) is None:
                    lacking.append(f"the extra {extra} (pip install 'touche-rad[{extra}]')")
            elif need.startswith("module:"):
                module = need.removeprefix("module:")
                if importlib.util.find_spec(module) is None:
                    lacking.append(f"the package {module}")
        return lacking

    @property
    def optional(self) -> bool:
        """Whether a machine is whole without what this plugin needs."""
        return any(need.startswith(("extra:", "module:", "model")) for need in self.needs)

    def parse(self, given: Mapping[str, str]) -> Options:
        """Turn `-o key=value` pairs into typed options, or name the wrong one."""
        known = self.options.model_fields
        for key in given:
            if key not in known:
                raise OptionError(
                    f"{self.kind} {self.name} has no option {key!r}{nearest(key, known)}"
                )
        secret.remember(*(given[key] for key in self.secrets if key in given))
        try:
            options = self.options.model_validate_strings(dict(given))
        except ValidationError as error:
            first = error.errors()[0]
            key = str(first["loc"][0]) if first["loc"] else "?"
            value = secret.HIDDEN if key in self.secrets else repr(given.get(key, ""))
            raise OptionError(
                f"{self.kind} {self.name}: option {key}={value}: "
                f"{secret.without_secrets(first['msg'])}"
            ) from None
        secret.remember(*(getattr(options, key) for key in self.secrets))
        return options

    def identity(self, options: Options) -> str:
        """The canonical name: the plugin and what was set on it but secrets, as a run's tag."""
        changed = options.model_dump(exclude_defaults=True, exclude=set(self.secrets))
        inner = ",".join(f"{key}={value}" for key, value in sorted(changed.items()))
        return f"{self.name}({inner})" if inner else self.name

    def make(self, services: Services, given: Mapping[str, str] | None = None) -> Any:
        """Make one, with options as strings and the services it may use."""
        made = self.factory(self.parse(given or {}), services)
        with suppress(AttributeError, TypeError):
            made.plugin_name = self.name
        return made


def name_of(plugin: object) -> str:
    """Return the name a plugin was made by; one made by hand goes by its class."""
    return str(getattr(plugin, "plugin_name", type(plugin).__name__))
