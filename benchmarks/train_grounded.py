"""Fit the weights of the debater `grounded` to turns that a person read, and say how well they do.

    python benchmarks/train_grounded.py [--write] [--data DIR] [--labels FILE]

DIR (default: the environment variable TOUCHE_RAD_DATA) holds claimrev-4441.jsonl.gz and
cmv-debates-100.jsonl.gz. FILE names, one a line, a debate by its id, a turn, an argument and how
it would do as an answer there: `y` clearly against what the user says, `m` perhaps, `a` it agrees
with the user, `0` beside the point. The candidates that were read came from several rankings, so
that neither any one of them nor the fitted one chose what it is measured on.

The weights make the expected worth of the answer greatest where a candidate is drawn by the softmax
of the scores; none is below 0, since every fitted feature is made to speak for an argument. Figures
are cross-validated by debate: no debate is measured with weights that saw it.
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
from touche_rad.debaters.grounded.candidates import gather
from touche_rad.debaters.grounded.features import features
from touche_rad.debaters.grounded.profile import Library, sampled
from touche_rad.debaters.grounded.reading import read
from touche_rad.debaters.grounded.scene import scene
from touche_rad.debaters.grounded.weights import weights
from touche_rad.plugins import ArgumentIndex

WORTH = {"y": 1.0, "m": 0.35, "a": 0.0, "0": 0.0}
FOLDS = 10
RIDGE = 2.0
OURS = Path(__file__).parent.parent / "touche_rad/debaters/grounded/weights.json"


@dataclass(frozen=True)
class Turn:
    """The read candidates of one turn."""

    debate: str
    features: np.ndarray
    labels: tuple[str, ...]

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
    index: ArgumentIndex, debates: Sequence[Debate], labels: Path, names: Sequence[str], k: int = 40
) -> Iterator[Turn]:
    library = Library(sampled(index))
    by_id = {debate.id: debate for debate in debates}
    for (name, turn), given in labelled(labels).items():
        reading = read(by_id[name].asked(turn))
        candidates = gather(index, reading, k)
        rows = features(candidates, scene(reading, library), library)
        kept = [
            ([row[feature] for feature in names], given[candidate.argument.id])
            for candidate, row in zip(candidates, rows, strict=True)
            if candidate.argument.id in given
        ]
        if kept:
            yield Turn(name, np.array([row for row, _ in kept]), tuple(label for _, label in kept))


def fitted(read_turns: Sequence[Turn], spread: np.ndarray) -> np.ndarray:
    """Weights of the plain features that make the expected worth of an answer greatest."""
    rows = [(turn.features / spread, turn.worth - turn.worth.mean()) for turn in read_turns]

    def loss(weight: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = RIDGE * weight @ weight / 2, RIDGE * weight
        for features_, worth in rows:
            score = features_ @ weight
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
                first[turn.labels[int(np.argmax(turn.features @ weight))]] += 1
    return first


def written(weight: np.ndarray, names: Sequence[str], first: Counter[str]) -> str:
    shares = ", ".join(f"{label} {first[label] / first.total():.2f}" for label in WORTH)
    now = json.loads(OURS.read_text("utf-8"))
    now["made"] = (
        f"Fitted by benchmarks/train_grounded.py to {first.total()} turns that one person read;"
        f" cross-validated by debate, the first of the read candidates is {shares}."
    )
    now["fitted"] = {
        name: round(float(value), 3) for name, value in zip(names, weight, strict=True)
    }
    return json.dumps(now, indent=2) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("TOUCHE_RAD_DATA"))
    parser.add_argument("--labels", type=Path, default=Path(__file__).with_name("grounded.tsv"))
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    options = parser.parse_args()
    if options.data is None:
        parser.error("say where the data is: --data DIR or TOUCHE_RAD_DATA")
    data = Path(options.data)
    debates = list(files.read_debates(data / "cmv-debates-100.jsonl.gz"))
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder, "index"))
        plugins.build_index(files.read_arguments(data / "claimrev-4441.jsonl.gz"), place)
        report(plugins.open_index(place), debates, options.labels, write=options.write)


def report(index: ArgumentIndex, debates: Sequence[Debate], labels: Path, *, write: bool) -> None:
    names = list(weights().fitted)
    found = list(turns(index, debates, labels, names))
    spread = np.vstack([turn.features for turn in found]).std(axis=0) + 1e-6
    weight, first = fitted(found, spread), cross_validated(found, spread)
    text = written(weight, names, first)
    print(text)
    counts = Counter(label for turn in found for label in turn.labels)
    print(f"read: {len(found)} turns, {counts}; weight times spread:")
    print({name: round(float(w * s), 2) for name, w, s in zip(names, weight, spread, strict=True)})
    if write:
        OURS.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
