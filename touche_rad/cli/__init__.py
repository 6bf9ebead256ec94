"""The command line: `touche-rad COMMAND`.

A command's module is imported only when the command runs, so that `--help` is fast. All errors
become one line and an exit code here: 0 success, 1 the work failed, 2 invalid call or input.
"""

from __future__ import annotations

import importlib
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from touche_rad import __version__
from touche_rad.errors import InputError, ToucheRadError, nearest, why

GROUPS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Play": {
        "demo": ("demo", "Run the whole pipeline on the bundled data and write a report."),
        "respond": ("play", "Answer the user turns of recorded debates, or one message."),
        "simulate": ("play", "Play debates with a simulated user, or between two debaters."),
        "tournament": ("compare", "Let debaters play against each other and rate them."),
        "serve": ("play", "Serve a debater and a judge over HTTP."),
    },
    "Judge": {
        "judge": ("judge", "Judge responses on the four maxims, or judge whole debates."),
        "audit": ("judge", "Test how judges react to changes of the same responses."),
        "contests": ("compare", "Convert debates of other collections for panels."),
    },
    "Measure": {
        "score": ("judge", "Score runs against labels, qrels or human decisions."),
        "report": ("judge", "Write an HTML report of runs."),
    },
    "Submit": {
        "check": ("submit", "Validate runs before submission."),
        "submit": ("submit", "Print the command that submits a plugin to TIRA."),
    },
    "Tools": {
        "index": ("index", "Build an argument index from a collection or from debates."),
        "retrieve": ("index", "Search an index and write a TREC run, or print the hits."),
        "list": ("tools", "List plugins, or the options and profiles of one plugin."),
        "new": ("tools", "Write the package of a new debater, judge or retriever."),
        "prompts": ("prompts", "Print the prompts of a plugin, or copy them to change them."),
        "train": ("train", "Train a debater, a judge, a stance model or an encoder."),
        "cache": ("cache", "Show, export, merge and prune cached model answers."),
        "doctor": ("tools", "Check this machine, the plugins and the index."),
    },
}
"""The commands by group: the module in `touche_rad.cli`, and the purpose."""

COMMANDS: Final = {name: where for group in GROUPS.values() for name, where in group.items()}


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the commands by group, without importing them."""
        width = max(map(len, COMMANDS))
        for group, names in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), text) for name, (_, text) in names.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for an unknown one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


DEFAULT_FILE: Final = "touche-rad.toml"
SHARED: Final = (
    "debater", "judge", "retriever", "index", "seed", "max_words", "deadline", "workers",
    "quiet", "skip_bad", "turns", "host", "port", "options", "plugins",
    "model", "cache", "max_calls", "max_tokens", "run_deadline", "trace", "metadata",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The content of a settings file, as click's default map of each command."""

    path: Path | None = None
    values: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()


def load_settings(path: str | None) -> Settings:
    """Read the given file, or `touche-rad.toml` in this folder if it exists.

    A key at the top applies to every command with an option of this name, a table named after a
    command only to this command. The table `options`, at either place, has the values of `-O`.
    Flags and the environment replace the values of the file.
    """
    place = Path(path) if path else Path(DEFAULT_FILE)
    if not path and not place.is_file():
        return Settings()
    table = _parse(place)
    shared = {key: value for key, value in table.items() if key not in COMMANDS}
    for key in shared:
        if key not in SHARED:
            raise InputError(
                place, f"there is no such setting{nearest(key, [*SHARED, *COMMANDS])}", field=key
            )
    plugins = shared.pop("plugins", [])
    values = {one: _flat(place, {**shared, **_table(place, table, one)}) for one in COMMANDS}
    return Settings(place, values, tuple(plugins))


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, f"expected TOML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read: {why(error)}") from None


def _table(path: Path, table: Mapping[str, Any], command: str) -> dict[str, Any]:
    own = table.get(command, {})
    if not isinstance(own, dict):
        raise InputError(path, f"expected a table [{command}], got {own!r}", field=command)
    return own


def _flat(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    options = values.pop("options", {})
    if not isinstance(options, dict):
        raise InputError(path, f"expected a table, got {options!r}", field="options")
    flat = {key.replace("-", "_"): value for key, value in values.items()}
    if options:
        flat["options"] = [f"{key}={_string(value)}" for key, value in options.items()]
    return flat


def _string(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@click.command(
    cls=Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "TOUCHE_RAD",
        "max_content_width": 80,
    },
    epilog="Start with: touche-rad demo. Help for one command: touche-rad COMMAND --help.",
)
@click.version_option(__version__, prog_name="touche-rad")
@click.option(
    "--config", "config_file", envvar="TOUCHE_RAD_CONFIG", type=click.Path(), metavar="FILE",
    help="Settings file. [default: touche-rad.toml in this folder, if it exists]",
)  # fmt: skip
@click.option(
    "--plugin", "plugins", multiple=True, envvar="TOUCHE_RAD_PLUGIN", metavar="MODULE|FILE.py",
    help="Import this module with plugins first; repeatable.",
)  # fmt: skip
@click.pass_context
def touche_rad(ctx: click.Context, config_file: str | None, plugins: tuple[str, ...]) -> None:
    """Debaters and judges for Touché's Retrieval-Augmented Debating task."""
    settings = load_settings(config_file)
    ctx.obj = settings
    ctx.default_map = dict(settings.values)
    modules = (*plugins, *settings.plugins)
    if modules:
        from touche_rad.plugins import import_plugins

        import_plugins(modules)


def main(args: list[str] | None = None) -> None:
    """Run a command line and exit with its exit code."""
    sys.exit(run(args))


def run(args: list[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    try:
        result: Any = touche_rad.main(args=args, prog_name="touche-rad", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ToucheRadError as error:
        return _fail(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _fail("stopped; run the same command again to resume", 130)
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


def _fail(message: str, code: int) -> int:
    from touche_rad.secrets import redact
    from touche_rad.text import printable

    line = " ".join(printable(redact(message)).split())
    print(f"touche-rad: error: {line}", file=sys.stderr)
    return code
