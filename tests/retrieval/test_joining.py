"""Near statements are grouped as a comparison of each with each would group them."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.index import statements as joining
from retrieval.index.statements import LONGEST, NEAR, NEGATION_STEMS, Key, groups_of


def _groups_one_by_one(keys: list[Key], compared: int) -> list[int]:
    """Every statement against the first so many earlier ones that begin with one of its words."""
    often = Counter(word for key in keys for word in key)
    graph: nx.Graph[int] = nx.empty_graph(len(keys))
    starting: dict[tuple[str, frozenset[str]], list[int]] = {}
    for place, key in enumerate(keys):
        if not 2 < len(key) <= LONGEST:
            continue
        words = set(key)
        rarest = sorted(key, key=lambda word: (often[word], word))
        for word in rarest[: len(key) - -(-len(key) * 7 // 10) + 1]:
            others = starting.setdefault((word, frozenset(words & NEGATION_STEMS)), [])
            if len(others) == compared:
                continue
            for other in others:
                both = len(words & set(keys[other]))
                if both >= NEAR * (len(words) + len(keys[other]) - both):
                    graph.add_edge(place, other)
            others.append(place)
    numbers: dict[int, int] = {}
    for number, group in enumerate(sorted(map(sorted, nx.connected_components(graph)))):
        numbers |= dict.fromkeys(group, number)
    return [numbers[place] for place in range(len(keys))]


WORDS = [*(f"w{number}" for number in range(9)), "not", "never"]


@given(
    st.lists(st.sets(st.sampled_from(WORDS), min_size=1, max_size=9), max_size=40),
    st.sampled_from([1, 3, 100]),
)
def test_any_few_words(statements: list[set[str]], compared: int) -> None:
    keys = list(dict.fromkeys(tuple(sorted(words)) for words in statements))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "MAX_COMPARED", compared)
        assert groups_of(keys).tolist() == _groups_one_by_one(keys, compared)
