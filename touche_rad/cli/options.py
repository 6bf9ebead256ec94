"""Typed options: each command has one class with its options, and the shared ones are here.

    @options
    class ReportOptions(Common):
        runs: tuple[Path, ...] = arguments("RUN...")
        title: str | None = option("Title of the page.")
        seed: int

The annotation is the type of the values. `option`, `flag`, `argument` and others declare the rest:
text, default, limits, variable, section in `--help`, and the key in a settings file. They return a
declaration, whatever the annotation is. Click parses the command line, and the command gets the
finished object.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    TypedDict,
    Union,
    Unpack,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import click
from click.core import ParameterSource

from touche_rad import samples
from touche_rad.cli.help_text import Option, Section
from touche_rad.errors import UserError
from touche_rad.frozen import frozen
from touche_rad.lists import T
from touche_rad.runs.shard import Shard

if TYPE_CHECKING:
    from touche_rad.criteria import Criteria
    from touche_rad.plugins import Configured, Kind


_KEY_VALUE: Final = re.compile(r"^(?:([a-z]+)\.)?([A-Za-z_][\w-]*)=(.*)$", re.DOTALL)
_DECLARATIONS: Final = "__declarations__"
_COUNT: Final = count()


class How(TypedDict, total=False):
    """How an option is set and shown. The names of click mean what they mean there."""

    metavar: str
    is_eager: bool
    flag_value: float
    show_default: bool
    env: bool | Sequence[str]
    """Variables that set it; True: the one that is named after the field, `TOUCHE_RAD_NAME`.

    True is the default of options with a `setting`.
    """
    setting: str
    """The key of a settings file that sets it for all commands."""
    least: int
    """The least value. By default integers are at least 1, and other numbers above 0."""
    most: int
    only_folders: bool
    section: Section
    is_rare: bool
    """Whether only `--help-all` shows it."""


@frozen
class _Declared:
    """What an option is on the command line; a class of options takes it for a default."""

    default: object
    names: str | None
    """Its names, without `--` the one in the settings file; empty: the field's. None: an argument.
    """
    how: How
    settings: Mapping[str, Any]
    """What click must know about its values."""
    number: int = field(default_factory=_COUNT.__next__)
    """The options of a section are shown in the order of their declaration."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(declaring: type[T]) -> type[T]:
    """Make a dataclass of a class of options, which keeps what it declares.

    A name without a value is an option of `Common`, at this place in the help.
    """
    return offering()(declaring)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def offering(*names: str) -> Callable[[type[T]], type[T]]:
    """Make a class of options that offers also these of `Common`, after its own."""

    def decorate(declaring: type[T]) -> type[T]:
        declarations = {}
        for name in (*declaring.__annotations__, *names):
            declared = vars(declaring).get(name) or vars(Common)[_DECLARATIONS][name]
            if isinstance(declared, _Declared):
                declarations[name] = declared
                setattr(declaring, name, declared.default)
        setattr(declaring, _DECLARATIONS, declarations)
        return dataclass(frozen=True, kw_only=True)(declaring)

    return decorate


class _Integer(click.IntRange):
    # A file may have 1e400, or true.
    _number_class = staticmethod(lambda value: int(str(value)))  # type: ignore[assignment]


class _Number(click.FloatRange):
    # Infinities and NaN are no JSON.
    _number_class = staticmethod(lambda value: float(json.dumps(float(value), allow_nan=False)))  # type: ignore[assignment]


def parameters_of(options_class: type[object]) -> dict[str, click.Parameter]:
    """Return the parameters of an options class by field: its own ones, then those of its bases.

    An option that replaces the one of a base has the place of that one in the help.
    """
    offered: dict[str, _Declared] = {}
    numbers: dict[str, int] = {}
    for base in options_class.__mro__:
        for name, declared in vars(base).get(_DECLARATIONS, {}).items():
            numbers[name] = declared.number
            # Common has the defaults of options that a command does not offer.
            if base is not Common:
                offered.setdefault(name, declared)
    parameters: dict[str, click.Parameter] = {}
    annotations = get_type_hints(options_class)
    for name, declared in offered.items():
        how = declared.how
        least = how.get("least")
        most = how.get("most")
        annotation = annotations[name]
        several = get_origin(annotation) in (Union, UnionType, tuple)  # or None, or more values
        kind = get_args(annotation)[0] if several else annotation
        of_kind: dict[str, Any] = {}
        if get_origin(kind) is Literal:
            of_kind = {"type": click.Choice(get_args(kind))}
        elif kind is int:
            of_kind = {"type": _Integer(1 if least is None else least, most), "metavar": "N"}
        elif kind is float:
            limits = _Number(least or 0, most, min_open=least is None)
            of_kind = {"type": limits, "metavar": "N"}
        elif kind is Path:
            path = click.Path(file_okay="only_folders" not in how, path_type=Path)
            of_kind = {"type": path, "metavar": "FILE"}
        elif kind is PluginSpec:
            of_kind = {"type": _parse_plugin, "metavar": "NAME"}
        elif kind is Shard:
            of_kind = {"type": _parse_shard}
        settings = {**of_kind, **declared.settings}
        if declared.names is None:
            parameters[name] = click.Argument([name], **settings)
            continue
        env = how.get("env", "setting" in how)
        variables = f"TOUCHE_RAD_{name.upper()}" if env is True else env or None
        flags = re.findall(r"-\S+", declared.names) or [f"--{name.replace('_', '-')}"]
        keys = re.findall(r"(?<!\S)\w+", declared.names) or [name]
        parameters[name] = Option(
            [*flags, *keys],
            number=numbers[name],
            envvar=variables,
            **{"is_flag": False, **settings},
        )
    return parameters


