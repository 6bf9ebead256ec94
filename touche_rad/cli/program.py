"""The program `touche-rad`: its commands, and their exit codes.

A command's module is imported only when the command runs, so that `--help` is fast. All errors
become one line and an exit code here: 0 success, 1 the work failed, 2 invalid call or input.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar, get_type_hints

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from touche_rad import __version__
from touche_rad.cli import help_text
from touche_rad.cli.commands import COMMANDS, GROUPS, OLD
from touche_rad.cli.console import Label, say
from touche_rad.cli.options import PluginSpec, parameters_of
from touche_rad.cli.settings import Settings, load_settings
from touche_rad.credentials import Servers, servers_in, servers_of_variables, trusting
from touche_rad.errors import (
    InputError,
    OptionError,
    ToucheRadError,
    UserError,
    nearest,
    safe_lines,
    traceback_text,
)
from touche_rad.text import colour_setting

DEFAULT_FILE: Final = "touche-rad.toml"
_PACKAGES: Final = ("touche_rad", "retrieval", "judges")
"""The packages whose log `-v` shows."""
MOST_EXAMPLES: Final = 3
"""The most examples in the help of a group."""


Options = TypeVar("Options")


class Stopped(Exception):
    """The user pressed Ctrl-C; the text says whether the work can be resumed."""


class Command(click.Command):
    """A command with sections and examples in its help, `--config` and `--plugin`."""

    def __init__(
        self,
        name: str,
        function: Callable[[Any], object],
        options_class: type[Any],
        examples: tuple[str, ...],
    ) -> None:
        """Make a command of a function, which takes the options as an object of the class."""
        parameters = parameters_of(options_class)
        every = [*parameters.values(), *GLOBAL_OPTIONS, HELP_ALL]
        super().__init__(name, params=every, help=inspect.getdoc(function))
        self.function, self.options_class = function, options_class
        self.parameters, self.examples = parameters, examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the options in sections."""
        help_text.write_examples(formatter, self.examples)
        help_text.write_options(formatter, self, ctx)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        settings = ctx.obj or Settings()
        if settings.path is not None:
            _check_keys(ctx, settings.path, settings.table)
        elif not settings.is_step and Path(DEFAULT_FILE).is_file():
            say(
                f"{DEFAULT_FILE} of this folder is not used, because it may be a stranger's; "
                f"to use it: --config {DEFAULT_FILE}",
                Label.NOTE,
            )
        values = {
            name: ctx.params[str(parameter.name)] for name, parameter in self.parameters.items()
        }
        for plugin, texts in values.get("plugin_options", {}).items():
            if isinstance(spec := values.get(plugin), PluginSpec):
                values[plugin] = spec.with_options(texts)
        out = values.get("output")
        if isinstance(out, Path) and out.is_file():
            for name, value in values.items():
                for path in value if isinstance(value, tuple) else (value,):
                    is_input = name != "output" and isinstance(path, Path) and path.exists()
                    if is_input and out.samefile(path):
                        raise UserError(f"{out} is the input too: choose another output")
        options = self.options_class(**values)
        try:
            with trusting(settings.trusted):
                return self.function(options)
        except (click.Abort, KeyboardInterrupt):
            has_output = out or os.environ.get("outputDir")
            resumes = "restart" in values or ctx.info_name in ("index", "loop")
            more = "; run the same command again to resume" if has_output and resumes else ""
            raise Stopped(f"stopped{more}") from None


def _check_keys(ctx: click.Context, path: Path, table: object) -> None:
    """Refuse a key of the command's table that is no option of it."""
    names = ctx.command_path.split()[1:]
    for name in names:
        table = table.get(name) if isinstance(table, Mapping) else None
    known = {str(parameter.name) for parameter in ctx.command.params} | {"options"}
    for key in table if isinstance(table, Mapping) else ():
        if key.replace("-", "_") not in known:
            field = ".".join([*names, key])
            raise InputError(path, f"there is no such setting{nearest(key, known)}", field=field)


