"""Ids of a collection, in little memory."""

from __future__ import annotations

import random
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from touche_rad.files.seen import SeenIds


@given(st.lists(st.tuples(st.text(max_size=2), st.integers(-3, 3)), max_size=60))
def test_an_id_is_known_with_its_first_content(added: list[tuple[str, int]]) -> None:
    seen, first = SeenIds(), dict[str, int]()
    for name, content in added:
        assert seen.add(name, content) is (first[name] == content if name in first else None)
        first.setdefault(name, content)
    assert len(seen) == len(first)


def test_many_ids_are_known_again_and_take_bytes() -> None:
    chance = random.Random(1)
    numbers = [chance.getrandbits(64) for _ in range(20_000)]
    tracemalloc.start()
    try:
        seen = SeenIds()
        assert {seen.add(f"id {number}", number) for number in numbers} == {None}
        assert tracemalloc.get_traced_memory()[0] / len(seen) < 32
    finally:
        tracemalloc.stop()
    assert {seen.add(f"id {number}", number) for number in numbers} == {True}
    assert {seen.add(f"id {number}", number + 1) for number in numbers} == {False}