@frozen
class PluginSpec:
    """A plugin as it is named on the command line: `NAME` or `NAME(KEY=VALUE,...)`."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        from touche_rad.plugins.registry import plugin_text

        return plugin_text(self.name, self.options)

    def configure(self, kind: Kind) -> Configured[Any]:
        """Find the plugin and read its options."""
        from touche_rad.plugins import find

        return find(kind, self.name).configure(self.options)

    def with_options(self, options: Mapping[str, str]) -> PluginSpec:
        """Return it with the options of `-O` in the place of its own."""
        return PluginSpec(self.name, {**self.options, **options})


PluginOptions = Mapping[str, Mapping[str, str]]
"""The options of `-O` by the plugin that they are for; `model` and `vllm` are such, too."""
_no_options: Final = partial(defaultdict[str, dict[str, str]], dict)
DEFAULT: Final = PluginSpec("grounded")
"""The debater and the judge that need no model."""
SETTINGS: Final = ["options", "plugins"]
"""The keys of a settings file above its tables, which are for all commands."""
_OURS: Final = ("env", "setting", "least", "most", "only_folders")
"""The keys of `How` that are neither click's nor those of the help."""


def _parse_plugin(text: PluginSpec | str) -> PluginSpec:
    if isinstance(text, PluginSpec):
        return text  # a default
    from touche_rad.plugins.registry import parse_plugin

    return PluginSpec(*parse_plugin(text))


def _parse_shard(text: str) -> Shard | None:
    return Shard.parse(text) if text else None


def _declare(default: object, names: str | None, how: How, **settings: object) -> Any:
    """Declare an option or an argument, with settings of click."""
    if "setting" in how:
        SETTINGS.append(how["setting"])
    if default is not None:
        shows = not isinstance(default, bool) and default not in ((), "")
        settings = {"default": default, "show_default": shows, **settings}
    shown = {key: value for key, value in how.items() if key not in _OURS}
    return _Declared(default, names, how, {**settings, **shown})


def option(text: str, names: str = "", *, default: object = None, **how: Unpack[How]) -> Any:
    """Declare an option with a value; without a default it may be left out."""
    return _declare(default, names, how, help=text)


def repeatable(
    text: str, names: str = "", *, default: tuple[object, ...] = (), **how: Unpack[How]
) -> Any:
    """Declare an option that may be given several times."""
    return _declare(default, names, how, help=text, multiple=True)


def flag(text: str, names: str = "", *, default: bool = False, **how: Unpack[How]) -> Any:
    """Declare an option without a value."""
    return _declare(default, names, how, help=text, is_flag=True)


def argument(metavar: str | None = None, *, required: bool = True) -> Any:
    """Declare an argument of the command line."""
    return _declare(None, None, {}, metavar=metavar, required=required)


def arguments(metavar: str, *, with_traces: bool = False, required: bool = True) -> Any:
    """Declare the last argument, one or more files; none if it is not required.

    Traces beside runs are left out, which a pattern such as *.jsonl matches.
    """

    def parse(
        ctx: click.Context, parameter: click.Parameter, paths: tuple[Path, ...]
    ) -> tuple[Path, ...]:
        from touche_rad.files.traces import TRACE

        return tuple(path for path in paths if not str(path).endswith(TRACE)) or paths

    callback = None if with_traces else parse
    return _declare(None, None, {}, nargs=-1, required=required, metavar=metavar, callback=callback)


