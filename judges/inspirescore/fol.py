"""First-order logic as language models write it: a tolerant parser, and a solver with z3.

The verdicts are the paper's: a conclusion is true if it follows, false if the premises contradict
it, else unknown. The if-part of a conditional conclusion is a premise and replaces a premise that
contradicts it alone. If the premises contradict each other, nothing follows.
"""

from __future__ import annotations

import importlib.util
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple

from touche_rad.errors import UserError
from touche_rad.frozen import frozen
from touche_rad.lists import T
from touche_rad.text import clean, packaged_table

Truth = Literal["true", "false", "unknown"]
LONGEST_FORMULA: Final = 1_000
"""Characters of a formula; a longer one is refused."""
MOST_TOKENS: Final = 300
DEEPEST_BRACKETS: Final = 24
"""Maximum depth of brackets."""
EFFORT: Final = 500_000
"""z3's count of steps for one conclusion; a conclusion that needs more is unknown.

There is no limit in seconds, because the verdict would then depend on the machine.
"""


class FormulaError(ValueError):
    """The text is no formula, or too large a formula."""


class Token(NamedTuple):
    """A sign with its meaning, or a name."""

    kind: str
    text: str


_SIGNS: Final = packaged_table(__package__, "signs.toml")
_LEVELS: Final = ("iff", "implies", "xor", "or", "and")
"""The connectives; the later ones bind more tightly."""
_WORDS: Final = {**{word: word for word in (*_LEVELS, "not")}, "forall": "all", "exists": "some"}
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


_LETTER: Final = re.compile(r"[u-z]\d{0,2}['’]{0,2}")
"""An unbound name like this is a variable."""


def tokens(text: str) -> list[Token]:
    """Return the tokens, without the explanation after `::=` and without LaTeX's dollar signs.

    Raises:
        FormulaError: The text is too long or has an unknown sign.
    """
    if len(text) > LONGEST_FORMULA:
        raise FormulaError(f"longer than {LONGEST_FORMULA} characters")
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


class Node(NamedTuple):
    """A formula or a term."""

    kind: str
    """`variable`, `function` (without parts a constant), `predicate`, or the meaning of a sign."""
    name: str
    """Of a quantifier: that of its variable."""
    parts: tuple[Node, ...] = ()


def parse(text: str) -> Node:
    """Return the formula, with its free variables bound.

    Raises:
        FormulaError: The text is no formula.
    """
    sequence = tokens(text)
    if not sequence:
        raise FormulaError("the formula is empty")
    if len(sequence) > MOST_TOKENS:
        raise FormulaError(f"more than {MOST_TOKENS} signs and names")
    depth = 0
    for token in sequence:
        depth += (token.kind == "(") - (token.kind == ")")
        if depth > DEEPEST_BRACKETS:
            raise FormulaError(f"more than {DEEPEST_BRACKETS} deep")
    parser = _Parser([*sequence, Token("end", "the end")])
    formula = parser.formula()
    parser.expect("end")
    for name in sorted(parser.free, reverse=True):  # the paper's example means "for all"
        formula = Node("all", name, (formula,))
    return formula


class _Parser:
    """A recursive descent parser."""

    def __init__(self, sequence: Sequence[Token]) -> None:
        self._tokens = sequence
        self._at = 0
        self._bound: list[str] = []
        self.free: set[str] = set()
        """The variables that no quantifier binds."""

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def expect(self, kind: str) -> str:
        """Take a token of this kind and return its text."""
        if self._next.kind != kind:
            raise FormulaError(f"expected {kind!r}, got {self._next.text!r}")
        return self._take().text

    def _list_of(self, read: Callable[[], T]) -> list[T]:
        parts = [read()]
        while self._next.kind == ",":
            self._take()
            parts.append(read())
        return parts

    def formula(self, level: int = 0) -> Node:
        """Parse a formula whose connectives bind at least as tightly as this level."""
        if level == len(_LEVELS):
            return self._unit()
        formula = self.formula(level + 1)
        while self._next.kind == _LEVELS[level]:
            connective = self._take().kind
            # "A implies B implies C" is "A implies (B implies C)"; others join from the left.
            right = self.formula(level if connective == "implies" else level + 1)
            formula = Node(connective, "", (formula, right))
        return formula

    def _unit(self) -> Node:
        kind = self._next.kind
        if kind == "not":
            self._take()
            return Node("not", "", (self._unit(),))
        if kind == "(":
            self._take()
            inner = self.formula()
            self.expect(")")
            return inner
        if kind not in ("all", "some"):
            return self._atom()
        self._take()
        names = self._list_of(lambda: self.expect("name"))
        if self._next.kind == ".":
            self._take()
        self._bound += names
        wide = self._next.kind not in ("(", "all", "some", "not") or self._used_later(names)
        part = self.formula() if wide else self._unit()
        del self._bound[-len(names) :]
        for name in reversed(names):
            part = Node(kind, name, (part,))
        return part

    def _used_later(self, names: Sequence[str]) -> bool:
        """Whether a variable occurs after the bracket that follows its quantifier.

        Then the quantifier reaches further than the bracket, whatever the rules say.
        """
        wanted = set(names)
        before = ""
        open_brackets = 0
        passed = False
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

    def _atom(self) -> Node:
        text = self._next.text
        term = self._term()
        if self._next.kind in ("=", "differs"):
            differs = self._take().kind == "differs"
            same = Node("=", "", (term, self._term()))
            return Node("not", "", (same,)) if differs else same
        if term.kind == "variable" or text[0].isdigit():
            raise FormulaError(f"{text!r} is a term, not a formula")
        return Node("predicate", term.name, term.parts)

    def _term(self) -> Node:
        name = self.expect("name")
        if self._next.kind == "(":
            self._take()
            parts = self._list_of(self._term)
            self.expect(")")
            return Node("function", name, tuple(parts))
        if name in self._bound:
            return Node("variable", name)
        if not _LETTER.fullmatch(name):
            return Node("function", name)
        self.free.add(name)
        return Node("variable", name)


