"""The commands `train`: encoders, judges and examples; those of `fine_tune.py` are added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from touche_rad.cli import help_text
from touche_rad.cli import old_options as opt
from touche_rad.cli.console import next_step, progress, say
from touche_rad.cli.fine_tune import FINE_TUNING
from touche_rad.cli.program import Command
from touche_rad.cli.train_options import (
    choice,
    number,
    print_result,
    replace_training,
)


@click.group("train", cls=help_text.Group)
def train_command() -> None:
    """Train models on a collection of arguments or on labelled debates."""


def _subcommand(name: str, *examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    return train_command.command(name, cls=Command, examples=examples)


# --- from a collection of arguments


def _on_collection(
    *numbers: opt.Option, folder: str, base: str, epochs: int, rate: float
) -> Callable[[opt.F], opt.F]:
    """Return the options of the trainers on a collection.

    Args:
        numbers: The trainer's own options.
        folder: The help of the output folder.
        base: More help about the base model.
        epochs: The default of `--epochs`.
        rate: The default of `--rate`.
    """
    return opt.options(
        opt.path_argument("collection", "COLLECTION"),
        opt.output(folder, "DIR", required=True),
        click.option(
            "--base",
            default="minilm",
            show_default=True,
            metavar="MODEL",
            help=f"Model to train further: minilm, a folder, or OWNER/NAME{base}.",
        ),
        click.option(
            "--held-out",
            default="test",
            show_default=True,
            metavar="test|I/N",
            help="Held-out topics: the split test, or the I-th of N folds.",
        ),
        number("epochs", epochs, "Passes over the data."),
        number("rate", rate, "Learning rate."),
        *numbers,
        choice(
            "precision",
            ("auto", "float32", "bfloat16"),
            "Number format; auto uses bfloat16 on a GPU only.",
        ),
        number("save-every", 50, "Steps between checkpoints."),
        opt.SEED,
        opt.RESTART,
        opt.REPLACE,
        opt.QUIET,
    )


def _train_on_collection(name: str, step: Sequence[Any], given: dict[str, Any]) -> None:
    from touche_rad.plugins import trainer

    quiet, collection, output = (given.pop(key) for key in ("quiet", "collection", "output"))
    replace_training(output, replace=given.pop("replace"))
    with progress("training", quiet=quiet) as report:
        result = trainer(name)(collection, output, report=report, **given)
    print_result(result, quiet=quiet)
    say(f"written: {output}", quiet=quiet)
    next_step(step, quiet=quiet)


@_subcommand(
    "encoder",
    "train encoder touche_rad/demo/arguments.jsonl -o encoder",
    "train encoder touche_rad/demo/arguments.jsonl -o encoder --epochs 1 --held-out 1/4",
    "train encoder arguments.jsonl -o encoder --precision bfloat16",
)
@_on_collection(
    number("batch", 64, "Arguments per step; each is a negative example for the other claims."),
    number("group", 8, "Arguments of one topic that stay together in a batch."),
    number("layers", 2, "Layers to train, from the top; 0 = all."),
    folder="Folder of the encoder.",
    base="",
    epochs=4,
    rate=2e-4,
)
def encoder(**given: Any) -> None:
    """Fine-tune an encoder for dense search: claims move closer to the arguments about them.

    Whole topics are held out; the command prints how well their claims find their arguments before
    and after training. A stopped training is resumed by the same command.
    """
    step = ["index", given["collection"], "-o", "index", "--dense", given["output"]]
    _train_on_collection("encoder", step, given)


@_subcommand(
    "stance",
    "train stance arguments.jsonl -o stance --base OWNER/NLI-MODEL",
    "train stance arguments.jsonl -o stance --base nli-model --layers 4",
    "train stance arguments.jsonl -o fold --base nli-model --held-out 2/4",
)
@_on_collection(
    number("batch", 16, "Arguments per step, each with both of its claims."),
    number("layers", 0, "Layers to train, from the top; 0 = all."),
    folder="Folder of the model.",
    base="; an NLI model is a good start",
    epochs=3,
    rate=5e-5,
)
def stance(**given: Any) -> None:
    """Train a cross-encoder to tell the claim that an argument attacks from its negation.

    Whole topics are held out. The command prints the accuracy on them beside the accuracy of the
    base model, of chance, and of a model that does not see the argument. A stopped training is
    resumed by the same command.
    """
    by = f"by=trained:{given['output']}"
    step = ["retrieve", "QUERIES", "-i", "index", "-r", "stance", "-O", by, "-o", "stance.run"]
    _train_on_collection("stance", step, given)


# --- from labelled debates

_LABELLED: Final = (
    opt.path_argument("debates", "DEBATES"),
    opt.path_argument("labels", "LABELS"),
)


@_subcommand(
    "examples",
    "train examples touche_rad/demo/debates.jsonl touche_rad/demo/labels.jsonl -o examples.jsonl",
    "train examples debates.jsonl labels.jsonl -o few.jsonl --count 1",
    "train examples debates.jsonl labels.jsonl -o other.jsonl --seed 7",
)
@opt.options(
    *_LABELLED,
    opt.output("Examples to write.", required=True),
    opt.REPLACE,
    opt.integer("--count", "Examples per maxim and label.", 5),
    opt.SEED,
    opt.QUIET,
)
def examples(
    debates: Path, labels: Path, output: Path, replace: bool, count: int, seed: int, quiet: bool
) -> None:
    """Select the examples that SINAI's judges show to a model from labelled debates.

    Each maxim gets as many positive as negative examples: those that the judge "grounded" gets
    wrong and that differ most. Use them with -j 'fsl1(examples=FILE)'.
    """
    from touche_rad.cli.own_output import own_output
    from touche_rad.plugins import trainer

    settings = {"count": count, "seed": seed}
    with own_output("train examples", output, [debates, labels], settings, replace=replace):
        result = trainer("examples")(debates, labels, output, **settings)
    print_result(
        result,
        f"written: {output}",
        f"note: leave the examples out of scores on the same labels: --exclude {output}",
        quiet=quiet,
    )
    judged = ["judge", "DEBATES", "-j", "fsl1", "-O", f"examples={output}", "-m", "MODEL"]
    next_step(
        [*judged, "-o", "run.jsonl"],
        ["score", "run.jsonl", "LABELS", "--exclude", output],
        quiet=quiet,
    )


for _command in FINE_TUNING:
    train_command.add_command(_command)
