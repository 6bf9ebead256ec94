"""Near statements are groups_of as comparing them one by one would join them."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.index import statements as joining
from retrieval.index.analyser import tokens
from retrieval.index.statements import LONGEST, NEAR, NEGATION_STEMS, Key, groups_of
from touche_rad import files


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


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sets(st.sampled_from(WORDS), min_size=1, max_size=9), max_size=40),
    st.sampled_from([1, 3, 100]),
)
def test_any_few_words(sets: list[set[str]], shared: int) -> None:
    keys = list(dict.fromkeys(tuple(sorted(one)) for one in sets))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "SHARED", shared)
        assert groups_of(keys).tolist() == _plainly(keys, shared)


def _many(count: int) -> list[Key]:
    """Statements of 1 to 60 words, half of them another one with some words changed."""
    chance = random.Random(3)
    said: list[set[str]] = []
    for _ in range(count):
        if said and chance.random() < 0.5:
            one = set(chance.choice(said))
            for _ in range(chance.randint(0, 5)):
                one.discard(chance.choice(sorted(one)) if one else "")
                one.add(f"w{int(chance.expovariate(0.01))}")
        else:
            size = chance.randint(1, 60)
            one = {f"w{int(chance.expovariate(0.01))}" for _ in range(size)}
            one |= set(chance.sample(["not", "never"], chance.randint(0, 1)))
        said.append(one)
    return list(dict.fromkeys(tuple(sorted(one)) for one in said if one))


@pytest.mark.long
def test_thousands_of_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_BLOCK", 1000)
    keys = _many(4000)
    found = groups_of(keys)
    assert found.dtype == np.int32
    assert found.tolist() == _plainly(keys, joining.SHARED)
    assert len(set(found.tolist())) < 0.9 * len(keys)


@pytest.mark.long
def test_real_statements(real_data: Path) -> None:
    said = [
        text
        for one in files.read_arguments(real_data / "claimrev-4441.jsonl.gz")
        for text in (one.text, one.attacks, one.supports)
    ]
    keys = list(dict.fromkeys(tuple(sorted(set(tokens(text)))) for text in said))
    assert groups_of(keys).tolist() == _plainly(keys, joining.SHARED)


def test_nothing_to_join() -> None:
    assert groups_of([]).tolist() == []
    assert groups_of([("a",), ("b", "c")]).tolist() == [0, 1]
    assert groups_of([tuple(f"w{n}" for n in range(LONGEST + 1))]).tolist() == [0]
