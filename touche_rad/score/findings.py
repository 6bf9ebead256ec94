"""The result of a check: counts, and faults and warnings with their places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from touche_rad.debate import Debate
from touche_rad.errors import InputError
from touche_rad.files.outputs import Result
from touche_rad.frozen import frozen
from touche_rad.runs.fallbacks import ANSWERS, UTTERANCES
from touche_rad.runs.judging import VERDICTS
from touche_rad.text import clean, count_of, excerpt, printable

Level = Literal["fault", "warning"]
UNFIT: Final = "not fit to upload: "
"""The kinds of issues on how a run was made begin with it."""
DEMO: Final = f"{UNFIT}demo index"
TWICE: Final = "a debate is given twice"
MISSING: Final = "a debate is missing"
OTHER_ORDER: Final = "the order is not the input's"
OTHER_NUMBER: Final = "the number of debates is not the input's"
ON_OTHERS: Final = "the run is on other debates"
OTHER_RESPONSES: Final = "the responses are not the input's"


@frozen
class Issue:
    """A fault or warning with its place. Issues of one `kind` are shown as a group."""

    path: str
    line: int | None
    kind: str
    message: str
    level: Level
    times: int = 1
    """How often it was found, if its lines do not say it."""

    @property
    def place(self) -> str:
        """The file and line."""
        path = clean(printable(self.path))
        return f"{path}:{self.line}" if self.line else path


_FALLBACKS: Final = {
    ANSWERS: "an answer is a fallback",
    UTTERANCES: "a message of the user is a fallback",
    VERDICTS: "a verdict is a fallback score",
}
"""The kinds of issues on fallbacks, by the kind of result."""
_LONGEST_CAUSE: Final = 200

_JSON_FIELDS = "path kind lines debates lost turns unfit findings good official verdict".split()
"""The fields of the JSON output, in their order."""


@dataclass
class Validation:
    """The counts and issues of a run."""

    path: str
    kind: str = ""
    lines: int = 0
    debates: int = 0
    """Debates that are there."""
    lost: int = 0
    """Lines whose debate is lost: it has no turn, cannot be read, or got no verdict."""
    turns: int = 0
    official: bool = False
    """Whether this is a kind of file that can be uploaded."""
    findings: list[Issue] = field(default_factory=list)
    totals: Counter[Result] = field(default_factory=Counter)
    """The results by kind, such as answers."""
    fallbacks: Counter[Result] = field(default_factory=Counter)
    """Those that are fallbacks, as their lines say, or else the status."""
    odd: Counter[str] = field(default_factory=Counter)
    """Answers that lack something, or are too long."""
    example: Debate = field(default_factory=Debate)
    """One of the debates that are there."""
    has_claims_as_input: bool = False
    """Whether the input has only the claims of the debates."""

    @property
    def replaced(self) -> dict[Result, tuple[int, int]]:
        """How many results of each kind are fallbacks, and how many there are."""
        return {what: (count, self.totals[what]) for what, count in self.fallbacks.items()}

    @property
    def faults(self) -> Counter[str]:
        """How many faults of each kind there are."""
        return Counter(issue.kind for issue in self.findings if issue.level == "fault")

    @property
    def unfit(self) -> list[str]:
        """Why a valid run is no run to upload: how it was made."""
        return [kind.removeprefix(UNFIT) for kind in self.faults if kind.startswith(UNFIT)]

    @property
    def good(self) -> bool:
        """Whether there is no fault."""
        return not self.faults

    @property
    def groups(self) -> list[list[Issue]]:
        """The issues by kind: faults first, then the most frequent kind first."""
        kinds: dict[tuple[Level, str], list[Issue]] = {}
        for issue in self.findings:
            kinds.setdefault((issue.level, issue.kind), []).append(issue)
        return sorted(kinds.values(), key=lambda group: (group[0].level, -len(group)))

    @property
    def valid(self) -> bool:
        """Whether there is no fault but in how it was made."""
        return len(self.faults) == len(self.unfit)

    @property
    def verdict(self) -> str:
        """Whether the run can be uploaded, and why not."""
        reasons = [] if self.valid else ["not valid"]
        if self.unfit:
            reasons.append(UNFIT + "; ".join(self.unfit))
        return "; ".join(reasons) or (
            "valid" if self.official else "valid, but not a file to upload"
        )

    @property
    def counts(self) -> str:
        """The number of lines; if debates are lost, with that of both."""
        lines = count_of(self.lines, "line")
        if not self.lost:
            return lines
        return f"{lines} ({count_of(self.debates, 'debate')}, {self.lost} lost)"

    def record(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        groups = [
            {"kind": group[0].kind, "level": group[0].level, "count": times_of(group)}
            for group in self.groups
        ]
        record = {name: getattr(self, name) for name in _JSON_FIELDS}
        return record | {"findings": list(map(asdict, self.findings)), "groups": groups}

    def add(
        self,
        line: int | None,
        kind: str,
        message: str = "",
        level: Level = "fault",
        times: int = 1,
    ) -> None:
        """Add an issue; without a message, the kind says all."""
        self.findings.append(Issue(self.path, line, kind, message or kind, level, times))

    def count(self, what: Result, cause: str, line: int, message: str) -> None:
        """Count a result of a kind; with a cause, it is a fallback."""
        self.totals[what] += 1
        if cause:
            self.fallbacks[what] += 1
            self.add(
                line, _FALLBACKS[what], f"{message}{excerpt(cause, _LONGEST_CAUSE)}", "warning"
            )

    def add_error(self, error: InputError, times: int = 1) -> None:
        """Add a line that cannot be read, or so many equal ones."""
        kind = error.problem or "the line cannot be read"
        if error.line:
            self.lost += times
        else:
            kind = "the file is no run, or cannot be read"
        self.add(
            error.line,
            kind,
            ": ".join(filter(None, (error.field, error.expected))),
            times=times,
        )


def times_of(group: Iterable[Issue]) -> int:
    """Return how often the issues of a group were found."""
    return sum(issue.times for issue in group)
