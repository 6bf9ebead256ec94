"""Merge base model and adapter, and print the command that serves the result."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from touche_rad.debaters.inspiredebate.training.fitting import (
    adapted,
    base_model,
    need_extra,
    tokenizer_of,
)
from touche_rad.debaters.inspiredebate.training.recipe import Recipe
from touche_rad.errors import UserError
from touche_rad.training.folder import Folder

_RANKS: Final = (8, 16, 32, 64, 128, 256, 320, 512)
"""The ranks that vLLM makes room for."""


def lines(recipe: Recipe, adapter: Path, merged: Path | None) -> dict[str, str]:
    """Return the command for the adapter and, where there is one, for the merged model.

    An adapter is named by its folder: the cache and the run then know it from its base. What is
    said twice to vLLM holds as it was said last.
    """
    found = {"adapter": _play(str(adapter.absolute()), _module(recipe, adapter))}
    if merged is not None:
        found["merged"] = _play(str(merged.absolute()), ())
    return found


def _play(model: str, options: tuple[str, ...]) -> str:
    command = ["touche-rad", "respond", "debates.jsonl", "-i", "index", "-d", "inspiredebate"]
    command += ["-m", f"vllm:{model}"]
    for option in options:
        command += ["-O", option]
    return shlex.join([*command, "-o", "run.jsonl"])


def _module(recipe: Recipe, adapter: Path) -> tuple[str, ...]:
    """Return vLLM's options for a base and an adapter on it."""
    place = str(adapter.absolute())
    rank = _rank(recipe, adapter)
    room = next((wide for wide in _RANKS if wide >= rank), rank)
    return (
        f"vllm.model={recipe.base}", "vllm.served-model-name=base", "vllm.enable-lora=true",
        f"vllm.max-lora-rank={room}", f"vllm.lora-modules={_named(place)}",
    )  # fmt: skip


def _named(place: str) -> str:
    """Return name and path in vLLM's short form, or as JSON where a mark in the path forbids it."""
    if set(place) & set("=,"):
        return json.dumps({"name": place, "path": place})
    return f"{place}={place}"


def _rank(recipe: Recipe, adapter: Path) -> int:
    """Return the adapter's rank: one that was gone on from keeps its own."""
    try:
        return int(json.loads((adapter / "adapter_config.json").read_text("utf-8"))["r"])
    except (OSError, ValueError, KeyError):
        return recipe.rank


def merge_run(root: Path, out: Path | None = None) -> Mapping[str, Any]:
    """Merge the adapter of a finished training, and return how the model is asked."""
    need_extra()
    folder = Folder(root)
    report = folder.finished()
    if report is None:
        raise UserError(f"{root}: no finished training of ours is here")
    recipe = Recipe.model_validate(report["recipe"])
    merged = merge(recipe, folder.adapter, out or folder.merged)
    return {"merged": str(merged), "serve": lines(recipe, folder.adapter, merged)}


def merge(recipe: Recipe, adapter: Path, out: Path) -> Path:
    """Write the merged model as a whole or not at all."""
    if out.is_file():
        raise UserError(f"{out} is a file: name a folder for the model")
    if out.exists() and any(out.iterdir()) and not (out / "config.json").is_file():
        raise UserError(f"{out} holds other things: merge elsewhere")
    model = adapted(base_model(recipe), str(adapter))
    fresh = out.with_name(f".{out.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    model.merge_and_unload().save_pretrained(fresh)
    tokenizer_of(recipe.base).save_pretrained(fresh)
    shutil.rmtree(out, ignore_errors=True)
    fresh.rename(out)
    return out
