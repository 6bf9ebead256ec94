"""`touche-rad train sft`: fine-tune the debater's model on recorded answers (the paper's Eq. 4).

The loss is of the answer only, given its prompt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from touche_rad.debaters.inspiredebate.conversation import Wording
from touche_rad.debaters.inspiredebate.training.course import Plan, Records, TrainingData, run_plan
from touche_rad.debaters.inspiredebate.training.recipe import Recipe, as_recipe
from touche_rad.debaters.inspiredebate.training.recorded import (
    Reader,
    ReasoningSource,
    learn_traces,
    recorded,
)
from touche_rad.debaters.inspiredebate.training.samples import Sample, held_out, write_records
from touche_rad.debaters.inspiredebate.training.traces import trace_of
from touche_rad.debaters.inspiredebate.training.weights import log_likelihood, tokens
from touche_rad.errors import UserError
from touche_rad.models import Message, Model


def train_sft(
    sources: Sequence[Path],
    out: Path,
    *,
    recipe: Recipe | Mapping[str, Any] | None = None,
    reasoning: ReasoningSource = "given",
    wording: Wording = "close",
    teacher: Model | None = None,
    restart: bool = False,
    merged: bool = False,
    report: Callable[[int, int], None] | None = None,
) -> Mapping[str, Any]:
    """Build training data from recorded answers and train an adapter.

    Args:
        sources: Traces, runs, or files of training data.
        out: The folder of the training; without a recipe, the file of training data.
        recipe: The training settings.
        reasoning: The origin of reasoning that was not recorded.
        wording: The wording of the debater's prompt.
        teacher: The language model that writes missing reasoning.
        restart: Start again instead of resuming.
        merged: Whether to merge base model and adapter.
        report: Called with (done, total).
    """
    settings = None if recipe is None else as_recipe(recipe)

    def build() -> TrainingData:
        return _build(sources, settings, reasoning, wording, teacher, report)

    for path in sources:
        if not path.is_file():
            raise UserError(f"{path}: the file does not exist")
    if settings is None:
        data = build()
        write_records(out, data.training)
        return dict(data.counts)
    about = {"reasoning": reasoning, "wording": wording, "teacher": teacher.name if teacher else ""}
    traces = (trace_of(path) for path in sources)
    plan = Plan(Sft(), settings, [*sources, *(one for one in traces if one)], about, build)
    return run_plan(plan, out, restart=restart, merged=merged, report=report)


def _build(
    sources: Sequence[Path],
    recipe: Recipe | None,
    reasoning: ReasoningSource,
    wording: Wording,
    teacher: Model | None,
    report: Callable[[int, int], None] | None,
) -> TrainingData:
    reader = Reader(reasoning=reasoning, wording=wording)
    learn_traces(reader, sources)
    by_text: dict[tuple[Any, str], Sample] = {}
    for one in (one for path in sources for one in recorded(reader, path)):
        known = by_text.get((one.prompt, one.answer))  # a run and its trace have the same answers
        by_text[one.prompt, one.answer] = known if known and known.topic else one
    samples = reader.add_reasoning(list(by_text.values()), teacher, report).values()
    if not samples:
        reasons = ", ".join(f"{name}: {count}" for name, count in reader.left_out.items())
        raise UserError(
            f"no usable answers ({reasons or 'the files contain none'}); answers without "
            "reasoning need --reasoning cited, or --reasoning teacher with -m"
        )
    share, seed = (recipe.held_out, recipe.seed) if recipe else (0.0, 0)
    topics = {_topic(one) for one in samples}

    def group(one: Sample) -> str:
        """Group by topic; if all samples have the same topic, by debate."""
        return _topic(one) if len(topics) > 1 else one.debate

    training, out = held_out(list(samples), group, share, seed)
    counts = {
        "answers": len(samples),
        "debates": len({one.debate for one in samples}),
        "topics": len(topics),
        "reasoning": dict(Counter(one.reasoning for one in samples)),
        "left_out": dict(reader.left_out),
    }
    return TrainingData([one.record() for one in training], [one.record() for one in out], counts)


def _topic(one: Sample) -> str:
    return one.topic or one.prompt[0].content


class Sft:
    """Supervised fine-tuning."""

    name = "sft"
    plots: Mapping[str, Sequence[str]] = {"loss": ("loss", "eval_loss")}

    def fits(self, record: Mapping[str, Any], tokenizer: Any, longest: int) -> bool:
        """Whether prompt and answer have at most this many tokens."""
        return len(tokens(tokenizer, *_parts(record))) <= longest

    def row(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Separate the answer from its prompt, so that only the answer has a loss."""
        messages = record["messages"]
        return {"prompt": messages[:-1], "completion": messages[-1:]}

    def trainer(self, recipe: Recipe, settings: Mapping[str, Any], **parts: Any) -> Any:
        """Create the trainer of TRL."""
        from trl import SFTConfig, SFTTrainer

        return SFTTrainer(
            model=parts["model"],
            args=SFTConfig(**settings, completion_only_loss=True),
            processing_class=parts["tokenizer"],
            train_dataset=parts["train"],
            eval_dataset=parts["held_out"],
        )

    def measure(self, model: Any, tokenizer: Any, records: Records) -> dict[str, float]:
        """Return the mean loss per token of the answers."""
        training, total, count = model.training, 0.0, 0
        model.eval()
        for record in records:
            prompt, answer = _parts(record)
            total -= log_likelihood(model, tokenizer, prompt, answer)
            count += len(tokens(tokenizer, prompt, answer)) - len(tokens(tokenizer, prompt))
        model.train(training)
        return {"loss": total / max(count, 1)}


def _parts(record: Mapping[str, Any]) -> tuple[list[Message], str]:
    messages = [Message(one["role"], one["content"]) for one in record["messages"]]
    return messages[:-1], messages[-1].content
