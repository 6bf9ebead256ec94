"""Runs as evaluation logs of inspect_ai, so that `inspect view` shows them.

A log is one JSON file per run, in version 2 of inspect_ai's format. A sample is one response: its
input is the conversation up to the user's message, its output the response, and its scores are the
verdicts on the four maxims. The cited arguments are in the sample's metadata. The viewer sorts
samples by id as text, so the numbers of debates are padded with zeros.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from touche_rad import __version__, files
from touche_rad.debate import Debate, Maxim, Verdicts
from touche_rad.errors import InputError
from touche_rad.files.formats import Labels
from touche_rad.files.outputs import read_status
from touche_rad.text import count_words

VERSION: Final = 2
YES: Final = 0.5
_PLUGINS: Final = ("judge", "debater", "debaters")


def write_log(run: Path, folder: Path, *, labels: Path | None, bad: files.BadLines) -> Path:
    """Write the log of a run to a folder and return its path; labels become the targets."""
    read = list(files.read_numbered(run, bad))
    truth = list(files.read_labels(labels)) if labels is not None else []
    last = read[-1][0] if read else 0
    if labels is not None and len(truth) < last:
        raise InputError(labels, f"expected {last} lines as in {run}, got {len(truth)}")
    samples: list[dict[str, Any]] = []
    for number, debate, one in read:
        name = f"{number:0{len(str(last))}}"
        verdicts = one.turns if one is not None else ()
        samples += _samples(name, debate, verdicts, truth[number - 1] if truth else ())
    log = _log(run, samples)
    name = re.sub(r"[^\w.-]+", "-", run.stem)
    created = log["eval"]["created"].replace(":", "-")
    path = folder / f"{created}_{name}_{log['eval']['task_id']}.json"
    with files.atomic_write(path) as stream:
        stream.write(json.dumps(log, ensure_ascii=False, indent=1) + "\n")
    return path


def _log(run: Path, samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    status = read_status(run)
    identity = status.get("identity") or {}
    changed = datetime.fromtimestamp(run.stat().st_mtime, UTC).isoformat(timespec="seconds")
    started, finished = (str(status.get(key) or changed) for key in ("started", "finished"))
    digest = hashlib.sha256(run.read_bytes()).hexdigest()[:22]
    plugin = next((str(identity[key]) for key in _PLUGINS if key in identity), "unknown")
    ids = [sample["id"] for sample in samples]
    return {
        "version": VERSION,
        "status": "success",
        "eval": {
            **dict.fromkeys(("eval_id", "run_id", "task_id"), digest),
            "created": finished,
            "task": run.stem,
            "task_version": 0,
            "model": f"touche-rad/{plugin}",
            "dataset": {"name": run.name, "samples": len(ids), "sample_ids": ids},
            "config": {"epochs": 1},
            "packages": {"touche-rad": __version__},
            "metadata": {"identity": identity},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(ids),
            "completed_samples": len(ids),
            "scores": [one for maxim in Maxim if (one := _result(maxim, samples)) is not None],
        },
        "stats": {
            "started_at": started,
            "completed_at": finished,
            "model_usage": _usage(status),
        },
        "samples": samples,
    }


def _result(maxim: Maxim, samples: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the mean score and the share of yes; with labels also the agreement with them."""
    values = [
        (sample["scores"][maxim]["value"], sample["metadata"]["labels"].get(maxim))
        for sample in samples
        if maxim in sample["scores"]
    ]
    if not values:
        return None
    metrics = {
        "mean": sum(value for value, _ in values) / len(values),
        "share of yes": sum(value >= YES for value, _ in values) / len(values),
    }
    labelled = [(value >= YES) == (label == 1) for value, label in values if label is not None]
    if labelled:
        metrics["accuracy"] = sum(labelled) / len(labelled)
    return {
        "name": maxim,
        "scorer": maxim,
        "scored_samples": len(values),
        "unscored_samples": len(samples) - len(values),
        "metrics": {key: {"name": key, "value": value} for key, value in metrics.items()},
    }


def _samples(
    number: str, debate: Debate, verdicts: Sequence[Verdicts], labels: Sequence[Labels]
) -> Iterator[dict[str, Any]]:
    """Yield the sample of each response; the verdicts and labels are in the responses' order."""
    messages: list[dict[str, str]] = []
    nothing: Any = {}
    more = zip_longest(verdicts, labels, fillvalue=nothing)
    for turn, one in enumerate(debate.turns, 1):
        messages.append({"role": "user", "content": one.utterance})
        if one.response is None:
            continue
        response = one.response
        answer = {"role": "assistant", "content": response.content}
        of_turn, truth = next(more, ({}, {}))
        named = {maxim: truth[maxim] for maxim in Maxim if truth.get(maxim) is not None}
        yield {
            "id": f"{number}.{turn}",
            "epoch": 1,
            "input": [*messages],
            "target": ", ".join(f"{name}: {_word(value)}" for name, value in named.items()),
            "messages": [*messages, answer],
            "output": {
                "model": "touche-rad",
                "choices": [{"message": answer, "stop_reason": "stop"}],
                "completion": response.content,
            },
            "scores": {
                maxim: {
                    "value": verdict.score,
                    "answer": response.content,  # the viewer lists it beside the input
                    "explanation": f"{_word(verdict.yes)}: {verdict.rationale}".removesuffix(": "),
                }
                for maxim, verdict in of_turn.items()
                if verdict.score is not None
            },
            "metadata": {
                "debate": debate.id,
                "claim": debate.claim,
                "turn": turn,
                "words": count_words(response.content),
                "labels": named,
                "arguments": [{"id": one.id, "text": one.text} for one in response.arguments],
            },
        }
        messages.append(answer)


def _usage(status: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return the tokens of the run's model by its name, as its status counts them."""
    total = (status.get("usage") or {}).get("total")
    if not total:
        return {}
    model = (status.get("identity") or {}).get("model") or {}
    read, written = int(total["prompt_tokens"]), int(total["completion_tokens"])
    counts = {
        "input_tokens": read,
        "output_tokens": written,
        "total_tokens": read + written,
        "input_tokens_cache_read": int(total["cached_tokens"]),
    }
    return {str(model.get("name", "unknown")): counts}


def _word(yes: object) -> str:
    return "yes" if yes else "no"
