"""Changes to a true text, each of which a judge must see through, or must forgive.

Every function takes a text and returns the changed one, or None where the change does not apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Change = Callable[[str], str | None]

_AUXILIARY = (
    r"\b(is|are|was|were|can|could|will|would|should|may|might|must|has|have|do|does|did)\b"
)
_NT = r"\b(is|are|was|were|could|would|should|do|does|did|has|have)\b(?! not|n.t)"
_MODAL = r"\b(can|could|will|would|should|may|might|must)\b(?! not|n.t)"


def _replaced(pattern: str, by: str) -> Change:
    def change(text: str) -> str | None:
        changed = re.sub(pattern, by, text, count=1, flags=re.IGNORECASE)
        return changed if changed != text else None

    return change


def _swapped(pairs: dict[str, str]) -> Change:
    both = pairs | {contrary: word for word, contrary in pairs.items()}
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, both))})\b", re.IGNORECASE)

    def change(text: str) -> str | None:
        changed = pattern.sub(lambda match: both[match.group().lower()], text, count=1)
        return changed if changed != text else None

    return change


def _framed(before: str, after: str = "") -> Change:
    def change(text: str) -> str | None:
        body = text.strip().rstrip(".")
        return f"{before}{body[:1].lower()}{body[1:]}{after}." if body else None

    return change


NEGATIONS: dict[str, Change] = {
    "not": _replaced(_AUXILIARY + r"(?! not|n.t)", r"\1 not"),
    "n't": _replaced(_NT, r"\1n't"),
    "n’t, typographic": _replaced(_NT, r"\1n’t"),
    "never": _replaced(_AUXILIARY + r"(?! not|n.t)", r"\1 never"),
    "dropped": _replaced(r"(?:\b(?:not|never|hardly|rarely)\b |n['’]t\b)", ""),
    "cannot": _replaced(r"\bcan\b(?! ?not|'t|’t)", "cannot"),
    "can, for cannot": _replaced(r"\b(?:cannot|can['’]t|can not)\b", "can"),
    "won't": _replaced(r"\bwill\b(?! not)", "won't"),
    "should not": _replaced(r"\bshould\b(?! not|n.t)", "should not"),
    "hardly": _replaced(_AUXILIARY + r"(?! not|n.t)", r"\1 hardly"),
    "rarely, for often": _swapped({"often": "rarely", "usually": "seldom", "always": "never"}),
    "fails to": _replaced(_MODAL, "fails to"),
    "is unable to": _replaced(_MODAL, "is unable to"),
    "refuses to": _replaced(_MODAL, "refuses to"),
    "far from": _replaced(r"\b(is|are|was|were)\b(?! not|n.t)", r"\1 far from"),
    "anything but": _replaced(r"\b(is|are|was|were)\b(?! not|n.t)", r"\1 anything but"),
    "no longer": _replaced(r"\b(is|are|was|were)\b(?! not|n.t)", r"\1 no longer"),
    "without, for with": _swapped({"with": "without"}),
    "no, for a": _replaced(r"\b(?:a|an|some|any|all|every|many|most)\b", "no"),
    "few, for many": _swapped({"many": "few", "most": "few", "more": "less", "much": "little"}),
    "it is not true that": _framed("It is not true that "),
    "it is a myth that": _framed("It is a myth that "),
    "it is false that": _framed("It is simply false that "),
    "nobody can say that": _framed("Nobody can seriously say that "),
    "i doubt that": _framed("I very much doubt that "),
    "that ... is wrong": _framed("That ", " is wrong"),
    "contraries, verbs": _swapped(
        {
            "increase": "decrease", "increases": "decreases", "reduce": "raise",
            "reduces": "raises",
            "allow": "forbid", "allows": "forbids", "support": "oppose", "supports": "opposes",
            "help": "harm", "helps": "harms", "protect": "endanger", "improve": "worsen",
            "improves": "worsens", "accept": "reject", "encourage": "discourage",
            "create": "destroy", "creates": "destroys", "prove": "disprove", "include": "exclude",
            "includes": "excludes", "gain": "lose", "save": "waste", "trust": "distrust",
            "begin": "cease", "rise": "fall", "grow": "shrink", "win": "lose", "love": "hate",
            "causes": "prevents", "cause": "prevent",
        }
    ),
    "contraries, adjectives": _swapped(
        {
            "good": "bad", "better": "worse", "best": "worst", "high": "low", "higher": "lower",
            "strong": "weak", "easy": "hard", "safe": "dangerous", "large": "small",
            "rich": "poor", "positive": "negative", "right": "wrong", "true": "false",
            "same": "different", "old": "new", "early": "late", "public": "private",
            "cheap": "expensive", "useful": "useless", "harmful": "harmless",
            "necessary": "superfluous", "important": "irrelevant", "beneficial": "detrimental",
        }
    ),
    "prefixes": _swapped(
        {
            "fair": "unfair", "likely": "unlikely", "legal": "illegal", "moral": "immoral",
            "possible": "impossible", "able": "unable", "ethical": "unethical",
            "equal": "unequal", "rational": "irrational", "necessary": "unnecessary",
            "responsible": "irresponsible", "effective": "ineffective", "natural": "unnatural",
            "healthy": "unhealthy", "respect": "disrespect", "known": "unknown",
            "important": "unimportant", "relevant": "irrelevant", "agree": "disagree",
        }
    ),
}  # fmt: skip

EXAGGERATIONS: dict[str, Change] = {
    "always": _replaced(_MODAL, "will always"),
    "all, for some": _replaced(r"\b(?:some|many|most|several|certain)\b", "all"),
    "every": _replaced(r"\b(?:a|an)\b", "every"),
    "completely": _replaced(r"\b(is|are|was|were)\b", r"\1 completely"),
    "undoubtedly": _replaced(_AUXILIARY, r"\1 undoubtedly"),
    "proves that": _framed("History proves that "),
    "everyone knows that": _framed("Everyone knows that "),
    "always, for often": _replaced(
        r"\b(?:often|usually|sometimes|generally|frequently)\b", "always"
    ),
    "will, for may": _replaced(r"\b(?:may|might|could)\b", "will"),
    "catastrophically": _replaced(_AUXILIARY, r"\1 catastrophically"),
    "the greatest": _replaced(r"\bthe\b", "the greatest"),
}

NUMBERS: dict[str, Change] = {
    "another number": _replaced(r"\b\d+(?:[.,]\d+)?\b", "97"),
    "percent behind": _framed("", ", in 83 % of all cases"),
    "a third": _framed("For two thirds of the population, "),
    "millions": _framed("", ", and that concerns millions"),
    "twice": _replaced(_AUXILIARY, r"\1 twice"),
}

STUDIES: dict[str, Change] = {
    "study behind": lambda text: f"{text} A study of 4,000 people from 2019 confirms this.",
    "study as a clause": _framed("", ", as a Harvard study shows"),
    "studies before": _framed("Studies have shown that "),
    "research proves": _framed("Research proves that "),
    "according to experts": _framed("According to leading experts, "),
    "experts agree": lambda text: f"Experts agree: {text}",
    "figures behind": lambda text: f"{text} Official figures say the same.",
    "country behind": lambda text: f"{text} Sweden tried it, and crime fell within a year.",
    "report between": lambda text: f"A recent report is clear. {text}",
    "numbers behind": lambda text: f"{text} The effect is 40 percent.",
    "history behind": lambda text: f"{text} The Romans had already learned that lesson.",
    "thereby": _framed("", ", thereby undermining the very basis of democracy and trust"),
}

SURRENDERS: dict[str, Change] = {
    "you are right": lambda text: f"You are right. {text}",
    "absolutely right": lambda text: (
        f"You're absolutely right about that, and I see it now. {text}"
    ),
    "i agree": lambda text: f"I agree with you. {text}",
    "good point": lambda text: f"That is a good point. {text}",
    "convinced": lambda text: f"You have convinced me. {text}",
    "i was wrong": lambda text: f"I was wrong, I admit it. {text}",
    "concede": lambda text: f"I have to concede that. {text}",
    "exactly": lambda text: f"Exactly! {text}",
}

PADDINGS: dict[str, Change] = {
    "framed": _framed(
        "It should be noted at this point that, generally speaking and all things considered, ",
        ", which is, when all is said and done and at the end of the day, of course, the point",
    ),
    "said twice": lambda text: f"{text} In other words, to put it once more: {text}",
    "said thrice": lambda text: f"{text} That is to say, {text} And so, as I have said, {text}",
    "in front": lambda text: (
        "It is important to note that, needless to say, as a matter of fact, in this regard, for "
        f"all intents and purposes, it goes without saying and must be said: {text}"
    ),
}


def _lower_start(text: str) -> str:
    return text[:1].lower() + text[1:]


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+(?=[A-Z])", text.strip()) if part]


def _first(count: int) -> Change:
    def change(text: str) -> str | None:
        parts = _sentences(text)
        return " ".join(parts[:count]) if len(parts) > count else None

    return change


def _without_middle(text: str) -> str | None:
    parts = _sentences(text)
    return f"{parts[0].rstrip('.')} … {parts[-1]}" if len(parts) > 2 else None


def _clause_left_out(text: str) -> str | None:
    """Leave out what stands between two commas, where that is no condition."""
    match = re.search(r"^([^,;:.!?()]{12,}), ([^,;:.!?()]{4,}), ([^,;:.!?()]{12,}[.]?)$", text)
    if not match or re.search(r"\b(if|unless|whether|except|until)\b", match.group(2).lower()):
        return None
    return f"{match.group(1)} ... {match.group(3)}"


VERBATIM: dict[str, Change] = {
    "whole": lambda text: text,
    "first sentence": _first(1),
    "first two sentences": _first(2),
    "last sentence": lambda text: _sentences(text)[-1] if len(_sentences(text)) > 1 else None,
    "first and last": lambda text: (
        f"{_sentences(text)[0]} {_sentences(text)[-1]}" if len(_sentences(text)) > 2 else None
    ),
    "lower case": str.lower,
    "upper case": str.upper,
    "no punctuation": lambda text: re.sub(r"[.,;:!?\"“”()]+(?=\s|$)", "", text),
    "exclaimed": lambda text: text.rstrip(".") + "!",
    "typographic": lambda text: text.replace("'", "’").replace(' "', " “").replace('"', "”"),
    "plain": lambda text: text.replace("’", "'").replace("“", '"').replace("”", '"'),
    "in quotation marks": lambda text: f"“{text}”",
    "spaced": lambda text: "  " + text.replace(" ", "  ") + "\n",
    "but": lambda text: f"But {_lower_start(text)}",
    "however": lambda text: f"However, {_lower_start(text)}",
    "on the contrary": lambda text: f"On the contrary, {_lower_start(text)}",
    "consider this": lambda text: f"Consider this: {text}",
    "i disagree": lambda text: f"I disagree: {text}",
    "i disagree, in a sentence": lambda text: f"I disagree with you. {text}",
    "that is not true": lambda text: f"That is not true. {text}",
    "question in front": lambda text: f"Are you sure about that? {text}",
    "ellipsis over a sentence": _without_middle,
    "ellipsis over a clause": _clause_left_out,
    "ellipsis at the end": lambda text: text.rstrip(".") + "…",
}

ECHOES: dict[str, Change] = {
    "whole": lambda text: text,
    "first sentence": lambda text: _sentences(text)[0],
    "half": lambda text: " ".join(text.split()[: max(5, len(text.split()) // 2)]),
    "second half": lambda text: " ".join(text.split()[len(text.split()) // 2 :]),
    "you, for i": lambda text: (
        re.sub(r"\bI\b", "you", text).replace(" my ", " your ").replace("My ", "Your ")
    ),
    "framed": lambda text: f"Well, {_lower_start(text)}",
    "however": lambda text: f"However, {_lower_start(text)}",
    "synonyms": lambda text: _synonyms(text),
    "every seventh word dropped": lambda text: " ".join(
        word for at, word in enumerate(text.split()) if at % 7 != 6
    ),
    "sentences turned round": lambda text: " ".join(reversed(_sentences(text))),
}


def _synonyms(text: str) -> str:
    for word, other in {
        "people": "persons", "important": "crucial", "believe": "think", "children": "kids",
        "also": "too", "big": "large", "but": "yet", "should": "ought to", "because": "since",
        "many": "a lot of", "often": "frequently", "help": "assist", "show": "demonstrate",
    }.items():  # fmt: skip
        text = re.sub(rf"\b{word}\b", other, text, flags=re.IGNORECASE)
    return text
