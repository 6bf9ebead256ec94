"""The trainer `encoder`: fine-tunes a bi-encoder on a collection's claims and arguments."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retrieval.dense.encoders import SentenceEncoder
from retrieval.dense.tuning.network import Network, below
from retrieval.index.analyser import ALL, analyse, content
from retrieval.tasks import HIDDEN, Task, Topic, Unseen, topics
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.training.collection import Course, Lesson, Taught
from touche_rad.training.loop import Closing, Count, Layers, Opening, Positive, descend, thawed

FIELDS: Final = ("text", ALL)
"""What is encoded of an argument in turns, since the pipelines search both."""
_HIDDEN: Final = {"attacks": "", "supports": ""}


def shown(argument: Argument, field: str) -> str:
    """Return what an index whose claims are hidden holds in a field: the answer is not told."""
    return content(argument.model_copy(update=_HIDDEN), field)


def claims(argument: Argument) -> list[str]:
    """Return an argument's claims, each once."""
    found = (argument.attacks.strip(), argument.supports.strip())
    return list(dict.fromkeys(claim for claim in found if claim))


def usable(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that have a text and a claim."""
    return [one for one in arguments if one.text.strip() and claims(one)]


def batches(
    arguments: Sequence[Argument], size: int, group: int, seed: str
) -> Iterator[list[Argument]]:
    """Yield the arguments by batches, in an order of the seed's.

    Up to `group` arguments of a topic stay together: they are what is hardest to tell apart.
    """
    chance = random.Random(seed)
    by_topic: dict[str, list[Argument]] = {}
    for one in arguments:
        by_topic.setdefault(one.topic, []).append(one)
    groups: list[list[Argument]] = []
    for held in by_topic.values():
        chance.shuffle(held)
        groups += [held[at : at + group] for at in range(0, len(held), group)]
    chance.shuffle(groups)
    order = [one for held in groups for one in held]
    yield from (order[at : at + size] for at in range(0, len(order), size))


def asked(part: Sequence[Argument]) -> list[tuple[str, int]]:
    """Return a batch's claims, each with the place of its argument."""
    return [(claim, place) for place, one in enumerate(part) for claim in claims(one)]


def left_out(part: Sequence[Argument]) -> list[list[bool]]:
    """Return for each claim of a batch which arguments are no wrong answers to it."""
    about = [set(map(analyse, claims(one))) for one in part]
    said = [analyse(one.text) for one in part]
    return [
        [
            at != place and (bool(about[place] & about[at]) or said[at] in about[place])
            for at in range(len(part))
        ]
        for _, place in asked(part)
    ]


def passages(part: Sequence[Argument], step: int) -> list[str]:
    """Return what is encoded of a batch's arguments at a step."""
    return [shown(one, FIELDS[step % len(FIELDS)]) for one in part]


SEARCHED: Final = 10_000
"""The most arguments that are searched; those held out come first."""
ASKED: Final = 1_000
"""The most claims of a task that are asked."""


def measured(
    encoder: SentenceEncoder,
    held_out: Sequence[Argument],
    others: Sequence[Argument],
    halved: bool,
) -> dict[str, float]:
    """Return nDCG@10 and recall of an exact search over topic and text, claims hidden.

    Half the precision where training takes it: encoding is most of the work here too.
    """
    import torch

    with torch.autocast(encoder.model.device.type, torch.bfloat16, enabled=halved):
        return _measured(encoder, held_out, others)


def _measured(
    encoder: SentenceEncoder, held_out: Sequence[Argument], others: Sequence[Argument]
) -> dict[str, float]:
    import ir_measures
    from ir_measures import R, nDCG

    searched = [*held_out, *others][:SEARCHED]
    vectors = encoder.passages([shown(one, ALL) for one in searched])
    found: dict[str, float] = {}
    for kind in HIDDEN:
        queries = topics(held_out, Task(kind))[:ASKED]
        run = list(_run(encoder, queries, searched, vectors))
        qrels = [ir_measures.Qrel(one.qid, docno, 1) for one in queries for docno in one.relevant]
        measures = (nDCG @ 10, R @ 10)
        values = ir_measures.calc_aggregate(measures, qrels, run)
        for one in measures:  # in this order: that of `values` is chance
            found[f"{kind} {one}"] = round(float(values[one]), 4)
    return found


def _run(
    encoder: SentenceEncoder, queries: Sequence[Topic], searched: Sequence[Argument], vectors: Any
) -> Any:
    import ir_measures

    cosines = encoder.queries([one.query for one in queries]) @ vectors.T
    for one, row in zip(queries, cosines, strict=True):
        itself = set(one.itself) - set(one.relevant)
        for place in np.argsort(-row, kind="stable")[: 10 + len(itself)]:
            if searched[place].id not in itself:
                yield ir_measures.ScoredDoc(one.qid, searched[place].id, float(row[place]))


_NEVER: Final = -1e4


class _Chosen(Opening):
    epochs: Count = 4
    rate: Positive = 2e-4
    batch: int = Field(64, ge=2)
    """Arguments a step; each is a wrong answer to the others' claims."""
    group: Count = 8
    """Arguments of a topic that are kept together in a batch."""
    layers: Layers = 2
    """How many of the encoder's layers learn, from the top; 0: the whole encoder."""
    scale: Positive = 20.0
    """What cosines are multiplied by before they are compared."""


class Recipe(Closing, _Chosen):
    """All that decides what training makes of its data."""


def learn(model: Any, lesson: Lesson[Recipe]) -> int:
    """Train a sentence-transformers model in place; return how many steps that was."""
    recipe = lesson.recipe
    parts = thawed(model, recipe.layers)
    plan = [
        part
        for epoch in range(recipe.epochs)
        for part in batches(lesson.learnt, recipe.batch, recipe.group, f"{recipe.seed} {epoch}")
    ]
    model.eval()
    network = Network(model, recipe.longest, recipe.halved)
    network.keep(below(model, parts), _texts(plan), lesson.folder.root)
    descend(
        model, parts, plan, lambda part, step: loss(network, part, step, recipe), recipe,
        lesson.folder, lesson.report,
    )  # fmt: skip
    return len(plan)


def loss(network: Network, part: Sequence[Argument], step: int, recipe: Recipe) -> Any:
    """Return how far each claim's own argument is from being the nearest of the batch."""
    import torch

    questions = asked(part)
    found = network.encoded(passages(part, step))
    cosines = network.encoded([claim for claim, _ in questions]) @ found.T
    never = torch.tensor(left_out(part), device=cosines.device)
    scores = (recipe.scale * cosines).masked_fill(never, _NEVER)
    own = torch.tensor([place for _, place in questions], device=cosines.device)
    return torch.nn.functional.cross_entropy(scores, own)


def _texts(plan: Sequence[Sequence[Argument]]) -> Iterator[str]:
    """Yield all texts that a training encodes."""
    for step, part in enumerate(plan, 1):
        yield from passages(part, step)
        yield from (claim for claim, _ in asked(part))


class Report(BaseModel):
    """What a tuned encoder is, and what tuning gained on topics that it never saw."""

    model_config = ConfigDict(frozen=True)

    base: str
    collection: str
    held_out: str
    """`test`, or the fold of the topics that it never saw."""
    trained_on: int
    tested_on: int
    steps: int
    measured: dict[str, dict[str, float]]
    recipe: dict[str, Any]

    def saw(self, topic: str) -> bool:
        """Whether a topic was among those that were learnt from."""
        return topic not in Unseen.named(self.held_out)


def report_of(folder: Path) -> Report:
    """Return the report of a tuned encoder."""
    try:
        return Report.model_validate(json.loads((folder / "report.json").read_text("utf-8")))
    except (OSError, ValueError, ValidationError):
        raise UserError(f"{folder}: no encoder of touche-rad train encoder") from None


def _taught(lesson: Lesson[Recipe]) -> Taught:
    """Train, and measure before and after."""
    recipe, learnt, out = lesson.recipe, lesson.learnt, lesson.held_out
    encoder = SentenceEncoder(recipe.base, lesson.place)
    encoder.model.float()  # half precision, in which many are stored, is too coarse to learn in
    before = lesson.before(lambda: measured(encoder, out, learnt, recipe.halved))
    steps = learn(encoder.model, lesson)
    after = measured(encoder, out, learnt, recipe.halved)
    gain = {name: {"before": before[name], "after": after[name]} for name in after}
    return Taught(encoder.model, steps, {"measured": gain})


train_encoder: Final = Course(
    method="encoder", recipe=Recipe, usable=usable, teach=_taught, report=Report, card=__package__
)
