"""A small collection of our own, and an index of any arguments."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from retrieval.index.pisa import PisaArguments
from tests.records import read_arguments
from tests.terminal import touche_rad
from touche_rad.debate import Argument
from touche_rad.debaters.rdebater.schemes import SCHEMES
from touche_rad.plugins import VectorsWanted, build_index, index_backend_of, open_index
from touche_rad.plugins.contracts import Progress

BEES = read_arguments("retrieval/bees.json")


def opened(arguments: list[Argument] | tuple[Argument, ...], place: str | Path) -> PisaArguments:
    """Make an index and open it."""
    build_index(arguments, str(place), replace=True)
    index = open_index(str(place))
    assert isinstance(index, PisaArguments)
    return index


def add_vectors(place: str | Path, wanted: VectorsWanted, report: Progress | None = None) -> int:
    """Add vectors to an index; return the number of encoded texts."""
    return index_backend_of(str(place)).add_vectors(str(place), wanted, report=report)


@contextmanager
def without_pisa() -> Iterator[None]:
    """As if PISA was not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyterrier_pisa", None)
        yield


def annotate_by_hand(index: PisaArguments, annotations: Sequence[Any]) -> None:
    """Store schemes of the arguments, in the order of their ids."""
    folder = index.folder / "annotations" / SCHEMES
    folder.mkdir(parents=True)
    lines = [json.dumps(annotation) + "\n" for annotation in annotations]
    (folder / "records.jsonl").write_text("".join(lines))
    about = {"format": 2, "collection": index.manifest.collection, "by": {"model": "by hand"}}
    counts = {"arguments": len(lines), "annotated": len(lines)}
    (folder / "about.json").write_text(json.dumps(about | counts))


def changes_that_doctor_notices(index: str | Path, part: str = ".") -> list[str]:
    """Change a byte of each file in a part of an index; return the names of these files."""
    names = []
    for file in sorted(path for path in Path(index, part).rglob("*") if path.stat().st_size > 100):
        if file.is_file() and file.name not in ("manifest.json", "about.json"):
            content = file.read_bytes()
            time = file.stat().st_mtime_ns
            file.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
            os.utime(file, ns=(time, time))
            touche_rad("doctor -i", index, code=1, out=file.name)
            file.write_bytes(content)
            names.append(file.name)
    return names


def texts(*words: str) -> list[Argument]:
    """Arguments with these texts, numbered from 1."""
    return [Argument(id=str(number), text=text) for number, text in enumerate(words, 1)]


def encoder_by_chance(folder: Path, seed: int = 0) -> Path:
    """Make a sentence-transformers model of two layers whose weights are by chance."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import AutoTokenizer, BertConfig, BertModel

    from retrieval.dense.encoders import minilm_folder

    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(minilm_folder("minilm"))
    size = {"hidden_size": 32, "intermediate_size": 32}
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(vocab_size=tokenizer.vocab_size, **size, **layers)
    BertModel(config).save_pretrained(folder / "bert")
    tokenizer.save_pretrained(folder / "bert")
    SentenceTransformer(str(folder / "bert")).save(str(folder / "whole"))
    return folder / "whole"
