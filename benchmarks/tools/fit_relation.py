"""Fit the weights of Relation in the grounded judge, and print F1 on held-out topics.

    python benchmarks/tools/fit_relation.py

Needs scikit-learn, and the official sample in the folder that TOUCHE_RAD_DATA names. Of the
adversarial sets it reads the halves dev, dev-2 and dev-3. It also holds out each writer: F1 on a
writer's set, with weights fitted without it, is the best estimate for a new writer.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from benchmarks import probes
from benchmarks.probes import demo, real
from judges.grice.grounded.relation import relation_features
from judges.grice.grounded.scene import read_scene
from touche_rad import files
from touche_rad.debate import Argument, Debate, Maxim, Response
from touche_rad.demo import demo_file
from touche_rad.evidence.findings import findings

Array = npt.NDArray[np.float64]

COUNTS = {
    "dev": 3.0,
    "dev-2": 3.0,
    "dev-3": 3.0,
    "demo": 2.0,
    "dev crossed": 0.35,
    "demo crossed": 0.35,
    "dev foreign": 0.3,
    "dev-2 foreign": 0.3,
    "dev-3 foreign": 0.3,
    "demo foreign": 0.3,
    "dev drifted": 0.5,
    "dev-2 drifted": 0.3,
    "dev-3 drifted": 0.3,
    "demo drifted": 0.5,
    "real foreign": 0.1,
    "real": 0.1,
}
"""Weight of one turn of each kind: labels by hand count most."""
WRITERS = ("dev", "dev-2", "dev-3")
LABELLED = (*WRITERS, "demo")
UNTOLD = "untold"
BOUNDED = ("adrift", "echo", "unsourced", "again", "turned", "surrender")
"""Each of these alone must outweigh the strongest possible link."""
FOREIGN = 0.08
"""At most this share of the answers to another debate may pass (the tests allow a tenth)."""
RIDGE = 0.3


@dataclass(frozen=True)
class Case:
    """A turn with a label, written by hand or by how the turn was made."""

    kind: str
    bare: bool
    label: bool
    debate: Debate


@dataclass(frozen=True)
class Table:
    """All cases, seen."""

    kinds: npt.NDArray[np.str_]
    bare: npt.NDArray[np.bool_]
    topics: npt.NDArray[np.str_]
    labels: npt.NDArray[np.bool_]
    names: tuple[str, ...]
    values: Array


def cases() -> Iterator[Case]:
    sets = {
        "dev": written("adversarial", "dev"),
        "dev-2": written("adversarial-2", "dev-2"),
        "dev-3": written("adversarial-3", "dev-3"),
        "demo": labelled_demo(),
    }
    for name, labelled in sets.items():
        for debate, labels in labelled:
            for at, label in enumerate(labels):
                if label is not None:
                    yield Case(name, False, bool(label), debate.view(at))
        debates = [debate for debate, _ in labelled]
        if f"{name} crossed" in COUNTS:
            yield from (Case(f"{name} crossed", False, False, one) for one in crossed(debates))
        yield from (Case(f"{name} drifted", False, False, one) for one in drifted(debates))
        yield from foreign(name, debates, 2 if name == "demo" else 1)
    sample = real(Path(os.environ["TOUCHE_RAD_DATA"])).debates
    yield from foreign("real", sample, 1)
    for probe in probes.recorded(sample):
        yield Case("real", False, True, probe.debate)
        yield Case("real", True, True, probes.without_fields(probe).debate)


def written(name: str, half: str) -> list[tuple[Debate, list[int | None]]]:
    """One half of an adversarial set; of the other nothing is kept."""
    lines = demo_file(f"{name}-labels.jsonl").read_text("utf-8").splitlines()
    return [
        (debate, [turn["relation"] for turn in json.loads(line)])
        for debate, line in zip(files.read_debates(demo_file(f"{name}.jsonl")), lines, strict=True)
        if f'"half": "{half}"' in line
    ]


def labelled_demo() -> list[tuple[Debate, list[int | None]]]:
    labels = files.read_labels(demo_file("labels.jsonl"))
    return [
        (debate, [turn[Maxim.RELATION] for turn in turns])
        for debate, turns in zip(demo().debates, labels, strict=True)
    ]


def crossed(debates: Sequence[Debate]) -> Iterator[Debate]:
    """Each turn answered by arguments of its topic that attack something else."""
    draw, cited = random.Random(3), dict[str, dict[str, Argument]]()
    for debate in debates:
        for turn in debate.turns:
            for one in turn.response.arguments if turn.response else ():
                cited.setdefault(debate.claim, {})[one.text] = one
    for debate in debates:
        for at, turn in enumerate(debate.turns):
            mine = turn.response.arguments if turn.response else ()
            here = {one.text for one in mine}, {one.attacks for one in mine}
            others = [
                one
                for one in cited.get(debate.claim, {}).values()
                if mine and one.text not in here[0] and one.attacks not in here[1]
            ]
            for one in draw.sample(others, min(2, len(others))):
                yield debate.before_response(at).with_response(
                    Response(content=one.text, arguments=(one,))
                )


def drifted(debates: Sequence[Debate]) -> Iterator[Debate]:
    """Later turns whose user has come to speak of another topic: the answer is to the old one."""
    draw = random.Random(5)
    for debate in debates:
        others = [other for other in debates if other.claim != debate.claim]
        for at, turn in enumerate(debate.turns):
            if at and turn.response:
                said = draw.choice(draw.choice(others).turns).utterance
                turns = (*debate.turns[:at], turn.model_copy(update={"utterance": said}))
                yield debate.model_copy(update={"turns": turns})


def foreign(name: str, debates: Sequence[Debate], rounds: int) -> Iterator[Case]:
    for probe in probes.foreign(debates, rounds):
        yield Case(f"{name} foreign", False, False, probe.debate)
        yield Case(f"{name} foreign", True, False, probes.without_fields(probe).debate)


def table(found: Sequence[Case]) -> Table:
    kept, rows = list[Case](), list[dict[str, float]]()
    for case in found:
        response = case.debate.last.response
        assert response is not None
        seen = read_scene(case.debate, response)
        if seen.response.tokens:
            carried = findings(seen.sentences, seen.sources)
            rows.append({cue.name: cue.value for cue in relation_features(seen, carried)})
            kept.append(case)
    names = tuple(rows[0])
    return Table(
        kinds=np.array([case.kind for case in kept]),
        bare=np.array([case.bare for case in kept]),
        topics=np.array([case.debate.claim for case in kept]),
        labels=np.array([case.label for case in kept]),
        names=names,
        values=np.array([[row[name] for name in names] for row in rows]),
    )


def fitted(seen: Table, shown: npt.NDArray[np.bool_]) -> tuple[Array, float]:
    """Fit the weights and the bias to the cases shown, so that `FOREIGN` holds on them.

    Arguments without the attacked claim have a bias of their own: the weight of `UNTOLD`.
    """
    counts = np.array([COUNTS[kind] for kind in seen.kinds])
    values, spread = seen.values[shown], seen.values[shown].std(axis=0) + 1e-6
    model = LogisticRegression(C=RIDGE, max_iter=2000)
    model.fit(values / spread, seen.labels[shown], sample_weight=counts[shown])
    found: Array = model.coef_[0] / spread
    bounded, untold = np.isin(seen.names, BOUNDED), seen.names.index(UNTOLD)
    found[untold] = 0.0
    pull: Array = seen.values[:, ~bounded] @ found[~bounded]
    lines = [_line(seen, shown & (seen.bare == bare), pull) for bare in (False, True)]
    firmest = float(found[~bounded].clip(0).sum()) + max(lines)
    found[bounded] = np.minimum(found[bounded], -firmest)
    found[untold] = lines[True] - lines[False]
    return found, lines[False]


def _line(seen: Table, shown: npt.NDArray[np.bool_], pull: Array) -> float:
    """Return the bias with which `FOREIGN` holds on the kinds that it limits."""
    kinds = ("real foreign", "demo foreign")
    return -max(float(np.quantile(pull[shown & (seen.kinds == one)], 1 - FOREIGN)) for one in kinds)


def left_out(seen: Table) -> Array:
    """Each labelled turn's sum, by weights that were fitted without its topic."""
    sums = np.zeros(len(seen.labels))
    for topic in np.unique(seen.topics[np.isin(seen.kinds, LABELLED)]):
        found, bias = fitted(seen, seen.topics != topic)
        here = seen.topics == topic
        sums[here] = seen.values[here] @ found + bias
    return sums