def output(
    text: str,
    metavar: str = "FILE",
    *,
    checked: bool = False,
    required: bool = False,
    default: Path | None = None,
) -> Any:
    """Declare `-o`, the output path; a `checked` one may exist only with `--replace`."""

    def parse(
        ctx: click.Context, parameter: click.Parameter, value: str | Path | None
    ) -> Path | None:
        if value and _KEY_VALUE.match(str(value)):
            raise UserError(f"-o {value}: -o is the output; set an option with -O {value}")
        if value == "":
            raise UserError("-o: expected the name of an output, got an empty text")
        if checked:
            from touche_rad.files import check_output

            check_output(value, replace=ctx.params["replace"])
        if not value:
            return None
        path = Path(value)
        is_named = ctx.get_parameter_source(parameter.name or "") is not ParameterSource.DEFAULT
        if is_named and path.is_symlink():  # only a link that the user names is followed
            is_special = str(value).startswith("/dev/") or path.is_fifo() or path.is_char_device()
            return path if is_special else path.resolve()
        return path

    return _declare(
        default,
        "-o --output",
        {"metavar": metavar},
        help=text,
        type=click.Path(),  # shells complete it; the callback checks it
        callback=parse,
        required=required,
    )


def plugin_options(main: str | None, *prefixes: str) -> Any:
    """Declare `-O`; a flag replaces the value of the settings file for the same key.

    `main` is the plugin of a key without a prefix; a prefix can name the others.
    """
    plugins = [*prefixes, "model", "vllm"]
    if main:
        plugins.insert(0, main)

    def parse(
        ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
    ) -> PluginOptions:
        by_plugin = _no_options()
        from_file = tuple((ctx.default_map or {}).get("options", ()))
        # Without flags, the values are those of the settings file.
        from_flags = () if values == from_file else values
        for text in (*from_file, *from_flags):
            match = _KEY_VALUE.match(text)
            if not match:
                raise UserError(f"-O {text}: expected KEY=VALUE")
            prefix, key, value = match.groups()
            plugin = {"panel": "judge"}.get(prefix, prefix) or main
            if plugin in plugins:
                by_plugin[str(plugin)][key.replace("-", "_")] = value
            elif text in from_flags:
                # The settings file is for all commands, and may name plugins of others.
                keys = " or ".join(f"{plugin}.KEY=VALUE" for plugin in plugins)
                raise UserError(f"-O {text}: this command has {keys}")
        return by_plugin

    purpose = "Set model.KEY or vllm.KEY"
    if main:
        prefix = plugins[1]
        purpose = f"Set an option of the {main}; -O {prefix}.KEY=VALUE for the {prefix}"
    settings = {
        "multiple": True,
        "metavar": "KEY=VALUE",
        "callback": parse,
        "help": f"{purpose}; repeatable.",
    }
    default: object = field(default_factory=_no_options)
    return _Declared(default, "-O --option options", {}, settings)


DEBATER: Final = option(
    "Debater: NAME or NAME(KEY=VALUE,...); see touche-rad list.",
    "-d --debater",
    default=DEFAULT,
    setting="debater",
)
JUDGE: Final = option(
    "Judge or panel: NAME or NAME(KEY=VALUE,...).",
    "-j --judge",
    default=DEFAULT,
    setting="judge",
)
BASELINE: Final[tuple[Path, ...]] = repeatable(
    "Mark this run as a baseline, without a rank; repeatable.", metavar="RUN"
)
DEBATES: Final = option(
    "With labels, the debates that were judged, which match runs by id and text; without labels, "
    "the claims that each run must have (a file of claims, or of debates on them).",
)
RETRIEVER: Final = option(
    "Retriever: NAME or NAME(KEY=VALUE,...).",
    "-r --retriever",
    default=PluginSpec("opposing"),
    setting="retriever",
)


_of_model: Final = partial(option, section=Section.MODEL)
_of_run: Final = partial(option, section=Section.RUN)
_flag_of_run: Final = partial(flag, section=Section.RUN)


