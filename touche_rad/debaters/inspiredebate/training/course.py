"""The steps of a training, from the data to the model card, for every method.

Each step writes its file atomically; the same command resumes after the last finished step.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from touche_rad.debaters.inspiredebate.training.merging import merge, serve_commands
from touche_rad.debaters.inspiredebate.training.recipe import Recipe
from touche_rad.debaters.inspiredebate.training.samples import read_records, write_records
from touche_rad.debaters.inspiredebate.training.weights import (
    check_places,
    need_extra,
    tokenizer_of,
    with_adapter,
)
from touche_rad.plots.curves import curves
from touche_rad.training.card import versions, write_card
from touche_rad.training.folder import Folder, sha256
from touche_rad.training.metrics import Metrics, read, series

Records = Sequence[Mapping[str, Any]]
Report = Callable[[int, int], None]
MEASURED = 200
"""Maximum held-out records that are measured before and after training."""


class Method(Protocol):
    """A training method."""

    name: str
    plots: Mapping[str, Sequence[str]]
    """The metrics of each plot."""

    def fits(self, record: Mapping[str, Any], tokenizer: Any, longest: int) -> bool:
        """Whether a record has at most this many tokens."""
        ...

    def row(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record in the trainer's format."""
        ...

    def trainer(self, recipe: Recipe, settings: Mapping[str, Any], **parts: Any) -> Any:
        """Create the trainer."""
        ...

    def measure(self, model: Any, tokenizer: Any, records: Records) -> dict[str, float]:
        """Measure a model on held-out records."""
        ...


