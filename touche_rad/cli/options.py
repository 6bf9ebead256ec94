"""Command line options shared by commands, and the objects they describe."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from touche_rad.cli.console import say
from touche_rad.errors import OptionError, UserError, nearest

if TYPE_CHECKING:
    from touche_rad.models import Model
    from touche_rad.plugins import Plugin, Services


F = TypeVar("F", bound=Callable[..., Any])

_OPTION = re.compile(
    r"^(?:(debater|judge|panel|retriever|user|model|vllm)\.)?([A-Za-z_][\w-]*)=(.*)$", re.DOTALL
)
_SOURCES = {
    ParameterSource.COMMANDLINE: "flag",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT_MAP: "file",
    ParameterSource.DEFAULT: "default",
    ParameterSource.PROMPT: "prompt",
}

debater = click.option(
    "-d", "--debater", default="grounded", show_default=True, envvar="TOUCHE_RAD_DEBATER",
    metavar="NAME", help="Who answers (touche-rad list).",
)  # fmt: skip
judge = click.option(
    "-j", "--judge", default="grounded", show_default=True, envvar="TOUCHE_RAD_JUDGE",
    metavar="NAME", help="Who judges (touche-rad list).",
)  # fmt: skip
index = click.option(
    "-i", "--index", envvar="TOUCHE_RAD_INDEX", metavar="DIR",
    help="The argument index (touche-rad index). [default: one made from the demo collection]",
)  # fmt: skip
spare_index = click.option(
    "--spare-index", envvar="TOUCHE_RAD_SPARE_INDEX", metavar="DIR",
    help="An index that is asked while the first one (a server's) is down.",
)  # fmt: skip
seed = click.option(
    "--seed", type=int, default=0, show_default=True, envvar="TOUCHE_RAD_SEED",
    help="Where any choice is by chance, it is this chance.",
)  # fmt: skip
max_words = click.option(
    "--max-words", type=click.IntRange(0), default=60, show_default=True,
    envvar="TOUCHE_RAD_MAX_WORDS", help="Cut answers at a sentence's end; 0 cuts none.",
)  # fmt: skip
deadline = click.option(
    "--deadline", type=click.FloatRange(0, min_open=True), envvar="TOUCHE_RAD_DEADLINE",
    metavar="SECONDS", help="Seconds a debater has for an answer before a poorer one goes out.",
)  # fmt: skip
workers = click.option(
    "--workers", type=click.IntRange(1), default=4, show_default=True,
    envvar="TOUCHE_RAD_WORKERS", help="Debates under work at once.",
)  # fmt: skip
metadata = click.option(
    "--metadata/--no-metadata", default=None, envvar="TOUCHE_RAD_METADATA",
    help="Write ir_metadata beside the run: energy, hardware, git state (needs touche-rad[tira]). "
    "[default: only under TIRA]",
)  # fmt: skip
skip_bad = click.option("--skip-bad", is_flag=True, help="Go on past bad lines, and count them.")
restart = click.option(
    "--restart", is_flag=True, help="Begin anew even where an earlier run could go on."
)
quiet = click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print what a program would read.")


def output(help_text: str, metavar: str = "FILE") -> Callable[[F], F]:
    """Add `-o/--output`, and `-O/--option` for the options of the plugins."""

    def add(function: F) -> F:
        return click.option("-o", "--output", metavar=metavar, help=help_text)(option(function))

    return add


option = click.option(
    "-O", "--option", multiple=True, metavar="KEY=VALUE",
    help="Set an option of the plugin; see: touche-rad list NAME.",
)  # fmt: skip


@dataclass(frozen=True)
class Chosen:
    """The output path, and the options of each plugin."""

    path: Path | None = None
    options: Mapping[str, dict[str, str]] = field(default_factory=dict)

    def of(self, whose: str) -> dict[str, str]:
        """Return the options of one plugin, as strings."""
        return self.options.get(whose, {})


def choose(
    ctx: click.Context, main: str, output: str | None, given: tuple[str, ...] = ()
) -> Chosen:
    """Sort options by plugin; one without a prefix belongs to the command's main plugin.

    A flag replaces the settings file's value for the same key.
    """
    if output and _OPTION.match(output):
        raise UserError(f"-o {output}: -o is the output; set an option with -O {output}")
    options: dict[str, dict[str, str]] = {}
    for one in (*_from_file(ctx), *given):
        match = _OPTION.match(one)
        if not match:
            raise UserError(f"-O {one}: expected KEY=VALUE")
        whose, key, value = match.groups()
        options.setdefault(whose or main, {})[key.replace("-", "_")] = value
    return Chosen(Path(output) if output else None, options)


def _from_file(ctx: click.Context) -> tuple[str, ...]:
    if ctx.get_parameter_source("option") == ParameterSource.DEFAULT_MAP:
        return ()
    return tuple(given for given in (ctx.default_map or {}).get("option", ()))


def show_config(function: F) -> F:
    """Add `--show-config`: each value of the verb with where it comes from, and nothing done."""

    def show(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            ctx.meta["show_config"] = True

    return click.option(
        "--show-config", is_flag=True, expose_value=False, is_eager=True, callback=show,
        help="Print each setting with its source, and stop.",
    )(function)  # fmt: skip


def of_a_run(function: F) -> F:
    """Add what every run over debates takes, whatever it does with them."""
    for option in (show_config, quiet, metadata, restart, skip_bad, seed, workers, deadline):
        function = option(function)
    return function


class Verb(click.Command):
    """A command that can tell where each of its values comes from."""

    def invoke(self, ctx: click.Context) -> Any:
        """Print the settings instead of doing the work, where that was asked."""
        if not ctx.meta.get("show_config"):
            return super().invoke(ctx)
        for name, value in sorted(ctx.params.items()):
            source = ctx.get_parameter_source(name)
            where = _SOURCES.get(source, "default") if source else "default"
            if where == "file" and ctx.obj is not None:
                where = f"file {ctx.obj.path}"
            label = name.replace("_", "-")
            click.echo(f"{label} = {_shown(value)}  ({where})")
        return 0

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let `--show-config` do without the arguments that the work would need."""
        if "--show-config" in args:
            for parameter in self.params:
                parameter.required = False
        return super().parse_args(ctx, args)


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return " ".join(map(_shown, value)) or "none"
    return "none" if value is None else str(value)


