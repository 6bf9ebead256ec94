"""Files of criteria: what is read of them, and what is refused with its line and field."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests import ROOT
from tests.cases import with_cases
from tests.records import END_OF_RUN, write_records
from tests.refusals import expect_error
from touche_rad.criteria import load_shipped, shipped_names
from touche_rad.errors import InputError, OptionError
from touche_rad.files.criteria import criteria_of, read_criteria
from touche_rad.files.schemas import schema_of

THREE = """
name = "three"

[quality]
question = "How good is it?"
answers = [[1, "poor"], [3, "fair"], [5, "good"]]
expect = { empty = 1 }

[kind_of]
question = "Which kind is it?"
answers = ["causal", ["example", "an instance"], "none"]

[polite]
question = "Is it polite?"
answers = [["yes", "it is"], "no"]
[[polite.examples]]
text = "You fool."
answer = "no"
"""


def written(text: str) -> str:
    Path("mine.toml").write_text(text, "utf-8")
    return "mine.toml"


def test_a_file_has_scales_categories_and_questions_of_yes_or_no() -> None:
    criteria = read_criteria(written(THREE))
    quality, kind, polite = criteria
    assert [criterion.answers.kind for criterion in criteria] == ["scale", "categories", "yes-no"]
    assert [quality.answers.score(value) for value in (1, 3, 5)] == [0, 0.5, 1]
    assert [quality.answers.nearest(score) for score in (0, 0.2, 0.25, 0.9)] == [1, 1, 3, 5]
    assert quality.answers.fallback == 3
    assert quality.answers.parse("5") == 5
    assert quality.answers.parse("2") is None
    assert kind.answers.score("causal") is kind.answers.nearest(1) is None
    assert kind.answers.fallback == "causal"
    assert [polite.answers.score(name) for name in polite.answers.names] == [0, 1]
    assert polite.examples[0].answer == "no"


@with_cases(("line", "changes_verdicts", "changes_labels"), "files/changes_of_criteria.json")
def test_a_change_counts_for_whom_it_is_shown_to(
    line: str, changes_verdicts: bool, changes_labels: bool
) -> None:
    original = read_criteria(written(THREE))
    key = "[polite]\n"
    changed = read_criteria(written(THREE.replace(key, f"{key}{line}\n")))
    assert (changed.tag != original.tag) == changes_verdicts
    assert (changed.label_tags[0] != original.label_tags[0]) == changes_labels
    run = write_records("run.jsonl", {"criteria": original.tag})
    labels = [write_records(Path(tag), [{"criteria": tag}]) for tag in original.label_tags]
    for path, changes in ((run, changes_verdicts), (labels[0], changes_labels)):
        if changes:
            with expect_error("judges see" if path == run else "people see", InputError):
                criteria_of(changed, path)
        else:
            assert criteria_of(changed, path) == changed
    # Labels of version 0.1.0.
    assert criteria_of(original, labels[1]) == original


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_criteria_have_a_source_and_the_form_of_the_schema(name: str) -> None:
    criteria = read_criteria(name)
    assert criteria.name == name
    assert criteria.source
    assert criteria.official == (name == "grice")
    path = ROOT / "touche_rad" / "criteria" / f"{name}.toml"
    content = tomllib.loads(path.read_text("utf-8"))
    assert list(Draft202012Validator(schema_of("criteria")).iter_errors(content)) == []


ASKED = 'name = "x"\n[a]\nquestion = "q"\n'


@with_cases("row", "files/wrong_criteria.tsv")
def test_a_wrong_file_is_refused_with_its_line(row: list[str]) -> None:
    text, line, field, detail = row
    # Blank lines, which were read again and again to find the line of the problem.
    path = written(text.replace("\\n", "\n") + "\n" * 99_999)
    with pytest.raises(InputError) as raised:
        read_criteria(path)
    error = raised.value
    assert (error.path, str(error.line or ""), error.field or "") == (path, line, field)
    assert detail in error.expected
    assert "\n" not in str(error)


def test_a_newer_format_and_an_unknown_name_are_refused() -> None:
    with expect_error("newer"):
        read_criteria(written(f"format = 2\n{ASKED}"))
    with expect_error("'grice'", OptionError):
        read_criteria("grise")


@with_cases(("change", "count"), "files/criteria_of_a_status.json")
def test_a_status_may_have_no_criteria_that_a_file_may_not_have(
    change: dict[str, str], count: int
) -> None:
    honest = load_shipped("feedback")
    questions = (honest.criteria[0].model_copy(update=change),) * count
    forged = honest.model_copy(update={"name": "mine", "criteria": questions})
    status = {**END_OF_RUN, "output": "run.jsonl", "criteria": forged.model_dump(mode="json")}
    Path("run.jsonl.status.json").write_text(json.dumps(status))
    run = write_records("run.jsonl", {"criteria": forged.tag})
    if count == 1 and not change:
        assert len(criteria_of(None, run)) == 1
        official = json.dumps(status).replace('"official": false', '"official": true')
        Path("run.jsonl.status.json").write_text(official)
    with expect_error("--criteria", InputError):
        criteria_of(None, run)
