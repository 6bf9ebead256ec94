"""`train examples`: a set of its own for each maxim, drawn by the seed."""

from __future__ import annotations

from typing import Any

from tests.demo import DEBATES, LABELS
from tests.models.by_schema import filling, prompt_of
from tests.models.scripted import serving
from tests.records import copy_lines, read_records
from tests.terminal import touche_rad
from touche_rad.debate import Maxim


def train_examples(*words: str) -> list[dict[str, Any]]:
    out = "examples.jsonl"
    touche_rad("train examples --replace", DEBATES, LABELS, "-o", out, *words)
    return read_records(out)


def labelled(examples: list[dict[str, Any]], maxim: str, label: str) -> set[tuple[str, int]]:
    """The debate and the turn of each example with a label."""
    fitting = [example for example in examples if example["labels"].get(maxim) == label]
    return {(example["debate"], example["turn"]) for example in fitting}


def test_each_maxim_has_a_balanced_set_of_its_own() -> None:
    examples = train_examples("--count", "3")
    for maxim in Maxim:
        assert len(labelled(examples, maxim, "yes")) == 3
        assert len(labelled(examples, maxim, "no")) == 3
    assert len(examples) == 24, "no maxim shares an example with another"
    later = next(example for example in examples if example["turn"] > 1)
    assert len(later["before"]) == 2 * (later["turn"] - 1)


def test_a_common_set_is_balanced_on_each_maxim() -> None:
    examples = train_examples("--common")
    assert len(examples) == 20
    for maxim in Maxim:
        yes = len(labelled(examples, maxim, "yes"))
        assert yes + len(labelled(examples, maxim, "no")) == 20
        assert abs(yes - 10) <= 1


def test_the_seed_decides_which() -> None:
    examples = train_examples()
    assert train_examples() == examples
    assert train_examples("--seed", "7") != examples


def test_a_judge_shows_the_conversation_of_its_examples_in_the_order_of_its_name() -> None:
    train_examples("--count", "1")
    source = "one.jsonl"
    copy_lines(DEBATES, source)
    for judge, first in (("fsl1", "yes"), ("fsl2", "no")):
        with serving() as server:
            filling(server)
            call = ("judge", source, "-j", f"{judge}(examples=examples.jsonl)")
            out = f"{judge}.out"
            touche_rad(*call, "-m", f"{server.url}#tiny", "-o", out, "-q")
            prompt = prompt_of(server.asked[0])
        verdicts = prompt[prompt.index("Verdicts on the examples:") :].splitlines()[1:5]
        assert [line.split()[3] for line in verdicts] == list("1234"), "the first of each first"
        assert all(line.split()[4].rstrip(",") == first for line in verdicts)
        assert "System: " in prompt
