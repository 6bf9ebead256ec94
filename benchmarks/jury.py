"""What does the jury's cascade save? Simulated judges of known error rates.

    python benchmarks/jury.py [--debates N]

Two cheap judges and one dear judge; their errors are independent, and their scores are calibrated:
a score of 0.8 is right in 80 % of the cases. The real jury judges the simulated responses: the dear
judge is asked on the least certain ones within the budget. The weights are learned on other
debates. The table shows accuracy, F1 of yes, and the share of the dear judge's calls that is saved.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import numpy as np

from judges.grice.jury.judge import Jury
from judges.grice.jury.training import train_jury
from touche_rad import files, plugins
from touche_rad.debate import Debate, Maxim, Response, Turn, Verdict
from touche_rad.plugins import Services, judge
from touche_rad.score.official import count

TURNS = 4
SHARE = 0.6
"""The share of responses that deserve a yes."""
JURIES = {
    "30 %, 25 %, then 8 %": {"a": 0.5244, "b": 0.6745, "c": 1.4051},
    "20 %, 20 %, then 8 %": {"a": 0.8416, "b": 0.8416, "c": 1.4051},
    "30 %, 25 %, then 20 %": {"a": 0.5244, "b": 0.6745, "c": 0.8416},
}
"""By the error rates of the judges: the distance of their evidence for yes and no from 0."""
BUDGETS = ("0", "10%", "20%", "30%", "50%", "100%")


@judge("simulated")
class Simulated:
    """Gives the score that the response contains for it."""

    class Options(plugins.Options):
        """Options."""

        key: str = "a"

    def __init__(self, options: Options, services: Services) -> None:
        self.key = options.key

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        assert debate.last.response is not None
        found = re.search(rf"{self.key}=([\d.]+)", debate.last.response.content)
        assert found is not None
        return dict.fromkeys(Maxim, Verdict(score=float(found[1]), rationale="simulated"))


def draw(distances: dict[str, float], size: int, seed: int) -> tuple[list[Debate], np.ndarray]:
    """Return debates whose responses contain the scores of the judges, and the labels."""
    chance = np.random.default_rng(seed)
    truth = (chance.random((size, TURNS)) < SHARE).astype(int)
    debates = []
    for number, labels in enumerate(truth.tolist()):
        turns = []
        for at, label in enumerate(labels):
            said = []
            for key, distance in distances.items():
                evidence = (2 * label - 1) * distance + chance.normal()
                said.append(f"{key}={1 / (1 + np.exp(-2 * distance * evidence)):.6f}")
            response = Response(content=" ".join(said))
            turns.append(Turn(utterance=f"Claim {number}.{at}", response=response))
        debates.append(Debate(id=f"d{number}", turns=tuple(turns)))
    return debates, truth


def learned(distances: dict[str, float], size: int, folder: Path) -> Path:
    """Learn the weights on other debates."""
    debates, truth = draw(distances, size, 1)
    source, labels, out = (folder / name for name in ("d.jsonl", "l.jsonl", "jury.json"))
    source.write_text("".join(f"{files.simulation_line(one)}\n" for one in debates), "utf-8")
    rows = [[dict.fromkeys((str(m) for m in Maxim), one) for one in row] for row in truth.tolist()]
    labels.write_text("".join(f"{row}\n".replace("'", '"') for row in rows), "utf-8")
    names = ",".join(f"simulated(key={key})" for key in distances)
    train_jury(source, labels, out, of=names)
    return out


def rows(size: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| errors of the judges | budget | calls of the dear judge saved | accuracy | F1 |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for name, distances in JURIES.items():
        with tempfile.TemporaryDirectory() as folder:
            weights = learned(distances, size, Path(folder))
            debates, truth = draw(distances, size, 2)
            views = [[one.view(turn) for turn in range(TURNS)] for one in debates]
            for budget in BUDGETS:
                options = Jury.Options(weights=weights, dear=1, unsure=0.5, budget=budget)
                asked, scores = anyio.run(judged, options, views)
                pairs = list(zip(truth.ravel().tolist(), scores, strict=True))
                right = np.mean([(score >= 0.5) == bool(label) for label, score in pairs])
                saved = 1 - asked / len(pairs)
                yield (
                    f"| {name} | {budget} | {100 * saved:.0f} % | {100 * right:.1f} % |"
                    f" {count(pairs).f1:.3f} |"
                )


async def judged(options: Jury.Options, views: list[list[Debate]]) -> tuple[int, list[float]]:
    """Return the calls of the dear judge, and the scores of all responses."""
    jury = Jury(options, Services())
    await jury.plan(views)
    asked, scores = 0, []
    for view in (one for of_debate in views for one in of_debate):
        verdict = (await jury.judge(view))[Maxim.QUANTITY]
        asked += "simulated(key=c)" in (verdict.extra or {})["votes"]
        scores.append(float(verdict.score or 0.0))
    return asked, scores


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--debates", type=int, default=250)
    for row in rows(parser.parse_args().debates):
        print(row, flush=True)


if __name__ == "__main__":
    main()
