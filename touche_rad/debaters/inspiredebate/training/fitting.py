"""Base models, adapters and the training loop of TRL."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import datasets
import torch
from transformers import PrinterCallback, TrainerCallback

from touche_rad.debaters.inspiredebate.training.recipe import Recipe
from touche_rad.errors import UserError
from touche_rad.models import Message
from touche_rad.training.folder import MARK, Folder, steps_of
from touche_rad.training.metrics import Metrics


def need_extra() -> None:
    """Say what is missing before anything else is done; nothing is told to anybody's server."""
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    try:
        for name in ("torch", "peft", "trl"):  # what stands on torch complains in its own way
            import_module(name)
        from huggingface_hub import constants
        from transformers.utils import logging
    except ImportError as error:
        raise UserError(
            f"training needs the extra train (pip install 'touche-rad[train]'): {error.name}"
        ) from None
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    constants.HF_HUB_DISABLE_TELEMETRY = True
    silence: Any = logging.disable_progress_bar
    silence()


def check_places(recipe: Recipe) -> None:
    """Raise an error for a missing folder before anything is written."""
    _check_folder(recipe.base)
    if recipe.adapter and not (Path(recipe.adapter) / "adapter_config.json").is_file():
        raise UserError(f"{recipe.adapter} contains no adapter")


def tokenizer_of(base: str) -> Any:
    """Load the tokenizer, which must have a chat template."""
    from transformers import AutoTokenizer

    _check_folder(base)
    tokenizer = _read(base, lambda: AutoTokenizer.from_pretrained(base))
    if not getattr(tokenizer, "chat_template", None):
        raise UserError(f"{base} has no chat template: use an instruction-tuned model")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def base_model(recipe: Recipe) -> Any:
    """Load the base model in a precision that the machine supports well."""
    import torch
    from transformers import AutoModelForCausalLM

    _check_folder(recipe.base)
    kind = {
        "auto": torch.bfloat16 if torch.cuda.is_available() else torch.float32,
        "float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16,
    }[recipe.precision]  # fmt: skip
    return _read(recipe.base, lambda: AutoModelForCausalLM.from_pretrained(recipe.base, dtype=kind))


def adapted(model: Any, adapter: str, *, learns: bool = False) -> Any:
    """Return a base model with an adapter."""
    from peft import PeftModel

    return _read(adapter, lambda: PeftModel.from_pretrained(model, adapter, is_trainable=learns))


def _read(place: str, read: Callable[[], Any]) -> Any:
    """Load with a library that may raise any exception; raise UserError instead."""
    try:
        return read()
    except Exception as error:
        told = " ".join(str(error).split())[:200]
        raise UserError(f"{place}: cannot be read: {type(error).__name__}: {told}") from None


def with_adapter(recipe: Recipe) -> Any:
    """Return the base model with a trainable adapter: a new one, or the given one."""
    import torch
    from peft import LoraConfig, get_peft_model

    model = base_model(recipe)
    torch.manual_seed(recipe.seed)
    if recipe.adapter:
        return _placed(adapted(model, recipe.adapter, learns=True))
    wanted = LoraConfig(
        r=recipe.rank, lora_alpha=recipe.alpha, lora_dropout=recipe.dropout,
        target_modules=recipe.layers(), task_type="CAUSAL_LM", bias="none",
    )  # fmt: skip
    try:
        return _placed(get_peft_model(model, wanted))
    except ValueError as error:
        told = " ".join(str(error).split())[:200]
        raise UserError(f"--targets {recipe.targets}: {told}") from None


def _placed(model: Any) -> Any:
    """Move a model to the GPU if there is one, because it is measured before training."""
    import torch

    return model.to("cuda") if torch.cuda.is_available() else model


def tokens(tokenizer: Any, prompt: Sequence[Message], answer: str | None = None) -> list[int]:
    """Return the tokens of a chat, without or with the answer."""
    messages = [one.wire() for one in prompt]
    if answer is not None:
        messages.append({"role": "assistant", "content": answer})
    try:
        text = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=answer is None
        )
    except Exception as error:  # whatever a stranger's template raises
        told = " ".join(str(error).split())[:200]
        raise UserError(f"the model's chat template cannot render these chats: {told}") from None
    found: list[int] = tokenizer(text, add_special_tokens=False).input_ids
    return found


def log_likelihood(model: Any, tokenizer: Any, prompt: Sequence[Message], answer: str) -> float:
    """Return the log-likelihood of an answer given its prompt, summed over its tokens."""
    import torch

    before, whole = tokens(tokenizer, prompt), tokens(tokenizer, prompt, answer)
    ids = torch.tensor([whole], device=model.device)
    with torch.inference_mode():
        rows = model(ids).logits[0, len(before) - 1 : -1].float()
    likely = torch.log_softmax(rows, -1).gather(1, ids[0, len(before) :, None])
    return float(likely.sum())


def _check_folder(base: str) -> None:
    if base.startswith(("/", ".", "~")) and not Path(base).expanduser().is_dir():
        raise UserError(f"{base}: the folder does not exist")


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
            self.metrics.note(state.global_step, logs)

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
