"""`touche-rad train sft|preferences|dpo|merge`: a debater's own language model."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from touche_rad.cli import options as shared
from touche_rad.cli.console import progress, say
from touche_rad.errors import OptionError, UserError

if TYPE_CHECKING:
    from touche_rad.debaters.inspiredebate.training.recipe import Recipe


F = TypeVar("F", bound=Callable[..., Any])


def options(function: F) -> F:
    """Add what says how to train."""
    options = (
        click.option("--epochs", type=float, default=3, show_default=True),
        click.option("--rate", type=float, default=1e-5, show_default=True,
                     help="The learning rate (as in the paper)."),
        click.option("--batch", type=int, default=4, show_default=True,
                     help="Records at once on the device."),
        click.option("--accumulate", type=int, default=1, show_default=True,
                     help="So many batches make a step."),
        click.option("--warmup", type=float, default=0.0, show_default=True,
                     help="The share of the steps over which the rate grows."),
        click.option("--rank", type=int, default=16, show_default=True, help="LoRA's rank."),
        click.option("--alpha", type=int, default=32, show_default=True, help="LoRA's alpha."),
        click.option("--dropout", type=float, default=0.05, show_default=True,
                     help="LoRA's dropout."),
        click.option("--targets", default="all-linear", show_default=True,
                     help="The layers with an adapter: all-linear, or names with commas."),
        click.option("--longest", type=int, default=4096, show_default=True,
                     help="Leave records of more tokens out."),
        click.option("--held-out", type=float, default=0.1, show_default=True,
                     help="The share of the topics that is held out."),
        click.option("--save-every", type=int, default=50, show_default=True,
                     help="Steps between checkpoints and measurements."),
        click.option("--precision", default="auto", show_default=True,
                     type=click.Choice(["auto", "float32", "bfloat16", "float16"])),
        click.option("--checkpointing", is_flag=True,
                     help="Compute activations twice, which spares memory."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def made(given: dict[str, Any]) -> Recipe:
    """Return the recipe; a number that cannot be is told by its name."""
    from touche_rad.debaters.inspiredebate.training.recipe import Recipe
    from touche_rad.training.recipe import validate_recipe

    return validate_recipe(Recipe, given)


_SOURCES = click.argument(
    "sources", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE..."
)
_FOLDER = click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR",
    help="The training's folder.",
)  # fmt: skip
_BASE = click.option(
    "--base", metavar="MODEL", help="The model to train: a folder, or OWNER/NAME of the hub."
)
_MERGE = click.option(
    "--merge", "merged", is_flag=True, help="Write base and adapter as one model too."
)
_WORDING = click.option(
    "--wording", type=click.Choice(["close", "free"]), default="close", show_default=True,
    help="The debater's option of this name, as it will play.",
)  # fmt: skip
_REASONING = click.option(
    "--reasoning", type=click.Choice(["given", "cited", "teacher"]), default="given",
    show_default=True,
    help="Where an answer has none of its own: leave it out, take what it cites, or ask -m.",
)  # fmt: skip


def _chosen(ctx: click.Context, verb: str, given: dict[str, Any], what: str) -> Any:
    """Return what `-o` was given: where to, and options of the model that is asked."""
    chosen = shared.choose(ctx, verb, given["output"], given["option"])
    for key in chosen.of(verb):
        raise OptionError(f"train {verb} has no option -o {key}=…; did you mean --{key}?")
    if chosen.path is None:
        raise UserError(f"train {verb}: say where {what}")
    return chosen


@click.command("sft", cls=shared.Verb)
@_SOURCES
@shared.output("The training's folder, or with --data-only the file of the data.", "DIR")
@_BASE
@options
@_REASONING
@_WORDING
@click.option("--data-only", is_flag=True, help="Write the data, and train nothing.")
@_MERGE
@shared.options
@shared.seed
@shared.restart
@shared.quiet
@shared.show_config
@click.pass_context
def sft(ctx: click.Context, /, sources: tuple[Path, ...], **given: Any) -> None:
    """Train the debater's model on recorded answers with their reasoning (LoRA).

    FILE is a trace of the debater inspiredebate (RUN.trace.jsonl), a run of any debater, or data
    that --data-only wrote. A run beside which its trace lies brings prompts and reasoning with it.
    """
    from touche_rad.plugins import trainer

    chosen = _chosen(ctx, "sft", given, "the training goes: -o DIR")
    if given["base"] is None and not given["data_only"]:
        raise UserError("train sft: say what is trained: --base MODEL")
    teaches = given["reasoning"] == "teacher"
    if given["model"] and not teaches:
        say("note: -m is asked for --reasoning teacher alone; it is not used", quiet=given["quiet"])
    teacher = shared.made(given, chosen, chosen.path) if teaches else None
    recipe = None if given["data_only"] else made(given)
    with progress("training", quiet=given["quiet"]) as report:
        told = trainer("sft")(
            sources, chosen.path, recipe=recipe, whence=given["reasoning"],
            wording=given["wording"], teacher=teacher, restart=given["restart"],
            merged=given["merged"], report=report,
        )  # fmt: skip
    _tell(told, given["quiet"])


@click.command("preferences", cls=shared.Verb)
@_SOURCES
@shared.output("The pairs to write.")
@click.option("--margin", multiple=True, metavar="NUMBER|DIMENSION=NUMBER",
              help="The least gap of the mean, or of a dimension.  [default: 0.1]")  # fmt: skip
@click.option("--reward", default="all", show_default=True, metavar="all|DIMENSION,...",
              help="The dimensions that count.")  # fmt: skip
@click.option("--by", type=click.Choice(["total", "each"]), default="total", show_default=True,
              help="Prefer by the mean, or where no dimension speaks against it.")  # fmt: skip
@click.option("--pairing", type=click.Choice(["context", "prompt", "debate", "sides"]),
              default="context", show_default=True,
              help="What two answers must share: what was said before, the very prompt, the motion "
              "and the turn, or (the paper's debates) the debate and the round.")  # fmt: skip
@click.option("--most", type=click.IntRange(1), default=1, show_default=True,
              help="Pairs of one context, the widest gaps first.")  # fmt: skip
@_REASONING
@_WORDING
@shared.options
@shared.seed
@shared.quiet
@shared.show_config
@click.pass_context
def preferences(ctx: click.Context, /, sources: tuple[Path, ...], **given: Any) -> None:
    """Pair better and worse answers by the scores of judges.

    FILE is a run of touche-rad judge, a panel's outcomes after the debates they are on, or a trace
    that has the reasoning. Answer the same debates several times, judge each run, and give all.
    """
    from touche_rad.debaters.inspiredebate.training.preferences import Rule
    from touche_rad.plugins import trainer

    chosen = _chosen(ctx, "preferences", given, "the pairs go: -o FILE")
    least, margins = _margins(given["margin"])
    reward = () if given["reward"] == "all" else tuple(given["reward"].split(","))
    rule = Rule(reward, least, margins, given["by"], given["pairing"], given["most"])
    teaches = given["reasoning"] == "teacher"
    teacher = shared.made(given, chosen, chosen.path) if teaches else None
    with progress("asking for reasoning", quiet=given["quiet"] or not teaches) as report:
        told = trainer("preferences")(
            sources, chosen.path, rule=rule, whence=given["reasoning"],
            wording=given["wording"], teacher=teacher, report=report,
        )  # fmt: skip
    say(f"the pairs are in {chosen.path}", quiet=given["quiet"])
    _tell(told, given["quiet"])


def _margins(given: tuple[str, ...]) -> tuple[float, dict[str, float]]:
    least, margins = 0.1, {}
    for one in given:
        name, _, value = one.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise OptionError(f"--margin {one}: expected a number")
        if name:
            margins[name] = number
        elif number < 0:
            raise OptionError(f"--margin {one}: expected 0 or more")
        else:
            least = number
    return least, margins


@click.command("dpo", cls=shared.Verb)
@_SOURCES
@_FOLDER
@_BASE
@click.option("--from", "begins", type=click.Path(path_type=Path), metavar="DIR",
              help="A training by sft to go on from; its model is the reference.")  # fmt: skip
@click.option("--adapter", default="", metavar="DIR", help="An adapter to go on from, with --base.")
@click.option("--beta", type=float, default=0.1, show_default=True,
              help="How near the reference it stays (the paper's formula has 1).")  # fmt: skip
@options
@_MERGE
@shared.seed
@shared.restart
@shared.quiet
@shared.show_config
def dpo(
    sources: tuple[Path, ...], output: Path, begins: Path | None, restart: bool, quiet: bool,
    **given: Any,
) -> None:  # fmt: skip
    """Train the debater's model on preference pairs (LoRA, direct preference optimisation)."""
    from touche_rad.debaters.inspiredebate.training.dpo import going_on_from
    from touche_rad.plugins import trainer

    if begins is not None:
        if given["base"] or given["adapter"]:
            raise UserError("--from says both the base and the adapter")
        given["base"], given["adapter"] = going_on_from(begins)
    if not given["base"]:
        raise UserError("train dpo: say what is trained: --from DIR, or --base MODEL")
    with progress("training", quiet=quiet) as report:
        told = trainer("dpo")(
            sources, output, recipe=made(given), restart=restart,
            merged=given["merged"], report=report,
        )  # fmt: skip
    _tell(told, quiet)


@click.command("merge", cls=shared.Verb)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="Where the model goes. [default: DIR/merged]")  # fmt: skip
@shared.quiet
@shared.show_config
def merge(folder: Path, output: Path | None, quiet: bool) -> None:
    """Write the base and the adapter of a finished training as one model."""
    from touche_rad.plugins import trainer

    _tell(trainer("merge")(folder, output), quiet)


def _tell(told: Any, quiet: bool) -> None:
    """Print what a program would read, and last, for a person, how the model is asked."""
    click.echo(json.dumps(told, indent=2))
    for kind, line in (told.get("serve") or {}).items():
        say(f"\nplay with the {kind} model:\n  {line}", quiet=quiet)


COMMANDS: Final = (sft, preferences, dpo, merge)
