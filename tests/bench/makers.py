"""Small benches: two of the demo's claims, without a language model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.records import copy_lines
from touche_rad.demo import demo_file

SMALL = """
format = 1
name = "small"
claims = "claims.tsv"
index = "demo"
turns = 1
samples = 100
users = { rules = "rules" }
debaters = { verbatim = "verbatim" }
judges = { length = "length" }
"""
"""One debater, one judge, one user."""
WITH_LABELS = f"""{SMALL}
debates = "debates.jsonl"
labels = "labels.jsonl"
"""
"""The same, with labelled debates."""
BRIEF = """
from touche_rad.debate import Response
from touche_rad.plugins import Options, debater


@debater("brief")
class Brief:
    def __init__(self, options, services): ...

    def answer(self, debate):
        invented = {"id": "nowhere", "text": "Nobody wrote this."}
        return Response(content="Nothing supports that.", arguments=[invented])
"""
"""A file that registers a debater."""
LINES = {"claims.tsv": 3, "debates.jsonl": 3, "labels.jsonl": 3}


def write_data(place: str | Path) -> Path:
    """Write two claims, and three labelled debates, into a folder."""
    folder = Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in LINES.items():
        copy_lines(demo_file(name), folder / name, count)
    return folder


def write_bench(folder: str | Path, plan: str = SMALL) -> Path:
    """Write a plan with its data."""
    path = write_data(folder) / "bench.toml"
    path.write_text(plan, "utf-8")
    return path


def contents(folder: Path) -> Mapping[str, bytes]:
    """Return the bytes of all files of a folder by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
