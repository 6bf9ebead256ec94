"""The trainer `encoder`: fine-tunes a bi-encoder on a collection's claims and arguments."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from pydantic import Field

from retrieval._tasks import HIDDEN, Task, TrainingReport, topics
from retrieval._training import CollectionTrainer, Job, Trained
from retrieval.dense.encoders import SentenceEncoder, encodable
from retrieval.index.analyser import ALL, analyse, content
from touche_rad.debate import Argument
from touche_rad.training.loop import fit, trainable
from touche_rad.training.recipe import Count, Layers, Positive, Recipe

FIELDS: Final = ("text", ALL)
"""The fields of arguments that are encoded in turns, because the pipelines search both."""
_NO_CLAIMS: Final = {"attacks": "", "supports": ""}
_EXCLUDED: Final = -1e4
_MAX_DOCUMENTS: Final = 10_000
_MAX_QUERIES: Final = 1_000
_BATCH: Final = 16


class EncoderRecipe(Recipe):
    """The settings of the trainer `encoder`."""

    epochs: Count = 4
    rate: Positive = 2e-4
    batch: int = Field(64, ge=2)
    """Arguments per step; each is a negative for the claims of the others."""
    group: Count = 8
    """Maximum number of arguments of one topic that stay together in a batch."""
    layers: Layers = 2
    scale: Positive = 20.0
    """Factor of the cosines before the softmax."""


class EncoderReport(TrainingReport):
    """The report of a tuned encoder."""

    measured: dict[str, dict[str, float]]


def usable(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that have a text and a claim."""
    return [one for one in arguments if one.text.strip() and claims(one)]


def claims(argument: Argument) -> list[str]:
    """Return the argument's distinct claims."""
    both = (argument.attacks.strip(), argument.supports.strip())
    return list(dict.fromkeys(claim for claim in both if claim))


def passage(argument: Argument, field: str) -> str:
    """Return a field of the argument without its claims, which are the queries."""
    return content(argument.model_copy(update=_NO_CLAIMS), field)


def queries(batch: Sequence[Argument]) -> list[tuple[str, int]]:
    """Return the claims of a batch, each with the place of its argument."""
    return [(claim, place) for place, one in enumerate(batch) for claim in claims(one)]


def batches(
    arguments: Sequence[Argument], size: int, group: int, seed: str
) -> Iterator[list[Argument]]:
    """Yield the arguments in shuffled batches.

    Up to `group` arguments of a topic stay together: they are each other's hardest negatives.
    """
    random_order = random.Random(seed)
    by_topic: dict[str, list[Argument]] = {}
    for one in arguments:
        by_topic.setdefault(one.topic, []).append(one)
    groups: list[list[Argument]] = []
    for members in by_topic.values():
        random_order.shuffle(members)
        groups += [members[at : at + group] for at in range(0, len(members), group)]
    random_order.shuffle(groups)
    order = [one for members in groups for one in members]
    yield from (order[at : at + size] for at in range(0, len(order), size))


def false_negatives(batch: Sequence[Argument]) -> list[list[bool]]:
    """Return, for each claim of a batch, which other arguments are about this claim too."""
    about = [set(map(analyse, claims(one))) for one in batch]
    texts = [analyse(one.text) for one in batch]
    return [
        [
            at != place and (bool(about[place] & about[at]) or texts[at] in about[place])
            for at in range(len(batch))
        ]
        for _, place in queries(batch)
    ]


def encode(model: Any, kind: str, texts: Sequence[str], recipe: EncoderRecipe) -> Any:
    """Return unit vectors with gradients, of texts of the kind `query` or `document`.

    Texts of similar length share a batch, which needs less padding.
    """
    import torch

    prompt = model.prompts[kind]

    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    vectors = []
    for start in range(0, len(order), _BATCH):
        tokens = model.tokenizer(
            [prompt + encodable(texts[place]) for place in order[start : start + _BATCH]],
            padding=True,
            truncation=True,
            max_length=recipe.longest,
            return_tensors="pt",
        ).to(model.device)
        with torch.autocast(model.device.type, torch.bfloat16, enabled=recipe.half_precision):
            vectors.append(model(dict(tokens))["sentence_embedding"].float())
    places = torch.tensor(order, device=model.device).argsort()
    return torch.nn.functional.normalize(torch.cat(vectors)[places], dim=1)


def loss(model: Any, batch: Sequence[Argument], step: int, recipe: EncoderRecipe) -> Any:
    """Return the multiple negatives ranking loss of a batch, without false negatives."""
    import torch

    pairs = queries(batch)
    field = FIELDS[step % len(FIELDS)]
    vectors = encode(model, "document", [passage(one, field) for one in batch], recipe)
    cosines = encode(model, "query", [claim for claim, _ in pairs], recipe) @ vectors.T
    excluded = torch.tensor(false_negatives(batch), device=cosines.device)
    scores = (recipe.scale * cosines).masked_fill(excluded, _EXCLUDED)
    own = torch.tensor([place for _, place in pairs], device=cosines.device)
    return torch.nn.functional.cross_entropy(scores, own)


def _measure(encoder: SentenceEncoder, job: Job[EncoderRecipe]) -> dict[str, float]:
    """Return nDCG@10 and R@10 of an exact search over topic and text, claims hidden."""
    import ir_measures
    import torch
    from ir_measures import R, nDCG

    documents = [*job.held_out, *job.arguments][:_MAX_DOCUMENTS]
    measures, values = (nDCG @ 10, R @ 10), {}
    # Encoding is most of the work: in half precision where training uses it.
    enabled = job.recipe.half_precision
    with torch.autocast(encoder.model.device.type, torch.bfloat16, enabled=enabled):
        vectors = encoder.passages([passage(one, ALL) for one in documents])
        for kind in HIDDEN:
            part = topics(job.held_out, Task(kind))[:_MAX_QUERIES]
            qrels = [ir_measures.Qrel(one.qid, docno, 1) for one in part for docno in one.relevant]
            run = []
            cosines = encoder.queries([one.query for one in part]) @ vectors.T
            for one, row in zip(part, cosines, strict=True):
                itself = set(one.itself) - set(one.relevant)
                best = np.argsort(-row, kind="stable")[: 10 + len(itself)]
                run += [
                    ir_measures.ScoredDoc(one.qid, documents[place].id, float(row[place]))
                    for place in best
                    if documents[place].id not in itself
                ]
            aggregated = ir_measures.calc_aggregate(measures, qrels, run)
            for measure in measures:  # `aggregated` has no fixed order
                values[f"{kind} {measure}"] = round(float(aggregated[measure]), 4)
    return values


def _train(job: Job[EncoderRecipe]) -> Trained:
    encoder = SentenceEncoder(job.recipe.base, job.base)
    encoder.model.float()  # half precision, in which many models are stored, is too coarse to train
    before, model, recipe = _measure(encoder, job), encoder.model, job.recipe
    steps = fit(
        model,
        trainable(model, recipe.layers),
        lambda seed: batches(job.arguments, recipe.batch, recipe.group, seed),
        lambda batch, step: loss(model, batch, step, recipe),
        recipe,
        job.folder,
        job.progress,
    )
    after = _measure(encoder, job)
    gain = {name: {"before": before[name], "after": after[name]} for name in after}
    return Trained(model, steps, {"measured": gain})


train_encoder: Final = CollectionTrainer(
    method="encoder",
    recipe=EncoderRecipe,
    usable=usable,
    train=_train,
    report=EncoderReport,
    card=__package__,
)
