"""The trainer `encoder`: fine-tunes a bi-encoder on a collection's claims and arguments."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import Field

from retrieval._tasks import HIDDEN, RetrievalTask, hold_out, topics
from retrieval.dense.encoders import NEEDED, SentenceEncoder, minilm_folder
from retrieval.index.analyser import ALL, analyse, content
from retrieval.index.store import digest
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.text import encodable
from touche_rad.training.card import versions, write_card
from touche_rad.training.folder import TrainingFolder
from touche_rad.training.loop import fit, trainable
from touche_rad.training.recipe import Count, Layers, Positive, Recipe, validate_recipe

FIELDS: Final = ("text", ALL)
"""The fields of arguments that are encoded in turns, because the pipelines search both."""
_NO_CLAIMS: Final = {"attacks": "", "supports": ""}
_EXCLUDED: Final = -1e4
_MAX_DOCUMENTS: Final = 10_000
_MAX_QUERIES: Final = 1_000
_BATCH: Final = 16
_MODULES: Final = "modules.json"
"""sentence-transformers opens a model by this file, which it writes last."""


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


def usable(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that have a text and a claim."""
    return [argument for argument in arguments if argument.text.strip() and claims(argument)]


def claims(argument: Argument) -> list[str]:
    """Return the argument's distinct claims."""
    both = (argument.attacks.strip(), argument.supports.strip())
    return list(dict.fromkeys(filter(None, both)))


def passage(argument: Argument, field: str) -> str:
    """Return a field of the argument without its claims, which are the queries."""
    return content(argument.model_copy(update=_NO_CLAIMS), field)


def queries(batch: Sequence[Argument]) -> list[tuple[str, int]]:
    """Return the claims of a batch, each with the place of its argument."""
    pairs: list[tuple[str, int]] = []
    for place, argument in enumerate(batch):
        pairs += [(claim, place) for claim in claims(argument)]
    return pairs


def batches(
    arguments: Sequence[Argument], size: int, group: int, seed: str
) -> Iterator[list[Argument]]:
    """Yield the arguments in shuffled batches.

    Up to `group` arguments of a topic stay together: they are each other's hardest negatives.
    """
    random_order = random.Random(seed)
    by_topic: dict[str, list[Argument]] = {}
    for argument in arguments:
        by_topic.setdefault(argument.topic, []).append(argument)
    groups: list[list[Argument]] = []
    for members in by_topic.values():
        random_order.shuffle(members)
        groups += [members[at : at + group] for at in range(0, len(members), group)]
    random_order.shuffle(groups)
    order = list(chain.from_iterable(groups))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def false_negatives(batch: Sequence[Argument]) -> list[list[bool]]:
    """Return, for each claim of a batch, which other arguments are about this claim too."""
    about = [set(map(analyse, claims(argument))) for argument in batch]
    texts = [analyse(argument.text) for argument in batch]
    rows: list[list[bool]] = []
    for _, place in queries(batch):
        row = [
            not about[place].isdisjoint([text, *claims_of_text])
            for text, claims_of_text in zip(texts, about, strict=True)
        ]
        row[place] = False  # its own argument
        rows.append(row)
    return rows


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


def loss(model: object, batch: Sequence[Argument], step: int, recipe: EncoderRecipe) -> object:
    """Return the multiple negatives ranking loss of a batch, without false negatives."""
    import torch

    pairs = queries(batch)
    field = FIELDS[step % len(FIELDS)]
    passages = [passage(argument, field) for argument in batch]
    vectors = encode(model, "document", passages, recipe)
    cosines = encode(model, "query", [claim for claim, _ in pairs], recipe) @ vectors.T
    excluded = torch.tensor(false_negatives(batch), device=cosines.device)
    scores = (recipe.scale * cosines).masked_fill(excluded, _EXCLUDED)
    answers = torch.tensor([place for _, place in pairs], device=cosines.device)
    return torch.nn.functional.cross_entropy(scores, answers)