@frozen
class Decision:
    """The verdict, and why it is unknown."""

    truth: Truth
    reason: str = ""


def solver_is_installed() -> bool:
    """Whether z3 is installed."""
    return importlib.util.find_spec("z3") is not None


class Solver:
    """Decides conclusions; each has its own z3 context, so threads may share a solver."""

    def __init__(self, effort: int = EFFORT) -> None:
        if not solver_is_installed():
            raise UserError("the solver needs the extra logic: pip install 'touche-rad[logic]'")
        self._effort = effort

    def decide(self, premises: Sequence[str], conclusion: str) -> Decision:
        """Decide whether the premises make the conclusion true, false, or neither."""
        import z3

        try:
            wanted = parse(conclusion)
        except FormulaError as error:
            return Decision("unknown", f"the conclusion cannot be parsed: {error}")
        known: list[Node] = []
        for text in premises:
            try:
                known.append(parse(text))
            except FormulaError:
                continue
        try:
            decision = _Problem(self._effort).decide(known, wanted)
        except z3.Z3Exception as error:
            decision = Decision("unknown", f"the solver failed: {clean(str(error))[:200]}")
        if decision.truth == "unknown" and len(known) < len(premises):
            return Decision(
                "unknown",
                f"{decision.reason}; premises that cannot be parsed: {len(premises) - len(known)}",
            )
        return decision


class _Problem:
    """One conclusion with its terms, predicates and functions in z3."""

    def __init__(self, effort: int) -> None:
        import z3

        self._z3: Any = z3
        self._steps_left = effort
        self._context = z3.Context()
        self._thing = z3.DeclareSort("Thing", self._context)
        self._symbols: dict[str, Any] = {}
        self._variables = 0
        self._gave_up = False

    def decide(self, premises: Sequence[Node], conclusion: Node) -> Decision:
        known = [self._expression(premise, {}) for premise in premises]
        bare = conclusion
        things: dict[str, Any] = {}
        while bare.kind == "all":
            things[bare.name] = self._new_thing(bare.name)
            (bare,) = bare.parts
        if bare.kind == "implies":
            # The condition is a premise, and replaces those that contradict it alone.
            condition, holds = (self._expression(part, things) for part in bare.parts)
            if self._contradictory([*known, condition]):
                known = [
                    premise for premise in known if not self._contradictory([premise, condition])
                ]
            known.append(condition)
            fails = self._z3.Not(holds)
        else:
            holds = self._expression(bare, things)
            fails = self._z3.Not(self._expression(conclusion, {}))

        # Do the premises exclude that it fails, or that it holds?
        follows = self._contradictory([*known, self._z3.Not(holds)])
        against = self._contradictory([*known, self._z3.Not(fails)])
        if follows and against:
            return Decision("unknown", "the premises contradict each other")
        if follows or against:
            return Decision("true" if follows else "false")
        reason = "the solver gave up" if self._gave_up else "neither it nor its negation follows"
        return Decision("unknown", reason)

    def _contradictory(self, formulas: Sequence[object]) -> bool:
        if self._steps_left <= 0:
            self._gave_up = True
            return False
        solver = self._z3.Solver(ctx=self._context)
        before = _spent(solver)
        solver.set("rlimit", self._steps_left)
        solver.add(*formulas)
        answer = solver.check()
        self._steps_left -= _spent(solver) - before
        self._gave_up = self._gave_up or answer == self._z3.unknown
        return bool(answer == self._z3.unsat)

    def _new_thing(self, name: str) -> object:
        self._variables += 1
        return self._z3.Const(f"{name}#{self._variables}", self._thing)

    def _expression(self, node: Node, things: dict[str, Any]) -> object:
        """Return a formula or a term in z3; `things` are the bound variables."""
        z3 = self._z3
        if node.kind == "variable":
            return things[node.name]
        if node.kind in ("all", "some"):
            thing = self._new_thing(node.name)
            part = self._expression(node.parts[0], {**things, node.name: thing})
            return (z3.ForAll if node.kind == "all" else z3.Exists)([thing], part)
        parts = [self._expression(part, things) for part in node.parts]
        if node.kind in ("function", "predicate"):
            # A name with another number of terms is another predicate or function.
            key = f"{node.kind} {node.name}/{len(node.parts)}"
            if key not in self._symbols:
                predicate = node.kind == "predicate"
                gives = z3.BoolSort(self._context) if predicate else self._thing
                sorts = [self._thing] * len(node.parts)
                self._symbols[key] = z3.Function(key, *sorts, gives)
            return self._symbols[key](*parts)
        joins = {
            "not": z3.Not,
            "and": z3.And,
            "or": z3.Or,
            "xor": z3.Xor,
            "implies": z3.Implies,
            "iff": operator.eq,
            "=": operator.eq,
        }
        return joins[node.kind](*parts)


def _spent(solver: Any) -> int:
    """Return the steps that a solver's context has used so far."""
    return int(solver.statistics().get_key_value("rlimit count"))
