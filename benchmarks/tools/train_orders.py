"""Learn which words make a sentence an injected order: weights for touche_rad/evidence.

    PYTHONPATH=. python benchmarks/tools/train_orders.py [--write english languages]

English (orders.tsv): orders are the texts of injection.toml, injection_training.toml and
injection_training.jsonl. Other sentences are those of honest_training.jsonl, of the documentation
(which speaks of judges, scores and prompts), of the demo, and of the real arguments and debates in
$TOUCHE_RAD_DATA; of the real ones, every other sentence only measures false alarms. Only words of
orders get weights.

Other languages (orders_languages.tsv): injection_languages.jsonl, and those English sentences that
could be taken for another language, also as one of their readings.

Prints how many held-out orders are found, and how many honest sentences are taken for orders.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from benchmarks.injection_texts import injections, training_texts
from touche_rad.demo import demo_file
from touche_rad.evidence import learned_orders, orders
from touche_rad.evidence.disguises import readings
from touche_rad.text import split_sentences, stopwords, words

HERE: Final = Path(__file__).parents[1]
PACKAGE: Final = HERE.parent / "touche_rad/evidence"
ORDINARY: Final = -0.5
"""Score below which a sentence of a text with an order is an ordinary one."""


@dataclass(frozen=True)
class Learning:
    """How weights are learned, and where they are written."""

    out: str
    features: Callable[[str], frozenset[str]]
    at_least: int
    """Sentences with orders in which a feature occurs."""
    strength: float
    """Inverse of the regularisation; a larger one learns the texts by heart."""
    smallest: float = 0.03
    """Smaller weights are left out."""
    doubt: float = 0.0
    """What a sentence must have more than even odds, so that few honest ones are found."""

    def learn(self, ordering: Sequence[Sequence[str]], other: Sequence[str]) -> dict[str, float]:
        """Return the weights of features; that of the empty one is the bias.

        A text with an order also has ordinary sentences. Weights that are learned from all its
        sentences tell which these are, and the final weights are learned without them.

        Args:
            ordering: Texts with orders, each as its sentences.
            other: Sentences without orders.
        """
        first = self._fit([one for text in ordering for one in text], other)
        scores = [[self._score(first, one) for one in text] for text in ordering]
        kept = [
            one
            for text, rated in zip(ordering, scores, strict=True)
            for one, score in zip(text, rated, strict=True)
            if score >= min(ORDINARY, max(rated))
        ]
        weights = self._fit(kept, other)
        print(
            f"{self.out}: {len(kept)} sentences with orders, {len(other)} others, "
            f"{len(weights) - 1} weights"
        )
        return weights | {"": weights[""] - self.doubt}

    def _score(self, weights: Mapping[str, float], text: str) -> float:
        return weights[""] + sum(weights.get(one, 0.0) for one in sorted(self.features(text)))

    def _fit(self, ordering: Sequence[str], other: Sequence[str]) -> dict[str, float]:
        counts = Counter(one for text in ordering for one in self.features(text))
        names = [name for name, count in sorted(counts.items()) if count >= self.at_least]
        number = {name: at for at, name in enumerate(names)}
        rows, columns = [], []
        for at, text in enumerate([*ordering, *other]):
            for one in self.features(text):
                if one in number:
                    rows.append(at)
                    columns.append(number[one])
        shape = (len(ordering) + len(other), len(names))
        matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape)
        wanted = np.r_[np.ones(len(ordering)), np.zeros(len(other))]
        model = LogisticRegression(C=self.strength, max_iter=500).fit(matrix, wanted)
        weights = {
            name: float(weight)
            for name, weight in zip(names, model.coef_[0], strict=True)
            if abs(weight) >= self.smallest
        }
        return weights | {"": float(model.intercept_[0])}

    def write(self, weights: Mapping[str, float]) -> None:
        """Write the weights in hundredths; the empty feature comes first."""
        rows = sorted(weights.items(), key=lambda row: (row[0] != "", -row[1], row[0]))
        lines = [f"{feature}\t{round(100 * weight)}" for feature, weight in rows]
        PACKAGE.joinpath(self.out).write_text("\n".join(lines) + "\n", "utf-8")


ENGLISH: Final = Learning("orders.tsv", learned_orders.features, 5, 0.25, doubt=0.6)
OTHERS: Final = Learning(
    "orders_languages.tsv",
    learned_orders.features_of_any_language,
    2,
    1.0,
    smallest=0.08,
    doubt=1.0,
)


def main() -> None:
    """Learn, measure, and write the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--write",
        nargs="+",
        choices=["english", "languages"],
        default=[],
        help="write these weights",
    )
    given = parser.parse_args()
    real = real_sentences()
    random.Random(0).shuffle(real)
    ordering = sentences([one.text for one in injections()] + training_texts() + single_orders())
    other = sentences(honest("honest_training.jsonl")) + documentation() + demo() + real[::2]
    english = ENGLISH.learn([[one] for one in ordering], other)
    languages = OTHERS.learn(
        [split_sentences(text) or [text] for text in in_languages("order")]
        + [[one] for one in without_function_words(ordering)],
        sentences(in_languages("honest")) + without_function_words(other) + decoys(other),
    )
    foreign = words_of_other_languages([*ordering, *other])
    if "english" in given.write:
        ENGLISH.write(english)
    if "languages" in given.write:
        OTHERS.write(languages)
        PACKAGE.joinpath("foreign_words.txt").write_text("\n".join(foreign) + "\n", "utf-8")
    for remembered in (
        learned_orders.english,
        learned_orders.other_languages,
        learned_orders.foreign_words,
    ):
        remembered.cache_clear()
    orders.forget()
    report(real[1::2])


