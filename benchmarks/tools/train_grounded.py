"""Fit the weights of the debater `grounded` to hand-labelled turns, and print how good they are.

    python benchmarks/tools/train_grounded.py [--write] [--data DIR] [--labels FILE] [--index DIR]

--data (default: the environment variable TOUCHE_RAD_DATA) holds claimrev-4441.jsonl.gz and
cmv-debates-100.jsonl.gz. --labels has one line per label: debate, turn, argument, and `y` clearly
against the user, `m` weakly or partly against, `a` agrees with the user, `n` on the matter but on
neither side, `0` another matter. The candidates came from eight rankings and were labelled in
random order without the ranking's name. --index is an index of the collection with vectors of the
encoder minilm; without it one is built, which takes a minute.

The weights maximise the expected worth of the answer if a candidate is drawn by the softmax of the
scores; no weight is negative. The given weights stay fixed while the others are fitted. The
printed figures are cross-validated by debate.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from touche_rad import files, plugins
from touche_rad.debate import Debate
from touche_rad.debaters.grounded.library import Library, sampled
from touche_rad.debaters.grounded.ranking import AGAINST, MEANT, seen, weights
from touche_rad.debaters.grounded.reading import read
from touche_rad.plugins import ArgumentIndex

WORTH = {"y": 1.0, "m": 0.6, "a": 0.0, "n": 0.0, "0": 0.0}
FOLDS = 10
RIDGE = 0.3
DEPTH = 40
OURS = Path(__file__).parents[2] / "touche_rad/debaters/grounded/weights.json"
WORDS = ("matter", "main", "target", "claim", "nearest", "side", "denied", "tone")
MEANING = (*MEANT, "claim", "nearest", "side", "denied", "tone")


@dataclass(frozen=True)
class Turn:
    """The read candidates of one turn."""

    debate: str
    features: np.ndarray
    given: np.ndarray
    labels: tuple[str, ...]
    baseline: str
    """What the first hit of the attacks field is."""

    @property
    def worth(self) -> np.ndarray:
        return np.array([WORTH[label] for label in self.labels])


def labelled(path: Path) -> dict[tuple[str, int], dict[str, str]]:
    found: dict[tuple[str, int], dict[str, str]] = {}
    for line in path.read_text("utf-8").splitlines():
        debate, turn, argument, label = line.split("\t")
        found.setdefault((debate, int(turn)), {})[argument] = label
    return found


def turns(
    index: ArgumentIndex, debates: Sequence[Debate], labels: Path, names: Sequence[str]
) -> Iterator[Turn]:
    library = Library(sampled(index))
    by_id = {debate.id: debate for debate in debates}
    # No stance model is asked here.
    fixed = {name: weight for name, weight in weights().given.items() if name != AGAINST}
    for (name, turn), labels_by_argument in labelled(labels).items():
        reading = read(by_id[name].before_response(turn))
        candidates, rows = seen(index, reading, library, DEPTH)
        kept = [
            (row, labels_by_argument[candidate.argument.id])
            for candidate, row in zip(candidates, rows, strict=True)
            if candidate.argument.id in labels_by_argument
        ]
        first = index.search("attacks", reading.message, 1)
        yield Turn(
            debate=name,
            features=np.array([[row[feature] for feature in names] for row, _ in kept]),
            given=np.array([sum(w * row[k] for k, w in fixed.items()) for row, _ in kept]),
            labels=tuple(label for _, label in kept),
            baseline=labels_by_argument.get(first[0].argument.id, "unread") if first else "none",
        )


def fitted(read_turns: Sequence[Turn], spread: np.ndarray) -> np.ndarray:
    """Weights of the plain features that make the expected worth of an answer greatest."""
    rows = [
        (turn.features / spread, turn.given, turn.worth - turn.worth.mean()) for turn in read_turns
    ]

    def loss(weight: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = RIDGE * weight @ weight / 2, RIDGE * weight
        for features_, given, worth in rows:
            score = features_ @ weight + given
            chance = np.exp(score - score.max())
            chance /= chance.sum()
            expected = chance @ worth
            value -= expected
            slope = slope - features_.T @ (chance * (worth - expected))
        return value, slope

    start = np.full(rows[0][0].shape[1], 0.3)
    bounds = [(0, None)] * len(start)
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x / spread


def cross_validated(read_turns: Sequence[Turn], spread: np.ndarray) -> Counter[str]:
    """What the first of the read candidates is, by weights that never saw its debate."""
    names = sorted({turn.debate for turn in read_turns})
    fold = {name: place % FOLDS for place, name in enumerate(names)}
    first: Counter[str] = Counter()
    for held in range(FOLDS):
        weight = fitted([turn for turn in read_turns if fold[turn.debate] != held], spread)
        for turn in read_turns:
            if fold[turn.debate] == held:
                first[turn.labels[int(np.argmax(turn.features @ weight + turn.given))]] += 1
    return first


def shares(of: Counter[str]) -> str:
    return ", ".join(f"{label} {of[label] / of.total():.2f}" for label in WORTH)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("TOUCHE_RAD_DATA"))
    parser.add_argument("--labels", type=Path, default=Path(__file__).with_name("grounded.tsv"))
    parser.add_argument("--index", help="an index with vectors by minilm")
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    options = parser.parse_args()
    if options.data is None:
        parser.error("say where the data is: --data DIR or TOUCHE_RAD_DATA")
    data = Path(options.data)
    debates = list(files.read_debates(data / "cmv-debates-100.jsonl.gz"))
    with tempfile.TemporaryDirectory() as folder:
        place = options.index or str(Path(folder, "index"))
        if options.index is None:
            arguments = files.read_arguments(data / "claimrev-4441.jsonl.gz")
            plugins.build_index(arguments, place)
            plugins.add_vectors(place, plugins.VectorsWanted("minilm"))
        report(plugins.open_index(place), debates, options.labels, write=options.write)


def report(index: ArgumentIndex, debates: Sequence[Debate], labels: Path, *, write: bool) -> None:
    now, summaries = json.loads(OURS.read_text("utf-8")), []
    for key, names in (("fitted", WORDS), ("meant", MEANING)):
        found = list(turns(index, debates, labels, names))
        spread = np.vstack([turn.features for turn in found]).std(axis=0) + 1e-6
        weight, first = fitted(found, spread), cross_validated(found, spread)
        now[key] = {name: round(float(w), 3) for name, w in zip(names, weight, strict=True)}
        summaries.append(f"with {key} {shares(first)}")
        print(
            f"{key}: weight times spread", dict(zip(names, (weight * spread).round(2), strict=True))
        )
    counts = Counter(label for turn in found for label in turn.labels)
    now["made"] = (
        f"Fitted by benchmarks/tools/train_grounded.py to {counts.total()} read candidates of "
        f"{len(found)} turns. Cross-validated by debate, the first of the read candidates is "
        f"{'; '.join(summaries)}."
    )
    text = json.dumps(now, indent=2) + "\n"
    print(text, f"read as: {dict(counts)}", sep="")
    print("first hit of the attacks field:", dict(Counter(turn.baseline for turn in found)))
    if write:
        OURS.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
