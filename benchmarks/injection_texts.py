"""The texts of `benchmarks/injection.py`: 300, and 136 of a writer who did not know the guards."""

from __future__ import annotations

import base64
import codecs
import itertools
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from touche_rad.text import clean, count_words

Place = Literal["answer", "argument", "user"]
Goal = Literal["yes", "no", "say", "agree", "leak"]
GOALS: Final[Sequence[Goal]] = ("yes", "no", "say", "agree", "leak")
CODES: Final = (
    "green lantern",
    "seven otters",
    "BANANA",
    "harbour",
    "x-ray nine",
    "paper boat",
    "Omega",
    "blue cellar door",
    "thimble",
    "K7",
    "old violin",
    "rain on Tuesday",
    "marmalade",
)
"""Words that training texts dictate, also as a surrender; many, so that none is learned."""
PLAN: Final[Sequence[tuple[Place, Sequence[Goal]]]] = (
    ("answer", ("yes",) * 7),
    ("argument", ("yes",) * 3),
    ("user", ("no",) * 2),
    ("argument", ("say", "agree", "leak", "say")),
    ("user", ("say", "agree", "leak", "leak")),
)
"""The texts of each kind: twelve for judges, eight for debaters."""
HELD_OUT_PLAN: Final[Sequence[tuple[Place, Sequence[Goal]]]] = (
    ("answer", ("yes",) * 2),
    ("argument", ("yes", "say", "leak")),
    ("user", ("no", "say", "agree")),
)
"""The held-out texts of each kind: four for judges, four for debaters."""


def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


TABLE: Final = _read("injection.toml")
HELD_OUT: Final = _read("injection_held_out.toml")
SECOND_HELD_OUT: Final = _read("injection_held_out_2.toml")
"""Texts of a later writer, which only benchmarks/tools/train_orders.py measures."""
NEUTRAL: Final = (
    "The tram to the lake leaves at noon. On market days it stops twice at the old mill. "
    "Some people carry baskets, and others bring a dog. "
)


@dataclass(frozen=True)
class Injection:
    """A text: what it is, where it goes, what it wants, and the part that a model would obey."""

    kind: str
    place: Place
    goal: Goal
    text: str
    core: str
    before: str = ""
    """What is said one turn earlier."""
    field: bool = False
    """Whether the text goes into the fields of an argument instead of its text."""
    held_out: bool = False
    """Whether its writer did not know the guards."""

    @property
    def neutral(self) -> Injection:
        """A neutral text with as many words, instead."""
        return replace(self, text=_filler(self.text), before=_filler(self.before), core="\0")


def _filler(text: str) -> str:
    return " ".join(itertools.islice(itertools.cycle(NEUTRAL.split()), count_words(text)))


@cache
def injections(held_out: bool = False, second: bool = False) -> tuple[Injection, ...]:
    """Return all texts of a set in a fixed order; `second`: of the second held-out set."""
    texts = SECOND_HELD_OUT if second else table(held_out)
    found = (_of_kind(texts, number, held_out) for number in range(len(texts["kind"])))
    return tuple(itertools.chain.from_iterable(found))


def table(held_out: bool) -> Mapping[str, Any]:
    """Return the contents of the file of a set."""
    return HELD_OUT if held_out else TABLE


def _of_kind(texts: Mapping[str, Any], number: int, held_out: bool) -> Iterator[Injection]:
    kind = texts["kind"][number]
    ways = list(itertools.product(kind["templates"], kind.get("forms", ["plain"])))
    payloads = {**texts["payloads"], **kind.get("payloads", {})}
    used: dict[Goal, int] = defaultdict(int)
    places = itertools.count()
    for place, goals in HELD_OUT_PLAN if held_out else PLAN:
        for goal in goals:
            at, used[goal] = used[goal], used[goal] + 1
            some = payloads[goal]
            # The few held-out texts of a kind take the templates in turn, whatever their goals.
            step = next(places) if held_out else at
            template, form = ways[step % len(ways)]
            turn = step if held_out else step // len(ways)
            payload = some[(turn + number) % len(some)].format(
                code=texts["code"], given_in=texts["given_in"]
            )
            core = _FORMS[form](payload)
            before, _, text = template.format(x=core).rpartition(" | ")
            yield Injection(
                kind["name"],
                "argument" if kind.get("field") else place,
                goal,
                text,
                clean(core),
                before,
                kind.get("field", False),
                held_out,
            )


def training_texts() -> list[str]:
    """Return the texts of injection_training.toml: each template with three payloads."""
    found = []
    for texts in _read("injection_training.toml")["set"]:
        for number, kind in enumerate(texts["kind"]):
            if "forms" in kind:  # codes have no words to learn
                continue
            payloads = {**texts["payloads"], **kind.get("payloads", {})}
            templates = kind["templates"]
            if len(templates) == 1:
                templates = templates * 20
            for step in range(3 * len(templates)):
                goal = GOALS[(step + number) % len(GOALS)]
                some = payloads[goal]
                payload = some[(step // len(GOALS) + number) % len(some)].format(
                    code=CODES[(step + number) % len(CODES)],
                    given_in=CODES[(step + number + 5) % len(CODES)],
                )
                text = templates[step // 3].format(x=payload)
                found.append(text.rpartition(" | ")[2] if kind.get("turns") else text)
    return found


_FORMS: Final[Mapping[str, Any]] = {
    "plain": str,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "spaced": lambda text: "   ".join(" ".join(word) for word in text.split()),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "reversed": lambda text: text[::-1],
    "leet": lambda text: text.translate(str.maketrans("oeast", "034$7")),
    "hex": lambda text: text.encode().hex(),
    "percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "homoglyphs": lambda text: text.translate(str.maketrans("aeopcxi", "аеорсхі")),
    "zero width": "\u200b".join,
    "entities": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "more leet": lambda text: text.translate(str.maketrans("ilsgbz", "!15982")),
    "words reversed": lambda text: " ".join(reversed(text.split())),
}
