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
from pathlib import Path
from typing import Any, Final

from touche_rad import __version__, files
from touche_rad.debate import Debate, Maxim, Response, Verdict, Verdicts
from touche_rad.errors import InputError
from touche_rad.files.formats import Labels
from touche_rad.files.outputs import status_beside
from touche_rad.files.records import read_json
from touche_rad.text import count_words

VERSION: Final = 2
YES: Final = 0.5
_PLUGINS: Final = ("judge", "debater", "debaters")


def write_log(
    run: Path, folder: Path, *, labels: Path | None = None, bad: files.BadLines | None = None
) -> Path:
    """Write the log of a run to a folder and return its path; labels become the targets."""
    read = list(files.read_numbered(run, bad))
    truth = list(files.read_labels(labels)) if labels is not None else []
    last = read[-1][0] if read else 0
    if labels is not None and len(truth) < last:
        raise InputError(labels, f"expected {last} lines as in {run}, got {len(truth)}")
    samples = [
        sample
        for number, debate, one in read
        for sample in _samples(
            f"{number:0{len(str(last))}}", debate, one, truth[number - 1] if truth else ()
        )
    ]
    log = _log(run, samples)
    name = re.sub(r"[^\w.-]+", "-", run.stem)
    created = log["eval"]["created"].replace(":", "-")
    path = folder / f"{created}_{name}_{log['eval']['task_id']}.json"
    with files.atomic_write(path) as stream:
        json.dump(log, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
    return path


def _log(run: Path, samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    status = _status(run)
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
            "eval_id": digest,
            "run_id": digest,
            "task_id": digest,
            "created": finished,
            "task": run.stem,
            "task_version": 0,
            "model": f"touche-rad/{plugin}",
            "dataset": {
                "name": run.name,
                "samples": len(ids),
                "sample_ids": ids,
                "shuffled": False,
            },
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
        (sample["scores"][maxim.value]["value"], sample["metadata"]["labels"].get(maxim.value))
        for sample in samples
        if maxim.value in sample["scores"]
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
        "name": maxim.value,
        "scorer": maxim.value,
        "scored_samples": len(values),
        "unscored_samples": len(samples) - len(values),
        "metrics": {key: {"name": key, "value": value} for key, value in metrics.items()},
    }


def _samples(
    number: str, debate: Debate, one: files.Evaluation | None, labels: Sequence[Labels]
) -> Iterator[dict[str, Any]]:
    """Yield the sample of each response; the verdicts and labels are in the responses' order."""
    answered = [at for at, turn in enumerate(debate.turns) if turn.response is not None]
    verdicts = one.turns if one is not None else ()
    for place, at in enumerate(answered):
        response = debate.turns[at].response
        if response is not None:
            yield _sample(
                number,
                debate,
                at,
                response,
                verdicts[place] if place < len(verdicts) else {},
                labels[place] if place < len(labels) else {},
            )


def _sample(
    number: str, debate: Debate, at: int, response: Response, verdicts: Verdicts, labels: Labels
) -> dict[str, Any]:
    messages = []
    for turn in debate.turns[: at + 1]:
        messages.append({"role": "user", "content": turn.utterance})
        if turn.response is not None:
            messages.append({"role": "assistant", "content": turn.response.content})
    answer = messages.pop()
    named = {maxim.value: labels[maxim] for maxim in Maxim if labels.get(maxim) is not None}
    return {
        "id": f"{number}.{at + 1}",
        "epoch": 1,
        "input": messages,
        "target": ", ".join(f"{name}: {_word(value)}" for name, value in named.items()),
        "messages": [*messages, answer],
        "output": {
            "model": "touche-rad",
            "choices": [{"message": answer, "stop_reason": "stop"}],
            "completion": response.content,
        },
        "scores": {
            maxim.value: _score(verdict, response)
            for maxim, verdict in verdicts.items()
            if verdict.score is not None
        },
        "metadata": {
            "debate": debate.id,
            "claim": debate.claim,
            "turn": at + 1,
            "words": count_words(response.content),
            "labels": named,
            "arguments": [{"id": one.id, "text": one.text} for one in response.arguments],
        },
    }


def _score(verdict: Verdict, response: Response) -> dict[str, Any]:
    """Return a verdict; the viewer lists `answer` beside the input, so it is the response."""
    reason = f": {verdict.rationale}" if verdict.rationale else ""
    return {
        "value": verdict.score,
        "answer": response.content,
        "explanation": f"{_word(verdict.yes)}{reason}",
    }


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


def _status(run: Path) -> Mapping[str, Any]:
    """Return the status beside a run; without one, nothing is known but the file."""
    try:
        status = read_json(status_beside(run))
    except (OSError, ValueError):
        return {}
    return status if isinstance(status, dict) else {}