def _measure(
    encoder: SentenceEncoder,
    arguments: Sequence[Argument],
    held_out: Sequence[Argument],
    *,
    half_precision: bool,
) -> dict[str, float]:
    """Return nDCG@10 and R@10 of an exact search over topic and text, claims hidden."""
    import ir_measures
    import torch
    from ir_measures import R, nDCG

    documents = [*held_out, *arguments][:_MAX_DOCUMENTS]
    measures = (nDCG @ 10, R @ 10)
    values = {}
    # Encoding is most of the work: in half precision where training uses it.
    with torch.autocast(encoder.model.device.type, torch.bfloat16, enabled=half_precision):
        vectors = encoder.passages([passage(argument, ALL) for argument in documents])
        for kind in HIDDEN:
            part = topics(held_out, RetrievalTask(kind))[:_MAX_QUERIES]
            cosines = encoder.queries([topic.query for topic in part]) @ vectors.T
            qrels: list[Any] = []
            run: list[Any] = []
            for topic, row in zip(part, cosines, strict=True):
                qrels += [ir_measures.Qrel(topic.qid, docno, 1) for docno in topic.relevant]
                itself = set(topic.itself) - set(topic.relevant)
                best = np.argsort(-row, kind="stable")[: 10 + len(itself)]
                run += [
                    ir_measures.ScoredDoc(topic.qid, documents[place].id, float(row[place]))
                    for place in best
                    if documents[place].id not in itself
                ]
            aggregated = ir_measures.calc_aggregate(measures, qrels, run)
            for measure in measures:  # `aggregated` has no fixed order
                values[f"{kind} {measure}"] = round(float(aggregated[measure]), 4)
    return values


def train_encoder(
    collection: Path,
    out: Path,
    *,
    restart: bool = False,
    report: Callable[[int, int], None] | None = None,
    **settings: object,
) -> Mapping[str, Any]:
    """Train an encoder on a collection, or continue a killed training, and return the report."""
    recipe = validate_recipe(EncoderRecipe, settings)
    arguments = list(files.read_arguments(collection))
    # A training is continued only where all of this is the same.
    sha256 = digest(arguments)
    identity = {"method": "encoder", "recipe": recipe.model_dump(), "collection": sha256}
    folder = TrainingFolder(out)
    with folder.exclusive():
        resumed = folder.start_or_resume(identity, restart=restart)
        if not resumed:
            (out / _MODULES).unlink(missing_ok=True)
        done = folder.finished()
        if done is None:
            done = {"collection": sha256, **_train(recipe, arguments, folder, report)}
            write_card(
                folder.card,
                template=__package__,
                name=folder.root.name,
                data=[{"file": collection.name, "records": len(arguments), "sha256": sha256}],
                report=done,
                versions=versions("sentence-transformers"),
                place=str(folder.root),
            )
            folder.finish(done)
            shutil.rmtree(folder.checkpoints, ignore_errors=True)
        return {**done, "resumed": resumed}


def _train(
    recipe: EncoderRecipe,
    arguments: Sequence[Argument],
    folder: TrainingFolder,
    progress: Callable[[int, int], None] | None,
) -> dict[str, Any]:
    """Train with checkpoints, save the model and return its report."""
    if find_spec("sentence_transformers") is None:
        raise UserError(f"train encoder needs sentence-transformers: {NEEDED}")
    seen, held_out = hold_out(usable(arguments))
    base = minilm_folder(recipe.base) if recipe.base == "minilm" else recipe.base
    encoder = SentenceEncoder(recipe.base, base)
    model = encoder.model
    half = recipe.half_precision
    model.float()  # half precision, in which many models are stored, is too coarse to train
    before = _measure(encoder, seen, held_out, half_precision=half)
    steps = fit(
        model,
        trainable(model, recipe.layers),
        lambda seed: batches(seen, recipe.batch, recipe.group, seed),
        lambda batch, step: loss(model, batch, step, recipe),
        recipe,
        folder,
        progress,
    )
    after = _measure(encoder, seen, held_out, half_precision=half)
    model.save(str(folder.root), create_model_card=False)
    return {
        "base": recipe.base,
        "trained_on": len(seen),
        "tested_on": len(held_out),
        "steps": steps,
        "recipe": recipe.model_dump(),
        "measured": {name: {"before": before[name], "after": after[name]} for name in after},
    }
