"""The order of hits: BM25 as calculated by hand, and equal scores by id at any depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, product
from math import log

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieval.index.pisa import PisaArguments
from tests.retrieval.small import opened
from touche_rad.debate import Argument

WORDS = ("fig", "plum", "pear", "quince", "medlar", "sloe")


def _scores(index: PisaArguments, query: str, k: int) -> list[tuple[str, float]]:
    return [(hit.argument.id, hit.score) for hit in index.search("text", query, k)]


def _text(number: int) -> str:
    """Two to four words that depend on the number."""
    return " ".join(WORDS[number // 6**place % 6] for place in range(2 + number % 3))


@pytest.fixture(scope="module")
def fruit(tmp_path_factory: pytest.TempPathFactory) -> PisaArguments:
    """300 short texts of six words: most scores stand many times."""
    arguments = [Argument(id=f"{n * 7919 % 300}", text=_text(n)) for n in range(300)]
    return opened(arguments, tmp_path_factory.mktemp("fruit") / "index")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(query=st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=8), k=st.integers(1, 320))
def test_a_shallow_search_is_the_top_of_a_deep_one(
    fruit: PisaArguments, query: list[str], k: int
) -> None:
    words = " ".join(query)
    deep = _scores(fruit, words, 1000)
    assert _scores(fruit, words, k) == deep[:k]
    assert deep == sorted(deep, key=lambda hit: (-hit[1], hit[0]))


@pytest.fixture(scope="module")
def claims() -> list[str]:
    """500 claims of 40 texts, some said by many and some by one, and an empty one among them."""
    return ["" if n == 7 else _text(min(n, n * n % 40)) for n in range(500)]


@pytest.fixture(scope="module")
def attackers(claims: list[str], tmp_path_factory: pytest.TempPathFactory) -> PisaArguments:
    arguments = [
        Argument(id=f"{n:03d}", text=f"Number {n}", attacks=claim) for n, claim in enumerate(claims)
    ]
    return opened(arguments[::-1], tmp_path_factory.mktemp("claims") / "index")


def bm25(texts: Sequence[str], query: str) -> list[tuple[str, float]]:
    """Every document with a word of the query, as counted one by one."""
    documents = {f"{n:03d}": Counter(text.split()) for n, text in enumerate(texts) if text}
    average = sum(words.total() for words in documents.values()) / len(documents)
    scores: dict[str, float] = {}
    for word in query.split():
        holding = sum(word in words for words in documents.values())
        rarity = max(1e-6, log((len(documents) - holding + 0.5) / (holding + 0.5)))
        for id_, words in documents.items():
            length = 0.9 * (0.6 + 0.4 * words.total() / average)
            if words[word]:
                share = 1.9 * words[word] / (words[word] + length)
                scores[id_] = scores.get(id_, 0) + rarity * share
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))


@pytest.mark.parametrize("k", [1, 7, 60, 499])
def test_a_claim_that_many_attack_weighs_and_is_found_once_for_each(
    attackers: PisaArguments, claims: list[str], k: int
) -> None:
    queries = [" ".join(pair) for pair in combinations(WORDS, 2)]
    for query, hits in zip(queries, attackers.search_all("attacks", queries, k), strict=True):
        expected = bm25(claims, query)
        # PISA's scores have few digits, so they are compared with a tolerance and not rounded.
        assert [hit.score for hit in hits] == pytest.approx(
            [score for _, score in expected[:k]], rel=1e-3
        )
        assert [hit.score for hit in hits] == pytest.approx(
            [dict(expected)[hit.argument.id] for hit in hits], rel=1e-3
        )
        order = [(-hit.score, hit.argument.id) for hit in hits]
        assert order == sorted(order)


def test_a_batch_finds_what_single_queries_find(fruit: PisaArguments) -> None:
    queries = [*WORDS, *map(" ".join, product(WORDS, WORDS))] * 15
    assert len(queries) > 512
    single = [fruit.search("text", query, 4) for query in queries]
    assert fruit.search_all("text", queries, 4) == single
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: fruit.search("text", query, 4), queries)) == single
    assert fruit.search_all("text", [], 4) == []
    assert fruit.search("text", "fig", 0) == []