def _use(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Use `--config` or `--plugin`; the environment is used before the command."""
    source = ctx.get_parameter_source(str(parameter.name))
    is_repeated = ctx.parent is not None and source is not ParameterSource.COMMANDLINE
    if not value or is_repeated or ctx.resilient_parsing:
        return
    from touche_rad.plugins import import_plugins

    if parameter.name == "plugins":
        import_plugins(value)
        return
    settings = load_settings(value)
    values: Any = settings.values
    for name in ctx.command_path.split()[1:]:
        values = (values or {}).get(name)
    ctx.obj = settings.of_call(ctx.find_root().obj or Settings())
    ctx.default_map = values
    if settings.plugins:
        import_plugins(settings.plugins)


class _SafeFormatter(logging.Formatter):
    """Formats records without keys and without characters that act on a screen."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        return safe_lines(super().format(record)).rstrip("\n")


def _be_verbose(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Show the log of our packages, and the traceback of an error that ends the command."""
    if value and not ctx.resilient_parsing:
        handler = logging.StreamHandler()
        handler.setFormatter(_SafeFormatter("%(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(handlers=[handler])
        _set_log_level(logging.DEBUG)


def _show_all(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[help_text.HELP_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


GLOBAL_OPTIONS: Final = (
    help_text.Option(
        ["--config", "config_file"],
        section=help_text.Section.GLOBAL,
        is_rare=True,
        is_eager=True,
        expose_value=False,
        envvar="TOUCHE_RAD_CONFIG",
        type=click.Path(),
        metavar="FILE",
        help="Settings file.",
        callback=_use,
    ),
    help_text.Option(
        ["--plugin", "plugins"],
        section=help_text.Section.GLOBAL,
        is_eager=True,
        expose_value=False,
        multiple=True,
        envvar="TOUCHE_RAD_PLUGIN",
        metavar="MODULE|FILE.py",
        help="Import this module with plugins first; repeatable.",
        callback=_use,
    ),
    help_text.Option(
        ["-v", "--verbose"],
        section=help_text.Section.GLOBAL,
        is_rare=True,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        help="Print the log, and the traceback of an error.",
        callback=_be_verbose,
    ),
)
"""The options that stand before or after a command."""
HELP_ALL: Final = help_text.Option(
    ["--help-all"],
    section=help_text.Section.GLOBAL,
    place=1,
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_all,
    help="Show this message with all options, and exit.",
)
STOPPED: Final = 130
"""Exit code after Ctrl-C."""


def command(
    name: str, *examples: str, group: click.Group | None = None
) -> Callable[[Callable[[Options], object]], Command]:
    """Declare a command: a function of one object, whose class declares the options."""

    def declare(function: Callable[[Options], object]) -> Command:
        command = Command(name, function, get_type_hints(function)["options"], examples)
        if group is not None:
            group.add_command(command)
        return command

    return declare


class Group(click.Group):
    """A command with subcommands, each shown with the whole first sentence of its help."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands, some examples and the options."""
        rows = [
            (name, " ".join(inspect.cleandoc(command.help or "").partition("\n\n")[0].split()))
            for name, command in self.commands.items()
        ]
        help_text.write_section(formatter, "Commands", rows)
        firsts = [
            command.examples[0]
            for command in self.commands.values()
            if isinstance(command, Command) and command.examples
        ]
        help_text.write_examples(formatter, firsts[:MOST_EXAMPLES])
        help_text.write_options(formatter, self, ctx)


class Commands(click.Group):
    """A group of commands, each imported when it is called."""

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

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group, without importing them; then the options."""
        width = max(map(len, COMMANDS))
        for group, names in GROUPS.items():
            rows = [(name.ljust(width), text) for name, text in names.items()]
            help_text.write_section(formatter, group, rows)
        help_text.write_options(formatter, self, ctx)


@click.command(
    cls=Commands,
    params=list(GLOBAL_OPTIONS),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "TOUCHE_RAD",
        "max_content_width": 100,
    },
    epilog="Start with: touche-rad demo. For one command: touche-rad COMMAND --help.",
)
@click.version_option(__version__, prog_name="touche-rad")
def touche_rad() -> None:
    """Debaters and judges for Touché's Retrieval-Augmented Debating task."""


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


def run(
    args: list[str] | None = None, *, is_step: bool = False, trusted: Servers | None = None
) -> int:
    """Run a command line and return its exit code.

    A step of another command names no next one, and gives credentials to the servers `trusted`.
    """
    words = sys.argv[1:] if args is None else args
    if not is_step:
        # The text of --say may be pasted from anywhere.
        typed = [
            word
            for before, word in pairwise(["", *words])
            if before != "--say" and not word.startswith("--say=")
        ]
        trusted = servers_in(typed) | servers_of_variables()
    try:
        result: object = touche_rad.main(
            args=words,
            prog_name="touche-rad",
            standalone_mode=False,
            color=colour_setting(),
            obj=Settings(is_step=is_step, words=tuple(words), trusted=trusted),
        )
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        ctx = error.ctx if isinstance(error, click.UsageError) else None
        see = f" (see: {ctx.command_path} --help)" if ctx is not None else ""
        return _fail(f"{error.format_message()}{see}", error.exit_code)
    except ToucheRadError as error:
        if error.__cause__ is not None:
            _show_traceback(error)
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
        _show_traceback(error)
        kind = type(error).__name__
        return _fail(f"internal error: {kind}: {error} (-v shows the traceback)", 1)
    finally:
        if not is_step:
            _set_log_level(logging.NOTSET)
    return result if isinstance(result, int) else 0


def _show_traceback(error: Exception) -> None:
    """Print where an error comes from, if the user asked for it."""
    if logging.getLogger(_PACKAGES[0]).level == logging.DEBUG:
        click.echo(traceback_text(error), err=True, nl=False)


def _set_log_level(level: int) -> None:
    for package in _PACKAGES:
        logging.getLogger(package).setLevel(level)


def _fail(message: str, code: int, *others: str) -> int:
    for line in (message, *others):
        say(" ".join(line.split()), Label.ERROR, before="touche-rad: ")
    return code
