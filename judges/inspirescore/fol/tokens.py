"""The words and signs of a formula, in the notations that language models mix."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

LONGEST: Final = 1_000
"""Letters of a formula that is read; a longer one is not."""


class Unreadable(ValueError):
    """A text that is no formula, or one of more parts than are read."""


class Token(NamedTuple):
    """A sign by its meaning, or a name."""

    kind: str
    text: str


_SIGNS: Final = {
    "iff": r"<-> <=> <--> ↔ ⇔ ⟷ ⟺ ≡ \leftrightarrow \Leftrightarrow \iff \equiv",
    "implies": r"-> => --> ==> → ⇒ ⟶ ⟹ ⊃ \rightarrow \Rightarrow \to \implies \supset",
    "and": r"&& & ∧ ⋀ /\ \wedge \land",
    "or": r"|| | ∨ ⋁ \/ \vee \lor",
    "xor": r"⊕ ⊻ \oplus \veebar",
    "not": r"¬ ~ ! ∼ \neg \lnot \sim",
    "all": r"∀ \forall",
    "some": r"∃ \exists",
    "differs": r"≠ != =/= \neq \ne",
    "=": "= ==",
    "(": "( [",
    ")": ") ]",
    ",": ", ;",
    ".": ". :",
}
_WORDS: Final = {
    "and": "and", "or": "or", "xor": "xor", "not": "not", "implies": "implies", "iff": "iff",
    "forall": "all", "exists": "some",
}  # fmt: skip
_MEANING: Final = {sign: kind for kind, signs in _SIGNS.items() for sign in signs.split()}
_SIGN: Final = re.compile(
    "|".join(
        re.escape(sign) + (r"(?![A-Za-z])" if sign[-1].isalpha() else "")
        for sign in sorted(_MEANING, key=len, reverse=True)
    )
)
_NAME: Final = re.compile(r"[^\W\d][\w'’]*(?:-(?=[^\W\d])[\w'’]+)*|\d+(?:\.\d+)?[%\w]*")
_SPACE: Final = re.compile(r"[\s$]+|\\[ ,;!]|\\(?:left|right)(?![A-Za-z])")
_TEXT: Final = re.compile(r"\\(?:text|mathrm|mathit|textit|operatorname)\s*\{([^{}]*)\}")
_GLOSS: Final = re.compile(r"::=.*", re.DOTALL)


def tokens(text: str) -> list[Token]:
    """Return the formula's tokens; a gloss behind `::=` and LaTeX's frame are no part of it.

    Raises:
        Unreadable: It is too long, or has a sign that is not known.
    """
    if len(text) > LONGEST:
        raise Unreadable(f"longer than {LONGEST} letters")
    bare = _TEXT.sub(lambda found: found[1].replace(" ", ""), _GLOSS.sub("", text)).strip()
    bare = bare.rstrip(".")
    found: list[Token] = []
    at = 0
    while at < len(bare):
        space = _SPACE.match(bare, at)
        if space:
            at = space.end()
            continue
        token = _token(bare, at)
        found.append(token)
        at += len(token.text)
    return found


def _token(text: str, at: int) -> Token:
    name = _NAME.match(text, at)
    if name:
        return Token(_WORDS.get(name[0].lower(), "name"), name[0])
    sign = _SIGN.match(text, at)
    if sign:
        return Token(_MEANING[sign[0]], sign[0])
    raise Unreadable(f"no sign of logic: {text[at : at + 1]!r}")
