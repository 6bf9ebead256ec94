"""Settings, base models and adapters: load, merge, and the commands that serve them with vLLM."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    field_validator,
)

from touche_rad.errors import OptionError, UserError, describe
from touche_rad.lists import T
from touche_rad.text import key_values
from touche_rad.training.card import adapter_options
from touche_rad.training.recipe import check_packages

Precision = Literal["auto", "float32", "bfloat16", "float16"]


class AdapterRecipe(BaseModel, frozen=True, allow_inf_nan=False):
    """The settings of a training; the defaults are the paper's, as far as it names them."""

    base: str
    """The base model, whose weights do not change: a folder, or OWNER/NAME of the hub."""
    adapter: str = ""
    """An adapter to train further; for DPO it is also the reference."""
    epochs: PositiveFloat = 3
    rate: PositiveFloat = 1e-5
    batch: PositiveInt = 4
    accumulate: PositiveInt = 1
    rank: PositiveInt = 16
    alpha: PositiveInt = 32
    longest: Annotated[int, Field(ge=16)] = 4_096
    beta: PositiveFloat = 0.1
    """DPO's weight of the reference; the paper's formula has none, which is 1."""
    held_out: Annotated[float, Field(ge=0, lt=1)] = 0.1
    save_every: PositiveInt = 50
    seed: int = 0
    precision: Precision = "auto"

    @field_validator("base", "adapter")
    @classmethod
    def _absolute(cls, value: str) -> str:
        """Make the path of a folder absolute, so that a training can be resumed from anywhere."""
        place = Path(value).expanduser()
        return str(place.absolute()) if value and place.is_dir() else value


def parse_recipe(options: Mapping[str, Any]) -> AdapterRecipe:
    """Build a recipe from command line options; an error names the wrong option."""
    try:
        return AdapterRecipe(
            **{name: value for name, value in options.items() if value is not None}
        )
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]).replace("_", "-")
        raise OptionError(f"--{name}: {first['msg'].lower()}") from None


def check_installed() -> None:
    """Check that the extra `train` is installed; turn off telemetry and what it prints."""
    check_packages()
    import datasets
    from huggingface_hub import constants
    from transformers.utils import logging

    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    constants.HF_HUB_DISABLE_TELEMETRY = True
    datasets.disable_progress_bars()
    logging.disable_progress_bar()


def check_places(recipe: AdapterRecipe) -> None:
    """Raise an error for a missing folder before anything is written."""
    base = recipe.base
    if base.startswith(("/", ".", "~")) and not Path(base).expanduser().is_dir():
        raise UserError(f"{base}: the folder does not exist")
    if recipe.adapter and not (Path(recipe.adapter) / "adapter_config.json").is_file():
        raise UserError(f"{recipe.adapter} contains no adapter")


def load_tokenizer(base: str) -> Any:
    """Load the tokenizer, which must have a chat template; one that thinks is switched off."""
    from transformers import AutoTokenizer

    tokenizer = _load(base, lambda: AutoTokenizer.from_pretrained(base, trust_remote_code=False))
    if not getattr(tokenizer, "chat_template", None):
        raise UserError(f"{base} has no chat template: use an instruction-tuned model")
    if _chat(tokenizer).endswith(_OPEN_THOUGHT):
        # It is saved with the trained model, which then answers as it was trained.
        tokenizer.chat_template = "{% set enable_thinking = false %}" + tokenizer.chat_template
        prompt = _chat(tokenizer)
        if prompt.endswith(_OPEN_THOUGHT) or not _chat(tokenizer, "Yes.").startswith(prompt):
            raise UserError(
                f"{base} thinks before each answer (its chat template ends in <think>), and "
                "training data have no thoughts: use a model that does not think"
            )
    return tokenizer


_OPEN_THOUGHT: Final = "<think>"


def _chat(tokenizer: Any, *answer: str) -> str:
    """Return a chat as the model's template writes it, up to its answer or with one."""
    messages = [{"role": "user", "content": "Hello."}]
    messages += [{"role": "assistant", "content": text} for text in answer]
    chat = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=not answer)
    return str(chat).rstrip()


def number_format(precision: Precision) -> tuple[str, str]:
    """Return the number format, and the reason if it is less than bfloat16 on a card."""
    import torch

    if precision != "auto":
        return precision, ""
    if not torch.cuda.is_available():
        return "float32", ""
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return "bfloat16", ""
    return "float16", f"training in float16: {torch.cuda.get_device_name()} has no bfloat16"


def load_model(recipe: AdapterRecipe, adapter: str = "", *, trains: bool = False) -> Any:
    """Load the base model, with an adapter if one is given."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    dtype = getattr(torch, number_format(recipe.precision)[0])
    # Without a word on code, the library asks on the terminal whether it may run the model's own.
    model = _load(
        recipe.base,
        lambda: AutoModelForCausalLM.from_pretrained(
            recipe.base, dtype=dtype, trust_remote_code=False
        ),
    )
    if not adapter:
        return model
    return _load(adapter, lambda: PeftModel.from_pretrained(model, adapter, is_trainable=trains))


def _load(place: str, load: Callable[[], T]) -> T:
    """Load with a library that may raise any exception; raise UserError instead."""
    try:
        return load()
    except Exception as error:
        raise UserError(f"{place}: cannot be read: {describe(error)}") from None


def serve_command(recipe: AdapterRecipe, adapter: Path) -> str:
    """Return the command that serves the base with the adapter, and plays.

    The adapter is named by its folder, so that the cache and runs distinguish it from its base
    model.
    """
    place = str(adapter.absolute())
    # An adapter that was trained further keeps its rank, whatever the recipe says.
    rank = int(json.loads((adapter / "adapter_config.json").read_text("utf-8"))["r"])
    base = {"model": recipe.base, "served-model-name": "base"}
    command = ["touche-rad", "respond", "debates.jsonl", "-i", "index", "-d", "inspiredebate"]
    command += ["-m", f"vllm:{place}"]
    for option in key_values(base | adapter_options(place, rank)):
        command += ["-O", f"vllm.{option}"]
    command += ["-O", "model.think=off"]  # the name of a trained model tells no family of models
    return shlex.join([*command, "-o", "run.jsonl"])
