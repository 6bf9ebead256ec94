"""Typed options: each command has one class with its options, and the shared ones are here.

A field of such a class is an option: its type, its name and its default are the option's, and its
annotation has the help. Click parses the command line, and the command gets the finished object.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from math import isnan
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import click

from touche_rad.cli import complete
from touche_rad.cli.program import WAIT_SECONDS, Command
from touche_rad.errors import UserError
from touche_rad.runs.shard import Shard

Options = TypeVar("Options")
Make = Callable[[str, Any, Any], click.Parameter]
"""Makes the parameter of a field from its name, its type and its default."""

_KEY_VALUE: Final = re.compile(r"^(?:([a-z]+)\.)?([A-Za-z_][\w-]*)=(.*)$", re.DOTALL)


def command(
    name: str, *examples: str, group: click.Group | None = None
) -> Callable[[Callable[[Options], object]], Command]:
    """Declare a command: a function of one object, whose class declares the options."""

    def declare(function: Callable[[Options], object]) -> Command:
        options_class: Any = get_type_hints(function)["options"]
        parameters = parameters_of(options_class)

        def run(**values: Any) -> object:
            of_field = {key: values[str(one.name)] for key, one in parameters.items()}
            return function(options_class(**of_field))

        made = Command(
            name,
            callback=run,
            params=list(parameters.values()),
            help=inspect.getdoc(function),
            examples=examples,
        )
        if group is not None:
            group.add_command(made)
        return made

    return declare


def parameters_of(options_class: type) -> dict[str, click.Parameter]:
    """Return the parameters of an options class by field: its own ones, then those of its bases."""
    hints = get_type_hints(options_class, include_extras=True)
    defaults = {
        one.name: one.default_factory() if callable(one.default_factory) else one.default
        for one in fields(options_class)
    }
    names = (name for base in options_class.__mro__ for name in inspect.get_annotations(base))
    parameters: dict[str, click.Parameter] = {}
    for name in dict.fromkeys(names):
        kind, *more = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (None,)
        if more:
            parameters[name] = more[-1](name, kind, defaults[name])
    return parameters


@dataclass(frozen=True)
class PluginSpec:
    """A plugin as it is named on the command line: `NAME` or `NAME(KEY=VALUE,...)`."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        inner = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}({inner})" if inner else self.name


@dataclass(frozen=True)
class PluginOptions:
    """The options of `-O` by the plugin that they are for; `model` and `vllm` are such, too."""

    by_plugin: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of(self, plugin: str) -> Mapping[str, str]:
        """Return the options of a plugin."""
        return self.by_plugin.get(plugin, {})

    def __str__(self) -> str:
        pairs = (
            f"{name}.{key}={text}"
            for name, options in self.by_plugin.items()
            for key, text in options.items()
        )
        return " ".join(pairs) or "none"


