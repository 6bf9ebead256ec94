"""InspireScore's arithmetic: the rows of the papers' own tables, and what must hold of any figures."""

from __future__ import annotations

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.inspirescore.aggregation import (
    DIMENSIONS,
    OBJECTIVE,
    SUBJECTIVE,
    common,
    mean,
    objective,
    share,
    six_mean,
    subjective,
    three_mean,
    winner,
)
from touche_rad.contest import TIE

# InspireDebate, table 4: EA AC AA TR, their average, FA LV, their average, InspireScore.
BY_JUDGE = """
Qwen-1.5B             .421 .420 .360 .283 .371 .621 .388 .505 .416
Inspire-Qwen-1.5B     .781 .780 .640 .705 .727 .786 .720 .753 .735
LLaMA-8B              .403 .320 .320 .421 .366 .467 .428 .448 .393
Inspire-LLaMA-8B      .641 .760 .802 .781 .746 .727 .680 .704 .732
Phi-3.6B              .522 .503 .482 .480 .497 .621 .454 .538 .510
Inspire-Phi-3.6B      .803 .806 .840 .860 .827 .813 .494 .654 .769
DeepSeek-R8B          .626 .603 .580 .580 .597 .706 .640 .673 .623
Inspire-DeepSeek-R8B  .801 .823 .841 .822 .822 .820 .800 .810 .818
o1-mini               .844 .783 .780 .806 .803 .805 .760 .783 .796
GPT-4o-mini           .827 .880 .840 .860 .852 .831 .801 .816 .840
"""
# Table 5, the same by people.
BY_PEOPLE = """
Qwen-1.5B             .489 .466 .254 .310 .380 .617 .449 .533 .431
Inspire-Qwen-1.5B     .814 .742 .695 .770 .755 .782 .611 .697 .736
LLaMA-8B              .323 .275 .432 .472 .376 .446 .350 .398 .383
Inspire-LLaMA-8B      .683 .860 .693 .859 .774 .730 .594 .662 .737
Phi-3.6B              .483 .567 .545 .570 .541 .644 .494 .569 .551
Inspire-Phi-3.6B      .842 .846 .846 .825 .840 .696 .512 .604 .761
DeepSeek-R8B          .511 .487 .603 .521 .531 .797 .585 .691 .584
Inspire-DeepSeek-R8B  .852 .901 .818 .858 .857 .813 .716 .765 .826
o1-mini               .805 .883 .747 .815 .813 .724 .658 .691 .772
GPT-4o-mini           .866 .826 .899 .836 .857 .830 .755 .793 .835
"""
# Tables 6 and 19: subjective, objective, InspireScore.
ABLATIONS = """
LLaMA-8B              .366 .448 .393
+SFT                  .625 .544 .598
+DPO                  .483 .505 .490
+Web-RAG              .381 .573 .445
+SFT+Web-RAG          .652 .643 .649
+DPO+Web-RAG          .553 .626 .577
+SFT+DPO              .723 .589 .678
Inspire-LLaMA-8B      .746 .704 .732
DPO(EA)               .670 .650 .663
DPO(AC)               .628 .635 .630
DPO(AR)               .550 .585 .562
DPO(TR)               .573 .615 .587
DPO(FA)               .563 .615 .580
DPO(LV)               .485 .655 .542
"""
# R-Debater, tables 1 and 5: subjective, logic, fact, InspireScore.
R_DEBATER = """
GPT-4o/LLM            .757 .940 .226 .641
GPT-4o/NaiveRAG       .761 .939 .609 .770
GPT-4o/R-Debater      .842 .997 .627 .822
DeepSeek/NaiveRAG     .732 .927 .582 .747
DeepSeek/Agent4Debate .837 .893 .590 .773
DeepSeek/R-Debater    .866 .997 .594 .819
Claude/LLM            .780 .971 .190 .647
Claude/NaiveRAG       .772 .960 .567 .766
Claude/Agent4Debate   .765 .917 .618 .767
full                  .841 .954 .700 .831
without-optimization  .773 .917 .640 .776
without-logic         .735 .875 .672 .761
without-schemes       .371 .683 .531 .528
"""
# The three rows that do not fit a mean of three, nor anything else.
R_DEBATER_MISPRINTS = """
GPT-4o/Agent4Debate   .821 .913 .631 .783
DeepSeek/LLM          .783 .877 .158 .591
Claude/R-Debater      .789 .985 .701 .830
"""
PRINTED = 0.001 + 1e-9
"""Three digits, some rounded and some cut off."""


def rows(table: str) -> list[tuple[str, list[float]]]:
    lines = [line.split() for line in table.strip().splitlines()]
    return [(name, [float(one) for one in figures]) for name, *figures in lines]


def six(values: list[float]) -> dict[str, float]:
    return dict(zip(DIMENSIONS, values, strict=True))


def of_halves(judged: float, facts: float, logic: float) -> dict[str, float]:
    return {
        **dict.fromkeys(SUBJECTIVE, judged),
        **dict(zip(OBJECTIVE, (facts, logic), strict=True)),
    }


