"""The program `touche-rad`: the settings file, its commands, and their exit codes.

A command's module is imported only when the command runs, so that `--help` is fast. All errors
become one line and an exit code here: 0 success, 1 the work failed, 2 invalid call or input.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import signal
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from touche_rad import __version__
from touche_rad.cli import help_text
from touche_rad.cli.commands import COMMANDS, GROUPS, OLD
from touche_rad.cli.console import Label, say
from touche_rad.credentials import NAMED
from touche_rad.errors import InputError, OptionError, ToucheRadError, UserError, nearest
from touche_rad.text import colour_setting

DEFAULT_FILE: Final = "touche-rad.toml"
SHARED: Final = (
    "debater judge retriever index seed max_words deadline workers quiet skip_bad turns host port "
    "options plugins model cache max_calls max_tokens run_deadline trace"
).split()
"""Settings that a file may have above its tables."""


@dataclass(frozen=True)
class Settings:
    """The content of a settings file, as click's default map of each command."""

    path: Path | None = None
    values: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    is_step: bool = False
    """Whether the command is a step of another one, such as `demo`."""
    table: Mapping[str, Any] = field(default_factory=dict)
    """The file as it is."""
    words: tuple[str, ...] = ()
    """The words of the command line, without `touche-rad`."""


def load_settings(path: str) -> Settings:
    """Read a settings file.

    A key at the top applies to every command with an option of this name, a table named after a
    command only to this command. The table `options`, at either place, has the values of `-O`.
    Flags and the environment replace the values of the file.
    """
    place = Path(path)
    table = _parse(place)
    # `index` and `judge` are settings and commands; commands have tables.
    shared = {
        key: value
        for key, value in table.items()
        if key not in COMMANDS or (key in SHARED and not isinstance(value, dict))
    }
    for key in shared:
        if key not in SHARED:
            raise InputError(
                place, f"there is no such setting{nearest(key, [*SHARED, *COMMANDS])}", field=key
            )
    plugins = shared.pop("plugins", [])
    values = {}
    for command in COMMANDS:
        own = table.get(command, {}) if command not in shared else {}
        if not isinstance(own, dict):
            raise InputError(place, f"expected a table [{command}], got {own!r}", field=command)
        values[command] = _flat(place, {**shared, **own})
    return Settings(place, values, tuple(plugins), table=table)