@options
class Common:
    """The options of several commands; those of a section are in the order of its help.

    A command offers those that its class names to `offering`; of the others it has the default.
    """

    plugin_options: PluginOptions = field(default_factory=_no_options)
    criteria: str | None = option(
        "Criteria: the name of shipped ones (touche-rad list criteria), or your FILE.toml. "
        "[default: grice]",
        metavar="CRITERIA",
    )
    index: str | None = option(
        "Argument index: a folder, elasticsearch:URL/NAME, irds:NAME, or demo (the demo "
        "collection).",
        "-i --index",
        metavar="DIR",
        setting="index",
    )
    max_words: int = option(
        "Maximum words per response, cut after a sentence; 0 = no limit.",
        least=0,
        default=60,
        setting="max_words",
    )
    model: str | None = _of_model(
        "Language model: URL#MODEL of an OpenAI-compatible server (several separated by commas), "
        "vllm:MODEL to start one, or scripted:FILE. "
        "[default: OPENAI_BASE_URL and OPENAI_MODEL]",
        "-m --model",
        metavar="MODEL",
        setting="model",
    )
    judge_model: str | None = _of_model(
        "Language model of the judge. [default: --model]", metavar="MODEL"
    )
    cache: Path | None = _of_model(
        "Cache the model's answers here and reuse them.",
        metavar="DIR",
        env=("TOUCHE_RAD_CACHE", "CACHE_DIR"),
        only_folders=True,
        is_rare=True,
        setting="cache",
    )
    max_calls: int | None = _of_model(
        "Maximum model calls per run; after that, plugins work without the model.",
        least=0,
        is_rare=True,
        setting="max_calls",
    )
    max_tokens: int | None = _of_model(
        "Maximum tokens per run, prompts and answers together.", is_rare=True, setting="max_tokens"
    )
    run_deadline: float | None = _of_model(
        "Seconds after which a run makes no more model calls.",
        metavar="SECONDS",
        is_rare=True,
        setting="run_deadline",
    )
    trace: bool = flag(
        "Write each model call to RUN.trace.jsonl; touche-rad report shows it.",
        "--trace/--no-trace",
        default=True,
        show_default=True,
        section=Section.MODEL,
        is_rare=True,
        setting="trace",
    )
    wait: float | None = _of_model(
        "Wait for the model's endpoint up to this many seconds; --wait alone: 600. "
        "[default: stop at once]",
        metavar="SECONDS",
        env=True,
        flag_value=600,
        is_rare=True,
    )

    deadline: float | None = _of_run(
        "Time limit per answer or verdict in seconds; on timeout a fallback gives it. "
        "[default: none]",
        metavar="SECONDS",
        setting="deadline",
    )
    workers: int | None = _of_run(
        "Number of debates processed and model calls open in parallel. [default: 4; 64 with a "
        "model, unless --deadline is given]",
        most=10_000,
        setting="workers",
    )
    seed: int = _of_run("Random seed.", least=0, default=0, setting="seed")
    skip_bad: bool = _flag_of_run(
        "Skip invalid input lines and report how many.", is_rare=True, env=False, setting="skip_bad"
    )
    restart: bool = _flag_of_run("Start from the beginning instead of resuming.", is_rare=True)
    replace: bool = _flag_of_run("Replace an output that exists.", is_eager=True)
    strict: bool = _flag_of_run(
        "Stop with exit code 1 at the first result that is not from the selected plugin."
    )
    dry_run: bool = _flag_of_run(
        "Print calls and tokens, estimated from four debates; run nothing."
    )
    fallback_index: str | None = _of_run(
        "Fallback index, used while the server of the first one is down.",
        metavar="DIR",
        env=True,
        is_rare=True,
    )

    shard: Shard | None = _of_run(
        "Process part I of N of the input into RUN.shards; touche-rad merge joins the parts.",
        metavar="I/N",
        env=True,
        is_rare=True,
    )

    as_json: bool = flag("Print JSON.", "--json", section=Section.GLOBAL)
    quiet: bool = flag(
        "Print errors only.", "-q --quiet", section=Section.GLOBAL, env=False, setting="quiet"
    )

    def read_criteria(self) -> Criteria | None:
        """Read the criteria of `--criteria`; None without the option."""
        from touche_rad.files.criteria import read_criteria

        return read_criteria(self.criteria) if self.criteria else None


TURNS: Final = option("User turns per debate.", default=samples.TURNS, env=False, setting="turns")
HOST: Final = option(
    "Address to listen on; 0.0.0.0 = all, with --token or --open.",
    metavar="ADDRESS",
    default="127.0.0.1",
    setting="host",
)
PORT: Final = option("Port; 0 = any free port.", least=0, most=65535, default=8080, setting="port")


@offering("model", "cache", "max_calls", "max_tokens", "run_deadline", "wait")
class ModelOptions(Common):
    """The language model, and limits of its calls."""


@offering(
    "deadline",
    "workers",
    "seed",
    "skip_bad",
    "restart",
    "replace",
    "strict",
    "dry_run",
    "shard",
    "quiet",
)
class FileOptions(Common):
    """The options of all runs from a file of debates to an output file."""

    output: Path | None = field(default=None)
