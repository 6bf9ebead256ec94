"""The folder of a new bench: its plan, with copies of the data and their hashes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.bench.plan import NAME, NAMES_ARE, PlanFile, load_plan
from touche_rad.demo import DEMO
from touche_rad.errors import UserError
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import copy_file, make_folder

PLAN: Final = "bench.toml"


def new_bench(
    folder: Path,
    data: Mapping[str, Path],
    plugins: Sequence[Path],
    entries: Mapping[str, Sequence[str]],
    settings: Mapping[str, Any],
    baselines: Collection[str],
) -> PlanFile:
    """Write the folder of a new bench, and return its plan.

    Args:
        folder: The folder, which gives the bench its name.
        data: The claims, debates and labels, which are copied.
        plugins: Files of plugins, which are copied, too.
        entries: The plugins of each group, such as `debaters`.
        settings: Further keys of the plan, such as the names of the plugins' files.
        baselines: Plugins without a rank.

    Raises:
        UserError: The folder's name or an entry is wrong, or the labels are of other debates.
    """
    if not re.match(NAME, folder.name):
        raise UserError(f"{folder}: expected another name: {NAMES_ARE}")
    if {"debates", "labels"} <= data.keys():
        files.read_labelled(data["debates"], data["labels"])
    make_folder(folder)
    paths = [folder / PLAN]
    # A compressed file keeps its ending: claims.jsonl.gz is no TSV.
    names = {key: key + "".join(source.suffixes[-2:]) for key, source in data.items()}
    try:
        copies = {folder / names[key]: source for key, source in data.items()}
        copies |= {folder / file.name: file for file in plugins}
        for copy, source in copies.items():
            if not copy.exists() or not source.samefile(copy):
                paths.append(copy)
                copy_file(source, copy)
        index = settings["index"]
        if index != DEMO and Path(index).is_dir():  # relative to the bench
            index = os.path.relpath(Path(index).resolve(), folder.resolve())
        groups = {group: named(texts) for group, texts in entries.items()}
        ranked = [*groups["debaters"].items(), *groups["judges"].items()]
        unranked = [name for name, text in ranked if text.partition("(")[0] in baselines]
        tables: dict[str, Mapping[str, Any]] = {
            "": {"format": 1, "name": folder.name, **names, **settings, "index": index},
            "sha256": {key: sha256_of(folder / name) for key, name in names.items()},
            **groups,
            "pages": {"title": folder.name, "baselines": unranked},
        }
        with files.atomic_write(folder / PLAN) as stream:
            for table, values in tables.items():
                if table:
                    stream.write(f"\n[{table}]\n")
                for key, value in values.items():
                    # JSON's texts, numbers and lists are TOML, except for DEL.
                    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
                    stream.write(f"{key} = {text}\n")
        return load_plan(folder / PLAN)
    except UserError:
        for path in paths:
            path.unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()
        raise


def named(plugins: Sequence[str]) -> dict[str, str]:
    """Name entries after their plugins and options; equal names get numbers."""
    names: dict[str, str] = {}
    for plugin in plugins:
        text = "endpoint" if plugin.startswith(("http:", "https:")) else plugin
        base = re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:36].strip("-_") or "entry"
        name = base
        number = 2
        while name in names:
            name = f"{base}-{number}"
            number += 1
        names[name] = plugin
    return names
