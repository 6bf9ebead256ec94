"""Near statements are groups_of as comparing them one by one would join them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.index import statements as joining
from retrieval.index.statements import LONGEST, NEAR, NEGATION_STEMS, Key, groups_of


def _plainly(keys: list[Key], shared: int) -> list[int]:
    """Every statement against the first so many earlier ones that begin with one of its words."""
    often = Counter(word for key in keys for word in key)
    parent = list(range(len(keys)))

    def root(place: int) -> int:
        while parent[place] != place:
            place = parent[place]
        return place

    starting: dict[tuple[str, frozenset[str]], list[int]] = {}
    for place, key in enumerate(keys):
        if not 2 < len(key) <= LONGEST:
            continue
        words = set(key)
        rarest = sorted(key, key=lambda word: (often[word], word))
        for word in rarest[: len(key) - -(-len(key) * 7 // 10) + 1]:
            others = starting.setdefault((word, frozenset(words & NEGATION_STEMS)), [])
            if len(others) == shared:
                continue
            for other in others:
                both = len(words & set(keys[other]))
                if both >= NEAR * (len(words) + len(keys[other]) - both):
                    mine, its = root(place), root(other)
                    parent[max(mine, its)] = min(mine, its)
            others.append(place)
    roots = [root(place) for place in range(len(keys))]
    numbers = {one: number for number, one in enumerate(sorted(set(roots)))}
    return [numbers[one] for one in roots]


WORDS = [*(f"w{number}" for number in range(9)), "not", "never"]


@given(
    st.lists(st.sets(st.sampled_from(WORDS), min_size=1, max_size=9), max_size=40),
    st.sampled_from([1, 3, 100]),
)
def test_any_few_words(sets: list[set[str]], shared: int) -> None:
    keys = list(dict.fromkeys(tuple(sorted(one)) for one in sets))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "MAX_COMPARED", shared)
        assert groups_of(keys).tolist() == _plainly(keys, shared)
