"""Datasets for TIRA: a folder with a README that TIRA's client reads, inputs, truths and baselines.

The client takes the folder with `tira-cli dataset-submission`. The README's front matter names the
inputs and truths of the split (`configs`) and the formats, the baseline and the evaluator
(`tira_configs`). Inputs of judges are blind: they contain neither the name of a system nor labels.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import yaml

from touche_rad import files
from touche_rad.debate import Argument, Debate, Response, Turn
from touche_rad.files.labels import digest
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import write_text
from touche_rad.frozen import frozen
from touche_rad.text import filled_template
from touche_rad.tira.submission import SubTask

OFFICIAL_USER: Final = "https://touche25-rad.webis.de/user-sim/api/chat"
"""The user simulator of the organisers of 2025."""
DEBATERS: Final[SubTask] = 1
JUDGES: Final[SubTask] = 2
SIZE: Final = 75
"""The largest file in MB that the client's format checks read by default."""
_SIMULATIONS: Final = "simulations.jsonl"


@frozen
class Upload:
    """How a dataset is uploaded to TIRA."""

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


@frozen
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
        debate.replace(user=debate.user or "base-user") for debate in files.read_claims(claims)
    ][:first]
    simulation = {  # the organisers' client reads all of it, our `simulate` its `maxTurns`
        "topic": {"description": "{{TOPIC_DESCRIPTION}}"},
        "user": {"class": "Touche25RADUser", "url": user, "model": "{{USER}}"},
        "system": {"class": "BasicChatSystem", "url": "http://localhost:8080"},
        "maxTurns": turns,
    }
    configuration = json.dumps({"simulation": simulation}, indent=2) + "\n"
    content = {"claims.tsv": files.claims_text(debates), "configuration.json": configuration}
    return Dataset(
        DEBATERS,
        content,
        content,
        len(debates),
        f"{len(debates)} claims, to be debated in {turns} user turns each",
    )


def of_debates(debates: Path, labels: Path, first: int | None) -> Dataset:
    """Return the dataset of judges: blind debates, and the labels of their responses.

    A blind debate has only what the official converter keeps: texts, and cited arguments.
    """
    inputs = ""
    truths = ""
    responses = 0
    labelled = files.read_labelled(debates, labels)[:first]
    for debate, labels_by_turn, _ in labelled:
        turns = []
        rows = []
        for turn, turn_labels in zip(debate.turns, labels_by_turn, strict=True):
            if turn.response:
                arguments = tuple(
                    Argument(id=cite.id, text=cite.text) for cite in turn.response.arguments
                )
                response = Response(content=turn.response.content, arguments=arguments)
                turns.append(Turn(utterance=turn.utterance, response=response))
                rows.append({**turn_labels, "words": digest(turn.utterance, response.content)})
        blind = Debate(claim=debate.claim, turns=tuple(turns))
        inputs += f"{files.simulation_line(blind)}\n"
        truths += f"{files.labels_line(rows)}\n"
        responses += len(turns)
    return Dataset(
        JUDGES,
        {_SIMULATIONS: inputs},
        {"rad-labels.jsonl": truths},
        len(labelled),
        f"{len(labelled)} debates with {responses} labelled responses",
    )


def write(dataset: Dataset, folder: Path, upload: Upload) -> None:
    """Write a dataset to a folder, whose name is the name of the dataset for TIRA's client."""
    content = {f"inputs/{name}": text for name, text in dataset.inputs.items()}
    content |= {f"truths/{name}": text for name, text in dataset.truths.items()}
    for name, text in content.items():
        write_text(folder / name, text)
    dockerfile = f"# The commands are in README.md.\nFROM {upload.image}\n"
    write_text(folder / "baseline/Dockerfile", dockerfile)

    # The README says what the folder is, and how to hand it in.
    task = ["--task", upload.task]
    submit = ["tira-cli", "dataset-submission", "--path", folder.name, *task]
    submit += ["--split", upload.split]
    code = ["tira-cli", "code-submission", "--path", f"{folder.name}/baseline", *task]
    code += ["--dataset", "DATASET", "--command"]
    text = filled_template(
        __package__,
        "dataset.md.jinja",
        name=folder.name,
        dataset=dataset,
        what="debaters" if dataset.sub_task == DEBATERS else "judges",
        digests={path: sha256_of(folder / path) for path in content},
        upload=upload,
        submit=shlex.join(submit),
        commands=[shlex.join([*code, command]) for command in upload.baselines],
    )
    front = yaml.safe_dump(_front_matter(dataset, upload), sort_keys=False, width=math.inf)
    write_text(folder / "README.md", f"---\n{front}---\n\n{text}")


def _front_matter(dataset: Dataset, upload: Upload) -> Mapping[str, Any]:
    size = {"max_size_mb": SIZE}
    runs = {"minimum_lines": dataset.lines, **size}
    if dataset.sub_task == DEBATERS:
        claims = {"minimum_lines": dataset.lines + 1, **size}
        input_format: object = {"name": "*.tsv", "config": claims}
        output_format: object = {"name": "GenIR-Simulation", "config": runs}
        truth_format = input_format
        output_name = _SIMULATIONS
    else:
        fields = {"required_fields": ["userTurnsEvaluations"]}
        input_format = {"name": "GenIR-Simulation", "config": runs}
        output_format = {"name": "*.jsonl", "config": {**fields, **runs}}
        truth_format = {"name": "*.jsonl", "config": runs}
        output_name = "evaluations.jsonl"
    return {
        "configs": [
            {"config_name": name, "data_files": [{"split": upload.split, "path": [f"{name}/*"]}]}
            for name in ("inputs", "truths")
        ],
        "tira_configs": {
            "resolve_inputs_to": "inputs",
            "resolve_truths_to": "truths",
            "default_upload_name": output_name,
            # Copies: YAML would write an object that is used twice as an anchor.
            "input_format": deepcopy(input_format),
            "truth_format": deepcopy(truth_format),
            "baseline": {
                "link": "baseline",
                "command": upload.baselines[0],
                "format": output_format,
            },
            "evaluator": {
                "image": upload.evaluator,
                "command": "touche-rad dataset evaluate $inputRun $inputDataset -o $outputDir",
            },
        },
    }
