"""Base models, tokenizers and adapters; heavy packages are imported when they are used."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from touche_rad.debaters.inspiredebate.training.recipe import Recipe
from touche_rad.errors import UserError
from touche_rad.models import Message


def need_extra() -> None:
    """Check that the extra is installed, and turn off telemetry."""
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
        "float32": torch.float32,
        "bfloat16": torch.bfloat16,
        "float16": torch.float16,
    }[recipe.precision]
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
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"{place}: cannot be read: {type(error).__name__}: {reason}") from None


def with_adapter(recipe: Recipe) -> Any:
    """Return the base model with a trainable adapter: a new one, or the given one."""
    import torch
    from peft import LoraConfig, get_peft_model

    model = base_model(recipe)
    torch.manual_seed(recipe.seed)
    if recipe.adapter:
        return _placed(adapted(model, recipe.adapter, learns=True))
    wanted = LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules=recipe.layers(),
        task_type="CAUSAL_LM",
        bias="none",
    )
    try:
        return _placed(get_peft_model(model, wanted))
    except ValueError as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"--targets {recipe.targets}: {reason}") from None


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
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"the model's chat template cannot render these chats: {reason}") from None
    ids: list[int] = tokenizer(text, add_special_tokens=False).input_ids
    return ids


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