def services(
    index_place: str | None, seed: int, spare: str | None = None, model: Model | None = None
) -> Services:
    """Open what plugins may use. Without an index given, the demo collection's is made once."""
    from touche_rad.plugins import Services, open_index
    from touche_rad.plugins.indexes import FallbackIndex

    place = index_place or str(_demo_index())
    if spare is None:
        return Services(open_index(place), seed, model)
    return Services(FallbackIndex(lambda: open_index(place), open_index(spare)), seed, model)


def _demo_index() -> Path:
    from touche_rad.demo import ensure_index

    return ensure_index()


TRACE = ".trace.jsonl"
"""What a trace's name ends with, after the run's."""

_MODEL = click.option(
    "-m", "--model", envvar="TOUCHE_RAD_MODEL", metavar="URL#MODEL|vllm:MODEL",
    help="The language model: an OpenAI-compatible server (several with commas), vllm:MODEL to "
    "start one, hf:MODEL, or scripted:FILE. [default: OPENAI_BASE_URL and OPENAI_MODEL, if set]",
)  # fmt: skip
_CACHE = click.option(
    "--cache", envvar=["TOUCHE_RAD_CACHE", "CACHE_DIR"], metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the model's answers here, and answer from here what was asked before.",
)  # fmt: skip
_MAX_CALLS = click.option(
    "--max-calls", type=click.IntRange(0), envvar="TOUCHE_RAD_MAX_CALLS", metavar="N",
    help="Ask the model at most so often; then answers come from what needs none.",
)  # fmt: skip
_MAX_TOKENS = click.option(
    "--max-tokens", type=click.IntRange(1), envvar="TOUCHE_RAD_MAX_TOKENS", metavar="N",
    help="Spend at most so many tokens, prompts and answers together.",
)  # fmt: skip
_RUN_DEADLINE = click.option(
    "--run-deadline", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
    envvar="TOUCHE_RAD_RUN_DEADLINE", help="Ask the model no longer than this in all.",
)  # fmt: skip
_TRACE = click.option(
    "--trace/--no-trace", default=True, show_default=True, envvar="TOUCHE_RAD_TRACE",
    help=f"Write each call beside the run (RUN{TRACE}); touche-rad report shows it by turn.",
)  # fmt: skip


def options(function: F) -> F:
    """Add all of them."""
    return model_options(_TRACE(function))


def model_options(function: F) -> F:
    """Add those of a verb that leaves no trace beside a run."""
    for option in (_RUN_DEADLINE, _MAX_TOKENS, _MAX_CALLS, _CACHE, _MODEL):
        function = option(function)
    return function


