"""The judge `grounded`: its four rules, and how it stands attacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from statistics import fmean
from typing import Any

import pytest

from judges.grice.grounded import GroundedJudge
from tests.cases import with_cases
from tests.demo import ARGUMENTS
from tests.judges.makers import USER, ZOO, debate, judge, quality, turn, verdict
from tests.records import read_records
from tests.runs.fakes import SmallIndex
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn
from touche_rad.plugins import Services

SPECIES = "Breeding in zoos has saved some species from dying out."
TILL = (
    "It is a myth that animals suffer in every zoo. If a zoo is badly run, its animals suffer; "
    "good zoos give them space, shade and company, unless money runs out."
)


@with_cases("row", "judges/answers_that_pass.tsv")
def test_what_the_argument_says_passes_quality(row: list[str]) -> None:
    result = quality(*row)
    assert result.yes, result.rationale


@with_cases(("answer", "why"), "judges/answers_that_fail.tsv")
def test_what_it_does_not_say_fails_and_the_reason_is_named(answer: str, why: str) -> None:
    result = quality(answer)
    assert not result.yes
    assert why in result.rationale


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        ("Animals suffer in every zoo.", TILL),
        ("Its animals suffer.", TILL),
        ("Good zoos give them space, shade and company.", TILL),
        ("Mice eat small cats at night.", "Cats eat small mice at night."),
        ("from dying out species some saved has zoos in Breeding", SPECIES),
    ],
)
def test_words_out_of_their_sentence_fail(answer: str, source: str) -> None:
    assert not quality(answer, source).yes


def test_two_sentences_may_rest_on_two_arguments_and_only_the_first_two_count() -> None:
    texts = ("Dogs bark.", "Cats sleep a lot.", "Fish swim fast.")
    assert "quoted after “I disagree”" in quality(f"I disagree: {texts[0]}", *texts).rationale
    assert quality("Cats sleep a lot. Dogs bark.", *texts).yes
    assert not quality("Fish swim fast.", *texts).yes
    assert "no cited argument" in quality(ZOO, "").rationale or not quality(ZOO, "").yes


@with_cases(("maxim", "answer", "why"), "judges/reasons_for_no.tsv")
def test_each_no_has_its_reason(maxim: str, answer: str, why: str) -> None:
    texts = (ZOO, "Paper bags consume timber and water.")
    assert verdict(Maxim(maxim), SPECIES, *texts).yes
    result = verdict(Maxim(maxim), answer, *texts)
    assert not result.yes
    assert why in result.rationale


def test_relation_names_the_shared_words_and_says_what_it_cannot_see() -> None:
    rationale = verdict(Maxim.RELATION, ZOO, ZOO).rationale
    assert "“zoos”" in rationale
    assert rationale.endswith("The judge cannot see the side of an argument.")
    answer = "a good zoo has saved an animal"
    rationale = verdict(Maxim.RELATION, answer, ZOO).rationale
    assert set(re.findall("“(.*?)”", rationale)) <= set(answer.split()), "as the answer has them"
    answer = "It saved rare species."
    assert "its argument, or what" in verdict(Maxim.RELATION, answer, f"Zoos: {answer}").rationale


def test_an_answer_that_was_given_before_is_no_answer() -> None:
    user = "Animals in zoos still suffer, and breeding never ends in the wild."
    assert verdict(Maxim.RELATION, ZOO, ZOO, user=user).yes
    repeated = judge().judge(debate(ZOO, ZOO, user=user, before=(turn(USER, ZOO),)))
    assert "said before" in repeated[Maxim.RELATION].rationale


def test_agreement_that_is_taken_back_or_quoted_is_none() -> None:
    taken_back = "You are right that cages are small, but zoos have saved animals."
    quoted = "I agree to be vaccinated because animals and zoos suffer."
    assert "agrees" not in verdict(Maxim.RELATION, taken_back, ZOO).rationale
    assert "agrees" not in verdict(Maxim.RELATION, quoted, quoted).rationale


def test_only_the_texts_of_the_arguments_count() -> None:
    def verdicts(**fields: Any) -> object:
        cited = (Argument(id="1", text=ZOO, **fields),)
        answered = Turn(utterance=USER, response=Response(content=SPECIES, arguments=cited))
        return judge().judge(Debate(turns=(answered,)))

    assert verdicts() == verdicts(attacks=USER, supports="Zoos are good.", topic="Cars")


@pytest.mark.parametrize(
    ("text", "yes"), [(SPECIES, True), ("Zoos have saved the dodo from dying out.", False)]
)
def test_a_citation_counts_if_the_index_has_it(text: str, yes: bool) -> None:
    index = SmallIndex([Argument(id="0", text=SPECIES, topic="Should zoos be closed?")])
    looked_up = GroundedJudge(GroundedJudge.Options(), Services(index=index))
    answered = debate(text, text, user="Zoos should be closed.")
    verdicts = looked_up.judge(answered)
    assert all(verdict.yes for verdict in verdicts.values()) == verdicts[Maxim.QUALITY].yes == yes
    without_index = judge().judge(answered)[Maxim.QUALITY]
    assert without_index.yes
    assert without_index.rationale.endswith("cannot check that the argument exists.")


QUOTES = [
    row
    for row in read_records(ARGUMENTS)
    if len(row["text"].split()) <= 45
    and verdict(Maxim.RELATION, row["text"], row["text"], user=row["attacks"]).yes
][::3][:100]
VERB = re.compile(r"\b(?:is|are|was|were|will|must|should|has|have|cannot|can|may)\b")


def half(text: str) -> str:
    words = text.split()
    end = next(at for at in range(len(words) // 2, len(words)) if words[at][-1] not in ".,;:")
    return " ".join(words[: end + 1])


def lower(text: str) -> str:
    return text[0].lower() + text[1:]


def mixed_pairs(text: str) -> str:
    words = text[:-1].split()
    pairs = [" ".join(words[at : at + 2]) for at in range(0, len(words), 2)]
    return f"{' '.join(pairs[1::2] + pairs[::2])}."


def exchanged(text: str) -> str:
    first, second = sorted(re.findall(r"\w+", text), key=len)[-2:]
    parts = [part.replace(second, first) for part in text.split(first)]
    return second.join(parts)


def attacked(text: str, attack: str) -> str:
    """Fill in an attack with forms of a text."""
    return attack.format(
        text=text,
        lower=lower(text),
        stem=text[:-1],
        lower_stem=lower(text)[:-1],
        half=half(text),
        negated=VERB.sub(lambda verb: f"{verb[0]} not", text, count=1),
        mixed_pairs=mixed_pairs(text),
        exchanged=exchanged(text),
    )


def share_of_yes(change: Callable[[str], str], *, shift: int = 0) -> float:
    """The share of the quotations that are four times yes; `shift` takes another one's user."""
    four_times_yes = []
    for at, row in enumerate(QUOTES):
        text = row["text"]
        if change is str or change(text) != text:
            user = QUOTES[(at + shift) % len(QUOTES)]["attacks"]
            verdicts = judge().judge(debate(change(text), text, user=user))
            four_times_yes.append(all(verdict.yes for verdict in verdicts.values()))
    return fmean(four_times_yes)


