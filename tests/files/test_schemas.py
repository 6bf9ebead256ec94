"""The JSON schemas accept the demo's files and everything that we write, and refuse broken records."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.cases import with_cases
from tests.demo import ARGUMENTS, CLAIMS, DEBATES, LABELS
from tests.records import change_parts, write_lines, write_records
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.contest import Outcome
from touche_rad.demo import demo_file
from touche_rad.files.schemas import names, schema_of

DEMO = sorted(path.name for path in CLAIMS.parent.iterdir() if path.suffix in (".jsonl", ".tsv"))
Row = dict[str, Any]


def records(path: Path) -> list[Any]:
    """The records of a file; those of a TSV by its header."""
    lines = path.read_text("utf-8").splitlines()
    if path.suffix == ".tsv":
        head, *rows = (line.split("\t") for line in lines)
        return [dict(zip(head, row, strict=True)) for row in rows]
    return [json.loads(line) for line in lines]


def faults(path: Path) -> list[str]:
    validator = Draft202012Validator(schema_of(files.detect_kind(path)))
    return [error.message for row in records(path) for error in validator.iter_errors(row)]


@pytest.mark.parametrize("name", DEMO)
def test_the_demo_files_have_the_form_of_their_schema(name: str) -> None:
    path = demo_file(name)
    assert records(path)
    assert faults(path) == []


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, demo_index_path: Path) -> Path:
    """One file of each kind that we write."""
    place = tmp_path_factory.mktemp("written")
    index, quick = ("-i", demo_index_path, "-q"), ("-d", "verbatim")
    contests = place / "contests.jsonl"
    for words in (
        ("simulate", CLAIMS, "--turns", "1", "-o", place / "simulations.jsonl", *index),
        ("judge", place / "simulations.jsonl", "-o", place / "evaluations.jsonl", "-q"),
        ("respond", DEBATES, *quick, "-o", place / "responses.jsonl", *index),
        ("respond", DEBATES, *quick, "--as", "simulations", "-o", place / "other.jsonl", *index),
        ("simulate", CLAIMS, *quick, *"--both-sides --rounds 1 -o".split(), contests, *index),
    ):
        touche_rad(*words)
    debates = list(files.read_debates(DEBATES))
    messages = [{"role": "user", "content": "Zoos teach."}]
    for name, row in (
        ("annotated", {"claim": "Zoos help.", "simulated_debate": messages}),
        ("chat", {"messages": messages}),
    ):
        write_records(place / f"{name}.jsonl", row)
    (place / "claims.tsv").write_text(files.claims_text(debates), "utf-8")
    arguments = files.read_arguments(ARGUMENTS)
    text = "".join(f"{files.argument_line(argument)}\n" for argument in arguments)
    (place / "arguments.jsonl").write_text(text, "utf-8")
    labels = map(files.labels_line, files.read_labels(LABELS))
    write_lines(place / "labels.jsonl", labels)
    judgement = files.Judgement(
        id="1", judge="x", outcome=Outcome(winner="tie"), swapped=Outcome(winner=None)
    )
    (place / "outcomes.jsonl").write_text(files.judgement_line(judgement) + "\n")
    return place


def test_everything_that_we_write_has_the_form_of_its_schema(written: Path) -> None:
    kinds = set()
    for path in sorted(written.iterdir()):
        if not path.name.endswith(".status.json"):
            kinds.add(files.detect_kind(path))
            assert faults(path) == [], path.name
    assert kinds == set(names().values()) - {files.Kind.ANNOTATIONS, "criteria"}


@with_cases(("name", "changes"), "files/broken_records.json")
def test_a_broken_record_is_refused(written: Path, name: str, changes: dict[str, Any]) -> None:
    path = written / f"{name}.jsonl"
    row = records(path)[0]
    validator = Draft202012Validator(schema_of(files.detect_kind(path)))
    broken = copy.deepcopy(row)
    change_parts(broken, changes)
    assert validator.is_valid(row)
    assert not validator.is_valid(broken)


@pytest.mark.parametrize("row", [{"USER": "base-user"}, {"TOPIC_DESCRIPTION": "", "USER": "x"}])
def test_a_broken_claim_is_refused(row: Row) -> None:
    assert not Draft202012Validator(schema_of(files.Kind.CLAIMS)).is_valid(row)


def test_the_command_prints_the_schemas() -> None:
    listed = touche_rad("schema").out
    assert re.findall(r"^(\S+) +\w", listed, re.MULTILINE) == list(names())
    for name, kind in names().items():
        schema = touche_rad("schema", name).json
        Draft202012Validator.check_schema(schema)
        assert schema == schema_of(kind)
    wrong = touche_rad("schema simulation", code=2)
    assert "'simulations'" in wrong.error
