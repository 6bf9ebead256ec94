"""The commands `train ...`: examples, and the model of a debater."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import Label, next_step, print_json, progress, say, with_criteria
from touche_rad.cli.help_text import Section
from touche_rad.cli.prepare import warn_of_copies
from touche_rad.cli.program import Group, command
from touche_rad.cli.train_loop import loop_command
from touche_rad.errors import UserError
from touche_rad.files import check_output
from touche_rad.plugins import trainer
from touche_rad.training.folder import TrainingFolder


@click.group("train", cls=Group)
def train_command() -> None:
    """Train the model of a debater, and draw examples for a judge."""


train_command.add_command(loop_command)


def _print_result(result: Mapping[str, Any]) -> None:
    """Print the result as JSON, and to the user how to use the model."""
    print_json(result)
    serve: Mapping[str, str] = result.get("serve") or {}
    for kind, line in serve.items():
        say(f"play with the {kind} model:", Label.NEXT)
        say(f"  {line}", wraps=False)


# --- from labelled debates


@opt.offering("seed", "quiet")
class ExamplesOptions(opt.Common):
    """The options of `train examples`."""

    debates: Path = opt.argument("DEBATES")
    labels: Path = opt.argument("LABELS")
    output: Path = opt.output("Examples to write.", checked=True, required=True)
    replace: bool
    criteria: str | None
    count: int = opt.option("Examples per criterion and label.", default=10)
    common: bool = opt.flag("Draw one set for all criteria, of twice COUNT turns.")


@command(
    "train examples touche_rad/demo/debates.jsonl touche_rad/demo/labels.jsonl -o examples.jsonl",
    "train examples debates.jsonl labels.jsonl -o examples.jsonl --count 1",
    group=train_command,
)
def examples(options: ExamplesOptions) -> None:
    """Draw the examples that SINAI's judges show to a model from labelled debates.

    Each criterion gets a set of its own, with as many examples of each answer; with --common,
    all share one. Use them with -j 'fsl1(examples=FILE)'.
    """
    output = options.output
    settings = {
        "count": options.count,
        "seed": options.seed,
        "common": options.common,
        "criteria": options.read_criteria(),
    }
    _print_result(trainer("examples")(options.debates, options.labels, output, **settings))
    say(output, Label.WRITTEN)
    say(f"leave the examples out of scores on the same labels: --exclude {output}", Label.NOTE)
    warn_of_copies(options.debates)
    chosen = with_criteria(options.criteria)
    judge = ["judge", options.debates, "-j", "fsl1", "-O", f"examples={output}", *chosen]
    score = ["score", "run.jsonl", options.labels, "--exclude", output, *chosen]
    next_step([*judge, "-o", "run.jsonl"], score)


# --- the language model of a debater

Wording = Literal["close", "free"]
_of_training: Final = partial(opt.option, section=Section.TRAINING)
WORDING: Final[Wording] = opt.option("The debater's option wording.", default="close")


@opt.offering("seed", "restart", "replace", "quiet")
class AdapterOptions(opt.Common):
    """The options of trainings of a language model."""

    sources: tuple[Path, ...] = opt.arguments("FILE...", with_traces=True)
    base: str | None = opt.option(
        "Model to train: a folder, or OWNER/NAME of Hugging Face.", metavar="MODEL"
    )
    epochs: float = _of_training("Passes over the data.", default=3.0)
    rate: float = _of_training("Learning rate; the default is the paper's.", default=1e-5)
    batch: int = _of_training("Records per forward pass.", default=4)
    rank: int = _of_training("Rank of LoRA.", default=16)
    precision: Literal["auto", "float32", "bfloat16", "float16"] = _of_training(
        "Number format.", default="auto"
    )
    held_out: float = _of_training("Share of the topics that is held out.", least=0, default=0.1)
    output: Path = opt.output("Folder of the model.", "DIR", required=True)


def _train(name: str, options: AdapterOptions, **settings: object) -> None:
    """Train and print the result; `--replace` deletes an earlier training first."""
    if options.replace:
        TrainingFolder(options.output).replace()
    settings["restart"] = options.restart
    with progress("training") as report:
        result = trainer(name)(options.sources, options.output, report=report, **settings)
    _print_result(result)


@opt.options
class SftOptions(AdapterOptions):
    """The options of `train sft`."""

    wording: Wording = WORDING
    data_only: bool = opt.flag("Write the training data, and do not train.")


@command(
    "train sft run.jsonl.trace.jsonl --base OWNER/NAME -o sft",
    "train sft run.jsonl --data-only -o sft",
    group=train_command,
)
def sft(options: SftOptions) -> None:
    """Fine-tune a debater's language model on recorded answers with their reasoning (LoRA).

    FILE is a trace of the debater inspiredebate (RUN.trace.jsonl), a run of any debater, or data of
    --data-only. If a run has its trace beside it, prompts and reasoning are read from the trace.
    """
    recipe = None if options.data_only else vars(options)
    if options.data_only:
        check_output(options.output, replace=options.replace)
        options = replace(options, replace=False)
    elif options.base is None:
        raise UserError("train sft: give the model to train: --base MODEL")
    _train("sft", options, recipe=recipe, wording=options.wording)


@opt.offering("quiet")
class PreferencesOptions(opt.Common):
    """The options of `train preferences`."""

    sources: tuple[Path, ...] = opt.arguments("FILE...", with_traces=True)
    output: Path = opt.output("Pairs to write.", checked=True, required=True)
    replace: bool
    margin: float = opt.option("Minimum difference of the mean.", least=0, default=0.0)
    score: Literal["round", "debate"] = opt.option(
        "Scores of a panel: of the answer's round, or the debate.", default="round"
    )
    reward: str = opt.option("Dimensions to compare.", metavar="all|DIMENSION,...", default="all")
    pairing: Literal["context", "sides"] = opt.option(
        "What the answers of a pair share: the turns before, or debate and round.",
        default="context",
    )
    wording: Wording = WORDING


@command(
    "train preferences a.jsonl b.jsonl --margin 0.2 -o pairs.jsonl",
    "train preferences contests.jsonl outcomes.jsonl --pairing sides -o pairs.jsonl",
    group=train_command,
)
def preferences(options: PreferencesOptions) -> None:
    """Pair better and worse answers by the scores of judges.

    FILE is a run of touche-rad judge, a panel's outcomes (after the file of their debates), or a
    trace with the reasoning. To get pairs, answer the same debates several times and judge each
    run.
    """
    rule = {
        "reward": () if options.reward == "all" else tuple(options.reward.split(",")),
        "margin": options.margin,
        "pairing": options.pairing,
        "score": options.score,
    }
    output = options.output
    _print_result(
        trainer("preferences")(options.sources, output, rule=rule, wording=options.wording)
    )
    say(output, Label.WRITTEN)
    next_step(["train", "dpo", output, "--from", "SFT-DIR", "-o", "dpo"])


@opt.options
class DpoOptions(AdapterOptions):
    """The options of `train dpo`."""

    begins: Path | None = opt.option(
        "Training by sft to continue; its model is the reference.", "--from", metavar="DIR"
    )
    batch: int = _of_training("Pairs per forward pass.", default=1)
    beta: float = opt.option(
        "Strength of the reference model; 1 in the paper's formula.", default=0.1
    )


@command(
    "train dpo pairs.jsonl --base OWNER/NAME -o dpo",
    "train dpo pairs.jsonl --from sft --beta 0.5 -o dpo",
    group=train_command,
)
def dpo(options: DpoOptions) -> None:
    """Train a debater's language model on preference pairs (LoRA, DPO)."""
    if (options.begins is None) == (options.base is None):
        raise UserError("train dpo: give the model to train: --from DIR, or --base MODEL")
    _train("dpo", options, recipe=vars(options), begins=options.begins)
