"""Merging: base and adapter as one model, for servers that know no adapters."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touche_rad.errors import UserError
from touche_rad.training.folder import Folder
from touche_rad.training.recipe import Recipe
from touche_rad.training.serving import lines
from touche_rad.training.weights import adapted, base_model, need_extra, tokenizer_of


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
