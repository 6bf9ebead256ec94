"""`--dry-run`: the model calls and tokens of a run, from a few of its units."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import click

from touche_rad.cli import prepare
from touche_rad.models.dry_run import Answers
from touche_rad.runs.sample import Choose, Sample, sample, spread

if TYPE_CHECKING:
    from touche_rad.plugins import Plugin, Services
    from touche_rad.runs.work import Work

Make = Callable[["Services"], "Work[Any]"]
"""Makes the work of a command with an index and a model."""


def run(
    verb: str, given: prepare.Given, plugins: Sequence[Plugin], make: Make, *, index: bool = False
) -> int:
    """Estimate the run of a command and print the estimate.

    Args:
        verb: The command.
        given: The values of the command's options.
        plugins: The plugins of the run.
        make: Makes the work of the command.
        index: Whether the command always opens an index.
    """
    opened = None
    if index or given["index"] or any("index" in one.needs for one in plugins):
        opened = prepare.open_index_of(given)
    return show(verb, given, play(given, plugins, make, index=opened))


def play(
    given: prepare.Given,
    plugins: Sequence[Plugin],
    make: Make,
    *,
    index: Any,
    choose: Choose = spread,
    scale: float = 1.0,
) -> Sample:
    """Let a command process a sample of its input with example answers.

    Args:
        given: The values of the command's options.
        plugins: The plugins, with those that they use.
        make: Makes the work of the command.
        index: The argument index, if there is one.
        choose: Chooses the debates of the sample.
        scale: Size of the run, if the input is a sample of it.
    """
    from touche_rad import files
    from touche_rad.models import Model
    from touche_rad.plugins import Services

    named = prepare.names_model(given)
    model = None
    if any("model" in one.needs or (named and one.uses_model) for one in plugins):
        settings, _ = prepare.model_settings(given["options"].get("model", {}), given["seed"])
        model = Model(Answers(), settings=settings)
    work = make(Services(index, given["seed"], model))
    usage = model.usage if model is not None else None
    bad = files.BadLines(skip=given.get("skip_bad", False))
    return anyio.run(partial(sample, work, usage, bad=bad, choose=choose, scale=scale))


def show(verb: str, given: prepare.Given, *parts: Sample) -> int:
    """Print the estimate of a run, whose parts process the same debates."""
    first = parts[0]
    costs = {
        "calls": round(sum(one.calls for one in parts)),
        "prompt tokens": round(sum(one.prompt_tokens for one in parts)),
        "answer tokens": round(sum(one.answer_tokens for one in parts)),
    }
    if given.get("as_json"):
        record = {"verb": verb, "debates": first.units, "sampled": first.sampled}
        click.echo(json.dumps(record | {key.replace(" ", "_"): n for key, n in costs.items()}))
        return 0
    lines = [f"{verb}: {first.units} debates, estimated from {first.sampled} of them"]
    lines += [f"{key}: {n:,}" for key, n in costs.items()] if costs["calls"] else ["no model calls"]
    fallbacks = sum(one.fallbacks for one in parts)
    if fallbacks:
        lines.append(
            f"warning: {fallbacks} results of the sample are a fallback's, because the example "
            "answers do not suit the plugin; the run may need more calls"
        )
    click.echo("\n".join([*lines, "dry run: nothing was written"]))
    return 0
