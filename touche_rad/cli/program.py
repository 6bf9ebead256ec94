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
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, get_type_hints

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from touche_rad import __version__
from touche_rad.cli import help_text
from touche_rad.cli.commands import COMMANDS, GROUPS
from touche_rad.cli.console import Label, say
from touche_rad.cli.options import PluginSpec, parameters_of
from touche_rad.cli.settings import TYPED, SettingsFile, load_settings
from touche_rad.credentials import Servers, servers_in, trusting
from touche_rad.errors import (
    InputError,
    OptionError,
    ToucheRadError,
    UserError,
    nearest,
    safe_lines,
    traceback_text,
    why,
)
from touche_rad.lists import T
from touche_rad.text import colour_setting

DEFAULT_FILE: Final = "touche-rad.toml"
"""The name of a settings file; it is not used before the user names it."""
MOST_EXAMPLES: Final = 3
"""The most examples in the help of a group."""
_LOG: Final = logging.getLogger("touche_rad")
"""The log of `touche_rad.events`, which is too slow to import for `--help`."""


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
        self.function = function
        self.options_class = options_class
        self.parameters = parameters_of(options_class)
        self.examples = examples
        parameters = [*self.parameters.values(), *GLOBAL_OPTIONS, HELP_ALL]
        super().__init__(name, params=parameters, help=inspect.getdoc(function))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command line, and keep them for the status of a run."""
        ctx.meta[TYPED] = [*args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the options in sections."""
        help_text.write_examples(formatter, self.examples)
        help_text.write_options(formatter, self, ctx)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        settings = ctx.obj or SettingsFile()
        if settings.path:
            _check_keys(ctx, settings.path, settings.table)
        elif not settings.is_step and Path(DEFAULT_FILE).is_file():
            say(
                f"{DEFAULT_FILE} of this folder is not used, because it may be a stranger's; "
                f"to use it: --config {DEFAULT_FILE}",
                Label.NOTE,
            )

        # The options of `-O` go to the plugin that they are for.
        values = {
            name: ctx.params[str(parameter.name)] for name, parameter in self.parameters.items()
        }
        for plugin, texts in values.get("plugin_options", {}).items():
            if isinstance(spec := values.get(plugin), PluginSpec):
                values[plugin] = spec.with_options(texts)

        # With --replace, a command would replace its own input.
        out = values.get("output")
        if isinstance(out, Path) and out.is_file():
            for name, value in values.items():
                paths = value if isinstance(value, tuple) else (value,)
                for path in paths:
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
            hint = "; run the same command again to resume" if has_output and resumes else ""
            raise click.Abort(f"stopped{hint}") from None


def _check_keys(ctx: click.Context, path: Path, table: object) -> None:
    """Refuse a key of the command's table that is no option of it."""
    names = ctx.command_path.split()[1:]
    for name in names:
        table = table.get(name) if isinstance(table, Mapping) else None
    if not isinstance(table, Mapping):
        return
    known = {str(parameter.name) for parameter in ctx.command.params} | {"options"}
    for key in table:
        if key.replace("-", "_") not in known:
            field = ".".join([*names, key])
            raise InputError(path, f"there is no such setting{nearest(key, known)}", field=field)