def _parse(path: Path) -> dict[str, Any]:
    from touche_rad.files.records import read_whole

    try:
        table = tomllib.loads(read_whole(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, f"expected TOML: {error}") from None
    if NAMED in os.environ:
        os.environ[NAMED] += f"\n{json.dumps(table, ensure_ascii=False, default=str)}"
    return table


def _flat(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    options = values.pop("options", {})
    if not isinstance(options, dict):
        raise InputError(path, f"expected a table, got {options!r}", field="options")
    flat = {key.replace("-", "_"): value for key, value in values.items()}
    if options:
        flat["options"] = [
            f"{key}={str(value).lower() if isinstance(value, bool) else value}"
            for key, value in options.items()
        ]
    return flat


class Stopped(Exception):
    """The user pressed Ctrl-C; the text says whether the work can be resumed."""


class Command(click.Command):
    """A command with sections and examples in its help, `--config` and `--plugin`."""

    context_class = help_text.Context

    def __init__(
        self,
        name: str,
        function: Callable[[Any], object],
        options_class: Callable[..., Any],
        by_field: Mapping[str, click.Parameter],
        examples: tuple[str, ...],
    ) -> None:
        """Make a command of a function of one object, whose fields have these parameters."""
        every = click.Option(
            ["--help-all"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_show_all,
            help="Show this message with all options, and exit.",
        )
        shared = shared_options(expose_value=False, is_eager=True, callback=_use)
        params = [*by_field.values(), *shared, every]
        super().__init__(name, params=params, help=inspect.getdoc(function))
        self.function, self.options_class, self.by_field = function, options_class, by_field
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: Any) -> None:
        """Write the examples, then the options in sections."""
        formatter.write_examples(self.examples)
        formatter.write_options(self, ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        settings = ctx.obj or Settings()
        if settings.path is not None:
            _check_keys(ctx, settings.path, settings.table)
        elif not settings.is_step and Path(DEFAULT_FILE).is_file():
            say(
                f"{DEFAULT_FILE} of this folder is not used, because it may be a stranger's; "
                f"to use it: --config {DEFAULT_FILE}",
                Label.NOTE,
                quiet=ctx.params.get("quiet", False),
            )
        _check_inputs(ctx.params)
        values = {key: ctx.params[str(one.name)] for key, one in self.by_field.items()}
        try:
            return self.function(self.options_class(**values))
        except (click.Abort, KeyboardInterrupt, BaseExceptionGroup) as error:
            interrupts = (click.Abort, KeyboardInterrupt)
            if isinstance(error, BaseExceptionGroup) and error.split(interrupts)[1]:
                raise
            raise Stopped(_stop_message(ctx)) from None


def _check_keys(ctx: click.Context, path: Path, table: Any) -> None:
    """Refuse a key of the command's table that is no option of it."""
    names = ctx.command_path.split()[1:]
    for name in names:
        table = table.get(name, {}) if isinstance(table, Mapping) else {}
    known = {str(one.name) for one in ctx.command.params} | {"options"}
    for key in table if isinstance(table, Mapping) else ():
        if key.replace("-", "_") not in known:
            field = ".".join([*names, key])
            raise InputError(path, f"there is no such setting{nearest(key, known)}", field=field)


def _show_all(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[help_text.HELP_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _stop_message(ctx: click.Context) -> str:
    """Say that the same command resumes the work, if it does."""
    output = ctx.params.get("output") or os.environ.get("outputDir")
    resumes = "restart" in ctx.params or ctx.info_name in ("index", "loop")
    return f"stopped{'; run the same command again to resume' if output and resumes else ''}"


def shared_options(**more: Any) -> list[click.Option]:
    """Return the options `--config` and `--plugin`, which stand before or after a command."""
    config = click.Option(
        ["--config", "config_file"],
        envvar="TOUCHE_RAD_CONFIG",
        type=click.Path(),
        metavar="FILE",
        help="Settings file.",
        **more,
    )
    plugins = click.Option(
        ["--plugin", "plugins"],
        multiple=True,
        envvar="TOUCHE_RAD_PLUGIN",
        metavar="MODULE|FILE.py",
        help="Import this module with plugins first; repeatable.",
        **more,
    )
    return [config, plugins]


def _use(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Use `--config` or `--plugin` after the command; the environment was used before it."""
    if ctx.get_parameter_source(str(parameter.name)) is not ParameterSource.COMMANDLINE:
        return
    if parameter.name == "plugins":
        import_modules(value)
        return
    settings = load_settings(value)
    values: Any = settings.values
    for name in ctx.command_path.split()[1:]:
        values = (values or {}).get(name)
    root = ctx.find_root().obj
    ctx.obj = replace(settings, is_step=root.is_step, words=root.words)
    ctx.default_map = values
    if settings.plugins:
        import_modules(settings.plugins)


def import_modules(modules: tuple[str, ...]) -> None:
    """Import modules with plugins; a module is imported once."""
    from touche_rad.plugins import import_plugins

    import_plugins(modules)


STOPPED: Final = 130
"""Exit code after Ctrl-C."""


def _check_inputs(values: Mapping[str, Any]) -> None:
    """Raise an error if the output is one of the input files, which it would replace."""
    out = values.get("output")
    if not isinstance(out, Path) or not out.is_file():
        return
    for name, value in values.items():
        for one in value if isinstance(value, tuple) else (value,):
            is_input = name != "output" and isinstance(one, Path) and one.exists()
            if is_input and out.samefile(one):
                raise UserError(f"{out} is the input too: choose another output")


class Commands(click.Group):
    """A group of commands, each imported when it is called."""

    context_class = help_text.Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; the error suggests the nearest one for an unknown one."""
        if cmd_name not in COMMANDS:
            if ctx.resilient_parsing or cmd_name.startswith("-"):
                return None
            use = OLD.get(cmd_name)
            hint = f": use touche-rad {use}" if use else nearest(cmd_name, COMMANDS)
            raise OptionError(f"there is no command {cmd_name!r}{hint}")
        module = importlib.import_module(f"touche_rad.cli.{cmd_name}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command, without importing the commands."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, text in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_options(self, ctx: click.Context, formatter: Any) -> None:
        """Write the commands by group, without importing them; then the options."""
        width = max(map(len, COMMANDS))
        for group, names in GROUPS.items():
            rows = [(name.ljust(width), text) for name, text in names.items()]
            formatter.write_section(group, rows)
        formatter.write_options(self, ctx)


@click.command(
    cls=Commands,
    params=shared_options(),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "TOUCHE_RAD",
        "max_content_width": 100,
    },
    epilog="Start with: touche-rad demo. For one command: touche-rad COMMAND --help.",
)
@click.version_option(__version__, prog_name="touche-rad")
@click.pass_context
def touche_rad(ctx: click.Context, config_file: str | None, plugins: tuple[str, ...]) -> None:
    """Debaters and judges for Touché's Retrieval-Augmented Debating task."""
    settings = load_settings(config_file) if config_file else Settings()
    if ctx.obj is not None:
        settings = replace(settings, is_step=ctx.obj.is_step, words=ctx.obj.words)
    ctx.obj = settings
    ctx.default_map = dict(settings.values)
    modules = (*plugins, *settings.plugins)
    if modules:
        import_modules(modules)


_BLAS_THREADS: Final = "1"
"""Threads of numpy's linear algebra. Matrices are small here: more threads mostly wait for each
other, ten times as long as the work takes on a busy machine."""


def main(args: list[str] | None = None) -> None:
    """Run a command line and exit with its exit code.

    A plugin that hangs keeps its thread, for which Python would wait at its end.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", _BLAS_THREADS)
    code = run(args)
    calls = sys.modules.get("touche_rad.calls")  # importing it would slow down `--help`
    if calls is None or not calls.hanging():
        sys.exit(code)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 1
    os._exit(code)


def run(args: list[str] | None = None, *, is_step: bool = False) -> int:
    """Run a command line and return its exit code; a step of another command names no next one."""
    words = sys.argv[1:] if args is None else args
    inherited = os.environ.get(NAMED)
    if not is_step:
        # The text of --say may be pasted from anywhere.
        said = {at + 1 for at, one in enumerate(words) if one == "--say"}
        typed = (one for at, one in enumerate(words) if at not in said)
        os.environ[NAMED] = "\n".join(one for one in typed if not one.startswith("--say="))
    try:
        result: Any = touche_rad.main(
            args=words,
            prog_name="touche-rad",
            standalone_mode=False,
            color=colour_setting(),
            obj=Settings(is_step=is_step, words=tuple(words)),
        )
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        ctx = getattr(error, "ctx", None)
        see = f" (see: {ctx.command_path} --help)" if ctx is not None else ""
        return _fail(f"{error.format_message()}{see}", error.exit_code)
    except ToucheRadError as error:
        if error.__cause__ is not None and os.environ.get("TOUCHE_RAD_DEBUG"):
            raise
        return _fail(str(error), error.exit_code, *getattr(error, "__notes__", ()))
    except (Stopped, click.Abort, KeyboardInterrupt) as stopped:
        if args is None:  # a further Ctrl-C must not hide the message
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return _fail(str(stopped) or "stopped", STOPPED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _fail(f"{place}{error.strerror or error}", 1)
    except Exception as error:
        if os.environ.get("TOUCHE_RAD_DEBUG"):
            raise
        kind = type(error).__name__
        hint = "set TOUCHE_RAD_DEBUG=1 to see the traceback"
        return _fail(f"internal error: {kind}: {error} ({hint})", 1)
    finally:
        os.environ.pop(NAMED, None)
        if inherited is not None:
            os.environ[NAMED] = inherited
    return result if isinstance(result, int) else 0


def _fail(message: str, code: int, *others: str) -> int:
    for line in (message, *others):
        say(" ".join(line.split()), Label.ERROR, before="touche-rad: ")
    return code
