"""Datasets for TIRA: a folder with a README that TIRA's client reads, inputs, truths and baselines.

The client takes the folder with `tira-cli dataset-submission`. The README's front matter names the
inputs and truths of the split (`configs`) and the formats, the baseline and the evaluator
(`tira_configs`). Inputs of judges are blind: they contain neither the name of a system nor labels.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, Final

import yaml
from jinja2 import Template

from touche_rad import files
from touche_rad.debate import Argument, Debate, Response, Turn
from touche_rad.files.labels import digests
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import write_text
from touche_rad.tira.submission import SubTask

OFFICIAL_USER: Final = "https://touche25-rad.webis.de/user-sim/api/chat"
"""The user simulator of the organisers of 2025."""
DEBATERS: Final[SubTask] = 1
JUDGES: Final[SubTask] = 2
SIZE: Final = 75
"""The largest file in MB that the client's format checks read by default."""
_CLAIMS, _CONFIGURATION = "claims.tsv", "configuration.json"
_SIMULATIONS, _LABELS = "simulations.jsonl", "rad-labels.jsonl"
_EVALUATE: Final = "touche-rad dataset evaluate $inputRun $inputDataset -o $outputDir"


@dataclass(frozen=True)
class Upload:
    """How a dataset is handed in."""

    task: str
    """The task's id at TIRA."""
    split: str
    """With `train` in its name, TIRA treats it as training data."""
    baselines: Sequence[str]
    """Commands; TIRA's client runs the first."""
    image: str
    """The container image of the baselines."""
    evaluator: str
    """The container image of the evaluator."""


@dataclass(frozen=True)
class Dataset:
    """The content of a dataset."""

    sub_task: SubTask
    inputs: Mapping[str, str]
    truths: Mapping[str, str]
    lines: int
    """The number of lines of a complete run."""
    summary: str
    """What the dataset contains, in words."""


def of_claims(claims: Path, first: int | None, *, turns: int, user: str) -> Dataset:
    """Return the dataset of debaters: claims to debate, and the configuration of the client."""
    debates = [
        one.model_copy(update={"user": one.user or "base-user"})
        for one in files.read_claims(claims)
    ][:first]
    simulation = {  # the organisers' client reads all of it, our `simulate` its `maxTurns`
        "topic": {"description": "{{TOPIC_DESCRIPTION}}"},
        "user": {"class": "Touche25RADUser", "url": user, "model": "{{USER}}"},
        "system": {"class": "BasicChatSystem", "url": "http://localhost:8080"},
        "maxTurns": turns,
    }
    configuration = json.dumps({"simulation": simulation}, indent=2) + "\n"
    content = {_CLAIMS: files.claims_text(debates), _CONFIGURATION: configuration}
    return Dataset(
        DEBATERS,
        content,
        content,
        len(debates),
        f"{len(debates)} claims, to be debated in {turns} user turns each",
    )


def of_debates(debates: Path, labels: Path, first: int | None) -> Dataset:
    """Return the dataset of judges: blind debates, and the labels of their responses."""
    pairs = files.read_labelled(debates, labels)[:first]
    blind = [_blind(debate) for debate, _ in pairs]
    all_labels = [
        [label for turn, label in zip(debate.turns, labels, strict=True) if turn.response]
        for debate, labels in pairs
    ]
    truths = [
        [{**turn, "words": words} for turn, words in zip(turns, digests(debate), strict=True)]
        for debate, turns in zip(blind, all_labels, strict=True)
    ]
    return Dataset(
        JUDGES,
        {_SIMULATIONS: "".join(f"{files.simulation_line(one)}\n" for one in blind)},
        {_LABELS: "".join(f"{files.labels_line(one)}\n" for one in truths)},
        len(blind),
        f"{len(blind)} debates with {sum(map(len, all_labels))} labelled responses",
    )


def _blind(debate: Debate) -> Debate:
    """Return a debate with only what the official converter keeps: texts, and cited arguments."""
    turns = []
    for turn in debate.turns:
        if turn.response is not None:
            cited = tuple(Argument(id=one.id, text=one.text) for one in turn.response.arguments)
            response = Response(content=turn.response.content, arguments=cited)
            turns.append(Turn(utterance=turn.utterance, response=response))
    return Debate(claim=debate.claim, turns=tuple(turns))


def write(dataset: Dataset, folder: Path, upload: Upload) -> None:
    """Write a dataset to a folder, whose name is the name of the dataset for TIRA's client."""
    front = _front_matter(dataset, upload)
    content = {
        **{f"inputs/{name}": text for name, text in dataset.inputs.items()},
        **{f"truths/{name}": text for name, text in dataset.truths.items()},
        "baseline/Dockerfile": f"# The commands are in README.md.\nFROM {upload.image}\n",
    }
    for name, text in content.items():
        write_text(folder / name, text)
    header = f"---\n{yaml.safe_dump(front, sort_keys=False, width=1000)}---\n\n"
    write_text(folder / "README.md", header + _text(dataset, folder, upload))


def _front_matter(dataset: Dataset, upload: Upload) -> Mapping[str, Any]:
    size = {"max_size_mb": SIZE}
    runs = {"minimum_lines": dataset.lines, **size}
    if dataset.sub_task == DEBATERS:
        claims = {"minimum_lines": dataset.lines + 1, **size}
        input_format: object = {"name": "*.tsv", "config": claims}
        output_format: object = {"name": "GenIR-Simulation", "config": runs}
        truth_format: object = input_format
    else:
        fields = {"required_fields": ["userTurnsEvaluations"]}
        input_format = {"name": "GenIR-Simulation", "config": runs}
        output_format = {"name": "*.jsonl", "config": {**fields, **runs}}
        truth_format = {"name": "*.jsonl", "config": runs}
    return {
        "configs": [
            {"config_name": name, "data_files": [{"split": upload.split, "path": [f"{name}/*"]}]}
            for name in ("inputs", "truths")
        ],
        "tira_configs": {
            "resolve_inputs_to": "inputs",
            "resolve_truths_to": "truths",
            "default_upload_name": _SIMULATIONS if dataset.sub_task == 1 else "evaluations.jsonl",
            # Copies: YAML would write an object that is used twice as an anchor.
            "input_format": deepcopy(input_format),
            "truth_format": deepcopy(truth_format),
            "baseline": {
                "link": "baseline",
                "command": upload.baselines[0],
                "format": output_format,
            },
            "evaluator": {"image": upload.evaluator, "command": _EVALUATE},
        },
    }


def _text(dataset: Dataset, folder: Path, upload: Upload) -> str:
    """Return the text of the README: what the folder is, and how to hand it in."""
    task = ["--task", upload.task]
    submit = ["tira-cli", "dataset-submission", "--path", folder.name, *task]
    code = ["tira-cli", "code-submission", "--path", f"{folder.name}/baseline", *task]
    code += ["--dataset", "DATASET", "--command"]
    paths = [f"inputs/{name}" for name in dataset.inputs]
    paths += [f"truths/{name}" for name in dataset.truths]
    template = resources(__package__).joinpath("dataset.md.jinja").read_text("utf-8")
    text: str = Template(template, trim_blocks=True, keep_trailing_newline=True).render(
        name=folder.name,
        dataset=dataset,
        what="debaters" if dataset.sub_task == DEBATERS else "judges",
        digests={path: sha256_of(folder / path) for path in paths},
        upload=upload,
        submit=shlex.join([*submit, "--split", upload.split]),
        commands=[shlex.join([*code, command]) for command in upload.baselines],
    )
    return text
