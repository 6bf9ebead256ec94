"""InspireScore's arithmetic gives the rows of the papers' own tables."""

from __future__ import annotations

import pytest

from judges.inspirescore.aggregation import (
    DIMENSIONS,
    OBJECTIVE,
    SUBJECTIVE,
    objective,
    six_mean,
    subjective,
    three_mean,
)

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
PRINTED = 0.001 + 1e-9
"""Three digits, some rounded and some cut off."""


def rows(table: str) -> list[tuple[str, list[float]]]:
    lines = [line.split() for line in table.strip().splitlines()]
    return [(name, list(map(float, figures))) for name, *figures in lines]


def of_halves(judged: float, facts: float, logic: float) -> dict[str, float]:
    return {
        **dict.fromkeys(SUBJECTIVE, judged),
        **dict(zip(OBJECTIVE, (facts, logic), strict=True)),
    }


@pytest.mark.parametrize(("name", "row"), rows(BY_JUDGE))
def test_the_papers_score_is_the_mean_of_six(name: str, row: list[float]) -> None:
    scores = dict(zip(DIMENSIONS, row[:4] + row[5:7], strict=True))
    assert subjective(scores) == pytest.approx(row[4], abs=PRINTED)
    assert objective(scores) == pytest.approx(row[7], abs=PRINTED)
    assert six_mean(scores) == pytest.approx(row[8], abs=PRINTED)


@pytest.mark.parametrize(("name", "row"), rows(R_DEBATER))
def test_r_debaters_score_of_that_name_is_the_mean_of_three(name: str, row: list[float]) -> None:
    scores = of_halves(row[0], facts=row[2], logic=row[1])
    assert three_mean(scores) == pytest.approx(row[3], abs=PRINTED)
    assert six_mean(scores) != pytest.approx(row[3], abs=PRINTED)
