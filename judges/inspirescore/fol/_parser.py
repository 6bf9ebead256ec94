"""First-order formulas: tokens, trees, and a parser for what language models write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

LONGEST: Final = 1_000
"""Characters of a formula; a longer one is refused."""


class FormulaError(ValueError):
    """The text is no formula, or too large a formula."""


class Token(NamedTuple):
    """A sign with its meaning, or a name."""

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
    "and": "and",
    "or": "or",
    "xor": "xor",
    "not": "not",
    "implies": "implies",
    "iff": "iff",
    "forall": "all",
    "exists": "some",
}
_MEANING: Final = {sign: kind for kind, signs in _SIGNS.items() for sign in signs.split()}
_SIGN: Final = re.compile(
    "|".join(
        re.escape(sign) + (r"(?![A-Za-z])" if sign[-1].isalpha() else "")
        for sign in sorted(_MEANING, key=len, reverse=True)
    )
)
_NAME: Final = re.compile(r"[^\W\d][\w'’]*(?:-(?=[^\W\d])[\w'’]+)*|\d++(?:\.\d++)?[%\w]*")
_SPACE: Final = re.compile(r"[\s$]+|\\[ ,;!]|\\(?:left|right)(?![A-Za-z])")
_TEXT: Final = re.compile(r"\\(?:text|mathrm|mathit|textit|operatorname)\s*\{([^{}]*)\}")
_GLOSS: Final = re.compile(r"::=.*", re.DOTALL)


def tokens(text: str) -> list[Token]:
    """Return the tokens, without the explanation after `::=` and without LaTeX's dollar signs.

    Raises:
        FormulaError: The text is too long or has an unknown sign.
    """
    if len(text) > LONGEST:
        raise FormulaError(f"longer than {LONGEST} characters")
    bare = _TEXT.sub(lambda match: match[1].replace(" ", ""), _GLOSS.sub("", text)).strip()
    bare = bare.rstrip(".")
    result: list[Token] = []
    at = 0
    while at < len(bare):
        if space := _SPACE.match(bare, at):
            at = space.end()
            continue
        if name := _NAME.match(bare, at):
            result.append(Token(_WORDS.get(name[0].lower(), "name"), name[0]))
        elif sign := _SIGN.match(bare, at):
            result.append(Token(_MEANING[sign[0]], sign[0]))
        else:
            raise FormulaError(f"unknown sign: {bare[at]!r}")
        at += len(result[-1].text)
    return result


Connective = Literal["and", "or", "xor", "implies", "iff"]
Quantifier = Literal["all", "some"]


@dataclass(frozen=True)
class Term:
    """A variable, a constant, or a function of terms."""

    name: str
    of: tuple[Term, ...] = ()
    variable: bool = False


@dataclass(frozen=True)
class Atom:
    """A predicate of terms; only `=` has a fixed meaning."""

    name: str
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Not:
    """The negation of a formula."""

    part: Formula


@dataclass(frozen=True)
class Binary:
    """Two formulas and their connective."""

    by: Connective
    left: Formula
    right: Formula


@dataclass(frozen=True)
class Quantified:
    """A formula with a quantifier."""

    quantifier: Quantifier
    variable: str
    part: Formula


Formula: TypeAlias = Atom | Not | Binary | Quantified


DEEPEST: Final = 24
"""Maximum depth of nested formulas and terms."""
MOST_TOKENS: Final = 300
_LEVELS: Final[tuple[Connective, ...]] = ("iff", "implies", "xor", "or", "and")
_LETTER: Final = re.compile(r"[u-z]\d{0,2}['’]{0,2}")
"""An unbound name like this is a variable."""
_END: Final = Token("end", "")


def parse(text: str) -> Formula:
    """Return the formula, with its free variables bound.

    Raises:
        FormulaError: The text is no formula.
    """
    result = tokens(text)
    if len(result) > MOST_TOKENS:
        raise FormulaError(f"more than {MOST_TOKENS} signs and names")
    if not result:
        raise FormulaError("the formula is empty")
    parser = _Parser(result)
    formula = parser.formula(0, 0)
    parser.expect("end")
    for name in sorted(parser.free, reverse=True):  # the paper's example means "for all"
        formula = Quantified("all", name, formula)
    return formula


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise FormulaError(f"more than {DEEPEST} deep")


class _Parser:
    """A recursive descent parser with a limited depth."""

    def __init__(self, sequence: Sequence[Token]) -> None:
        self._tokens = sequence
        self._at = 0
        self._bound: list[str] = []
        self.free: set[str] = set()
        """The variables that no quantifier binds."""

    @property
    def _next(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _take(self) -> Token:
        token = self._next
        self._at += 1
        return token

    def expect(self, kind: str) -> Token:
        """Take a token of this kind."""
        token = self._take()
        if token.kind != kind:
            raise FormulaError(f"expected {kind!r}, got {token.text or 'the end'!r}")
        return token

    def formula(self, level: int, depth: int) -> Formula:
        """Parse a formula whose connectives bind at least as tightly as this level."""
        if level == len(_LEVELS):
            return self._unit(depth)
        by = _LEVELS[level]
        left = self.formula(level + 1, depth)
        while self._next.kind == by:
            self._take()
            if by == "implies":
                return Binary(by, left, self.formula(level, depth + 1))
            left = Binary(by, left, self.formula(level + 1, depth))
        return left

    def _unit(self, depth: int) -> Formula:
        _check_depth(depth)
        kind = self._next.kind
        if kind == "not":
            self._take()
            return Not(self._unit(depth + 1))
        if kind in ("all", "some"):
            return self._quantified(depth)
        if kind == "(":
            self._take()
            inner = self.formula(0, depth + 1)
            self.expect(")")
            return inner
        return self._atom(depth)

    def _quantified(self, depth: int) -> Formula:
        quantifier = self._take().kind
        names = [self.expect("name").text]
        while self._next.kind == ",":
            self._take()
            names.append(self.expect("name").text)
        if self._next.kind == ".":
            self._take()
        _check_depth(depth + len(names))
        self._bound += names
        wide = self._next.kind not in ("(", "all", "some", "not") or self._used_later(names)
        part = self.formula(0, depth + 1) if wide else self._unit(depth + 1)
        del self._bound[-len(names) :]
        for name in reversed(names):
            part = Quantified("all" if quantifier == "all" else "some", name, part)
        return part

    def _used_later(self, names: Sequence[str]) -> bool:
        """Whether a variable occurs after the bracket that follows its quantifier.

        Then the quantifier reaches further than the bracket, whatever the rules say.
        """
        wanted = set(names)
        before, open_brackets, passed = "", 0, False
        for kind, text in self._tokens[self._at :]:
            open_brackets += (kind == "(") - (kind == ")")
            if open_brackets < 0:
                return False
            if kind == "name" and before in ("all", "some"):
                wanted.discard(text)
            elif passed and kind == "name" and text in wanted:
                return True
            passed = passed or (open_brackets == 0 and kind == ")")
            before = kind
        return False

    def _atom(self, depth: int) -> Formula:
        token = self._next
        term = self._term(depth)
        if self._next.kind not in ("=", "differs"):
            if term.variable or token.text[0].isdigit():
                raise FormulaError(f"{token.text!r} is a term, not a formula")
            return Atom(term.name, term.of)
        differs = self._take().kind == "differs"
        same = Atom("=", (term, self._term(depth)))
        return Not(same) if differs else same

    def _term(self, depth: int) -> Term:
        _check_depth(depth)
        name = self.expect("name").text
        if self._next.kind != "(":
            free = name not in self._bound and _LETTER.fullmatch(name)
            self.free |= {name} if free else set()
            return Term(name, variable=bool(free) or name in self._bound)
        self._take()
        parts = [self._term(depth + 1)]
        while self._next.kind == ",":
            self._take()
            parts.append(self._term(depth + 1))
        self.expect(")")
        return Term(name, tuple(parts))
