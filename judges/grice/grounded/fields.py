"""What field of life a message is about, where words alone would say that two share nothing."""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from judges.grice.grounded.lexicon import lexicon, root
from judges.grice.grounded.tokens import stem


def kinship(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of their fields two sets of senses share, in 0..1; 0 where either has none."""
    ours, theirs = _fields(one), _fields(other)
    return len(ours & theirs) / math.sqrt(max(1, len(ours)) * max(1, len(theirs)))


def _fields(senses: frozenset[str]) -> frozenset[str]:
    known = _by_sense()
    return frozenset().union(*(known.get(sense, frozenset()) for sense in senses))


@cache
def _by_sense() -> Mapping[str, frozenset[str]]:
    read = tomllib.loads(files(__package__).joinpath("fields.toml").read_text("utf-8"))
    found = defaultdict[str, set[str]](set)
    for field, words in read.items():
        for word in words.split():
            found[root(lexicon().sense(stem(word)))].add(field)
    return {sense: frozenset(fields) for sense, fields in found.items()}
