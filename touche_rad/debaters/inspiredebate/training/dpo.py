"""`touche-rad train dpo`: the debater's model learns what judges preferred (the paper's Eq. 5).

The reference is the model that training begins with: the SFT adapter, or the bare base.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from touche_rad.debaters.inspiredebate.training.course import Built, Plan, Records, follow
from touche_rad.debaters.inspiredebate.training.fitting import log_likelihood, tokens
from touche_rad.debaters.inspiredebate.training.recipe import Recipe
from touche_rad.debaters.inspiredebate.training.samples import held_out, messages_at, read_records
from touche_rad.errors import InputError, UserError
from touche_rad.models import Message
from touche_rad.training.folder import Folder


def train_dpo(
    sources: Sequence[Path],
    out: Path,
    *,
    recipe: Recipe,
    restart: bool = False,
    merged: bool = False,
    report: Callable[[int, int], None] | None = None,
) -> Mapping[str, Any]:
    """Train an adapter on preference pairs.

    Args:
        sources: Files of pairs.
        out: The training's folder.
        recipe: How to train.
        restart: Begin anew where an earlier training could go on.
        merged: Whether base and adapter are merged too.
        report: Told (done, total).
    """
    for path in sources:
        if not path.is_file():
            raise UserError(f"{path}: there is no such file")
    plan = Plan(Dpo(), recipe, sources, {}, lambda: _built(sources, recipe))
    return follow(plan, out, restart=restart, merged=merged, report=report)


def going_on_from(root: Path) -> tuple[str, str]:
    """Return the base and the adapter of a finished training, for one that goes on from it."""
    report = Folder(root).finished()
    if report is None:
        raise UserError(f"{root}: no finished training of ours is here")
    return str(report["recipe"]["base"]), str(Folder(root).adapter)


def _built(sources: Sequence[Path], recipe: Recipe) -> Built:
    pairs: list[Mapping[str, Any]] = []
    for path in sources:
        for number, record in read_records(path):
            for name in ("prompt", "chosen", "rejected"):
                messages_at(record.get(name), path, number, name)
            if record["chosen"] == record["rejected"]:
                raise InputError(path, "chosen and rejected are the same", line=number)
            pairs.append(record)
    if not pairs:
        raise UserError("there is no pair to learn from")

    def group(record: Mapping[str, Any]) -> str:
        return str(record.get("group") or record["prompt"])

    learnt, out = held_out(pairs, group, recipe.held_out, recipe.seed)
    groups = len({group(one) for one in pairs})
    return Built(learnt, out, {"pairs": len(pairs), "motions": groups})


class Dpo:
    """Direct preference optimisation."""

    name = "dpo"
    plots: Mapping[str, Sequence[str]] = {
        "loss": ("loss", "eval_loss"),
        "accuracy": ("rewards/accuracies", "eval_rewards/accuracies"),
        "margin": ("rewards/margins", "eval_rewards/margins"),
    }

    def fits(self, record: Mapping[str, Any], tokenizer: Any, longest: int) -> bool:
        """Count the prompt with the longer of its answers."""
        prompt, chosen, rejected = _parts(record)
        return all(len(tokens(tokenizer, prompt, one)) <= longest for one in (chosen, rejected))

    def row(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Leave out what the trainer has no use for."""
        return {name: record[name] for name in ("prompt", "chosen", "rejected")}

    def trainer(self, recipe: Recipe, settings: Mapping[str, Any], **parts: Any) -> Any:
        """Make trl's trainer; it keeps a copy of the adapter it begins with as the reference."""
        from trl import DPOConfig, DPOTrainer

        return DPOTrainer(
            model=parts["model"], args=DPOConfig(**settings, beta=recipe.beta),
            processing_class=parts["tokenizer"], train_dataset=parts["train"],
            eval_dataset=parts["held_out"],
        )  # fmt: skip

    def measure(self, model: Any, tokenizer: Any, records: Records) -> dict[str, float]:
        """Measure in how many pairs the preferred answer is the likelier one, and by how much."""
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