def test_true_quotations_are_a_yes() -> None:
    assert len(QUOTES) == 100
    assert share_of_yes(str) >= 0.95


HEADINGS = [
    "To this, reply:",
    "Critics will answer:",
    "To you I say:",
    "I do not agree:",
    "I cannot agree with you:",
    "You are right, but",
]


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_true_quotation_behind_a_heading_is_a_yes(heading: str) -> None:
    assert share_of_yes(lambda q: f"{heading} {q}") >= 0.95


@with_cases(("name", "attack"), "judges/attacks_on_quotations.tsv")
def test_an_attack_on_a_quotation_is_no_yes(name: str, attack: str) -> None:
    assert share_of_yes(lambda text: attacked(text, attack)) <= 0.05, name


def test_the_users_claim_as_a_question_puts_nothing_on_the_topic() -> None:
    accepted = 0
    for at, row in enumerate(QUOTES):
        user = QUOTES[(at + 37) % len(QUOTES)]["attacks"]
        answer = f"No: {row['text']} {user[:-1]}?"
        verdicts = judge().judge(debate(answer, row["text"], user=user))
        accepted += all(verdict.yes for verdict in verdicts.values())
    assert accepted <= 0.1 * len(QUOTES)


def test_quotations_for_another_user_and_echoes_are_no_yes() -> None:
    assert share_of_yes(str, shift=37) <= 0.1
    accepted = []
    for row in QUOTES:
        echo = row["attacks"]
        verdicts = judge().judge(debate(echo, echo, user=echo))
        if all(verdict.yes for verdict in verdicts.values()):
            accepted.append(echo)
    assert len(accepted) <= 5


@pytest.mark.parametrize("label", ["Answer:", "Assistant: ", "**Reply:** ", "Final answer: "])
@pytest.mark.parametrize("answer", [ZOO, USER, "Caps are fine."])
def test_the_label_of_a_speaker_changes_no_verdict(label: str, answer: str) -> None:
    assert judge().judge(debate(f"{label} {answer}", ZOO)) == judge().judge(debate(answer, ZOO))
