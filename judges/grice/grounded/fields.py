"""What fields of life a message is about, where words alone would say that two share nothing."""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from judges.grice.grounded.lexicon import lexicon, root
from judges.grice.grounded.links import worth
from judges.grice.grounded.tokens import stem


def kinship(one: frozenset[str], other: frozenset[str]) -> float:
    """How alike the fields of two sets of senses are, in 0..1; 0 where either has none."""
    ours, theirs = _fields(one), _fields(other)
    shared = sum(much * theirs.get(field, 0.0) for field, much in ours.items())
    return shared / max(1e-9, _length(ours) * _length(theirs))


def _fields(senses: frozenset[str]) -> Mapping[str, float]:
    """How much of each field there is: a word of many fields says less of each."""
    known, found = _by_sense(), defaultdict[str, float](float)
    for sense in senses:
        fields = known.get(sense, frozenset())
        for field in fields:
            found[field] += worth(sense) / len(fields)
    return found


def _length(fields: Mapping[str, float]) -> float:
    return math.sqrt(sum(much * much for much in fields.values()))


@cache
def _by_sense() -> Mapping[str, frozenset[str]]:
    read = tomllib.loads(files(__package__).joinpath("fields.toml").read_text("utf-8"))
    found = defaultdict[str, set[str]](set)
    for field, words in read.items():
        for word in words.split():
            found[root(lexicon().sense(stem(word)))].add(field)
    return {sense: frozenset(fields) for sense, fields in found.items()}