@pytest.mark.parametrize(("name", "row"), rows(BY_JUDGE) + rows(BY_PEOPLE))
def test_the_papers_score_is_the_mean_of_six(name: str, row: list[float]) -> None:
    scores = six(row[:4] + row[5:7])
    assert subjective(scores) == pytest.approx(row[4], abs=PRINTED)
    assert objective(scores) == pytest.approx(row[7], abs=PRINTED)
    assert six_mean(scores) == pytest.approx(row[8], abs=PRINTED)


def test_it_is_not_the_mean_of_its_two_halves() -> None:
    both = rows(BY_JUDGE) + rows(BY_PEOPLE)
    apart = [abs((row[4] + row[7]) / 2 - row[8]) > PRINTED for _, row in both]
    assert sum(apart) == 20


@pytest.mark.parametrize(("name", "row"), rows(ABLATIONS))
def test_so_it_is_in_the_papers_ablations(name: str, row: list[float]) -> None:
    assert six_mean(of_halves(row[0], row[1], row[1])) == pytest.approx(row[2], abs=PRINTED)


@pytest.mark.parametrize(("name", "row"), rows(R_DEBATER))
def test_r_debaters_score_of_that_name_is_the_mean_of_three(name: str, row: list[float]) -> None:
    scores = of_halves(row[0], facts=row[2], logic=row[1])
    assert three_mean(scores) == pytest.approx(row[3], abs=PRINTED)
    assert six_mean(scores) != pytest.approx(row[3], abs=PRINTED)


@pytest.mark.parametrize(("name", "row"), rows(R_DEBATER_MISPRINTS))
def test_three_of_r_debaters_rows_fit_neither(name: str, row: list[float]) -> None:
    scores = of_halves(row[0], facts=row[2], logic=row[1])
    assert three_mean(scores) != pytest.approx(row[3], abs=0.004)


scores = st.floats(0, 1)
complete = st.fixed_dictionaries(dict.fromkeys(DIMENSIONS, scores))
partial = st.fixed_dictionaries(dict.fromkeys(DIMENSIONS, st.none() | scores))


@given(complete)
def test_six_count_alike_and_three_count_the_judged_as_one(its: dict[str, float]) -> None:
    judged, checked = subjective(its), objective(its)
    assert judged is not None
    assert checked is not None
    assert six_mean(its) == pytest.approx(fmean(its.values()))
    assert six_mean(its) == pytest.approx((2 * judged + checked) / 3)
    assert three_mean(its) == pytest.approx((judged + 2 * checked) / 3)


@given(partial)
def test_a_total_lies_between_the_scores_that_there_are(its: dict[str, float | None]) -> None:
    there = [one for one in its.values() if one is not None]
    for total in (six_mean(its), three_mean(its)):
        if not there:
            assert total is None
        else:
            assert total is not None
            assert min(there) - 1e-9 <= total <= max(there) + 1e-9


counts = st.lists(st.integers(0, 9).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))


@given(counts)
def test_a_share_is_of_all_and_is_none_of_nothing(pairs: list[tuple[int, int]]) -> None:
    found = share(pairs)
    of = sum(whole for _, whole in pairs)
    if not of:
        assert found is None
    else:
        assert found == pytest.approx(sum(part for part, _ in pairs) / of)
        assert share(reversed(pairs)) == found
        assert share([*pairs, (0, 0)]) == found


def test_a_share_is_no_mean_of_shares() -> None:
    assert share([(1, 1), (0, 3)]) == 0.25
    assert mean([1.0, 0.0]) == 0.5


def test_a_round_that_is_missing_is_left_out_of_the_mean() -> None:
    assert mean([0.2, None, 0.6]) == pytest.approx(0.4)
    assert mean([None]) is None


@given(scores, scores)
def test_the_winner_does_not_depend_on_the_order(one: float, other: float) -> None:
    found = winner({"a": one, "b": other})
    assert found == winner({"b": other, "a": one})
    assert found == (TIE if abs(one - other) <= 1e-9 else "a" if one > other else "b")


@given(st.permutations([0.1, 0.2, 0.3, 0.7, 0.9, 0.15]))
def test_the_same_scores_in_another_order_are_a_tie(marks: list[float]) -> None:
    first, second = sorted(marks), marks
    assert winner({"a": mean(first), "b": mean(second)}) == TIE
    assert winner({"a": 0.7, "b": 0.8}, tolerance=0.1) == TIE


def test_a_tolerance_makes_ties_and_a_missing_score_makes_no_winner() -> None:
    assert winner({"a": 0.5, "b": 0.52}) == "b"
    assert winner({"a": 0.5, "b": 0.52}, tolerance=0.05) == TIE
    assert winner({"a": 0.9, "b": 0.9, "c": 0.1}) == TIE
    assert winner({"a": 0.5, "b": None}) is None
    assert winner({}) is None


def test_totals_are_compared_on_what_all_have() -> None:
    its = six([0.5] * 6)
    assert common({"a": its, "b": {**its, "fact_authenticity": None}}) == tuple(
        one for one in DIMENSIONS if one != "fact_authenticity"
    )
    assert common({}) == ()
