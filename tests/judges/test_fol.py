"""First-order logic as models write it: what is read, what is refused, and what is decided."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.inspirescore.fol import LONGEST_FORMULA, Decision, FormulaError, Solver, parse
from tests.cases import with_cases


@with_cases(("text", "meant"), "judges/notations.tsv")
def test_the_notations_that_models_mix_are_read(text: str, meant: str) -> None:
    assert parse(text) == parse(meant)


SMALL_FAULTS = (
    "|   |$$|P()|P(x|P(x))|x|∀x|∀(P)|∃x.|P Q|P → → Q|2 + 2 = 4|f(x) =|Believes(x, P → Q)|(λx.P(x))(a)"
    "|If P then Q|P(x, )|::= a gloss alone|__import__('os').system('true')|P(x); DROP TABLE|=== system"
    "|P\x00Q|\ud800|\u202eP(x) ← Q"
)
REFUSED = [
    *SMALL_FAULTS.split("|"),
    "(" * 500 + "P" + ")" * 500,
    "¬" * 900 + "P",
    "f(" * 300 + "x" + ")" * 300,
    "∀x " * 200 + "P(x)",
    "P → " * 249 + "P",
    "P ∧ " * 200 + "P",
    "A" * (LONGEST_FORMULA + 1),
    "\\forall" * 140,
    "∀" + ",".join(["x"] * 400) + " P(x)",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_formula_is_refused_by_name(text: str) -> None:
    with pytest.raises(FormulaError):
        parse(text)


def test_brackets_are_read_to_a_depth_of_24() -> None:
    assert parse("(" * 24 + "P" + ")" * 24) == parse("P")
    with pytest.raises(FormulaError, match="24"):
        parse("(" * 25 + "P" + ")" * 25)


@pytest.mark.long
@given(st.text() | st.text("PQxya(),.¬∧∨⊕→↔∀∃= \\-<>&|~!$:"))
@settings(max_examples=200)
def test_no_text_does_anything_but_be_read_or_refused(text: str) -> None:
    with suppress(FormulaError):
        parse(text)


# Table 14 of the paper, its letters as printed.
SCHOOL = [
    "JunkFood(x) → CausesHealthIssues(x)",
    "CausesHealthIssues(x) → ShouldBan(x)",
    "SchoolResponsibility(PromoteHealth)",
]
BANNED = "(JunkFood(x) ∧ CausesHealthIssues(x)) → ShouldBan(x)"
RESPONSIBLE = "SchoolResponsibility(PromoteHealth) → ShouldBan(JunkFood)"


def decide(premises: list[str], conclusion: str) -> Decision:
    return Solver().decide(premises, conclusion)


@pytest.mark.services
@with_cases(("truth", "conclusion", "premises"), "judges/entailments.tsv")
def test_a_conclusion_follows_or_is_contradicted_or_neither(
    truth: str, conclusion: str, premises: str
) -> None:
    assert decide(premises.split("; ") if premises else [], conclusion).truth == truth


@pytest.mark.services
def test_the_if_part_of_a_conclusion_is_a_premise_and_goes_first() -> None:
    assert decide(["∀x (Junk(x) → ¬Banned(x))"], "Junk(crisps) → Banned(crisps)").truth == "false"
    assert decide(["¬Rain", "Rain → Wet"], "Rain → Wet").truth == "true"
    assert decide(["¬Rain"], "Rain → Wet").truth == "unknown", "a false if-part proves nothing"


@pytest.mark.services
def test_from_a_contradiction_nothing_follows() -> None:
    assert decide(["P", "¬P"], "Q") == Decision("unknown", "the premises contradict each other")
    assert decide(["P"], "(Q ∧ ¬Q) → R").truth == "unknown"


@pytest.mark.services
def test_what_cannot_be_read_is_unknown_and_says_so() -> None:
    unread = decide(["P"], "If P then Q")
    assert unread.truth == "unknown"
    assert "conclusion cannot be parsed" in unread.reason
    assert decide(["P, obviously!", "P → Q"], "Q") == Decision(
        "unknown", "neither it nor its negation follows; premises that cannot be parsed: 1"
    )
    assert decide(["P, obviously!", "P", "P → Q"], "Q") == Decision("true")


HARD = [
    "∀x ∀y ∀z (f(x, f(y, z)) = f(f(x, y), z))",
    "∀x (f(x, x) = g(x))",
    "∀x ∃y (f(x, y) = h(y, x))",
    "∀x ∀y (P(f(x, y)) ↔ (P(x) ⊕ P(g(y))))",
]


@pytest.mark.services
def test_what_is_too_hard_is_given_up_after_a_bounded_effort() -> None:
    decision = Solver(effort=50_000).decide(HARD, "∃x ∀y (f(x, y) = f(y, g(h(x, y))))")
    assert decision == Decision("unknown", "the solver gave up")


@pytest.mark.services
def test_a_solver_that_fails_knows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import z3

    def fails(*_: Any) -> None:
        raise z3.Z3Exception("out of\nmemory")

    monkeypatch.setattr(z3.Solver, "check", fails)
    assert decide(["P"], "P") == Decision("unknown", "the solver failed: out of memory")


@pytest.mark.services
def test_threads_may_share_a_solver() -> None:
    solver = Solver()
    questions = [(SCHOOL, BANNED), (SCHOOL, RESPONSIBLE), (["P"], "¬P"), (HARD, "P(a)")] * 8
    alone = [solver.decide(premises, conclusion) for premises, conclusion in questions]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda question: solver.decide(*question), questions)) == alone


@pytest.mark.services
def test_very_many_premises_are_no_trouble() -> None:
    assert Solver().decide([f"P{n} → P{n + 1}" for n in range(39)], "P0 → P39").truth == "true"


JOINS: Any = {
    "∧": operator.and_,
    "∨": operator.or_,
    "⊕": operator.ne,
    "→": operator.le,
    "↔": operator.eq,
}
Proposition = tuple[str, Callable[[dict[str, bool]], bool]]
"""A formula, and whether it holds in a world."""


def letter(name: str) -> Proposition:
    return name, lambda world: world[name]


def negate(proposition: Proposition) -> Proposition:
    text, holds = proposition
    return f"¬({text})", lambda world: not holds(world)


def join(connective: str, first: Proposition, second: Proposition) -> Proposition:
    truth = JOINS[connective]
    return (
        f"({first[0]}) {connective} ({second[0]})",
        lambda world: truth(first[1](world), second[1](world)),
    )


propositions: Any = st.recursive(
    st.sampled_from("ABC").map(letter),
    lambda inner: inner.map(negate) | st.builds(join, st.sampled_from(sorted(JOINS)), inner, inner),
    max_leaves=6,
)


@pytest.mark.services
@given(st.lists(propositions, max_size=3), propositions)
@settings(max_examples=60, deadline=None)
def test_the_solver_agrees_with_truth_tables(
    premises: list[Proposition], conclusion: Proposition
) -> None:
    conclusion = negate(negate(conclusion))  # the if-part of a conclusion would be a premise
    worlds = [
        dict(zip("ABC", row, strict=True)) for row in itertools.product([True, False], repeat=3)
    ]
    truths = set()
    for world in worlds:
        if all(holds(world) for _, holds in premises):
            truths.add(conclusion[1](world))
    expected = {frozenset({True}): "true", frozenset({False}): "false"}.get(
        frozenset(truths), "unknown"
    )
    assert decide([text for text, _ in premises], conclusion[0]).truth == expected
