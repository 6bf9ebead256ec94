"""The terminal: `touche-rad VERB`.

Nothing but click is imported until a verb is chosen, so that `--help` answers at once. Errors
become one line and an exit code here and nowhere else: 0 done, 1 the work failed, 2 the call or the
input was wrong.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from touche_rad import __version__

VERBS = {
    "demo": "Run the main job on the bundled data, end to end, with a report.",
    "index": "Make an argument index from a collection or from debates.",
    "retrieve": "Search an index for many queries and write a TREC run.",
    "respond": "Answer every user turn of recorded debates.",
    "simulate": "Play whole debates against a simulated user.",
    "judge": "Judge each response on the four maxims, or whole debates.",
    "contests": "Bring whole debates of other collections into one file.",
    "tournament": "Let debaters play each other, and rate them.",
    "check": "Check that runs are whole and valid, before they are handed in.",
    "submit": "Print the command line that hands a plugin in to TIRA.",
    "score": "Score runs against labels or qrels, and compare them.",
    "report": "Make one page to look at.",
    "serve": "Serve a debater and a judge over HTTP, as the task asks.",
    "train": "Train models of one's own: a debater's, a judge's, a stance model, an encoder.",
    "cache": "Show, export, merge and prune a model's kept answers.",
    "list": "List the plugins, what they need and their options.",
    "doctor": "Say what this machine has and lacks.",
}


class Verbs(click.Group):
    """A group whose verbs are imported only when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the verbs, in the order of the work."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"touche_rad.cli.{cmd_name}_verb")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing any."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest verb for one that does not exist."""
        from touche_rad.errors import nearest

        if args and args[0] not in VERBS and not args[0].startswith("-"):
            ctx.fail(f"there is no verb {args[0]!r}{nearest(args[0], VERBS)}")
        return super().resolve_command(ctx, args)


@click.command(
    cls=Verbs,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "TOUCHE_RAD",
        "max_content_width": 100,
    },
)
@click.version_option(__version__, prog_name="touche-rad")
@click.option(
    "--config",
    "config_file",
    envvar="TOUCHE_RAD_CONFIG",
    type=click.Path(),
    metavar="FILE",
    help="Settings file. [default: touche-rad.toml in this folder, where there is one]",
)
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    envvar="TOUCHE_RAD_PLUGIN",
    metavar="MODULE|FILE.py",
    help="Import this first, so that its decorated plugins are known. May be repeated.",
)
@click.pass_context
def touche_rad(ctx: click.Context, config_file: str | None, plugins: tuple[str, ...]) -> None:
    """Debaters, judges and the bench for the Touché Retrieval-Augmented Debating task."""
    from touche_rad.cli import config

    settings = config.load(config_file, VERBS)
    ctx.obj = settings
    ctx.default_map = dict(settings.values)
    wanted = (*plugins, *settings.plugins)
    if wanted:
        from touche_rad.plugins import import_plugins

        import_plugins(wanted)


def main(args: list[str] | None = None) -> None:
    """Run the terminal and end the process with the right exit code."""
    sys.exit(run(args))


def run(args: list[str] | None = None) -> int:
    """Run the terminal and return the exit code."""
    from touche_rad.errors import ToucheRadError

    try:
        result: Any = touche_rad.main(args=args, prog_name="touche-rad", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ToucheRadError as error:
        return _fail(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _fail("stopped; what is done is kept, and the same command goes on from there", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(_told(error), 1)
    except Exception as error:
        return _bug(error)
    return result if isinstance(result, int) else 0


def _fail(message: str, code: int) -> int:
    from touche_rad.secrets import redact

    line = redact(" ".join(message.split()))
    print(f"touche-rad: error: {line}", file=sys.stderr)
    return code


def _told(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"


def _bug(error: Exception) -> int:
    if os.environ.get("TOUCHE_RAD_DEBUG"):
        raise error
    kind = type(error).__name__
    return _fail(f"a fault of ours: {kind}: {error} (TOUCHE_RAD_DEBUG=1 shows where)", 1)