def without(seen: Table, writer: str) -> Array:
    """Each turn's sum, by weights that were fitted without one writer's topics."""
    theirs = np.unique(seen.topics[seen.kinds == writer])
    found, bias = fitted(seen, ~np.isin(seen.topics, theirs))
    return np.asarray(seen.values @ found + bias)


def f1(said: npt.NDArray[np.bool_], true: npt.NDArray[np.bool_]) -> float:
    return 2 * int((said & true).sum()) / max(1, int(said.sum() + true.sum()))


def main() -> None:
    seen = table(list(cases()))
    apart = left_out(seen)
    found, bias = fitted(seen, np.ones(len(seen.labels), dtype=bool))
    at_once = seen.values @ found + bias
    for name in LABELLED:
        here, true = seen.kinds == name, seen.labels[seen.kinds == name]
        print(f"{name}: F1 {f1(apart[here] > 0, true):.3f}, each topic by weights of the others")
        print(f"{name}: F1 {f1(at_once[here] > 0, true):.3f}, seen in fitting")
        if name in WRITERS:
            print(f"{name}: F1 {f1(without(seen, name)[here] > 0, true):.3f}, without this writer")
    for kind in sorted(COUNTS.keys() - set(LABELLED)):
        for bare in (False, True):
            here = (seen.kinds == kind) & (seen.bare == bare)
            if here.any():
                fields = ", id and text alone" if bare else ""
                print(f"{kind}{fields}: {(at_once[here] > 0).mean():.3f} of {here.sum()} pass")
    rounded = {"bias": bias, **dict(zip(seen.names, found, strict=True))}
    print(json.dumps({name: round(float(one), 2) for name, one in rounded.items()}, indent=2))


if __name__ == "__main__":
    main()
