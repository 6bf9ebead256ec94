"""The training loop of TRL: complete checkpoints, our metrics, nothing sent to a server.

Imported only after `weights.need_extra` has found the extra `train`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import torch
from transformers import PrinterCallback, TrainerCallback

from touche_rad.debaters.inspiredebate.training.recipe import Recipe
from touche_rad.training.folder import MARK, Folder, steps_of
from touche_rad.training.metrics import Metrics

Report = Callable[[int, int], None]


class Keeper(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Marks complete checkpoints, writes metrics and reports progress."""

    def __init__(self, metrics: Metrics, report: Report | None) -> None:
        """Keep where to."""
        self.metrics, self.report = metrics, report

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Mark the checkpoint as complete."""
        (Path(args.output_dir) / f"checkpoint-{state.global_step}" / MARK).touch()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write the trainer's metrics of a step, without its final summary."""
        if logs and "train_runtime" not in logs:
            # TRL counts tokens from its start, so that this count differs after a resumed stop.
            kept = {name: one for name, one in logs.items() if not name.endswith("num_tokens")}
            self.metrics.note(state.global_step, kept)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Report the progress."""
        if self.report is not None:
            self.report(state.global_step, state.max_steps)


def settings(recipe: Recipe, folder: Folder, *, records: int, evaluates: bool) -> dict[str, Any]:
    """Return the settings that both trainers share."""
    cuda = torch.cuda.is_available()
    batches = math.ceil(records / recipe.batch)
    steps = math.ceil(recipe.epochs * math.ceil(batches / recipe.accumulate))
    return {
        "output_dir": str(folder.checkpoints),
        "num_train_epochs": recipe.epochs,
        "learning_rate": recipe.rate,
        "per_device_train_batch_size": recipe.batch,
        "per_device_eval_batch_size": recipe.batch,
        "gradient_accumulation_steps": recipe.accumulate,
        "warmup_steps": math.ceil(recipe.warmup * steps),  # a share is none to transformers 4
        "max_length": None,
        "seed": recipe.seed,
        "data_seed": recipe.seed,
        "bf16": cuda and recipe.precision in ("auto", "bfloat16"),
        "fp16": cuda and recipe.precision == "float16",
        "gradient_checkpointing": recipe.checkpointing,
        "save_strategy": "steps",
        "save_steps": recipe.save_every,
        "save_total_limit": 2,
        "eval_strategy": "steps" if evaluates else "no",
        "eval_steps": recipe.save_every,
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": cuda,
    }


def dataset(rows: list[dict[str, Any]]) -> Any:
    """Return rows as a dataset."""
    datasets.disable_progress_bars()
    return datasets.Dataset.from_list(rows)


def run(
    trainer: Any, folder: Folder, checkpoint: Path | None, metrics: Metrics, report: Report | None
) -> int:
    """Train to the end, from a checkpoint if there is one; return the number of steps."""
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Keeper(metrics, report))
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    return int(trainer.state.global_step)


def last_checkpoint(folder: Folder) -> tuple[Path | None, int]:
    """Return the last complete checkpoint and its step."""
    checkpoint = folder.last_checkpoint()
    return checkpoint, steps_of(checkpoint)
