"""The command `dataset`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import Label, print_line, say
from touche_rad.cli.help_text import Section
from touche_rad.cli.program import Group, command
from touche_rad.errors import UserError
from touche_rad.files import Kind, check_output, detect_kind
from touche_rad.files.records import path_beside
from touche_rad.tira.dataset import OFFICIAL_USER, Dataset, Upload, of_claims, of_debates, write

_SMOKE_LINES: Final = 2
"""Lines of the set for trial runs."""


@click.group("dataset", cls=Group)
def dataset_command() -> None:
    """Write a dataset for TIRA, and evaluate runs on it."""


@opt.offering("quiet")
class MakingOptions(opt.Common):
    """The options of both kinds of datasets."""

    output: Path = opt.output("Folder to write; its name is the dataset's.", "DIR", required=True)
    replace: bool
    task: str = opt.option(
        "The task's id at TIRA.", metavar="ID", default="retrieval-augmented-debating-2025"
    )
    split: str = opt.option(
        "Split; with 'train' in its name, TIRA takes it as training data.",
        metavar="NAME",
        default="test",
    )
    image: str = opt.option("Image of the baselines.", metavar="IMAGE", default="touche-rad")
    evaluator: str = opt.option(
        "Image of the evaluator.", metavar="IMAGE", default="touche-rad:evaluator"
    )


@opt.options
class DebatersOptions(MakingOptions):
    """The options of `dataset debaters`."""

    claims: Path = opt.argument("CLAIMS")
    turns: int = opt.TURNS
    user: str = opt.option(
        "User simulator that the organisers' client asks.",
        metavar="URL",
        default=OFFICIAL_USER,
    )


@command(
    "dataset debaters touche_rad/demo/claims.tsv -o rad-debaters",
    "dataset debaters touche_rad/demo/claims.tsv --split train -o rad-train",
    group=dataset_command,
)
def debaters(options: DebatersOptions) -> None:
    """Write the dataset of debaters (sub-task 1): claims to debate.

    The folder contains the inputs, the truths, a Dockerfile of the baselines, and a README.md that
    tira-cli dataset-submission reads. DIR-smoke is the same with the first claims.
    """
    make = partial(of_claims, options.claims, turns=options.turns, user=options.user)
    _write(options, make, "touche-rad simulate -d verbatim", "touche-rad simulate -d grounded")


@opt.options
class JudgesOptions(MakingOptions):
    """The options of `dataset judges`."""

    debates: Path = opt.argument("DEBATES")
    labels: Path = opt.argument("LABELS")


@command(
    "dataset judges touche_rad/demo/debates.jsonl touche_rad/demo/labels.jsonl -o rad-judges",
    group=dataset_command,
)
def judges(options: JudgesOptions) -> None:
    """Write the dataset of judges (sub-task 2): debates to judge, and their labels.

    The judges' input has the texts and the cited arguments only: no label, and no system's name.
    LABELS has one line for each debate, in the same order.
    """
    make = partial(of_debates, options.debates, options.labels)
    _write(options, make, "touche-rad judge -j always-yes", "touche-rad judge -j grounded")
    prepare.warn_of_copies(options.debates)


def _write(options: MakingOptions, make: Callable[[int | None], Dataset], *baselines: str) -> None:
    """Write a dataset, and a set for trial runs; TIRA's client runs the first baseline."""
    output = options.output
    smoke = path_beside(output, "-smoke")
    for folder, split, first in ((output, options.split, None), (smoke, "train", _SMOKE_LINES)):
        check_output(folder, replace=options.replace)
        upload = Upload(options.task, split, baselines, options.image, options.evaluator)
        is_new = not folder.exists()
        try:
            write(make(first), folder, upload)
        except OSError:
            if is_new:  # a part of a dataset on a full disk
                shutil.rmtree(folder, ignore_errors=True)
            raise
        say(f"{folder} (see {folder / 'README.md'})", Label.WRITTEN)


@opt.offering("index", "seed", "quiet")
class EvaluateOptions(opt.ModelOptions):
    """The options of `dataset evaluate`."""

    run: Path = opt.argument("RUN-FOLDER")
    truths: Path = opt.argument("TRUTHS-FOLDER")
    output: Path = opt.output(
        "Folder for evaluation.prototext.", "DIR", checked=True, required=True
    )
    replace: bool
    judge: opt.PluginSpec | None = opt.option(
        "Judge of debaters' runs. [default: grounded]", "-j --judge"
    )
    plugin_options: opt.PluginOptions = opt.plugin_options("judge")
    strict: bool = opt.flag(
        "Like the official scorer: no score if a verdict is missing.", section=Section.RUN
    )


@command(
    "dataset evaluate RUN-FOLDER rad-judges/truths -o scores",
    "dataset evaluate RUN-FOLDER rad-debaters/truths -i INDEX -o scores",
    group=dataset_command,
)
def evaluate(options: EvaluateOptions) -> None:
    """Evaluate the run in RUN-FOLDER, as the evaluator image does on TIRA.

    Judges: the official precision, recall and F1 per maxim, and the mean F1. Debaters: the shares
    of yes of a judge, and how many responses are missing (these count as no), empty, long or
    without citation.
    """
    from touche_rad.score.export import PROTOTEXT
    from touche_rad.tira import evaluator

    truths = options.truths
    out = options.output
    warn = partial(say, label=Label.WARNING)
    if any(detect_kind(path) is Kind.LABELS for path in truths.glob("*.jsonl")):
        if options.judge:
            raise UserError(f"-j is for runs of debaters, and {truths} has labels: leave it out")
        result = evaluator.evaluate_judges(options.run, truths, out, warn, strict=options.strict)
    else:
        if options.strict:
            raise UserError(f"--strict is for runs of judges, and {truths} has no labels")
        spec = (options.judge or opt.DEFAULT).with_options(options.plugin_options["judge"])
        judge = spec.configure("judge")
        with prepare.open_session(options, judge, out=out / evaluator.EVALUATIONS) as session:
            result = evaluator.evaluate_debaters(
                options.run, truths, out, judge, session.services, warn
            )
    say(out / PROTOTEXT, Label.WRITTEN)
    print_line(result)
