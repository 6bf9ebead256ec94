"""The trainers `sft` and `dpo`: TRL trains an adapter on recorded answers or on preferences.

`sft` is Eq. 4 of the paper: the loss is of the answer only, given its prompt. `dpo` is Eq. 5: the
reference is the model before training, which is the SFT adapter, or the base model.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from touche_rad.debaters._asking import Wording
from touche_rad.debaters.inspiredebate.training._recorded import read_answers
from touche_rad.debaters.inspiredebate.training._samples import (
    TrainingData,
    read_records,
    trace_of,
    write_records,
)
from touche_rad.debaters.inspiredebate.training.model import (
    AdapterRecipe,
    check_installed,
    check_places,
    load_model,
    load_tokenizer,
    number_format,
    parse_recipe,
    serve_command,
)
from touche_rad.debaters.inspiredebate.training.preferences import read_pairs
from touche_rad.errors import UserError
from touche_rad.events import log
from touche_rad.files.outputs import sha256_of
from touche_rad.frozen import frozen
from touche_rad.plugins.contracts import Progress
from touche_rad.text import excerpt
from touche_rad.training.card import versions, write_card
from touche_rad.training.folder import TrainingFolder

Rows = list[dict[str, Any]]

MEASURED: Final = 200
"""Maximum held-out records that are evaluated."""
_STATE: Final = "trainer_state.json"
_NO_MEASURES: Final = ("time", "per_second", "epoch", "num_tokens")
"""Parts of the names of TRL's metrics that do not measure the model."""


def train_sft(
    sources: Sequence[Path],
    out: Path,
    *,
    recipe: Mapping[str, Any] | None = None,
    wording: Wording = "close",
    restart: bool = False,
    report: Progress | None = None,
) -> Mapping[str, Any]:
    """Build training data from recorded answers and train an adapter."""
    _check_files(sources)
    if recipe is None:
        data = read_answers(sources, wording, share=0.0, seed=0)
        write_records(out, data.training)
        return dict(data.counts)
    traces = filter(None, map(trace_of, sources))
    training = Training(
        "sft",
        parse_recipe(recipe),
        [*sources, *traces],
        partial(read_answers, sources, wording),
        {"wording": wording},
    )
    return training.run(TrainingFolder(out), restart=restart, report=report)


def train_dpo(
    sources: Sequence[Path],
    out: Path,
    *,
    recipe: Mapping[str, Any],
    begins: Path | None = None,
    restart: bool = False,
    report: Progress | None = None,
) -> Mapping[str, Any]:
    """Train an adapter on preference pairs."""
    _check_files(sources)
    if begins:
        folder = TrainingFolder(begins)
        base = str(folder.need_report()["recipe"]["base"])
        log.warning("the base model is the one that %s names: %s", folder.report, base)
        recipe = {**recipe, "base": base, "adapter": str(folder.adapter)}
    settings = parse_recipe({"batch": 1, "accumulate": 8, **recipe})
    training = Training("dpo", settings, sources, partial(read_pairs, sources))
    return training.run(TrainingFolder(out), restart=restart, report=report)


def _check_files(sources: Sequence[Path]) -> None:
    for path in sources:
        if not path.is_file():
            raise UserError(f"{path}: the file does not exist")


