"""PanelBench, the data set of Debatrix (doi:10.18653/v1/2024.findings-acl.868).

It is a folder with `motion/NAME.json` and the speeches in `speech/`. A motion's file holds
`motion`, `pro_side` and `con_side` (objects with a `name`), `info_slide` and `speech_order` (the
speakers in order). The speeches of NAME are in `speech/NAME.json` (a list of texts) or in the
folder `speech/NAME/` (text files in the order of their names). The human decisions are in
`gold.json` or `gold/NAME.json`: for each dimension a speaker, `tie`, or all winners.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from touche_rad.contest import TIE, Contest
from touche_rad.errors import InputError
from touche_rad.files.models import FileRecord, OptionalText, validate
from touche_rad.files.records import FieldError, parse, read_whole, refuse_links_out, short_repr


def _inner(name: str) -> BeforeValidator:
    """Read a text that may be this field of an object."""
    return BeforeValidator(lambda value: value.get(name) if isinstance(value, dict) else value)


class _Motion(FileRecord):
    motion: str
    info_slide: OptionalText = ""
    pro_side: list[Annotated[str, _inner("name")]]
    con_side: list[Annotated[str, _inner("name")]]
    speech_order: list[str | None]


class _Speeches(FileRecord):
    speeches: list[Annotated[str, _inner("content")]]


def contests(folder: Path) -> Iterator[Contest]:
    """Read every debate of a folder, in the order of their names."""
    if not (folder / "motion").is_dir() or not (folder / "speech").is_dir():
        raise InputError(folder, "expected a folder with motion/ and speech/ (PanelBench)")
    refuse_links_out(folder, folder.rglob("*"))
    motions = sorted((folder / "motion").glob("*.json"), key=lambda path: _natural(path.stem))
    if not motions:
        raise InputError(folder / "motion", "expected motions as NAME.json, found none")
    common_path = folder / "gold.json"
    common_gold = _read(common_path) if common_path.is_file() else {}
    if not isinstance(common_gold, dict):
        raise InputError(
            common_path,
            f"expected an object, got {short_repr(common_gold)}: gold by the names of motions",
        )
    for path in motions:
        gold_path = folder / "gold" / path.name
        try:
            gold = _read(gold_path) if gold_path.is_file() else common_gold.get(path.stem)
            yield _contest(folder, path, gold)
        except FieldError as miss:
            wrong = path
            if miss.field.startswith("gold."):
                wrong = gold_path if gold_path.is_file() else common_path
            raise InputError(wrong, f"{miss.expected} ({path.name})", field=miss.field) from None


def _contest(folder: Path, path: Path, gold: object) -> Contest:
    record = validate(_Motion, _read(path))
    sides: dict[str, str] = {}
    for side, names in (("pro", record.pro_side), ("con", record.con_side)):
        for number, name in enumerate(names):
            if name in sides:
                raise FieldError(f"{side}_side[{number}].name", f"duplicate name {name!r}")
            sides[name] = side
    texts = _speeches(folder / "speech", path.stem)
    order = [name for name in record.speech_order if name is not None]
    if len(order) != len(texts):
        raise FieldError(
            "speech_order",
            f"names {len(order)} speakers for {len(texts)} speeches in speech/{path.stem}.json "
            f"or speech/{path.stem}/",
        )
    unknown = sorted(set(order) - set(sides))
    if unknown:
        raise FieldError("speech_order", f"{unknown[0]!r} is on neither side")

    # The winners by dimension; null means unknown.
    winners: dict[str, Any] = {}
    by_dimension = gold if isinstance(gold, dict) else {"general": gold}
    for dimension, winner in by_dimension.items():
        if winner is not None:
            winning = winner if isinstance(winner, list) else [winner]
            strangers = [name for name in winning if name not in (*sides, TIE)]
            if strangers or not winning:
                got = short_repr(strangers[0] if strangers else winner)
                raise FieldError(f"gold.{dimension}", f"expected speakers or tie, got {got}")
            winners[dimension] = winner
    return validate(
        Contest,
        {
            "id": path.stem,
            "motion": record.motion,
            "info": record.info_slide,
            "sides": {name: sides[name] for name in dict.fromkeys([*order, *sides])},
            "speeches": [
                {"speaker": name, "text": text} for name, text in zip(order, texts, strict=True)
            ],
            "gold": winners,
        },
    )


def _speeches(folder: Path, name: str) -> list[str]:
    if (folder / f"{name}.json").is_file():
        return validate(_Speeches, {"speeches": _read(folder / f"{name}.json")}).speeches
    files = sorted((folder / name).glob("*"), key=lambda path: _natural(path.stem))
    if not files:
        raise FieldError("", f"expected its speeches in speech/{name}.json or speech/{name}/")
    return [read_whole(path) for path in files if path.is_file()]


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key with 2 before 10."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _read(path: Path) -> Any:
    try:
        return parse(read_whole(path))
    except FieldError as error:
        raise InputError(path, str(error)) from None
