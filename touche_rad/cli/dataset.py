"""The command `dataset`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli import help_text
from touche_rad.cli import old_options as opt
from touche_rad.cli.console import say
from touche_rad.cli.options import PluginSpec
from touche_rad.cli.program import Command
from touche_rad.errors import OptionError, UserError

if TYPE_CHECKING:
    from touche_rad.tira.dataset import Dataset

_EVALUATE: Final = "touche-rad dataset evaluate $inputRun $inputDataset -o $outputDir"
_EVALUATOR: Final = "grounded"
_BASELINES: Final = {
    "debaters": ("simulate", "-d", ("verbatim", "grounded")),
    "judges": ("judge", "-j", ("always-yes", "grounded")),
}
"""The verb and the plugins of the baselines; the official one is the first."""

_MAKING = (
    opt.output("Folder to write; its name is the dataset's.", "DIR", required=True),
    opt.REPLACE,
    opt.integer(
        "--smoke",
        "Also write DIR-smoke, a set for trial runs with the first N lines; 0: none.",
        2,
        0,
    ),
    click.option(
        "--task",
        metavar="ID",
        default="retrieval-augmented-debating-2025",
        show_default=True,
        help="The task's id at TIRA.",
    ),
    click.option(
        "--split",
        metavar="NAME",
        default="test",
        show_default=True,
        help="Split; with 'train' in its name, TIRA takes it as training data.",
    ),
    click.option(
        "--image",
        metavar="IMAGE",
        default="touche-rad",
        show_default=True,
        help="Image of the baselines.",
    ),
    click.option(
        "--evaluator",
        metavar="IMAGE",
        default="touche-rad:evaluator",
        show_default=True,
        help="Image of the evaluator.",
    ),
)


def _baselines(kind: str) -> opt.Option:
    default = _BASELINES[kind][2]
    return click.option(
        "--baseline",
        "baselines",
        metavar="NAME",
        multiple=True,
        default=default,
        show_default=True,
        help="Plugin of a baseline; TIRA's client runs the first; repeatable.",
    )


@click.group("dataset", cls=help_text.Group)
def dataset_command() -> None:
    """Write a dataset for TIRA, and evaluate runs on it."""


@dataset_command.command(
    "debaters",
    cls=Command,
    examples=(
        "dataset debaters touche_rad/demo/claims.tsv -o rad-debaters",
        "dataset debaters touche_rad/demo/claims.tsv --turns 5 --smoke 0 -o rad-5-turns",
        "dataset debaters touche_rad/demo/claims.tsv --split train -o rad-train",
    ),
)
@opt.path_argument("claims", "CLAIMS")
@opt.options(
    opt.integer("--turns", "User turns per debate.", 5),
    click.option(
        "--user",
        metavar="URL",
        help="User simulator that the organisers' client asks. [default: that of 2025]",
    ),
    *_MAKING,
    _baselines("debaters"),
    opt.QUIET,
)
def debaters(claims: Path, turns: int, user: str | None, **given: Any) -> None:
    """Write the dataset of debaters (sub-task 1): claims to debate.

    The folder contains the inputs, the truths, a Dockerfile of the baselines, and a README.md that
    tira-cli dataset-submission reads. DIR-smoke is the same with the first claims.
    """
    from touche_rad.tira.dataset import OFFICIAL_USER, of_claims

    _write(
        "debaters",
        given,
        lambda first: of_claims(claims, turns=turns, user=user or OFFICIAL_USER, first=first),
    )


@dataset_command.command(
    "judges",
    cls=Command,
    examples=(
        "dataset judges touche_rad/demo/debates.jsonl touche_rad/demo/labels.jsonl -o rad-judges",
        "dataset judges touche_rad/demo/adversarial.jsonl touche_rad/demo/adversarial-labels.jsonl "
        "-o rad-hard",
        "dataset judges touche_rad/demo/debates.jsonl touche_rad/demo/labels.jsonl --baseline "
        "always-yes --split train -o rad-judges-train",
    ),
)
@opt.path_argument("debates", "DEBATES")
@opt.path_argument("labels", "LABELS")
@opt.options(*_MAKING, _baselines("judges"), opt.QUIET)
def judges(debates: Path, labels: Path, **given: Any) -> None:
    """Write the dataset of judges (sub-task 2): debates to judge, and their labels.

    The judges' input has the texts and the cited arguments only: no label, and no system's name.
    LABELS has one line for each debate, in the same order.
    """
    from touche_rad.tira.dataset import of_debates

    _write("judges", given, lambda first: of_debates(debates, labels, first=first))


def _write(kind: str, given: dict[str, Any], make: Callable[[int | None], Dataset]) -> None:
    from touche_rad.files.outputs import keeping
    from touche_rad.tira.dataset import Images, write

    folder: Path = given["output"]
    commands = _commands(kind, given["baselines"])
    images = Images(given["image"], given["evaluator"], _EVALUATE)
    parts: list[tuple[Path, str, int | None]] = [(folder, given["split"], None)]
    if given["smoke"]:
        parts.append((folder.with_name(f"{folder.name}-smoke"), "train", given["smoke"]))
    for place, split, first in parts:
        with keeping(place, replace=given["replace"]):
            write(
                make(first),
                place,
                task=given["task"],
                split=split,
                baselines=commands,
                images=images,
            )
        say(f"written: {place} (see {place / 'README.md'})", quiet=given["quiet"])


def _commands(kind: str, plugins: Sequence[str]) -> list[str]:
    """Return the commands of the baselines, in containers."""
    import shlex

    from touche_rad.plugins import find, parse_plugin

    verb, flag, _ = _BASELINES[kind]
    for plugin in plugins:
        name, options = parse_plugin(plugin)
        find("debater" if kind == "debaters" else "judge", name).parse(options)
        if '"' in plugin:
            raise OptionError(f"--baseline {plugin}: TIRA's client breaks double quotes")
    return [shlex.join(["touche-rad", verb, flag, plugin]) for plugin in plugins]


@dataset_command.command(
    "evaluate",
    cls=Command,
    examples=(
        "dataset evaluate RUN-FOLDER rad-judges/truths -o scores",
        "dataset evaluate RUN-FOLDER rad-judges/truths --strict -o scores",
        "dataset evaluate RUN-FOLDER rad-debaters/truths -j grounded -o scores",
    ),
)
@opt.path_argument("run", "RUN-FOLDER")
@opt.path_argument("truths", "TRUTHS-FOLDER")
@opt.options(
    opt.output("Folder for evaluation.prototext.", "DIR", required=True, checked=True),
    opt.REPLACE,
    opt.plugin("-j", "--judge", help="Judge of debaters' runs. [default: grounded]"),
    opt.plugin_options("judge"),
    opt.flag("--strict", "Like the official scorer: no score if a verdict is missing."),
    opt.INDEX,
    *opt.MODEL_OPTIONS,
    opt.SEED,
    opt.QUIET,
)
def evaluate(run: Path, truths: Path, **given: Any) -> None:
    """Evaluate the run in RUN-FOLDER, as the evaluator image does on TIRA.

    Judges: the official precision, recall and F1 per maxim, and the mean F1. Debaters: the shares
    of yes of a judge, missing responses (they count as no), long ones and those without citation.
    """
    from touche_rad.tira import evaluator

    out: Path = given["output"]
    if not out.is_dir():
        out.mkdir(parents=True)
    if evaluator.has_labels(truths):
        if given["judge"] is not None:
            raise UserError(f"-j is for runs of debaters, and {truths} has labels: leave it out")
        path = evaluator.evaluate_judges(run, truths, out, strict=given["strict"])
    else:
        if given["strict"]:
            raise UserError(f"--strict is for runs of judges, and {truths} has no labels")
        path = _judge(run, truths, out, given)
    say(f"written: {path}", quiet=given["quiet"])


def _judge(run: Path, truths: Path, out: Path, given: dict[str, Any]) -> Path:
    from touche_rad.cli import prepare
    from touche_rad.tira.evaluator import evaluate_debaters

    given = {**given, "judge": given["judge"] or PluginSpec(_EVALUATOR)}
    selected = opt.select_main("judge", given)
    services = prepare.open_services(
        opt.common(given), selected.plugin, out=out / "evaluations.jsonl"
    )
    return evaluate_debaters(run, truths, out, selected.make(services), selected.tag)
