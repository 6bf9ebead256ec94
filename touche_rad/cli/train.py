"""The commands `train ...`: search and stance models, examples, and the model of a debater."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from touche_rad.cli import help_text, prepare
from touche_rad.cli import options as opt
from touche_rad.cli.console import next_step, progress, say
from touche_rad.errors import OptionError, UserError


@click.group("train", cls=help_text.Group)
def train_command() -> None:
    """Train models on a collection of arguments or on labelled debates."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """The options of all trainings."""

    output: Annotated[Path, opt.output("Folder of the model.", "DIR")]
    save_every: Annotated[int, opt.option("Steps between checkpoints.")] = 50
    seed: opt.Seed = 0
    restart: opt.Restart = False
    replace: opt.Replace = False
    quiet: opt.Quiet = False

    def prepare_folder(self) -> None:
        """With `--replace`, delete the training in the folder."""
        if self.replace:
            from touche_rad.training.folder import Folder

            Folder(self.output).replace()


def _print_result(result: Mapping[str, Any], *lines: str, quiet: bool) -> None:
    """Print the result as JSON, and to the user how to use the model."""
    click.echo(json.dumps(result, indent=2))
    serve: Mapping[str, str] = result.get("serve") or {}
    hints = [f"next: play with the {kind} model:\n  {line}" for kind, line in serve.items()]
    for line in (*hints, *lines):
        say(line, quiet=quiet)


# --- from a collection of arguments


@dataclass(frozen=True, kw_only=True)
class CollectionOptions(TrainingOptions):
    """The options of trainings on a collection."""

    collection: Annotated[Path, opt.argument("COLLECTION")]
    base: Annotated[
        str,
        opt.option("Model to train further: minilm, a folder, or OWNER/NAME.", metavar="MODEL"),
    ] = "minilm"
    held_out: Annotated[
        str,
        opt.option("Held-out topics: the split test, or the I-th of N folds.", metavar="test|I/N"),
    ] = "test"
    precision: Annotated[
        Literal["auto", "float32", "bfloat16"],
        opt.option("Number format; auto uses bfloat16 on a GPU only."),
    ] = "auto"


Epochs = Annotated[int, opt.option("Passes over the data.")]
Rate = Annotated[float, opt.option("Learning rate.")]
Layers = Annotated[int, opt.option("Layers to train, from the top; 0 = all.", least=0)]


@dataclass(frozen=True, kw_only=True)
class EncoderOptions(CollectionOptions):
    """The options of `train encoder`."""

    epochs: Epochs = 4
    rate: Rate = 2e-4
    batch: Annotated[
        int,
        opt.option("Arguments per step; each is a negative example for the other claims."),
    ] = 64
    group: Annotated[int, opt.option("Arguments of one topic that stay together in a batch.")] = 8
    layers: Layers = 2


@dataclass(frozen=True, kw_only=True)
class StanceOptions(CollectionOptions):
    """The options of `train stance`."""

    epochs: Epochs = 3
    rate: Rate = 5e-5
    batch: Annotated[int, opt.option("Arguments per step, each with both of its claims.")] = 16
    layers: Layers = 0


@opt.command(
    "encoder",
    "train encoder touche_rad/demo/arguments.jsonl -o encoder",
    "train encoder touche_rad/demo/arguments.jsonl -o encoder --epochs 1 --held-out 1/4",
    "train encoder arguments.jsonl -o encoder --precision bfloat16",
    group=train_command,
)
def encoder(options: EncoderOptions) -> None:
    """Fine-tune an encoder for dense search: claims move closer to the arguments about them.

    Whole topics are held out; the command prints how well their claims find their arguments before
    and after training. A stopped training is resumed by the same command.
    """
    step = ["index", options.collection, "-o", "index", "--dense", options.output]
    _train_on_collection("encoder", step, options)


@opt.command(
    "stance",
    "train stance arguments.jsonl -o stance --base OWNER/NLI-MODEL",
    "train stance arguments.jsonl -o stance --base nli-model --layers 4",
    "train stance arguments.jsonl -o fold --base nli-model --held-out 2/4",
    group=train_command,
)
def stance(options: StanceOptions) -> None:
    """Train a cross-encoder to tell the claim that an argument attacks from its negation.

    Whole topics are held out. The command prints the accuracy on them beside the accuracy of the
    base model, of chance, and of a model that does not see the argument. An NLI model is a good
    base. A stopped training is resumed by the same command.
    """
    by = f"by=trained:{options.output}"
    step = ["retrieve", "QUERIES", "-i", "index", "-r", "stance", "-O", by, "-o", "stance.run"]
    _train_on_collection("stance", step, options)


def _train_on_collection(name: str, step: Sequence[Any], options: CollectionOptions) -> None:
    from touche_rad.plugins import trainer

    used = ("collection", "output", "replace", "quiet")
    settings = {key: value for key, value in vars(options).items() if key not in used}
    options.prepare_folder()
    with progress("training", quiet=options.quiet) as report:
        result = trainer(name)(options.collection, options.output, report=report, **settings)
    _print_result(result, f"written: {options.output}", quiet=options.quiet)
    next_step(step, quiet=options.quiet)


# --- from labelled debates


@dataclass(frozen=True, kw_only=True)
class ExamplesOptions:
    """The options of `train examples`."""

    debates: Annotated[Path, opt.argument("DEBATES")]
    labels: Annotated[Path, opt.argument("LABELS")]
    output: Annotated[Path, opt.output("Examples to write.", checked=True)]
    replace: opt.Replace = False
    count: Annotated[int, opt.option("Examples per maxim and label.")] = 10
    select: Annotated[
        Literal["random", "hard"],
        opt.option(
            'Draw them, or take those that the judge "grounded" gets wrong and that differ.'
        ),
    ] = "random"
    seed: opt.Seed = 0
    quiet: opt.Quiet = False


@opt.command(
    "examples",
    "train examples touche_rad/demo/debates.jsonl touche_rad/demo/labels.jsonl -o examples.jsonl",
    "train examples debates.jsonl labels.jsonl -o hard.jsonl --count 1 --select hard",
    "train examples debates.jsonl labels.jsonl -o other.jsonl --seed 7",
    group=train_command,
)
def examples(options: ExamplesOptions) -> None:
    """Select the examples that SINAI's judges show to a model from labelled debates.

    Each maxim gets a set of its own, with as many positive as negative examples. Use them with
    -j 'fsl1(examples=FILE)'.
    """
    from touche_rad.plugins import trainer

    output, inputs = options.output, [options.debates, options.labels]
    settings = {"count": options.count, "seed": options.seed, "select": options.select}
    result = trainer("examples")(*inputs, output, **settings)
    _print_result(
        result,
        f"written: {output}",
        f"note: leave the examples out of scores on the same labels: --exclude {output}",
        quiet=options.quiet,
    )
    judge = ["judge", "DEBATES", "-j", "fsl1", "-O", f"examples={output}", "-m", "MODEL"]
    score = ["score", "run.jsonl", "LABELS", "--exclude", output]
    next_step([*judge, "-o", "run.jsonl"], score, quiet=options.quiet)


# --- the language model of a debater


@dataclass(frozen=True, kw_only=True)
class AnswersOptions(opt.ModelOptions):
    """The options of data from recorded answers."""

    sources: Annotated[tuple[Path, ...], opt.argument("FILE...")]
    output: Path
    reasoning: Annotated[
        Literal["given", "cited", "teacher"],
        opt.option("Reasoning for answers without it: leave out, use the citations, or ask -m."),
    ] = "given"
    wording: Annotated[Literal["close", "free"], opt.option("The debater's option wording.")] = (
        "close"
    )
    trace: opt.Trace = True
    plugin_options: Annotated[opt.PluginOptions, opt.plugin_options(None)] = opt.NONE
    seed: opt.Seed = 0
    quiet: opt.Quiet = False

    def teacher(self) -> Any:
        """Open the model that writes missing reasoning, if `--reasoning teacher` is set."""
        if self.reasoning == "teacher":
            return prepare.open_model(self, self.output)
        if self.model:
            say("note: -m is not used without --reasoning teacher", quiet=self.quiet)
        return None


@dataclass(frozen=True, kw_only=True)
class AdapterOptions(TrainingOptions):
    """The options of trainings of a language model."""

    sources: Annotated[tuple[Path, ...], opt.argument("FILE...")]
    output: Annotated[Path, opt.output("Folder of the training.", "DIR")]
    base: Annotated[
        str | None,
        opt.option("Model to train: a folder, or OWNER/NAME of Hugging Face.", metavar="MODEL"),
    ] = None
    epochs: Annotated[float, opt.option("Passes over the data.")] = 3.0
    rate: Annotated[float, opt.option("Learning rate; the default is the paper's.")] = 1e-5
    batch: Annotated[int, opt.option("Records per forward pass.")] = 4
    accumulate: Annotated[int, opt.option("Batches per optimiser step.")] = 1
    warmup: Annotated[
        float, opt.option("Share of the steps in which the learning rate grows.", least=0)
    ] = 0.0
    rank: Annotated[int, opt.option("Rank of LoRA.")] = 16
    alpha: Annotated[int, opt.option("Alpha of LoRA.")] = 32
    dropout: Annotated[float, opt.option("Dropout of LoRA.", least=0)] = 0.05
    targets: Annotated[
        str,
        opt.option("Layers with an adapter: all-linear, or names separated by commas."),
    ] = "all-linear"
    longest: Annotated[int, opt.option("Maximum tokens of a record; longer ones are left out.")] = (
        4096
    )
    held_out: Annotated[float, opt.option("Share of the topics that is held out.", least=0)] = 0.1
    precision: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"], opt.option("Number format.")
    ] = "auto"
    checkpointing: Annotated[
        bool, opt.option("Recompute activations: slower, with less memory.")
    ] = False
    merged: Annotated[bool, opt.option("Also write base and adapter as one model.", "--merge")] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class SftOptions(AdapterOptions, AnswersOptions):
    """The options of `train sft`."""

    data_only: Annotated[bool, opt.option("Write the training data, and do not train.")] = False


@opt.command(
    "sft",
    "train sft run.jsonl.trace.jsonl --base OWNER/NAME -o sft",
    "train sft run.jsonl --data-only --reasoning cited -o sft",
    "train sft run.jsonl.trace.jsonl --base model --epochs 1 --merge -o sft",
    group=train_command,
)
def sft(options: SftOptions) -> None:
    """Fine-tune a debater's language model on recorded answers with their reasoning (LoRA).

    FILE is a trace of the debater inspiredebate (RUN.trace.jsonl), a run of any debater, or data of
    --data-only. If a run has its trace beside it, prompts and reasoning are read from the trace.
    """
    from touche_rad.files import check_output
    from touche_rad.plugins import trainer

    if options.data_only:
        check_output(options.output, replace=options.replace)
    elif options.base is None:
        raise UserError("train sft: give the model to train: --base MODEL")
    else:
        options.prepare_folder()
    with progress("training", quiet=options.quiet) as report:
        result = trainer("sft")(
            options.sources,
            options.output,
            recipe=None if options.data_only else vars(options),
            reasoning=options.reasoning,
            wording=options.wording,
            teacher=options.teacher(),
            restart=options.restart,
            merged=options.merged,
            report=report,
        )
    _print_result(result, quiet=options.quiet)


@dataclass(frozen=True, kw_only=True)
class PreferencesOptions(AnswersOptions):
    """The options of `train preferences`."""

    output: Annotated[Path, opt.output("Pairs to write.", checked=True)]
    replace: opt.Replace = False
    margin: Annotated[
        tuple[str, ...],
        opt.option(
            "Minimum difference of the mean or of a dimension. [default: 0.1]",
            metavar="NUMBER|DIMENSION=NUMBER",
        ),
    ] = ()
    reward: Annotated[str, opt.option("Dimensions to compare.", metavar="all|DIMENSION,...")] = (
        "all"
    )
    by: Annotated[
        Literal["total", "each"],
        opt.option("total: compare the mean; each: no dimension may be worse."),
    ] = "total"
    pairing: Annotated[
        Literal["context", "prompt", "debate", "sides"],
        opt.option(
            "What the answers of a pair share: the turns before, the prompt, motion and turn, or "
            "debate and round."
        ),
    ] = "context"
    most: Annotated[int, opt.option("Maximum pairs per context, largest differences first.")] = 1


@opt.command(
    "preferences",
    "train preferences a.jsonl b.jsonl -o pairs.jsonl",
    "train preferences a.jsonl b.jsonl --margin 0.2 --by each -o pairs.jsonl",
    "train preferences contests.jsonl outcomes.jsonl --pairing sides -o pairs.jsonl",
    group=train_command,
)
def preferences(options: PreferencesOptions) -> None:
    """Pair better and worse answers by the scores of judges.

    FILE is a run of touche-rad judge, a panel's outcomes (after the file of their debates), or a
    trace with the reasoning. To get pairs, answer the same debates several times and judge each
    run.
    """
    from touche_rad.plugins import trainer

    margin, margins = _margins(options.margin)
    rule = {
        "reward": () if options.reward == "all" else tuple(options.reward.split(",")),
        "margin": margin,
        "margins": margins,
        "by": options.by,
        "pairing": options.pairing,
        "most": options.most,
    }
    settings = {"rule": rule, "reasoning": options.reasoning, "wording": options.wording}
    sources, output, teacher = options.sources, options.output, options.teacher()
    quiet = options.quiet
    if teacher is not None:
        teacher.begin_trace()
    with progress("asking for reasoning", quiet=quiet or teacher is None) as report:
        result = trainer("preferences")(sources, output, **settings, teacher=teacher, report=report)
    _print_result(result, f"written: {output}", quiet=quiet)
    next_step(["train", "dpo", output, "--from", "SFT-DIR", "-o", "dpo"], quiet=quiet)


def _margins(texts: Sequence[str]) -> tuple[float, dict[str, float]]:
    """Parse `--margin`: the minimum of the mean, and that of each dimension."""
    least, margins = 0.1, {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or (number < 0 and not name):
            raise OptionError(f"--margin {text}: expected a number; of the mean, 0 or more")
        if name:
            margins[name] = number
        else:
            least = number
    return least, margins


@dataclass(frozen=True, kw_only=True)
class DpoOptions(AdapterOptions):
    """The options of `train dpo`."""

    begins: Annotated[
        Path | None,
        opt.option(
            "Training by sft to continue; its model is the reference.", "--from", metavar="DIR"
        ),
    ] = None
    adapter: Annotated[str, opt.option("Adapter to continue, with --base.", metavar="DIR")] = ""
    beta: Annotated[
        float, opt.option("Strength of the reference model; 1 in the paper's formula.")
    ] = 0.1


@opt.command(
    "dpo",
    "train dpo pairs.jsonl --from sft -o dpo",
    "train dpo pairs.jsonl --base OWNER/NAME -o dpo",
    "train dpo pairs.jsonl --from sft --beta 0.5 --merge -o dpo",
    group=train_command,
)
def dpo(options: DpoOptions) -> None:
    """Train a debater's language model on preference pairs (LoRA, DPO)."""
    from touche_rad.plugins import trainer

    if options.begins is not None and (options.base or options.adapter):
        raise UserError("--from replaces --base and --adapter: give only one of them")
    if options.begins is None and not options.base:
        raise UserError("train dpo: give the model to train: --from DIR, or --base MODEL")
    options.prepare_folder()
    with progress("training", quiet=options.quiet) as report:
        result = trainer("dpo")(
            options.sources,
            options.output,
            recipe=vars(options),
            begins=options.begins,
            restart=options.restart,
            merged=options.merged,
            report=report,
        )
    _print_result(result, quiet=options.quiet)


@dataclass(frozen=True, kw_only=True)
class MergeOptions:
    """The options of `train merge`."""

    folder: Annotated[Path, opt.argument("DIR")]
    output: Annotated[
        Path | None, opt.output("Folder of the model. [default: DIR/merged]", "DIR")
    ] = None
    replace: opt.Replace = False
    quiet: opt.Quiet = False


@opt.command(
    "merge", "train merge sft", "train merge dpo", "train merge sft -o model", group=train_command
)
def merge(options: MergeOptions) -> None:
    """Write the base and the adapter of a finished training as one model."""
    from touche_rad.files import check_output
    from touche_rad.plugins import trainer
    from touche_rad.training.folder import Folder

    place = options.output or Folder(options.folder).merged
    check_output(place, replace=options.replace)
    _print_result(trainer("merge")(options.folder, options.output), quiet=options.quiet)