class _SafeFormatter(logging.Formatter):
    """Formats records without keys and without characters that act on a screen."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        return safe_lines(super().format(record)).rstrip("\n")


def _use_global_option(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Do what a global option says, before the other options get their values."""
    if not value or ctx.resilient_parsing:
        return
    name = str(parameter.name)
    if name == "help_all":
        ctx.meta[help_text.HELP_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()
    if name == "verbose":
        handler = logging.StreamHandler()
        handler.setFormatter(_SafeFormatter("%(levelname)s %(module)s: %(message)s"))
        logging.basicConfig(handlers=[handler])
        _LOG.setLevel(logging.DEBUG)
        return

    # The program has used the variables of --config and --plugin before its command reads them.
    source = ctx.get_parameter_source(name)
    if ctx.parent and source is not ParameterSource.COMMANDLINE:
        return
    from touche_rad.plugins import import_plugins

    if name == "plugins":
        import_plugins(value)
        return
    settings = load_settings(value)
    values: Any = settings.values
    for command_name in ctx.command_path.split()[1:]:
        values = (values or {}).get(command_name)
    ctx.obj = settings.of_call(ctx.find_root().obj or SettingsFile())
    ctx.default_map = values
    if settings.plugins:
        import_plugins(settings.plugins)


_global_option: Final = partial(
    help_text.Option,
    section=help_text.Section.GLOBAL,
    is_eager=True,
    expose_value=False,
    callback=_use_global_option,
)
GLOBAL_OPTIONS: Final = (
    _global_option(
        ["--config", "config_file"],
        is_rare=True,
        envvar="TOUCHE_RAD_CONFIG",
        type=click.Path(),
        metavar="FILE",
        help="Settings file.",
    ),
    _global_option(
        ["--plugin", "plugins"],
        multiple=True,
        envvar="TOUCHE_RAD_PLUGIN",
        metavar="MODULE|FILE.py",
        help="Import this module with plugins first; repeatable.",
    ),
    _global_option(
        ["-v", "--verbose"],
        is_rare=True,
        is_flag=True,
        help="Print the log, and the traceback of an error.",
    ),
)
"""The options that stand before or after a command."""

HELP_ALL: Final = _global_option(
    ["--help-all"],
    number=help_text.UNNUMBERED + 1,  # behind --help
    is_flag=True,
    help="Show this message with all options, and exit.",
)

STOPPED: Final = 130
"""Exit code after Ctrl-C."""


def command(
    *examples: str, group: click.Group | None = None
) -> Callable[[Callable[[T], object]], Command]:
    """Declare a command: a function of one object, whose class declares the options.

    It is called as the function is, without `_command`.
    """

    def declare(function: Callable[[T], object]) -> Command:
        name = function.__name__.removesuffix("_command")
        command = Command(name, function, get_type_hints(function)["options"], examples)
        if group:
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
            raise OptionError(f"there is no command {cmd_name!r}{nearest(cmd_name, COMMANDS)}")
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
    if not calls or not calls.hanging():
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
        # The text of --say may be pasted from anywhere: its addresses get no key.
        typed_words = [
            word
            for word_before, word in pairwise(["", *words])
            if word_before != "--say" and not word.startswith("--say=")
        ]
        of_variables = [text for name, text in os.environ.items() if name.startswith("TOUCHE_RAD_")]
        trusted = servers_in([*typed_words, os.environ.get("OPENAI_BASE_URL", ""), *of_variables])
    try:
        result: object = touche_rad.main(
            args=words,
            prog_name="touche-rad",
            standalone_mode=False,
            color=colour_setting(),
            obj=SettingsFile(is_step=is_step, trusted=trusted),
        )
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        ctx = error.ctx if isinstance(error, click.UsageError) else None
        hint = f" (see: {ctx.command_path} --help)" if ctx else ""
        return _fail(f"{error.format_message()}{hint}", error.exit_code)
    except ToucheRadError as error:
        if error.__cause__:
            _show_traceback(error)
        return _fail(str(error), error.exit_code, *getattr(error, "__notes__", ()))
    except (click.Abort, KeyboardInterrupt) as stopped:
        if args is None:  # a further Ctrl-C must not hide the message
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return _fail(str(stopped) or "stopped", STOPPED)
    except BrokenPipeError:
        # The reader, such as `head`, has enough. Python would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _fail(f"{place}{why(error)}", 1)
    except Exception as error:
        _show_traceback(error)
        return _fail(f"internal error: {type(error).__name__}: {error} (-v shows the traceback)", 1)
    finally:
        if not is_step:
            _LOG.setLevel(logging.NOTSET)
    return result if isinstance(result, int) else 0


def _show_traceback(error: Exception) -> None:
    """Print where an error comes from, if the user asked for it."""
    if _LOG.level == logging.DEBUG:
        click.echo(traceback_text(error), err=True, nl=False)


def _fail(message: str, code: int, *notes: str) -> int:
    """Print an error and its notes, each on one line, and return the exit code."""
    for line in (message, *notes):
        say(" ".join(line.split()), Label.ERROR, before="touche-rad: ")
    return code
