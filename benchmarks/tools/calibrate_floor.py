"""Calibrate the option `floor` of the debater `grounded` on hand-labelled quotations.

    python benchmarks/tools/calibrate_floor.py [--data DIR] [--index DIR]

--data (default: the environment variable TOUCHE_RAD_DATA) holds claimrev-4441.jsonl.gz and
cmv-debates-100.jsonl.gz. For each of the 500 turns the script takes the quotation that `grounded`
would give without a floor, and the similarity that the floor is compared with. The labels are those
of grounded.tsv and floor.tsv (debate, turn, argument, label; see train_grounded.py): `y` and `m`
are on the point, `n` and `0` are off the point, `a` agrees with the user.

It prints for several floors the share of turns that are answered with "nothing found", what those
turns would have been answered with, and the share of answers on the point among the rest; the same
with a floor that is chosen on other debates; and, as turns that no collection could answer, how
many first messages of the debates are refused with the demo's collection.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.tools.train_grounded import labelled
from touche_rad import files, plugins
from touche_rad.debate import Debate
from touche_rad.debaters.grounded import Grounded
from touche_rad.demo import demo_file
from touche_rad.plugins import Services

HERE = Path(__file__).parent
GOOD, OFF = ("y", "m"), ("n", "0")
FLOORS = (0.0, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.15)
LOST = 0.03
"""Share of the answers on the point that a floor may lose, where it is chosen by the data."""
FOLDS = 10


@dataclass(frozen=True)
class Answered:
    """The similarity of a turn's quotation to the user, and its label, if it has one."""

    debate: str
    link: float
    label: str = ""


def answered(
    debater: Grounded, debates: Iterable[Debate], turns: range | None = None
) -> Iterator[Answered]:
    """Yield the quotation of each turn; a turn that no new argument is left for has link 0."""
    labels = labelled(HERE / "grounded.tsv")
    for key, more in labelled(HERE / "floor.tsv").items():
        labels[key] = {**labels.get(key, {}), **more}
    for debate in debates:
        for turn in turns or range(len(debate.turns)):
            asked = debate.before_response(turn)
            found = debater.quotables(asked)
            link = debater.link(asked, found[0].argument) if found else 0.0
            label = labels.get((debate.id, turn), {}).get(found[0].argument.id, "") if found else ""
            yield Answered(debate.id, link, label)


def row(floor: float, every: Sequence[Answered]) -> str:
    """Return a floor, the share of refused turns, their labels, and what is left."""
    labels = Counter(one.label for one in every if one.link < floor and one.label)
    kept = [one for one in every if one.link >= floor and one.label]
    good = [one for one in every if one.label in GOOD]
    refused = np.mean([one.link < floor for one in every])
    lost = sum(one.link < floor for one in good) / len(good)
    on_point = np.mean([one.label in GOOD for one in kept])
    return (
        f"| {floor:.2f} | {refused:.3f} | {sum(labels[x] for x in OFF)} | {labels['a']} |"
        f" {sum(labels[x] for x in GOOD)} | {lost:.3f} | {on_point:.3f} |"
    )


def chosen_on(training: Sequence[Answered]) -> float:
    """Return the floor that loses at most `LOST` of the answers on the point."""
    return float(np.quantile([one.link for one in training if one.label in GOOD], LOST))


def cross_validated(every: Sequence[Answered]) -> str:
    """Describe what floors refuse that were chosen on other debates."""
    names = sorted({one.debate for one in every})
    fold = {name: place % FOLDS for place, name in enumerate(names)}
    floors, refused, labels = [], 0, Counter[str]()
    for held in range(FOLDS):
        floors.append(chosen_on([one for one in every if fold[one.debate] != held]))
        for one in every:
            if fold[one.debate] == held and one.link < floors[-1]:
                refused += 1
                labels[one.label] += 1
    off, good = sum(labels[x] for x in OFF), sum(labels[x] for x in GOOD)
    count = sum(one.label in GOOD for one in every)
    return (
        f"floors {min(floors):.3f} to {max(floors):.3f}; refused {refused / len(every):.3f} of all"
        f" turns; of the labelled ones {off} off the point, {labels['a']} that agree with the user,"
        f" {good} on the point ({good / count:.3f} of these)"
    )


def auc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Return how often a value of the first list is greater than one of the second."""
    return float(np.mean(np.array(higher)[:, None] > np.array(lower)[None, :]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("TOUCHE_RAD_DATA"))
    parser.add_argument("--index", help="an index of claimrev-4441.jsonl.gz")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the data folder: --data DIR or TOUCHE_RAD_DATA")
    data = Path(options.data)
    debates = list(files.read_debates(data / "cmv-debates-100.jsonl.gz"))
    with tempfile.TemporaryDirectory() as folder:
        place = options.index or str(Path(folder, "index"))
        if options.index is None:
            plugins.build_index(files.read_arguments(data / "claimrev-4441.jsonl.gz"), place)
        demo = str(Path(folder, "demo"))
        plugins.build_index(files.read_arguments(demo_file("arguments.jsonl")), demo)
        report(debater(place), debater(demo), debates)


def debater(index: str) -> Grounded:
    return Grounded(Grounded.Options(), Services(index=plugins.open_index(index)))


def report(real: Grounded, demo: Grounded, debates: Sequence[Debate]) -> None:
    every = list(answered(real, debates))
    counts = Counter(one.label for one in every if one.label)
    print(f"{len(every)} turns; labels: {dict(counts)}")
    for name, off in (("off the point (n, 0)", OFF), ("another matter (0)", ("0",))):
        low = [one.link for one in every if one.label in off]
        high = [one.link for one in every if one.label and one.label not in off]
        print(f"AUC of the similarity for {name}: {auc(high, low):.2f}")
    print("| floor | nothing found | off the point | agrees | on the point | lost | on the point |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for floor in FLOORS:
        print(row(floor, every))
    print("chosen on other debates:", cross_validated(every))
    own = list(answered(demo, files.read_debates(demo_file("debates.jsonl"))))
    foreign = list(answered(demo, debates, range(1)))
    for floor in FLOORS:
        shares = [np.mean([one.link < floor for one in some]) for some in (own, foreign)]
        print(f"floor {floor:.2f}: demo's turns {shares[0]:.3f}, foreign claims {shares[1]:.3f}")


if __name__ == "__main__":
    main()
