"""Changes to a true text, by group and name; `probe_changes.toml` describes them.

Every change takes a text and returns the changed one, or None where it does not apply.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Change = Callable[[str], str | None]

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_PATTERNS: dict[str, str] = _TABLES.pop("patterns")
_SYNONYMS: dict[str, str] = _TABLES.pop("synonyms")


def _parse(change: str | Mapping[str, Any]) -> Change:
    """Return the function that a change of the file describes."""
    if isinstance(change, str):
        return lambda text: change.format(text=text, lower=text[:1].lower() + text[1:])
    ((kind, value),) = change.items()
    return FUNCTIONS[value] if kind == "call" else _KINDS[kind](value)


def _replace(pattern_and_replacement: tuple[str, str]) -> Change:
    pattern, by = pattern_and_replacement
    pattern = re.sub(r"<(\w+)>", lambda name: _PATTERNS[name[1]], pattern)

    def change(text: str) -> str | None:
        changed = re.sub(pattern, by, text, count=1, flags=re.IGNORECASE)
        return changed if changed != text else None

    return change


def _swap(pairs: dict[str, str]) -> Change:
    both = pairs | {contrary: word for word, contrary in pairs.items()}
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, both))})\b", re.IGNORECASE)

    def change(text: str) -> str | None:
        changed = pattern.sub(lambda match: both[match.group().lower()], text, count=1)
        return changed if changed != text else None

    return change


def _frame(before_and_after: tuple[str, str]) -> Change:
    before, after = before_and_after

    def change(text: str) -> str | None:
        body = text.strip().rstrip(".")
        return f"{before}{body[:1].lower()}{body[1:]}{after}." if body else None

    return change


_KINDS: dict[str, Callable[[Any], Change]] = {"replace": _replace, "swap": _swap, "frame": _frame}


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+(?=[A-Z])", text.strip()) if part]


def _part(least: int, join: Callable[[list[str]], str]) -> Change:
    """Return the change that keeps some sentences of a text with at least so many."""

    def change(text: str) -> str | None:
        parts = _sentences(text)
        return join(parts) if len(parts) >= least else None

    return change


def _clause_left_out(text: str) -> str | None:
    """Replace the words between two commas by an ellipsis, unless they are a condition."""
    match = re.search(r"^([^,;:.!?()]{12,}), ([^,;:.!?()]{4,}), ([^,;:.!?()]{12,}[.]?)$", text)
    if not match or re.search(r"\b(if|unless|whether|except|until)\b", match.group(2).lower()):
        return None
    return f"{match.group(1)} ... {match.group(3)}"


def _clauses_turned_round(text: str) -> str | None:
    """Put the words after the first comma before the words before it."""
    first, comma, rest = text.strip().rstrip(".").partition(", ")
    if not comma or min(len(first), len(rest)) < 15:
        return None
    return f"{rest[0].upper()}{rest[1:]}, {first[0].lower()}{first[1:]}."


_VERB = re.compile(
    r"^(?P<subject>(?:\w+ ){1,6}?)(?P<verb>(?:is|are|was|were|can|could|will|would|should|may|might"
    r"|causes?|creates?|leads? to|affects?|helps?|harms?|influences?|reduces?|increases?)) "
    r"(?P<predicate>[^.,;:!?]{3,})(?P<rest>.*)$",
    re.DOTALL,
)
_NO_SUBJECT = re.compile(
    r"\b(?:it|this|that|there|these|those|which|who|what|if|as|while|when|because|example|they|he|she"
    r"|you|we|i|one)\b",
    re.IGNORECASE,
)


def _roles_exchanged(text: str) -> str | None:
    """Exchange what stands before and after the verb of the first sentence."""
    match = _VERB.match(text.strip())
    if not match or _NO_SUBJECT.search(match["subject"]):
        return None
    said = f"{match['predicate']} {match['verb']} {match['subject'].strip()}{match['rest']}"
    return said[0].upper() + said[1:]


def _words_shuffled(text: str) -> str | None:
    words = text.split()
    random.Random(text).shuffle(words)
    return " ".join(words) if len(words) >= 8 else None


def _synonyms(text: str) -> str:
    for word, other in _SYNONYMS.items():
        text = re.sub(rf"\b{word}\b", other, text, flags=re.IGNORECASE)
    return text


FUNCTIONS: dict[str, Change] = {
    "roles_exchanged": _roles_exchanged,
    "as_question": lambda text: f"Is it not so that {text[:1].lower()}{text[1:].rstrip('. ')}?",
    "words_shuffled": _words_shuffled,
    "first_sentence": _part(2, lambda parts: parts[0]),
    "first_two_sentences": _part(3, lambda parts: " ".join(parts[:2])),
    "last_sentence": _part(2, lambda parts: parts[-1]),
    "first_and_last": _part(3, lambda parts: f"{parts[0]} {parts[-1]}"),
    "without_middle": _part(3, lambda parts: f"{parts[0].rstrip('.')} … {parts[-1]}"),
    "opening": _part(1, lambda parts: parts[0]),
    "sentences_turned_round": _part(0, lambda parts: " ".join(reversed(parts))),
    "lower_case": str.lower,
    "upper_case": str.upper,
    "no_punctuation": lambda text: re.sub(r"[.,;:!?\"“”()]+(?=\s|$)", "", text),
    "exclaimed": lambda text: text.rstrip(".") + "!",
    "typographic": lambda text: text.replace("'", "’").replace(' "', " “").replace('"', "”"),
    "plain": lambda text: text.replace("’", "'").replace("“", '"').replace("”", '"'),
    "spaced": lambda text: "  " + text.replace(" ", "  ") + "\n",
    "clause_left_out": _clause_left_out,
    "ellipsis_at_the_end": lambda text: text.rstrip(".") + "…",
    "half": lambda text: " ".join(text.split()[: max(5, len(text.split()) // 2)]),
    "second_half": lambda text: " ".join(text.split()[len(text.split()) // 2 :]),
    "you_for_i": lambda text: (
        re.sub(r"\bI\b", "you", text).replace(" my ", " your ").replace("My ", "Your ")
    ),
    "clauses_turned_round": _clauses_turned_round,
    "synonyms": _synonyms,
    "seventh_word_dropped": lambda text: " ".join(
        word for at, word in enumerate(text.split()) if at % 7 != 6
    ),
}

CHANGES: dict[str, dict[str, Change]] = {
    group: {name: _parse(change) for name, change in table.items()}
    for group, table in _TABLES.items()
}
