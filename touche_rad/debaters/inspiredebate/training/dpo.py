"""`touche-rad train dpo`: train the debater's model on preferences of judges (the paper's Eq. 5).

The reference is the model before training: the SFT adapter, or the base model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from touche_rad.debaters.inspiredebate.training.course import Plan, Records, TrainingData, run_plan
from touche_rad.debaters.inspiredebate.training.recipe import Recipe, as_recipe
from touche_rad.debaters.inspiredebate.training.samples import held_out, messages_at, read_records
from touche_rad.debaters.inspiredebate.training.weights import log_likelihood, tokens
from touche_rad.errors import InputError, UserError
from touche_rad.models import Message
from touche_rad.training.folder import Folder


def train_dpo(
    sources: Sequence[Path],
    out: Path,
    *,
    recipe: Recipe | Mapping[str, Any],
    begins: Path | None = None,
    restart: bool = False,
    merged: bool = False,
    report: Callable[[int, int], None] | None = None,
) -> Mapping[str, Any]:
    """Train an adapter on preference pairs.

    Args:
        sources: Files of pairs.
        out: The folder of the training.
        recipe: The training settings.
        begins: A finished training to continue; its base and adapter replace the recipe's.
        restart: Start again instead of resuming.
        merged: Whether to merge base model and adapter.
        report: Called with (done, total).
    """
    for path in sources:
        if not path.is_file():
            raise UserError(f"{path}: the file does not exist")
    settings = as_recipe(_continuing(recipe, begins))
    plan = Plan(Dpo(), settings, sources, {}, lambda: _build(sources, settings))
    return run_plan(plan, out, restart=restart, merged=merged, report=report)


def _continuing(
    recipe: Recipe | Mapping[str, Any], root: Path | None
) -> Recipe | Mapping[str, Any]:
    """Return the recipe with the base model and the adapter of a finished training."""
    if root is None:
        return recipe
    report = Folder(root).finished()
    if report is None:
        raise UserError(f"{root} contains no finished training")
    begun = {"base": str(report["recipe"]["base"]), "adapter": str(Folder(root).adapter)}
    return {**(recipe.model_dump() if isinstance(recipe, Recipe) else recipe), **begun}


def _build(sources: Sequence[Path], recipe: Recipe) -> TrainingData:
    pairs: list[Mapping[str, Any]] = []
    for path in sources:
        for number, record in read_records(path):
            for name in ("prompt", "chosen", "rejected"):
                messages_at(record.get(name), path, number, name)
            if record["chosen"] == record["rejected"]:
                raise InputError(path, "chosen and rejected are identical", line=number)
            pairs.append(record)
    if not pairs:
        raise UserError("the files contain no preference pairs")

    def group(record: Mapping[str, Any]) -> str:
        return str(record.get("group") or record["prompt"])

    training, out = held_out(pairs, group, recipe.held_out, recipe.seed)
    groups = len({group(one) for one in pairs})
    return TrainingData(training, out, {"pairs": len(pairs), "motions": groups})


class Dpo:
    """Direct preference optimisation."""

    name = "dpo"
    plots: Mapping[str, Sequence[str]] = {
        "loss": ("loss", "eval_loss"),
        "accuracy": ("rewards/accuracies", "eval_rewards/accuracies"),
        "margin": ("rewards/margins", "eval_rewards/margins"),
    }

    def fits(self, record: Mapping[str, Any], tokenizer: Any, longest: int) -> bool:
        """Whether the prompt with either answer has at most this many tokens."""
        prompt, chosen, rejected = _parts(record)
        return all(len(tokens(tokenizer, prompt, one)) <= longest for one in (chosen, rejected))

    def row(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that the trainer uses."""
        return {name: record[name] for name in ("prompt", "chosen", "rejected")}

    def trainer(self, recipe: Recipe, settings: Mapping[str, Any], **parts: Any) -> Any:
        """Create the trainer of TRL, which copies the initial adapter as the reference."""
        from trl import DPOConfig, DPOTrainer

        return DPOTrainer(
            model=parts["model"],
            args=DPOConfig(**settings, beta=recipe.beta),
            processing_class=parts["tokenizer"],
            train_dataset=parts["train"],
            eval_dataset=parts["held_out"],
        )

    def measure(self, model: Any, tokenizer: Any, records: Records) -> dict[str, float]:
        """Return the share of pairs whose preferred answer is likelier, and the mean difference."""
        training = model.training
        model.eval()
        gaps = []
        for record in records:
            prompt, chosen, rejected = _parts(record)
            better = log_likelihood(model, tokenizer, prompt, chosen)
            gaps.append(better - log_likelihood(model, tokenizer, prompt, rejected))
        model.train(training)
        count = max(len(gaps), 1)
        return {
            "preference_accuracy": sum(gap > 0 for gap in gaps) / count,
            "likelihood_gap": sum(gaps) / count,
        }


def _parts(record: Mapping[str, Any]) -> tuple[list[Message], str, str]:
    prompt = [Message(one["role"], one["content"]) for one in record["prompt"]]
    return prompt, record["chosen"][-1]["content"], record["rejected"][-1]["content"]
