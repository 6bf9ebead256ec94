"""`touche-rad serve`: the two sub-tasks over HTTP, as the official client calls them."""

from __future__ import annotations

import logging
from typing import Any

import click

from touche_rad.cli import options as shared
from touche_rad.cli import runs
from touche_rad.cli.console import say


@click.command("serve", cls=shared.Verb)
@shared.debater
@shared.judge
@shared.index
@shared.spare_index
@shared.options
@click.option("--host", default="0.0.0.0", show_default=True, envvar="TOUCHE_RAD_HOST",
              help="The address to listen on.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True,
              envvar="TOUCHE_RAD_PORT", help="The port; 0 takes a free one.")  # fmt: skip
@click.option("--max-body", type=click.IntRange(1), default=16, show_default=True,
              metavar="MIB", help="Larger requests are refused.")  # fmt: skip
@shared.option
@shared.max_words
@click.option(
    "--deadline", type=click.FloatRange(0, min_open=True), default=100.0, show_default=True,
    envvar="TOUCHE_RAD_DEADLINE", metavar="SECONDS",
    help="Seconds a plugin has before a poorer answer goes out; the client waits 300.",
)  # fmt: skip
@shared.seed
@shared.quiet
@shared.show_config
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Answer POST / with the debater, and POST /quantity, /quality, /relation, /manner.

    The port opens when the index is open and both plugins have been tried. /docs describes all.
    """
    import uvicorn

    from touche_rad.serve import create_app

    logging.basicConfig(level=logging.WARNING if given["quiet"] else logging.INFO)
    chosen = shared.choose(ctx, "debater", None, given["option"])
    debater = runs.Debater.choose(given, chosen, judge=given["judge"])
    judge, identity, model = runs.judge(given, chosen, debater.services)
    app = create_app(
        debater.answerer, judge, debater_name=debater.tag, judge_name=identity["judge"],
        max_body=given["max_body"] * 2**20, deadline=given["deadline"], model=model,
    )  # fmt: skip
    say(f"debater {debater.tag}, judge {identity['judge']}", quiet=given["quiet"])
    level = "warning" if given["quiet"] else "info"
    _allow_connections()
    uvicorn.run(
        app, host=given["host"], port=given["port"], log_level=level,
        timeout_keep_alive=_KEPT_ALIVE, backlog=_BACKLOG,
    )  # fmt: skip


_KEPT_ALIVE = 600
"""Seconds that an idle connection stays open: the client must be the one that closes it, since one
that sends on a connection that is just being closed loses its debate."""
_BACKLOG = 4096


def _allow_connections() -> None:
    """Take as many open files as the system lets this process have: a client may open thousands."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (ImportError, OSError, ValueError) as error:  # it is served with what there is
        logging.getLogger("touche_rad").info("open files stay as they are: %s", error)
