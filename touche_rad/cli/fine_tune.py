"""The commands `train sft`, `preferences`, `dpo` and `merge`: the language model of a debater."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from touche_rad.cli import old_options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import next_step, progress, say
from touche_rad.cli.train_options import choice, number, print_result, replace_training
from touche_rad.errors import OptionError, UserError

_FILES: Final = opt.path_argument("sources", "FILE...", nargs=-1, required=True)
_BASE: Final = click.option(
    "--base", metavar="MODEL", help="Model to train: a folder, or OWNER/NAME of Hugging Face."
)
_MERGE: Final = opt.flag("--merge", "Also write base and adapter as one model.", "merged")
_DATA: Final = (
    choice(
        "reasoning",
        ("given", "cited", "teacher"),
        "Reasoning for answers without it: leave out, use the citations, or ask -m.",
    ),
    choice("wording", ("close", "free"), "The debater's option wording."),
)
_RECIPE: Final = (
    number("epochs", 3.0, "Passes over the data."),
    number("rate", 1e-5, "Learning rate; the default is the paper's."),
    number("batch", 4, "Records per forward pass."),
    number("accumulate", 1, "Batches per optimiser step."),
    number("warmup", 0.0, "Share of the steps in which the learning rate grows."),
    number("rank", 16, "Rank of LoRA."),
    number("alpha", 32, "Alpha of LoRA."),
    number("dropout", 0.05, "Dropout of LoRA."),
    click.option(
        "--targets",
        default="all-linear",
        show_default=True,
        help="Layers with an adapter: all-linear, or names separated by commas.",
    ),
    number("longest", 4096, "Maximum tokens of a record; longer ones are left out."),
    number("held-out", 0.1, "Share of the topics that is held out."),
    number("save-every", 50, "Steps between checkpoints and evaluations."),
    choice("precision", ("auto", "float32", "bfloat16", "float16"), "Number format."),
    opt.flag("--checkpointing", "Recompute activations: slower, with less memory."),
)


def _teacher(given: Mapping[str, Any]) -> Any:
    """Return the model that writes missing reasoning, if `--reasoning teacher` is set."""
    if given["reasoning"] == "teacher":
        return prepare.open_model(opt.common(given), given["output"])
    if given["model"]:
        say("note: -m is not used without --reasoning teacher", quiet=given["quiet"])
    return None


def _serve_lines(result: Mapping[str, Any]) -> list[str]:
    serve = result.get("serve") or {}
    return [f"next: play with the {kind} model:\n  {line}" for kind, line in serve.items()]


@opt.command(
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
    *opt.MODEL_OPTIONS,
    opt.WITH_TRACE,
    opt.plugin_options(None),
    opt.SEED,
    opt.RESTART,
    opt.REPLACE,
    opt.QUIET,
)
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
        replace_training(given["output"], replace=given["replace"])
    recipe = None if given["data_only"] else given
    with progress("training", quiet=given["quiet"]) as report:
        result = trainer("sft")(
            sources,
            given["output"],
            recipe=recipe,
            reasoning=given["reasoning"],
            wording=given["wording"],
            teacher=_teacher(given),
            restart=given["restart"],
            merged=given["merged"],
            report=report,
        )
    print_result(result, *_serve_lines(result), quiet=given["quiet"])


@opt.command(
    "preferences",
    "train preferences a.jsonl b.jsonl -o pairs.jsonl",
    "train preferences a.jsonl b.jsonl --margin 0.2 --by each -o pairs.jsonl",
    "train preferences contests.jsonl outcomes.jsonl --pairing sides -o pairs.jsonl",
)
@opt.options(
    _FILES,
    opt.output("Pairs to write.", required=True),
    opt.REPLACE,
    click.option(
        "--margin",
        multiple=True,
        metavar="NUMBER|DIMENSION=NUMBER",
        help="Minimum difference of the mean or of a dimension. [default: 0.1]",
    ),
    click.option(
        "--reward",
        default="all",
        show_default=True,
        metavar="all|DIMENSION,...",
        help="Dimensions to compare.",
    ),
    choice("by", ("total", "each"), "total: compare the mean; each: no dimension may be worse."),
    choice(
        "pairing",
        ("context", "prompt", "debate", "sides"),
        "What the answers of a pair share: the turns before, the prompt, motion and turn, or "
        "debate and round.",
    ),
    opt.integer("--most", "Maximum pairs per context, largest differences first.", 1),
    *_DATA,
    *opt.MODEL_OPTIONS,
    opt.WITH_TRACE,
    opt.plugin_options(None),
    opt.SEED,
    opt.QUIET,
)
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
    rule = {
        "reward": reward,
        "margin": least,
        "margins": margins,
        **{key: given[key] for key in ("by", "pairing", "most")},
    }
    settings = {"rule": rule, "reasoning": given["reasoning"], "wording": given["wording"]}
    teacher = _teacher(given)
    with (
        own_output(
            "train preferences",
            given["output"],
            sources,
            settings,
            replace=given["replace"],
            model=teacher,
        ),
        progress("asking for reasoning", quiet=given["quiet"] or teacher is None) as report,
    ):
        result = trainer("preferences")(
            sources, given["output"], **settings, teacher=teacher, report=report
        )
    print_result(result, f"written: {given['output']}", quiet=given["quiet"])
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


@opt.command(
    "dpo",
    "train dpo pairs.jsonl --from sft -o dpo",
    "train dpo pairs.jsonl --base OWNER/NAME -o dpo",
    "train dpo pairs.jsonl --from sft --beta 0.5 --merge -o dpo",
)
@opt.options(
    _FILES,
    opt.output("Folder of the training.", "DIR", required=True),
    _BASE,
    click.option(
        "--from",
        "begins",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Training by sft to continue; its model is the reference.",
    ),
    click.option("--adapter", default="", metavar="DIR", help="Adapter to continue, with --base."),
    number("beta", 0.1, "Strength of the reference model; 1 in the paper's formula."),
    *_RECIPE,
    _MERGE,
    opt.SEED,
    opt.RESTART,
    opt.REPLACE,
    opt.QUIET,
)
def dpo(sources: tuple[Path, ...], begins: Path | None, **given: Any) -> None:
    """Train a debater's language model on preference pairs (LoRA, DPO)."""
    from touche_rad.plugins import trainer

    if begins is not None and (given["base"] or given["adapter"]):
        raise UserError("--from replaces --base and --adapter: give only one of them")
    if begins is None and not given["base"]:
        raise UserError("train dpo: give the model to train: --from DIR, or --base MODEL")
    replace_training(given["output"], replace=given["replace"])
    with progress("training", quiet=given["quiet"]) as report:
        result = trainer("dpo")(
            sources,
            given["output"],
            recipe=given,
            begins=begins,
            restart=given["restart"],
            merged=given["merged"],
            report=report,
        )
    print_result(result, *_serve_lines(result), quiet=given["quiet"])


@opt.command(
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
    print_result(result, *_serve_lines(result), quiet=quiet)


FINE_TUNING: Final = (sft, preferences, dpo, merge)