class Number(click.FloatRange):
    """A number in a range; NaN, which is in every range of click, is none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        return self.fail(f"{value!r} is not a number.", param, ctx) if isnan(number) else number


def option(
    text: str,
    *names: str,
    metavar: str | None = None,
    least: float | None = None,
    most: float | None = None,
    env: bool | list[str] = False,
    **more: Any,
) -> Make:
    """Declare an option; the type of the field decides how its value is parsed."""

    def make(name: str, kind: Any, default: Any) -> click.Parameter:
        settings = _settings(kind, least, most)
        if default is MISSING:
            settings["required"] = True
        elif default is not None:
            shows = settings.get("is_flag") is None and default not in ((), "")
            default = str(default) if isinstance(default, Path | PluginSpec) else default
            settings |= {"default": default, "show_default": shows}
        if env:
            settings["envvar"] = f"TOUCHE_RAD_{name.upper()}" if env is True else env
        if metavar is not None:
            settings["metavar"] = metavar
        flags = names or (f"--{name.replace('_', '-')}",)
        return click.Option([*flags, name], help=text, **(settings | more))

    return make


def _settings(kind: Any, least: float | None, most: float | None) -> dict[str, Any]:
    """Return what click must know about values of a type."""
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (one for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is tuple:
        return {**_settings(get_args(kind)[0], least, most), "multiple": True}
    if get_origin(kind) is Literal:
        return {"type": click.Choice(get_args(kind))}
    if kind is bool:
        return {"is_flag": True}
    if kind is int:
        return {
            "type": click.IntRange(
                1 if least is None else int(least), None if most is None else int(most)
            ),
            "metavar": "N",
        }
    if kind is float:
        return {"type": Number(least or 0, most, min_open=least is None), "metavar": "N"}
    if kind is Path:
        return {"type": click.Path(path_type=Path), "metavar": "FILE"}
    return {}


def argument(metavar: str | None = None, **more: Any) -> Make:
    """Declare an argument of the command line."""

    def make(name: str, kind: Any, default: Any) -> click.Parameter:
        settings = _settings(kind, None, None)
        settings.pop("metavar", None)
        required = default is MISSING
        if settings.pop("multiple", False):
            settings["nargs"] = -1
        return click.Argument([name], metavar=metavar, required=required, **(settings | more))

    return make


def plugin(text: str, *names: str, kinds: tuple[str, ...], **more: Any) -> Make:
    """Declare an option that names a plugin, or several if the field is a tuple."""

    def parse(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
        from touche_rad.plugins.registry import parse_plugin

        if isinstance(value, tuple):
            return tuple(PluginSpec(*parse_plugin(one)) for one in value)
        return PluginSpec(*parse_plugin(value)) if value is not None else None

    completion = partial(complete.plugins, kinds)
    return option(text, *names, metavar="NAME", callback=parse, shell_complete=completion, **more)


def output(text: str, metavar: str = "FILE", *, checked: bool = False) -> Make:
    """Declare `-o`, the output path.

    Args:
        text: The help.
        metavar: The value in the help.
        checked: Refuse an output that exists, without `--replace`, before any work.
    """

    def parse(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Path | None:
        if value and _KEY_VALUE.match(value):
            raise UserError(f"-o {value}: -o is the output; set an option with -O {value}")
        if value == "":
            raise UserError("-o: expected the name of an output, got an empty text")
        if checked and not ctx.meta.get("show_config"):
            from touche_rad.files import check_output

            check_output(value, replace=ctx.params["replace"])
        return Path(value) if value else None

    paths = complete.folders if metavar == "DIR" else complete.files
    return option(
        text, "-o", "--output", type=str, metavar=metavar, callback=parse, shell_complete=paths
    )


def plugin_options(main: str | None, *others: str) -> Make:
    """Declare `-O`; a flag replaces the value of the settings file for the same key.

    Args:
        main: The plugin of a key without a prefix, if there is one.
        others: The plugins that a prefix can name, beside `model` and `vllm`.
    """
    known = [one for one in (main, *others, "model", "vllm") if one]

    def parse(
        ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
    ) -> PluginOptions:
        by_plugin: dict[str, dict[str, str]] = {}
        from_file = tuple((ctx.default_map or {}).get("options", ()))
        from_flags = () if values == from_file else values
        for text in (*from_file, *from_flags):
            match = _KEY_VALUE.match(text)
            if not match:
                raise UserError(f"-O {text}: expected KEY=VALUE")
            prefix, key, value = match.groups()
            plugin = {"panel": "judge"}.get(prefix, prefix) or main
            if plugin in known:
                by_plugin.setdefault(str(plugin), {})[key.replace("-", "_")] = value
            elif text in from_flags:
                names = " or ".join(f"{one}.KEY=VALUE" for one in known)
                raise UserError(f"-O {text}: this command has {names}")
        return PluginOptions(by_plugin)

    example = f"; -O {known[1]}.KEY=VALUE for the {known[1]}" if main else ""
    what = f"Set an option of the {main}{example}" if main else "Set model.KEY or vllm.KEY"

    def make(name: str, kind: Any, default: Any) -> click.Parameter:
        # The settings file and --show-config name it "options".
        return click.Option(
            ["-O", "--option", "options"],
            multiple=True,
            metavar="KEY=VALUE",
            callback=parse,
            help=f"{what}; repeatable.",
        )

    return make


def _parse_shard(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Shard | None:
    return Shard.parse(value) if value is not None else None


Debater = Annotated[
    PluginSpec,
    plugin(
        "Debater: NAME or NAME(KEY=VALUE,...); see touche-rad list.",
        "-d",
        "--debater",
        kinds=("debater",),
        env=True,
    ),
]
Judge = Annotated[
    PluginSpec,
    plugin(
        "Judge or panel: NAME or NAME(KEY=VALUE,...).",
        "-j",
        "--judge",
        kinds=("judge", "panel"),
        env=True,
    ),
]
DEFAULT: Final = PluginSpec("grounded")
"""The debater and the judge that need no model."""
NONE: Final = PluginOptions()
"""No options of plugins."""
Index = Annotated[
    str | None,
    option(
        "Argument index: a folder, elasticsearch:URL/NAME, or demo (the demo collection).",
        "-i",
        "--index",
        metavar="DIR",
        env=True,
        shell_complete=complete.folders,
    ),
]
FallbackIndex = Annotated[
    str | None,
    option(
        "Fallback index, used while the server of the first one is down.",
        metavar="DIR",
        env=True,
        shell_complete=complete.folders,
    ),
]
Seed = Annotated[int, option("Random seed.", least=0, env=True)]
MaxWords = Annotated[
    int,
    option("Maximum words per response, cut after a sentence; 0 = no limit.", least=0, env=True),
]
Deadline = Annotated[
    float | None,
    option(
        "Time limit per answer or verdict in seconds; on timeout a fallback gives it. "
        "[default: none]",
        metavar="SECONDS",
        env=True,
    ),
]
Workers = Annotated[
    int | None,
    option(
        "Number of debates processed and model calls open in parallel. [default: 4; 64 with a "
        "model, unless --deadline or --engine ray is given]",
        most=10_000,
        env=True,
    ),
]
SkipBad = Annotated[bool, option("Skip invalid input lines and report how many.")]
SkipBadOfRuns = Annotated[
    bool,
    option("Skip invalid lines of runs and report how many; truth must be valid.", "--skip-bad"),
]
Strict = Annotated[
    bool,
    option("Stop with exit code 1 at the first result that is not from the selected plugin."),
]
Replace = Annotated[bool, option("Replace an output that exists.", is_eager=True)]
Restart = Annotated[bool, option("Start from the beginning instead of resuming.")]
Quiet = Annotated[bool, option("Print errors only.", "-q", "--quiet")]
Json = Annotated[bool, option("Print JSON.", "--json")]
Model = Annotated[
    str | None,
    option(
        "Language model: URL#MODEL of an OpenAI-compatible server (several separated by commas), "
        "vllm:MODEL to start one, hf:MODEL, or scripted:FILE. "
        "[default: OPENAI_BASE_URL and OPENAI_MODEL]",
        "-m",
        "--model",
        metavar="MODEL",
        env=True,
    ),
]
Cache = Annotated[
    Path | None,
    option(
        "Cache the model's answers here and reuse them.",
        metavar="DIR",
        env=["TOUCHE_RAD_CACHE", "CACHE_DIR"],
        type=click.Path(file_okay=False, path_type=Path),
    ),
]
RunDeadline = Annotated[
    float | None,
    option("Seconds after which a run makes no more model calls.", metavar="SECONDS", env=True),
]
Trace = Annotated[
    bool,
    option(
        "Write each model call to RUN.trace.jsonl; touche-rad report shows it.",
        "--trace/--no-trace",
        env=True,
        show_default=True,
    ),
]
Wait = Annotated[
    float | None,
    option(
        f"Wait for the model's endpoint up to this many seconds; --wait alone: {WAIT_SECONDS}. "
        "[default: stop at once]",
        metavar="SECONDS",
        env=True,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Common:
    """What opening plugins, model and index reads; a command without an option has its default."""

    plugin_options: PluginOptions = NONE
    index: str | None = None
    fallback_index: str | None = None
    model: str | None = None
    cache: Path | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    run_deadline: float | None = None
    wait: float | None = None
    trace: bool = True
    seed: int = 0
    deadline: float | None = None
    workers: int | None = None
    engine: Literal["local", "ray"] = "local"
    shard: Shard | None = None
    skip_bad: bool = False
    strict: bool = False
    quiet: bool = False
    in_worker: bool = False
    """Whether this is a process of `--engine ray`, which has a cache of its own."""


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Common):
    """The language model, and limits of its calls."""

    model: Model = None
    cache: Cache = None
    max_calls: Annotated[
        int | None,
        option(
            "Maximum model calls per run; after that, plugins work without the model.",
            least=0,
            env=True,
        ),
    ] = None
    max_tokens: Annotated[
        int | None, option("Maximum tokens per run, prompts and answers together.", env=True)
    ] = None
    run_deadline: RunDeadline = None
    wait: Wait = None


@dataclass(frozen=True, kw_only=True)
class FileOptions(Common):
    """The options of all runs from a file of debates to an output file."""

    output: Path | None = None
    deadline: Deadline = None
    workers: Workers = None
    seed: Seed = 0
    skip_bad: SkipBad = False
    strict: Strict = False
    replace: Replace = False
    restart: Restart = False
    metadata: Annotated[
        bool | None,
        option(
            "Write ir_metadata (energy, hardware, git state) beside the run. "
            "[default: only under TIRA]",
            "--metadata/--no-metadata",
            default=None,
            env=True,
        ),
    ] = None
    shard: Annotated[
        Shard | None,
        option(
            "Process part I of N of the input into RUN.shards; touche-rad merge joins the parts.",
            metavar="I/N",
            callback=_parse_shard,
            env=True,
        ),
    ] = None
    engine: Annotated[
        Literal["local", "ray"],
        option(
            "Do the work here, or with Ray: on the cluster of RAY_ADDRESS, or on one that is "
            "started here.",
            env=True,
        ),
    ] = "local"
    actors: Annotated[
        int | None,
        option("With --engine ray: number of worker processes. [default: one per CPU]"),
    ] = None
    quiet: Quiet = False
    dry_run: Annotated[
        bool, option("Print calls and tokens, estimated from four debates; run nothing.")
    ] = False
