"""The commands `train ...`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from touche_rad.cli import help_text, prepare
from touche_rad.cli import options as opt
from touche_rad.cli.console import next_step, progress, say
from touche_rad.cli.program import Command
from touche_rad.errors import OptionError, UserError, WorkError

_PRECISION: Final = (("float32", "bfloat16"), ("float32", "bfloat16", "float16"))


@click.group("train", cls=help_text.Group)
def train_command() -> None:
    """Train models on a collection of arguments or on labelled debates."""


def _number(name: str, default: float, text: str) -> opt.Option:
    """Return an option for a number; its type is that of the default."""
    return click.option(f"--{name}", type=type(default), default=default, show_default=True,
                        help=text)  # fmt: skip


def _choice(name: str, choices: tuple[str, ...], text: str) -> opt.Option:
    """Return an option with choices; the first one is the default."""
    return click.option(f"--{name}", type=click.Choice(choices), default=choices[0],
                        show_default=True, help=text)  # fmt: skip


def _subcommand(name: str, *examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    return train_command.command(name, cls=Command, examples=examples)


def _print_result(result: Mapping[str, Any], *lines: str, quiet: bool) -> None:
    """Print the result as JSON, and to the user how to use the model."""
    _print(json.dumps(result, indent=2))
    for line in lines:
        say(line, quiet=quiet)


def _print(scores: str) -> None:
    """Print what a training measured.

    Raises:
        WorkError: Standard output cannot be written. What was trained is written then.
    """
    try:
        click.echo(scores)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise WorkError(
            f"standard output: {error.strerror}: the training is done and its output is written, "
            "but the scores could not be printed"
        ) from None


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
        click.option("--base", default="minilm", show_default=True, metavar="MODEL",
                     help=f"Model to train further: minilm, a folder, or OWNER/NAME{base}."),
        click.option("--held-out", default="test", show_default=True, metavar="test|I/N",
                     help="Held-out topics: the split test, or the I-th of N folds."),
        _number("epochs", epochs, "Passes over the data."),
        _number("rate", rate, "Learning rate."),
        *numbers,
        _choice("precision", ("auto", *_PRECISION[0]),
                "Number format; auto uses bfloat16 on a GPU only."),
        _number("save-every", 50, "Steps between checkpoints."),
        opt.SEED, opt.RESTART, opt.REPLACE, opt.QUIET,
    )  # fmt: skip


def _replace_training(folder: Path, *, replace: bool) -> None:
    """With `--replace`, delete the training in a folder."""
    if replace:
        from touche_rad.training.folder import Folder

        Folder(folder).replace()


def _train_on_collection(name: str, step: Sequence[Any], given: dict[str, Any]) -> None:
    from touche_rad.plugins import trainer

    quiet, collection, output = (given.pop(key) for key in ("quiet", "collection", "output"))
    _replace_training(output, replace=given.pop("replace"))
    with progress("training", quiet=quiet) as report:
        result = trainer(name)(
            collection, output, report=report,
            note=lambda line: say(f"note: {line}", quiet=quiet), **given,
        )  # fmt: skip
    _print_result(result, quiet=quiet)
    say(f"written: {output}", quiet=quiet)
    next_step(step, quiet=quiet)


@_subcommand(
    "encoder",
    "train encoder touche_rad/demo/arguments.jsonl -o encoder",
    "train encoder touche_rad/demo/arguments.jsonl -o encoder --epochs 1 --held-out 1/4",
    "train encoder arguments.jsonl -o encoder --precision bfloat16",
)
@_on_collection(
    _number("batch", 64, "Arguments per step; each is a negative example for the other claims."),
    _number("group", 8, "Arguments of one topic that stay together in a batch."),
    _number("layers", 2, "Layers to train, from the top; 0 = all."),
    folder="Folder of the encoder.", base="", epochs=4, rate=2e-4,
)  # fmt: skip
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
    _number("batch", 16, "Arguments per step, each with both of its claims."),
    _number("layers", 0, "Layers to train, from the top; 0 = all."),
    folder="Folder of the model.", base="; an NLI model is a good start", epochs=3, rate=5e-5,
)  # fmt: skip
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
    "judge",
    "train judge touche_rad/demo/debates.jsonl touche_rad/demo/labels.jsonl -o weights.json",
    "train judge debates.jsonl labels.jsonl -o weights.json -m URL#MODEL",
    "train judge debates.jsonl labels.jsonl -o fsl1.json -m URL#MODEL --asks fsl1",
)
@opt.options(
    *_LABELLED,
    opt.output("Weights to write.", required=True), opt.REPLACE,
    click.option("--asks", default="zsl", show_default=True, metavar="JUDGE",
                 help="Judge that asks the model, if there is a model."),
    *opt.MODEL_OPTIONS, opt.WITH_TRACE, opt.plugin_options(None), opt.SEED, opt.QUIET, opt.JSON,
)  # fmt: skip
def judge(debates: Path, labels: Path, **given: Any) -> None:
    """Fit the judge "calibrated" to labelled debates, cross-validated by debate.

    DEBATES and LABELS correspond line by line. With -m, the model's verdict is a feature too. The
    printed scores are from held-out debates. Use the weights with -j 'calibrated(weights=FILE)'.
    """
    _train_judge("judge", "calibrated", debates, labels, given, asks=given["asks"])


def _train_judge(
    name: str, judge: str, debates: Path, labels: Path, given: Mapping[str, Any], **settings: Any
) -> None:
    """Learn the weights of a judge."""
    from touche_rad.cli.fit_report import judge_lines, jury_lines
    from touche_rad.cli.own_output import own_output
    from touche_rad.plugins import trainer

    out, quiet = given["output"], given["quiet"]
    model = prepare.open_model(given, out) if prepare.names_model(given) else None
    settings["seed"] = given["seed"]
    with (
        own_output(f"train {name}", out, [debates, labels], settings, replace=given["replace"],
                   model=model),
        progress("judging", quiet=quiet) as report,
    ):  # fmt: skip
        result = trainer(name)(debates, labels, out, model=model, report=report, **settings)
    if given["as_json"]:
        _print_result(result, quiet=quiet)
    else:
        _print("\n".join(judge_lines(result) if name == "judge" else jury_lines(result)))
    say(f"written: {out}", quiet=quiet)
    judged = ["judge", debates, "-j", judge, "-O", f"weights={out}", "-o", "run.jsonl"]
    next_step(judged, quiet=quiet)


@_subcommand(
    "jury",
    "train jury touche_rad/demo/debates.jsonl touche_rad/demo/labels.jsonl -o jury.json",
    "train jury debates.jsonl labels.jsonl --of grounded,zsl -o jury.json -m URL#MODEL",
    "train jury debates.jsonl labels.jsonl --of 'grounded,length(longest=50)' -o jury.json",
)
@opt.options(
    *_LABELLED,
    opt.output("Weights to write.", required=True), opt.REPLACE,
    click.option("--of", default="grounded,length", show_default=True, metavar="JUDGE,...",
                 help="Judges of the jury, the cheapest first."),
    *opt.MODEL_OPTIONS, opt.WITH_TRACE, opt.plugin_options(None), opt.SEED, opt.QUIET, opt.JSON,
)  # fmt: skip
def jury(debates: Path, labels: Path, **given: Any) -> None:
    """Learn the weights of the judge "jury" from labelled debates, cross-validated by debate.

    DEBATES and LABELS correspond line by line. The printed scores are from held-out debates: the
    jury beside equal weights, its best judge, always-yes and the commoner label. Use the weights
    with -j 'jury(weights=FILE)'.
    """
    _train_judge("jury", "jury", debates, labels, given, of=given["of"])


@_subcommand(
    "examples",
    "train examples touche_rad/demo/debates.jsonl touche_rad/demo/labels.jsonl -o examples.jsonl",
    "train examples debates.jsonl labels.jsonl -o few.jsonl --count 1",
    "train examples debates.jsonl labels.jsonl -o other.jsonl --seed 7",
)
@opt.options(
    *_LABELLED,
    opt.output("Examples to write.", required=True), opt.REPLACE,
    opt.integer("--count", "Examples per maxim and label.", 5),
    opt.SEED, opt.QUIET,
)  # fmt: skip
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
    _print_result(
        result, f"written: {output}",
        f"note: leave the examples out of scores on the same labels: --exclude {output}",
        quiet=quiet,
    )  # fmt: skip
    judged = ["judge", "DEBATES", "-j", "fsl1", "-O", f"examples={output}", "-m", "MODEL"]
    next_step([*judged, "-o", "run.jsonl"], ["score", "run.jsonl", "LABELS", "--exclude", output],
              quiet=quiet)  # fmt: skip


# --- the language model of a debater

_FILES: Final = opt.path_argument("sources", "FILE...", nargs=-1, required=True)
_BASE: Final = click.option(
    "--base", metavar="MODEL", help="Model to train: a folder, or OWNER/NAME of Hugging Face."
)
_MERGE: Final = opt.flag("--merge", "Also write base and adapter as one model.", "merged")
_DATA: Final = (
    _choice("reasoning", ("given", "cited", "teacher"),
            "Reasoning for answers without it: leave out, use the citations, or ask -m."),
    _choice("wording", ("close", "free"), "The debater's option wording."),
)  # fmt: skip
_RECIPE: Final = (
    _number("epochs", 3.0, "Passes over the data."),
    _number("rate", 1e-5, "Learning rate; the default is the paper's."),
    _number("batch", 4, "Records per forward pass."),
    _number("accumulate", 1, "Batches per optimiser step."),
    _number("warmup", 0.0, "Share of the steps in which the learning rate grows."),
    _number("rank", 16, "Rank of LoRA."),
    _number("alpha", 32, "Alpha of LoRA."),
    _number("dropout", 0.05, "Dropout of LoRA."),
    click.option("--targets", default="all-linear", show_default=True,
                 help="Layers with an adapter: all-linear, or names separated by commas."),
    _number("longest", 4096, "Maximum tokens of a record; longer ones are left out."),
    _number("held-out", 0.1, "Share of the topics that is held out."),
    _number("save-every", 50, "Steps between checkpoints and evaluations."),
    _choice("precision", ("auto", *_PRECISION[1]), "Number format."),
    opt.flag("--checkpointing", "Recompute activations: slower, with less memory."),
)  # fmt: skip


def _teacher(given: Mapping[str, Any]) -> Any:
    """Return the model that writes missing reasoning, if `--reasoning teacher` is set."""
    if given["reasoning"] == "teacher":
        return prepare.open_model(given, given["output"])
    if given["model"]:
        say("note: -m is not used without --reasoning teacher", quiet=given["quiet"])
    return None


def _serve_lines(result: Mapping[str, Any]) -> list[str]:
    serve = result.get("serve") or {}
    return [f"next: play with the {kind} model:\n  {line}" for kind, line in serve.items()]


@_subcommand(
    "sft",
    "train sft run.jsonl.trace.jsonl --base OWNER/NAME -o sft",
    "train sft run.jsonl --data-only --reasoning cited -o sft",
    "train sft run.jsonl.trace.jsonl --base model --epochs 1 --merge -o sft",
)
@opt.options(
    _FILES,
    opt.output("Folder of the training.", "DIR", required=True),
    _BASE,
    *_RECIPE,
    *_DATA,
    opt.flag("--data-only", "Write the training data, and do not train."),
    _MERGE,
    *opt.MODEL_OPTIONS, opt.WITH_TRACE, opt.plugin_options(None), opt.SEED, opt.RESTART,
    opt.REPLACE, opt.QUIET,
)  # fmt: skip
def sft(sources: tuple[Path, ...], **given: Any) -> None:
    """Fine-tune a debater's language model on recorded answers with their reasoning (LoRA).

    FILE is a trace of the debater inspiredebate (RUN.trace.jsonl), a run of any debater, or data of
    --data-only. If a run has its trace beside it, prompts and reasoning are read from the trace.
    """
    from touche_rad.files import check_output
    from touche_rad.plugins import trainer

    if given["base"] is None and not given["data_only"]:
        raise UserError("train sft: give the model to train: --base MODEL")
    if given["data_only"]:
        check_output(given["output"], replace=given["replace"])
    else:
        _replace_training(given["output"], replace=given["replace"])
    recipe = None if given["data_only"] else given
    with progress("training", quiet=given["quiet"]) as report:
        result = trainer("sft")(
            sources, given["output"], recipe=recipe, reasoning=given["reasoning"],
            wording=given["wording"], teacher=_teacher(given), restart=given["restart"],
            merged=given["merged"], report=report,
        )  # fmt: skip
    _print_result(result, *_serve_lines(result), quiet=given["quiet"])


@_subcommand(
    "preferences",
    "train preferences a.jsonl b.jsonl -o pairs.jsonl",
    "train preferences a.jsonl b.jsonl --margin 0.2 --by each -o pairs.jsonl",
    "train preferences contests.jsonl outcomes.jsonl --pairing sides -o pairs.jsonl",
)
@opt.options(
    _FILES,
    opt.output("Pairs to write.", required=True), opt.REPLACE,
    click.option("--margin", multiple=True, metavar="NUMBER|DIMENSION=NUMBER",
                 help="Minimum difference of the mean or of a dimension. [default: 0.1]"),
    click.option("--reward", default="all", show_default=True, metavar="all|DIMENSION,...",
                 help="Dimensions to compare."),
    _choice("by", ("total", "each"),
            "total: compare the mean; each: no dimension may be worse."),
    _choice("pairing", ("context", "prompt", "debate", "sides"),
            "What the answers of a pair share: the turns before, the prompt, motion and turn, or "
            "debate and round."),
    opt.integer("--most", "Maximum pairs per context, largest differences first.", 1),
    *_DATA,
    *opt.MODEL_OPTIONS, opt.WITH_TRACE, opt.plugin_options(None), opt.SEED, opt.QUIET,
)  # fmt: skip
def preferences(sources: tuple[Path, ...], **given: Any) -> None:
    """Pair better and worse answers by the scores of judges.

    FILE is a run of touche-rad judge, a panel's outcomes (after the file of their debates), or a
    trace with the reasoning. To get pairs, answer the same debates several times and judge each
    run.
    """
    from touche_rad.cli.own_output import own_output
    from touche_rad.plugins import trainer

    least, margins = _margins(given["margin"])
    reward = () if given["reward"] == "all" else tuple(given["reward"].split(","))
    rule = {"reward": reward, "margin": least, "margins": margins,
            **{key: given[key] for key in ("by", "pairing", "most")}}  # fmt: skip
    settings = {"rule": rule, "reasoning": given["reasoning"], "wording": given["wording"]}
    teacher = _teacher(given)
    with (
        own_output("train preferences", given["output"], sources, settings,
                   replace=given["replace"], model=teacher),
        progress("asking for reasoning", quiet=given["quiet"] or teacher is None) as report,
    ):  # fmt: skip
        result = trainer("preferences")(
            sources, given["output"], **settings, teacher=teacher, report=report
        )
    _print_result(result, f"written: {given['output']}", quiet=given["quiet"])
    step = ["train", "dpo", given["output"], "--from", "SFT-DIR", "-o", "dpo"]
    next_step(step, quiet=given["quiet"])


def _margins(given: tuple[str, ...]) -> tuple[float, dict[str, float]]:
    """Parse `--margin`: the minimum of the mean, and that of each dimension."""
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


@_subcommand(
    "dpo",
    "train dpo pairs.jsonl --from sft -o dpo",
    "train dpo pairs.jsonl --base OWNER/NAME -o dpo",
    "train dpo pairs.jsonl --from sft --beta 0.5 --merge -o dpo",
)
@opt.options(
    _FILES,
    opt.output("Folder of the training.", "DIR", required=True),
    _BASE,
    click.option("--from", "begins", type=click.Path(path_type=Path), metavar="DIR",
                 help="Training by sft to continue; its model is the reference."),
    click.option("--adapter", default="", metavar="DIR",
                 help="Adapter to continue, with --base."),
    _number("beta", 0.1, "Strength of the reference model; 1 in the paper's formula."),
    *_RECIPE,
    _MERGE,
    opt.SEED, opt.RESTART, opt.REPLACE, opt.QUIET,
)  # fmt: skip
def dpo(sources: tuple[Path, ...], begins: Path | None, **given: Any) -> None:
    """Train a debater's language model on preference pairs (LoRA, DPO)."""
    from touche_rad.plugins import trainer

    if begins is not None and (given["base"] or given["adapter"]):
        raise UserError("--from replaces --base and --adapter: give only one of them")
    if begins is None and not given["base"]:
        raise UserError("train dpo: give the model to train: --from DIR, or --base MODEL")
    _replace_training(given["output"], replace=given["replace"])
    with progress("training", quiet=given["quiet"]) as report:
        result = trainer("dpo")(
            sources, given["output"], recipe=given, begins=begins, restart=given["restart"],
            merged=given["merged"], report=report,
        )  # fmt: skip
    _print_result(result, *_serve_lines(result), quiet=given["quiet"])


@_subcommand(
    "merge",
    "train merge sft",
    "train merge dpo",
    "train merge sft -o model",
)
@opt.path_argument("folder", "DIR")
@opt.options(
    opt.output("Folder of the model. [default: DIR/merged]", "DIR"), opt.REPLACE, opt.QUIET
)
def merge(folder: Path, output: Path | None, replace: bool, quiet: bool) -> None:
    """Write the base and the adapter of a finished training as one model."""
    from touche_rad.files import check_output
    from touche_rad.plugins import trainer
    from touche_rad.training.folder import Folder

    check_output(output or Folder(folder).merged, replace=replace)
    result = trainer("merge")(folder, output)
    _print_result(result, *_serve_lines(result), quiet=quiet)
