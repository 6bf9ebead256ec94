"""The command `plan`: what a very large run needs, from a sample or from a smaller run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import next_step
from touche_rad.errors import OptionError

SIZES: Final = ("1e4", "1e6", "1e8")


def _count(ctx: click.Context, parameter: click.Parameter, value: Sequence[str]) -> list[int]:
    """Parse numbers such as 20000 and 1e6."""
    found = []
    for text in value:
        try:
            number = float(text.replace(",", ""))
        except ValueError:
            number = 0.0
        if not 1 <= number < 1e15:
            raise OptionError(f"--debates {text}: expected a number of debates, such as 1e6")
        found.append(round(number))
    return found


def _positive(name: str, text: str, **more: Any) -> opt.Option:
    kind = opt.Number(0, min_open=True)
    return click.option(name, type=kind, metavar="N", help=text, **more)


@opt.command(
    "plan",
    "plan -j zsl -O per=maxim --endpoint-rate 3000 --endpoints 8",
    "plan -d sinai -j zsl --debates 1e6 --endpoint-rate 600 --hours 24 --card-price 2.50",
    "plan --run evaluations.jsonl --debates 1e6 --endpoints 64",
)
@opt.path_argument("source", "[DEBATES]", required=False)
@opt.options(
    opt.plugin("-d", "--debater", help="Debater that answers the debates."),
    opt.plugin("-j", "--judge", help="Judge or panel that judges them."),
    opt.plugin_options("judge", "debater"),
    click.option(
        "--run",
        type=click.Path(path_type=Path),
        metavar="RUN",
        help="Use the calls, tokens and rate of this finished run instead of a sample.",
    ),
    click.option(
        "--debates",
        "sizes",
        multiple=True,
        default=SIZES,
        metavar="N",
        callback=_count,
        help=f"Number of debates; repeatable. [default: {', '.join(SIZES)}]",
    ),
    _positive("--endpoint-rate", "Calls per minute that one endpoint answers at full load."),
    opt.integer("--endpoints", "Number of endpoints.", 1),
    _positive("--hours", "Also print how many endpoints and processes finish in N hours."),
    opt.integer("--cards", "Number of cards per endpoint.", 1),
    _positive("--card-price", "Price of a card per hour."),
    click.option(
        "--price",
        metavar="IN,OUT",
        callback=opt.parse_price,
        help="Price of a million prompt tokens and answer tokens.",
    ),
    opt.integer("--arguments", "Number of arguments in the index.", 287_156),
    opt.JSON,
    opt.INDEX,
    opt.MODEL,
    opt.SEED,
    opt.QUIET,
)
def plan_command(source: Path | None, **given: Any) -> int:
    """Estimate what a very large run needs: calls, tokens, cards, hours, network and money.

    Some of the DEBATES (default: the demo debates) are processed with example answers, as with
    --dry-run, and the result is scaled to each number of debates. No model is called; with
    -m, plugins are estimated as if they had it.
    """
    from touche_rad.cli import sizing

    plan = sizing.measured(given) if given["run"] else sizing.sampled(source, given)
    if given["as_json"]:
        click.echo(json.dumps(plan.to_json(), indent=2))
        return 0
    click.echo("\n".join(plan.lines()))
    next_step(*plan.next_steps(source), quiet=given["quiet"])
    return 0
