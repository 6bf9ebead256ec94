"""Merge base model and adapter, and print the command that serves the result."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from touche_rad.debaters.inspiredebate.training.recipe import Recipe
from touche_rad.debaters.inspiredebate.training.weights import (
    adapted,
    base_model,
    need_extra,
    tokenizer_of,
)
from touche_rad.errors import UserError
from touche_rad.training.folder import Folder

_RANKS: Final = (8, 16, 32, 64, 128, 256, 320, 512)
"""The adapter ranks that vLLM supports."""


def serve_commands(recipe: Recipe, adapter: Path, merged: Path | None) -> dict[str, str]:
    """Return the command that serves the adapter, and the one for the merged model if there is one.

    The adapter is named by its folder, so that the cache and runs distinguish it from its base
    model. If vLLM gets an option twice, the last value is used.
    """
    commands = {
        "adapter": _respond_command(str(adapter.absolute()), _vllm_options(recipe, adapter))
    }
    if merged is not None:
        commands["merged"] = _respond_command(str(merged.absolute()), ())
    return commands


def _respond_command(model: str, options: tuple[str, ...]) -> str:
    command = ["touche-rad", "respond", "debates.jsonl", "-i", "index", "-d", "inspiredebate"]
    command += ["-m", f"vllm:{model}"]
    for option in options:
        command += ["-O", option]
    return shlex.join([*command, "-o", "run.jsonl"])


def _vllm_options(recipe: Recipe, adapter: Path) -> tuple[str, ...]:
    """Return vLLM's options for a base and an adapter on it."""
    place = str(adapter.absolute())
    rank = _rank(recipe, adapter)
    room = next((wide for wide in _RANKS if wide >= rank), rank)
    return (
        f"vllm.model={recipe.base}",
        "vllm.served-model-name=base",
        "vllm.enable-lora=true",
        f"vllm.max-lora-rank={room}",
        f"vllm.lora-modules={_lora_module(place)}",
    )


def _lora_module(place: str) -> str:
    """Return name and path in vLLM's short form, or as JSON if the path has `=` or `,`."""
    if set(place) & set("=,"):
        return json.dumps({"name": place, "path": place})
    return f"{place}={place}"


def _rank(recipe: Recipe, adapter: Path) -> int:
    """Return the rank of an adapter, which may come from an earlier training."""
    try:
        return int(json.loads((adapter / "adapter_config.json").read_text("utf-8"))["r"])
    except (OSError, ValueError, KeyError):
        return recipe.rank


def merge_run(root: Path, out: Path | None = None) -> Mapping[str, Any]:
    """Merge the adapter of a finished training, and return the command that serves the model."""
    need_extra()
    folder = Folder(root)
    report = folder.finished()
    if report is None:
        raise UserError(f"{root} contains no finished training")
    recipe = Recipe.model_validate(report["recipe"])
    merged = merge(recipe, folder.adapter, out or folder.merged)
    return {"merged": str(merged), "serve": serve_commands(recipe, folder.adapter, merged)}


def merge(recipe: Recipe, adapter: Path, out: Path) -> Path:
    """Write the merged model atomically."""
    if out.is_file():
        raise UserError(f"{out} is a file: give a folder for the model")
    if out.exists() and any(out.iterdir()) and not (out / "config.json").is_file():
        raise UserError(f"{out} contains other files: give another folder")
    model = adapted(base_model(recipe), str(adapter))
    fresh = out.with_name(f".{out.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    model.merge_and_unload().save_pretrained(fresh)
    tokenizer_of(recipe.base).save_pretrained(fresh)
    shutil.rmtree(out, ignore_errors=True)
    fresh.rename(out)
    return out
