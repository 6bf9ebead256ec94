"""Learn which words make a sentence an injected order: weights for touche_rad/evidence/orders.tsv.

    PYTHONPATH=. python benchmarks/tools/train_orders.py [--write]

Orders are the texts of injection.toml and injection_training.toml. Other sentences are those of
honest_training.jsonl, of the documentation (which speaks of judges, scores and prompts), of the
demo, and of the real arguments and debates in $TOUCHE_RAD_DATA; of the real ones, every other
sentence only measures false alarms. Only words of orders get weights. Prints how many texts of
injection_held_out.toml are found, and how many honest sentences are taken for orders.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from benchmarks.injection_texts import injections, training_texts
from touche_rad.demo import demo_file
from touche_rad.evidence import learned_orders, orders
from touche_rad.text import split_sentences

HERE: Final = Path(__file__).parents[1]
OUT: Final = HERE.parent / "touche_rad/evidence/orders.tsv"
AT_LEAST: Final = 3
"""Sentences with orders in which a feature occurs."""
STRENGTH: Final = 0.25
"""Inverse of the regularisation; a larger one learns the texts by heart."""
SMALLEST: Final = 0.03
"""Smaller weights are left out."""


def main() -> None:
    """Learn, measure, and write the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the weights")
    given = parser.parse_args()
    ordering = sentences([one.text for one in injections()] + training_texts())
    real = real_sentences()
    random.Random(0).shuffle(real)
    other = sentences(honest("honest_training.jsonl")) + documentation() + demo() + real[::2]
    weights, bias = learn(ordering, other)
    print(f"{len(ordering)} sentences with orders, {len(other)} others, {len(weights)} weights\n")
    if given.write:
        rows = sorted(weights.items(), key=lambda row: (-row[1], row[0]))
        lines = [f"{feature}\t{round(100 * weight)}" for feature, weight in [("", bias), *rows]]
        OUT.write_text("\n".join(lines) + "\n", "utf-8")
        learned_orders.weights.cache_clear()
        orders.forget()
    held_out = [one.text for one in injections(held_out=True)]
    trusted = sentences(honest("honest_held_out.jsonl"))
    print("| texts | number | found |\n| --- | --- | --- |")
    for name, texts in (("held-out orders", held_out), ("honest sentences that look like orders",
                        trusted), ("real sentences", real[1::2])):  # fmt: skip
        found = sum(bool(orders.orders_in(split_sentences(text) or [text])) for text in texts)
        print(f"| {name} | {len(texts)} | {found / len(texts):.2%} |")


def learn(ordering: Sequence[str], other: Sequence[str]) -> tuple[dict[str, float], float]:
    """Return the weights of features, and the bias."""
    counts = Counter(one for text in ordering for one in learned_orders.features(text))
    names = [name for name, count in sorted(counts.items()) if count >= AT_LEAST]
    number = {name: at for at, name in enumerate(names)}
    rows, columns = [], []
    for at, text in enumerate([*ordering, *other]):
        for one in learned_orders.features(text):
            if one in number:
                rows.append(at)
                columns.append(number[one])
    shape = (len(ordering) + len(other), len(names))
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape)
    wanted = np.r_[np.ones(len(ordering)), np.zeros(len(other))]
    model = LogisticRegression(C=STRENGTH, max_iter=500).fit(matrix, wanted)
    kept = {
        name: float(weight)
        for name, weight in zip(names, model.coef_[0], strict=True)
        if abs(weight) >= SMALLEST
    }
    return kept, float(model.intercept_[0])


def sentences(texts: Sequence[str]) -> list[str]:
    """Return the different sentences of texts."""
    return sorted({one for text in texts for one in split_sentences(text)})


def honest(name: str) -> list[str]:
    """Return the texts of a file of honest contributions."""
    lines = (HERE / name).read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def documentation() -> list[str]:
    """Return the sentences of the documentation, except those on attacks."""
    root = HERE.parent
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    prose = []
    for page in sorted(pages):
        if page.name not in ("security.md", "adversarial.md"):
            blocks = re.sub(r"```.*?```|<!--.*?-->", "", page.read_text("utf-8"), flags=re.DOTALL)
            prose += [re.sub(r"[`*]|\]\([^)]*\)|\[", "", one) for one in blocks.split("\n\n")]
    return sentences(prose)


def demo() -> list[str]:
    """Return the sentences of the demo."""
    files = ("arguments.jsonl", "debates.jsonl")
    lines = (line for name in files for line in demo_file(name).read_text("utf-8").splitlines())
    return sentences([text for line in lines for text in strings(json.loads(line))])


def real_sentences() -> list[str]:
    """Return the sentences of the real arguments and debates."""
    folder = Path(os.environ["TOUCHE_RAD_DATA"])
    found: set[str] = set()
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as lines:
            for line in lines:
                for text in strings(json.loads(line)):
                    found.update(split_sentences(text))
    return sorted(one for one in found if len(one) > 15 and not one.startswith("http"))


def strings(value: Any) -> Iterator[str]:
    """Yield all texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            if name != "id":
                yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


if __name__ == "__main__":
    main()