def report(real: Sequence[str]) -> None:
    """Print how many held-out texts are taken for orders by the written weights."""
    print("\n| texts | number | found |\n| --- | --- | --- |")
    for name, texts in (
        ("held-out orders", [one.text for one in injections(held_out=True)]),
        ("held-out orders in 21 languages", in_languages("order", held_out=True)),
        ("honest sentences that look like orders", sentences(honest("honest_held_out.jsonl"))),
        ("honest texts in 21 languages", in_languages("honest", held_out=True)),
        ("real sentences", real),
        ("second set: orders", [one.text for one in injections(held_out=True, second=True)]),
        ("second set: orders in 24 languages", in_languages("order", held_out=True, second=True)),
        ("second set: honest sentences", sentences(honest("honest_held_out_2.jsonl"))),
        (
            "second set: honest texts in 24 languages",
            in_languages("honest", held_out=True, second=True),
        ),
    ):
        found = sum(bool(orders.orders_in(split_sentences(text) or [text])) for text in texts)
        print(f"| {name} | {len(texts)} | {found / len(texts):.2%} |")


def sentences(texts: Sequence[str]) -> list[str]:
    """Return the different sentences of texts."""
    return sorted({one for text in texts for one in split_sentences(text)})


def honest(name: str) -> list[str]:
    """Return the texts of a file of honest contributions."""
    lines = (HERE / name).read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def single_orders() -> list[str]:
    """Return the orders of injection_training.jsonl."""
    rows = HERE.joinpath("injection_training.jsonl").read_text("utf-8").splitlines()
    return [json.loads(row)["text"] for row in rows]


def in_languages(kind: str, *, held_out: bool = False, second: bool = False) -> list[str]:
    """Return the orders or the honest texts in many languages; `second`: of the second set."""
    name = f"injection_languages{'_held_out' if held_out else ''}{'_2' if second else ''}.jsonl"
    rows = map(json.loads, (HERE / name).read_text("utf-8").splitlines())
    return [row["text"] for row in rows if row["kind"] == kind]


def words_of_other_languages(english: Sequence[str], at_least: int = 4) -> list[str]:
    """Return words in ASCII that so many texts of other languages have, and no English one."""
    texts = in_languages("honest") + in_languages("order")
    counts = Counter(one for text in texts for one in set(words(text.lower())))
    known = {one for text in english for one in words(text.lower())}
    return sorted(
        one
        for one, count in counts.items()
        if count >= at_least and one.isascii() and one.isalpha() and one not in known
    )


def without_function_words(texts: Sequence[str]) -> list[str]:
    """Return the sentences with few English function words, such as headings."""
    return [
        one
        for one in texts
        if sum(word in stopwords() for word in words(one.lower())) < len(words(one)) / 6
    ]


def decoys(texts: Sequence[str]) -> list[str]:
    """Return the readings of English sentences that look like another language."""
    found: set[str] = set()
    for text in texts:
        lines = readings(text)
        found.update(
            line
            for line in lines[1:]
            if line[::-1] not in lines[:2] and learned_orders.in_another_language(line)
        )
    return sorted(found)


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