@dataclass(frozen=True)
class TrainingData:
    """The data of a training."""

    training: Records
    held_out: Records
    counts: Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """The input of a training."""

    method: Method
    recipe: Recipe
    sources: Sequence[Path]
    about: Mapping[str, Any]
    """Other settings that the data depends on."""
    build: Callable[[], TrainingData]

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that must be equal to resume a training."""
        adapter = Path(self.recipe.adapter) / "adapter_model.safetensors"
        return {
            "method": self.method.name,
            "recipe": self.recipe.record(),
            **self.about,
            "sources": [[path.name, sha256(path)] for path in self.sources],
            "adapter": sha256(adapter) if self.recipe.adapter and adapter.is_file() else "",
        }


def run_plan(
    plan: Plan, root: Path, *, restart: bool, merged: bool, report: Report | None
) -> Mapping[str, Any]:
    """Train or resume, and return measurements and the commands that serve the model."""
    need_extra()
    check_places(plan.recipe)
    folder = Folder(root)
    with folder.exclusive():
        resumed = folder.start_or_resume(plan.identity, restart=restart)
        done = folder.finished()
        if done is None:
            counts = _data(plan, folder)
            done = _train(plan, folder, counts, report)
        if merged and not (folder.merged / "config.json").is_file():
            merge(plan.recipe, folder.adapter, folder.merged)
            done = {**done, "serve": serve_commands(plan.recipe, folder.adapter, folder.merged)}
            folder.finish(done)
            _card(plan, folder, done)
        return {**done, "resumed": resumed}


def _data(plan: Plan, folder: Folder) -> Mapping[str, Any]:
    """Write the data if that was not done before; the training part last."""
    if not folder.data.is_file():
        data = plan.build()
        write_records(folder.counts, [data.counts])
        write_records(folder.held_out, data.held_out)
        write_records(folder.data, data.training)
    counts = next((record for _, record in read_records(folder.counts)), {})
    return {name: count for name, count in counts.items() if name != "format"}


def _train(
    plan: Plan, folder: Folder, counts: Mapping[str, Any], report: Report | None
) -> dict[str, Any]:
    from touche_rad.debaters.inspiredebate.training import loop
    from touche_rad.errors import UserError

    method, recipe = plan.method, plan.recipe
    tokenizer = tokenizer_of(recipe.base)
    training, too_long = _fitting_records(method, folder.data, tokenizer, recipe.longest)
    out, _ = _fitting_records(method, folder.held_out, tokenizer, recipe.longest)
    if not training:
        raise UserError(f"no training data is left: {too_long} records have too many tokens")
    checkpoint, step = loop.last_checkpoint(folder)
    metrics = Metrics(folder.metrics, from_step=step)
    model = with_adapter(recipe)
    if step == 0 and out:
        before = method.measure(model, tokenizer, out[:MEASURED])
        metrics.note(0, {f"held_out/{name}": value for name, value in before.items()})
    settings = loop.settings(recipe, folder, records=len(training), evaluates=bool(out))
    trainer = method.trainer(
        recipe,
        settings,
        model=model,
        tokenizer=tokenizer,
        train=loop.dataset([method.row(one) for one in training]),
        held_out=loop.dataset([method.row(one) for one in out]) if out else None,
    )
    steps = loop.run(trainer, folder, checkpoint, metrics, report)
    after = method.measure(trainer.model, tokenizer, out[:MEASURED]) if out else {}
    _save(trainer.model, folder.adapter)
    tokenizer.save_pretrained(folder.adapter)
    result = {
        "method": method.name,
        "recipe": recipe.record(),
        "steps": steps,
        "learnt": len(training),
        "held_out": len(out),
        "too_long": too_long,
        "data": dict(counts),
        "measured": _compare(folder, after),
        "loss": _ends(folder, "loss"),
        "adapter": str(folder.adapter),
        "serve": serve_commands(recipe, folder.adapter, None),
    }
    _plots(plan, folder)
    _card(plan, folder, result)
    folder.finish(result)
    return result


def _fitting_records(
    method: Method, path: Path, tokenizer: Any, longest: int
) -> tuple[list[Mapping[str, Any]], int]:
    records = [record for _, record in read_records(path)]
    kept = [record for record in records if method.fits(record, tokenizer, longest)]
    return kept, len(records) - len(kept)


def _save(model: Any, place: Path) -> None:
    """Save the trained adapter atomically, without the reference."""
    fresh = place.with_name(f".{place.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    model.save_pretrained(fresh, selected_adapters=["default"])
    shutil.rmtree(place, ignore_errors=True)
    fresh.rename(place)


def _compare(folder: Folder, after: Mapping[str, float]) -> dict[str, dict[str, float | None]]:
    """Return each measurement before and after training."""
    first = {**next((row for row in read(folder.metrics) if row["step"] == 0), {})}
    return {
        name: {"before": _rounded(first.get(f"held_out/{name}")), "after": _rounded(value)}
        for name, value in after.items()
    }


def _rounded(value: Any) -> float | None:
    return None if value is None else round(float(value), 4)


def _ends(folder: Folder, name: str) -> dict[str, float | None]:
    points = series(read(folder.metrics), name)
    return {"first": points[0][1], "last": points[-1][1]} if points else {}


def _plots(plan: Plan, folder: Folder) -> None:
    rows = read(folder.metrics)
    for name, metrics in plan.method.plots.items():
        drawn = curves(name, {metric: series(rows, metric) for metric in metrics})
        (folder.root / f"{name}.svg").write_text(str(drawn), "utf-8")


def _card(plan: Plan, folder: Folder, result: Mapping[str, Any]) -> None:
    data = [
        {"file": path.name, "sha256": sha256(path), "records": sum(1 for _ in read_records(path))}
        for path in (folder.data, folder.held_out)
    ]
    sources = [
        {"file": path.name, "sha256": sha256(path), "records": "source"} for path in plan.sources
    ]
    left_out = {**result["data"].get("left_out", {}), "too long": result["too_long"]}
    write_card(
        folder.card,
        template=__package__,
        name=folder.root.name,
        method=plan.method.name,
        recipe=plan.recipe.record(),
        versions=versions(),
        data=[*data, *sources],
        held_out=result["measured"],
        left_out={reason: count for reason, count in left_out.items() if count},
        plots=[f"{name}.svg" for name in plan.method.plots],
        serve=result["serve"],
    )