def options_but_budgets(function: F) -> F:
    """Add all but those that limit the asking, which may mean something else in a verb."""
    for option in (_TRACE, _RUN_DEADLINE, _CACHE, _MODEL):
        function = option(function)
    return function


def model_for(
    plugins: Mapping[str, Plugin], given: Mapping[str, Any], chosen: Chosen, out: Path | None = None
) -> Model | None:
    """Make the model, where any of the plugins needs one, or uses one that there is.

    Args:
        plugins: Whose model it is.
        given: The verb's options.
        chosen: What `-o` was given; `model.KEY` and `vllm.KEY` are read here.
        out: The run that a trace goes beside.
    """
    from touche_rad.models.endpoint import named_by_environment

    said = given.get("model") or named_by_environment()
    needed = any("model" in plugin.needs for plugin in plugins.values())
    used = any("model" in plugin.uses for plugin in plugins.values())
    if not (needed or (used and said)):
        if given.get("model"):
            names = " and ".join(plugins)
            say(f"note: {names} asks no model; -m is not used", quiet=given["quiet"])
        return None
    if needed and not said:
        needing = next(name for name, plugin in plugins.items() if "model" in plugin.needs)
        raise UserError(
            f"{needing} needs a language model: -m URL#MODEL, -m vllm:MODEL, or OPENAI_BASE_URL "
            "and OPENAI_MODEL in the environment"
        )
    return made(given, chosen, out)


def made(given: Mapping[str, Any], chosen: Chosen, out: Path | None = None) -> Model:
    """Make the model that the options describe; nothing is started or asked yet."""
    from touche_rad.models import Model
    from touche_rad.models.endpoint import open_backend
    from touche_rad.models.usage import Usage

    quiet = given.get("quiet", False)
    seed = given.get("seed", 0)
    backend = open_backend(
        given.get("model"), vllm=chosen.of("vllm"), seed=seed,
        report=lambda told: say(told, quiet=quiet),
        log_file=out.with_name(f"{out.name}.vllm.log") if out else None,
    )  # fmt: skip
    usage = Usage(given.get("max_calls"), given.get("max_tokens"), given.get("run_deadline"))
    trace = _trace_of(out) if out and given.get("trace", True) else None
    if trace and given.get("restart"):
        trace.unlink(missing_ok=True)
    return Model(
        backend, cache=given.get("cache"), usage=usage, trace=trace,
        settings=_settings(chosen.of("model"), seed), **_manner(chosen.of("model")),
    )  # fmt: skip


def _trace_of(out: Path) -> Path:
    """A run's trace lies beside it; under TIRA a folder deeper, since it is a `*.jsonl` as well."""
    from touche_rad.tira import places as tira

    name = f"{out.name}{TRACE}"
    if not tira.is_output(out.parent):
        return out.with_name(name)
    folder = out.parent / "trace"
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
    return folder / name


_MANNER = {"deadline": float, "at_once": int}


def _settings(said: Mapping[str, str], seed: int) -> Any:
    """Read `-O model.KEY=VALUE`: how the model answers."""
    from touche_rad.models.model import Settings

    kinds: dict[str, Callable[[str], Any]] = {"temperature": float, "seed": int, "max_tokens": int}
    found: dict[str, Any] = {"seed": seed}
    for key, value in said.items():
        if key in _MANNER:
            continue
        if key not in kinds:
            raise OptionError(f"model has no option {key!r}{nearest(key, [*kinds, *_MANNER])}")
        found[key] = _number(key, value, kinds[key])
    return Settings(**found)


def _manner(said: Mapping[str, str]) -> dict[str, Any]:
    return {key: _number(key, said[key], kind) for key, kind in _MANNER.items() if key in said}


def _number(key: str, value: str, kind: Callable[[str], Any]) -> Any:
    try:
        number = kind(value)
    except ValueError:
        raise OptionError(f"-o model.{key}={value}: expected a number") from None
    if number < 0 or number != number:
        raise OptionError(f"-o model.{key}={value}: expected a number of 0 or more")
    return number


def counted(model: Model | None) -> Callable[[], str]:
    """Return what tells how often a model was asked so far, for a progress bar."""

    def told() -> str:
        total = model.usage.total if model is not None else None
        return f"{total.calls} calls" if total is not None and total.calls else ""

    return told


def described(model: Model | None) -> dict[str, Any]:
    """What of the model names a run."""
    return {"model": model.identity} if model is not None else {}