@frozen
class Training:
    """One training: its data and its settings."""

    method: Literal["sft", "dpo"]
    recipe: AdapterRecipe
    sources: Sequence[Path]
    read: Callable[..., TrainingData]
    """Reads the sources, and holds a share of them out that depends on a seed."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Other settings that the data depends on."""

    def run(
        self, folder: TrainingFolder, *, restart: bool, report: Progress | None
    ) -> Mapping[str, Any]:
        """Train or resume; return measurements and the commands that serve the model."""
        check_installed()
        check_places(self.recipe)
        adapter = Path(self.recipe.adapter) / "adapter_model.safetensors"
        identity = {
            "method": self.method,
            "recipe": self.recipe.model_dump(),
            **self.about,
            "sources": [[path.name, sha256_of(path)] for path in self.sources],
            "adapter": sha256_of(adapter) if self.recipe.adapter and adapter.is_file() else "",
        }
        with folder.exclusive():
            resumed = folder.start_or_resume(identity, restart=restart)
            finished = folder.finished() or self._train(folder, report)
            return {**finished, "resumed": resumed}

    def _train(self, folder: TrainingFolder, report: Progress | None) -> dict[str, Any]:
        from transformers import PrinterCallback, TrainerCallback, TrainerState

        # Also when a training is resumed: they are the same again, whatever happened to the files.
        data = self.read(share=self.recipe.held_out, seed=self.recipe.seed)
        write_records(folder.counts, [data.counts])
        write_records(folder.held_out, data.held_out)
        write_records(folder.data, data.training)
        tokenizer = load_tokenizer(self.recipe.base)
        training, too_long = self._rows(folder.data, tokenizer)
        held_out, _ = self._rows(folder.held_out, tokenizer)
        if not training:
            raise UserError(f"no training data is left: {too_long} records have too many tokens")
        trainer = self._trainer(folder, tokenizer, training, held_out[:MEASURED])

        # Report finished steps in place of the lines that the trainer prints.
        class Steps(TrainerCallback):  # type: ignore[misc, unused-ignore]
            def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if report:
                    report(state.global_step, state.max_steps)

        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(Steps())

        # Also when a training is resumed: here the model is still as it was before the first step.
        before = trainer.evaluate() if held_out else {}
        # From the last complete checkpoint; those that a kill left incomplete are deleted.
        complete: dict[int, str] = {}
        for place in folder.checkpoints.glob("checkpoint-*"):
            try:  # the trainer writes this file last
                complete[TrainerState.load_from_json(str(place / _STATE)).global_step] = str(place)
            except (OSError, ValueError):
                shutil.rmtree(place, ignore_errors=True)
        last = complete[max(complete)] if complete else None
        trainer.train(resume_from_checkpoint=last)
        after = trainer.evaluate() if held_out else {}
        trainer.model.save_pretrained(folder.adapter, selected_adapters=["default"])
        tokenizer.save_pretrained(folder.adapter)
        trainer.state.save_to_json(str(folder.state))

        measured = {}
        for name, value in after.items():
            if not any(part in name for part in _NO_MEASURES):
                values = {"before": round(before[name], 4), "after": round(value, 4)}
                measured[name.removeprefix("eval_")] = values
        losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
        finished = {
            "method": self.method,
            "recipe": self.recipe.model_dump(),
            "steps": trainer.state.global_step,
            "learnt": len(training),
            "held_out": len(held_out),
            "too_long": too_long,
            "data": data.counts,
            "measured": measured,
            "loss": {"first": losses[0], "last": losses[-1]},
            "adapter": str(folder.adapter),
            "serve": {"adapter": serve_command(self.recipe, folder.adapter)},
        }
        card_values = {
            "name": folder.root.name,
            "versions": versions(),
            "data": [
                {"file": path.name, "sha256": sha256_of(path)}
                for path in (folder.data, folder.held_out, *self.sources)
            ],
            "left_out": {**finished["data"].get("left_out", {}), "too long": too_long},
        }
        write_card(folder.card, template=__package__, **{**finished, **card_values})
        folder.finish(finished)  # the report comes last: then everything else is there
        return finished

    def _rows(self, path: Path, tokenizer: object) -> tuple[Rows, int]:
        """Return the records in the trainer's format, and how many are too long."""
        rows = []
        too_long = 0
        for _, record in read_records(path):
            if self.method == "sft":
                prompt = record["messages"][:-1]
                answers = {"completion": record["messages"][-1:]}
            else:
                prompt = record["prompt"]
                answers = {name: record[name] for name in ("chosen", "rejected")}
            lengths = [_tokens(tokenizer, [*prompt, *answer]) for answer in answers.values()]
            if max(lengths) <= self.recipe.longest:
                rows.append({"prompt": prompt, **answers})
            else:
                too_long += 1
        return rows, too_long

    def _trainer(
        self, folder: TrainingFolder, tokenizer: object, training: Rows, held_out: Rows
    ) -> Any:
        """Return TRL's trainer; it makes a new adapter, or the reference of a given one."""
        import torch
        from datasets import Dataset
        from peft import LoraConfig
        from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

        recipe = self.recipe
        cuda = torch.cuda.is_available()
        numbers, reason = number_format(recipe.precision)
        if reason:
            log.warning(reason)
        settings = {
            "output_dir": str(folder.checkpoints),
            "num_train_epochs": recipe.epochs,
            "learning_rate": recipe.rate,
            "per_device_train_batch_size": recipe.batch,
            "per_device_eval_batch_size": recipe.batch,
            "gradient_accumulation_steps": recipe.accumulate,
            "max_length": None,
            "seed": recipe.seed,
            "data_seed": recipe.seed,
            "bf16": cuda and numbers == "bfloat16",
            "fp16": cuda and numbers == "float16",
            "gradient_checkpointing": True,  # slower, with less memory
            "save_strategy": "steps",
            "save_steps": recipe.save_every,
            "save_total_limit": 2,
            "eval_strategy": "steps" if held_out else "no",
            "eval_steps": recipe.save_every,
            "logging_steps": 1,
            "report_to": "none",
            "disable_tqdm": True,
            "dataloader_pin_memory": cuda,
        }
        adapter = LoraConfig(
            r=recipe.rank,
            lora_alpha=recipe.alpha,
            lora_dropout=0.05,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
        )
        parts = {
            "model": load_model(recipe, recipe.adapter, trains=True),
            "processing_class": tokenizer,
            "train_dataset": Dataset.from_list(training),
            "eval_dataset": Dataset.from_list(held_out) if held_out else None,
            "peft_config": None if recipe.adapter else adapter,
        }
        if self.method == "sft":
            return SFTTrainer(**parts, args=SFTConfig(**settings, completion_only_loss=True))
        return DPOTrainer(**parts, args=DPOConfig(**settings, beta=recipe.beta))


def _tokens(tokenizer: Any, messages: Sequence[Mapping[str, Any]]) -> int:
    try:
        return len(tokenizer.apply_chat_template(messages, return_dict=True)["input_ids"])
    except Exception as error:  # the model's own template may raise anything
        reason = excerpt(error, 200)
        raise UserError(f"the model's chat template cannot render these chats: {reason}") from None
