"""`--dry-run`: the model calls and tokens of a run, from a few of its units."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import click

from touche_rad.cli import prepare
from touche_rad.cli.options import Common
from touche_rad.models.examples import Examples
from touche_rad.runs.sample import sample

if TYPE_CHECKING:
    from touche_rad.plugins import Plugin, Services
    from touche_rad.runs.work import Work

Make = Callable[["Services"], "Work[Any]"]
"""Makes the work of a command with an index and a model."""


def run(
    options: Common,
    plugins: Sequence[Plugin],
    make: Make,
    *,
    index: bool | None = None,
    as_json: bool = False,
) -> int:
    """Estimate the run of a command and print the estimate."""
    from touche_rad import files
    from touche_rad.models import Model
    from touche_rad.plugins import Services

    opened = model = None
    if index is None:
        index = bool(options.index) or any("index" in one.needs for one in plugins)
    if index:
        opened = prepare.open_index_of(options)
    named = prepare.names_model(options)
    if any("model" in one.needs or (named and one.uses_model) for one in plugins):
        settings, _ = prepare.model_settings(options.plugin_options.of("model"), options.seed)
        model = Model(Examples(varied=True), settings=settings)
    work = make(Services(opened, options.seed, model))
    usage = model.usage if model is not None else None
    bad = files.BadLines(skip=options.skip_bad)
    estimate = anyio.run(partial(sample, work, usage, bad=bad))
    costs = {
        "calls": round(estimate.calls),
        "prompt tokens": round(estimate.prompt_tokens),
        "answer tokens": round(estimate.answer_tokens),
    }
    if as_json:
        record = {"verb": work.verb, "debates": estimate.units, "sampled": estimate.sampled}
        click.echo(json.dumps(record | {key.replace(" ", "_"): n for key, n in costs.items()}))
        return 0
    lines = [f"{work.verb}: {estimate.units} debates, estimated from {estimate.sampled} of them"]
    lines += [f"{key}: {n:,}" for key, n in costs.items()] if costs["calls"] else ["no model calls"]
    if estimate.fallbacks:
        lines.append(
            f"warning: {estimate.fallbacks} results of the sample are a fallback's, because the "
            "example answers do not suit the plugin; the run may need more calls"
        )
    click.echo("\n".join([*lines, "dry run: nothing was written"]))
    return 0
