"""The command line: `touche-rad COMMAND`.

A command's module is imported only when the command runs, so that `--help` is fast. All errors
become one line and an exit code here: 0 success, 1 the work failed, 2 invalid call or input.
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import threading
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from touche_rad import __version__
from touche_rad.cli import complete, help_text
from touche_rad.cli import options as opt
from touche_rad.cli.commands import COMMANDS, GROUPS
from touche_rad.cli.console import say
from touche_rad.errors import OptionError, ToucheRadError, nearest
from touche_rad.text import colour_setting

_WORDS = "touche_rad.words"

STOPPED: Final = 130
"""Exit code after Ctrl-C."""


class Commands(click.Group):
    """A group of commands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"touche_rad.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command, without importing the commands."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, (_, text) in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage, with a bold heading."""
        help_text.write_usage(self, ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group, without importing them; then the options."""
        width = max(map(len, COMMANDS))
        for group, names in GROUPS.items():
            rows = [(name.ljust(width), text) for name, (_, text) in names.items()]
            help_text.write_rows(formatter, group, rows)
        help_text.write_options(self, ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words of the call, which click takes from the context."""
        ctx.meta[_WORDS] = frozenset(args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for an unknown one."""
        unknown = args and args[0] not in COMMANDS and not args[0].startswith("-")
        if unknown and not ctx.resilient_parsing:
            raise OptionError(f"there is no command {args[0]!r}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.command(
    cls=Commands,
    params=[opt.config_option(), opt.plugin_modules()],
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
    settings = opt.load_settings(config_file)
    ctx.obj = settings
    ctx.default_map = dict(settings.values)
    found_here = settings.plugins if config_file is None else ()
    if found_here and complete.VARIABLE in os.environ:
        settings = opt.Settings(settings.path, settings.values)
    elif found_here and _shows_only(ctx):
        names = ", ".join(found_here)
        say(f"note: {settings.path} names plugins that are not loaded: {names}; load them with "
            f"touche-rad --config {settings.path}")  # fmt: skip
        settings = opt.Settings(settings.path, settings.values)
    elif found_here and "--quiet" not in ctx.meta[_WORDS]:
        say(f"note: plugins of {settings.path} are loaded: {', '.join(found_here)}")
    opt.import_modules((*plugins, *settings.plugins))


_SHOWING = frozenset(("list", "doctor", "check", "schema", "completion", "prompts", "cache", "new"))
_QUESTIONS = frozenset(("--help", "-h", "--show-config"))


def _shows_only(ctx: click.Context) -> bool:
    """Whether a command looks at something and runs no plugin.

    It loads no code that a file in the current folder names, which may be a stranger's.
    """
    return ctx.invoked_subcommand in _SHOWING or not _QUESTIONS.isdisjoint(ctx.meta[_WORDS])


_ENDING: Final = 0.05
"""Seconds that a thread has to end when the command is done."""


def main(args: list[str] | None = None) -> None:
    """Run a command line and exit with its exit code.

    After Ctrl-C or a timeout, calls may still run in daemon threads. The end of the interpreter
    would stop them, and a thread that is stopped inside compiled code aborts the process. So the
    process ends before that.
    """
    _open_closed_streams()
    code = run(args)
    running = [thread for thread in threading.enumerate() if thread.daemon]
    for thread in running:
        thread.join(_ENDING)
    if not any(thread.is_alive() for thread in running):
        sys.exit(code)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 1
    os._exit(code)


def _open_closed_streams() -> None:
    """Open the null device for each standard stream that the caller closed.

    It gets the lowest free number, which is that of the stream. Otherwise the next file would get
    it, and messages would be written to that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def run(args: list[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    if complete.VARIABLE in os.environ:
        complete.register()
    try:
        result: Any = touche_rad.main(
            args=args, prog_name="touche-rad", standalone_mode=False, color=colour_setting()
        )
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _fail(f"{error.format_message()}{_help_of(error)}", error.exit_code)
    except ToucheRadError as error:
        return _fail(str(error), error.exit_code)
    except opt.Stopped as stopped:
        return _fail(str(stopped), STOPPED)
    except (click.Abort, KeyboardInterrupt):
        return _fail("stopped", STOPPED)
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
    return result if isinstance(result, int) else 0


def _help_of(error: click.ClickException) -> str:
    ctx = getattr(error, "ctx", None)
    return f" (see: {ctx.command_path} --help)" if ctx is not None else ""


_LONGEST_ERROR = 1500


def _fail(message: str, code: int) -> int:
    line = " ".join(message.split())
    if len(line) > _LONGEST_ERROR:  # it quotes an argument of the command or a file
        line = f"{line[: _LONGEST_ERROR - 300]} … {line[-300:]}"
    say(f"touche-rad: error: {line}")
    return code
