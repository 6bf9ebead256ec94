"""Files of criteria: what is read of them, and what is refused with its line and field."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from touche_rad.criteria import shipped_names
from touche_rad.errors import InputError, OptionError, UserError
from touche_rad.files.criteria import read_criteria
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


def read(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_file_has_scales_categories_and_questions_of_yes_or_no(tmp_path: Path) -> None:
    criteria = read_criteria(str(read(tmp_path, THREE)))
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
    # A comment changes nothing, and a word does.
    same = read_criteria(str(read(tmp_path, f"# of mine\n{THREE}")))
    assert same.digest == criteria.digest
    changed = read_criteria(str(read(tmp_path, THREE.replace("fair", "so-so"))))
    assert changed.digest != criteria.digest


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_criteria_have_a_source_and_the_form_of_the_schema(name: str) -> None:
    criteria = read_criteria(name)
    assert criteria.name == name
    assert criteria.source
    assert criteria.official == (name == "grice")
    path = Path(__file__).parents[2] / "touche_rad" / "criteria" / f"{name}.toml"
    content = tomllib.loads(path.read_text("utf-8"))
    assert list(Draft202012Validator(schema_of("criteria")).iter_errors(content)) == []


HEAD = 'name = "x"\n'
ASKED = f'{HEAD}[a]\nquestion = "q"\n'


@pytest.mark.parametrize(
    ("text", "line", "field", "detail"),
    [
        (f'{HEAD}unti = "y"\n[a]\nquestion = "q"', 2, "unti", "'unit'"),
        (f'{HEAD}unit = "turn"\n[a]\nquestion = "q"', 2, "unit", "'debate'"),
        (f'{HEAD}sees = {{ argument = 2 }}\n[a]\nquestion = "q"', 2, "sees.argument", "arguments"),
        ('[a]\nquestion = "q"', None, "name", "missing"),
        (HEAD, None, None, "such as [clarity]"),
        (f'{HEAD}[a]\ntext = "q"', 2, "a.question", "missing"),
        (f'{HEAD}[A-b]\nquestion = "q"', 2, "A-b.key", "lower case"),
        (f'{HEAD}[words]\nquestion = "q"', 2, "words", "another name"),
        (f'{ASKED}answer = ["no"]', 4, "a.answer", "'answers'"),
        (f"{ASKED}answers = []", 4, "a.answers", "at least two"),
        (f'{ASKED}answers = [[1, "poor"]]', 4, "a.answers", "at least two"),
        (f'{ASKED}answers = ["x", "x"]', 4, "a.answers", "each once"),
        (f'{ASKED}answers = ["x", 1]', 4, "a.answers", "whole numbers"),
        (f"{ASKED}answers = [2, 1]", 4, "a.answers", "from the lowest"),
        (f"{ASKED}answers = [true, false]", 4, "a.answers.value", "short text"),
        (f'{ASKED}expect = {{ empty = "maybe" }}', 2, "a", "no, yes"),
        (f'{ASKED}expect = {{ "other topic" = "no" }}', 4, "a.expect.other topic", "'off-topic'"),
        (f'{ASKED}[[a.examples]]\ntext = "s"', 2, "a.examples[0].answer", "missing"),
        (f'{ASKED}title = "T"\n[b]\nquestion = "q"\ntitle = "T"', 2, "a", "another title"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int | None, field: str | None, detail: str
) -> None:
    path = read(tmp_path, text)
    with pytest.raises(InputError) as raised:
        read_criteria(str(path))
    error = raised.value
    assert error.path == str(path)
    assert (error.line, error.field) == (line, field)
    assert detail in error.expected
    assert "\n" not in str(error)


def test_two_criteria_with_a_key_and_a_newer_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 4"):
        read_criteria(str(read(tmp_path, f'{ASKED}[a]\nquestion = "q"')))
    with pytest.raises(UserError, match="newer"):
        read_criteria(str(read(tmp_path, f"format = 2\n{ASKED}")))
    with pytest.raises(OptionError, match="'grice'"):
        read_criteria("grise")
