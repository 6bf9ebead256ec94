"""Repair a run without changing an utterance: ids, nulls, citations, copies, order, missing noes.

The repairs work on the JSON records of a file, since a record with such a defect cannot be read.
What needs a new answer or a new verdict is not repaired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.debate import Argument, Debate, Maxim
from touche_rad.errors import InputError, UserError
from touche_rad.files import Kind
from touche_rad.files.records import BadLines, dump, parse, records
from touche_rad.plugins import ArgumentIndex
from touche_rad.score.validation import NO_VERDICT

MISSING: Final = f"{NO_VERDICT}: it is missing in the run"
_CANDIDATES: Final = 5
"""Search results among which the text of a citation without an id is looked for."""

Record = dict[str, Any]


@dataclass
class Repair:
    """The lines of the repaired run, and what was done."""

    lines: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    """How often each kind of defect was repaired."""
    left: list[str] = field(default_factory=list)
    """What could not be repaired, beside what `check` finds in the repaired run."""

    @property
    def repaired(self) -> dict[str, int]:
        """How often each kind of defect was repaired, the most frequent first."""
        return {what: count for what, count in self.done.most_common() if count}


def repair(run: Path, *, source: Path | None = None, index: ArgumentIndex | None = None) -> Repair:
    """Repair a run of simulations or evaluations; other debates become simulations.

    Args:
        run: The run.
        source: The input of the run: it gives the order, and the debates that are missing.
        index: The argument index, to complete citations.
    """
    kind = files.detect_kind(run)
    if kind not in files.DEBATES:
        raise UserError(f"{run}: expected simulations, evaluations or debates, got {kind.value}")
    result = Repair()
    official = kind in (Kind.SIMULATIONS, Kind.EVALUATIONS)
    rows = list(_records(run, result) if official else _converted(run, kind, result))
    rows = _without_copies(rows, result, in_input=source is not None)
    if source is not None:
        rows = _as_in_input(rows, source, result, evaluations=kind is Kind.EVALUATIONS)
    _name(rows, result)
    for row in filter(None, rows):
        _Simulation(result, index).mend(row)
        if kind is Kind.EVALUATIONS:
            _mend_verdicts(row, result)
    result.lines = [dump(row) for row in rows]
    return result


class _Lost(BadLines):
    """Collects the lines that cannot be read."""

    def __init__(self) -> None:
        super().__init__(skip=True)
        self.errors: dict[int, InputError] = {}

    def report(self, error: InputError) -> None:
        super().report(error)
        self.errors[error.line or 0] = error


def _records(run: Path, result: Repair) -> Iterator[Record]:
    """Yield each record; a line that cannot be read becomes a lost debate, `{}`."""
    lost = _Lost()
    rows = {line.number: line.raw for line in records(run, lost)}
    for number in sorted({*rows, *lost.errors}):
        row = rows.get(number)
        if not isinstance(row, dict):
            error = lost.errors.get(number, InputError(run, "expected an object", line=number))
            result.left.append(f"{error}; {{}} is in its place")
            row = {}
        yield row


def _converted(run: Path, kind: Kind, result: Repair) -> Iterator[Record]:
    """Yield debates of another kind as simulations."""
    lost = _Lost()
    for debate, views in files.read_views(run, lost):
        turns = [len(view.turns) for view in views]
        if kind is Kind.RESPONSES and turns != list(range(1, len(turns) + 1)):
            result.left.append(f"debate {debate.id}: the responses to earlier turns are missing")
            continue
        result.done[f"{kind.value} written as simulations"] += 1
        yield parse(files.simulation_line(debate))
    result.left.extend(map(str, lost.errors.values()))


def _without_copies(rows: list[Record], result: Repair, *, in_input: bool) -> list[Record]:
    """Drop copies of a line that has an id.

    Without an id, equal lines may be two debates about the same claim, unless the input decides.
    """
    kept: list[Record] = []
    seen: set[str] = set()
    for row in rows:
        text = dump(row)
        if text in seen and _id(row) and not in_input:
            result.done["a copy of a line removed"] += 1
            continue
        seen.add(text)
        kept.append(row)
    return kept


def _id(row: Record) -> str:
    simulation = row.get("simulation")
    inner = simulation.get("id") if isinstance(simulation, dict) else None
    name = row.get("id", inner)
    return str(name) if isinstance(name, str | int) and not isinstance(name, bool) else ""


def _name(rows: list[Record], result: Repair) -> None:
    """Write ids as texts, and give each debate an id of its own."""
    seen: set[str] = set()
    for row in rows:
        name = _id(row)
        if not name:
            if "id" in row and row["id"] is None:
                del row["id"]
                result.done["an id that is null removed"] += 1
            continue
        fresh, number = name, 2
        while fresh in seen:
            fresh, number = f"{name}-{number}", number + 1
        seen.add(fresh)
        place = row if "id" in row else row["simulation"]
        if place["id"] != fresh:
            what = "an id written as text" if fresh == name else "an id changed that was used twice"
            result.done[what] += 1
            place["id"] = fresh


def _claim(row: Record) -> str:
    value: Any = row.get("simulation")
    for key in ("configuration", "topic", "description"):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _spoken(row: Record) -> tuple[Any, ...]:
    simulation = row.get("simulation")
    turns = simulation.get("userTurns") if isinstance(simulation, dict) else None
    found = turns if isinstance(turns, list) else []
    return tuple(turn.get("utterance") for turn in found if isinstance(turn, dict))


def _as_in_input(
    rows: list[Record], source: Path, result: Repair, *, evaluations: bool
) -> list[Record]:
    """Order the records as in the input; a missing evaluation gets noes."""
    claims = files.detect_kind(source) is Kind.CLAIMS
    wanted = list(files.read_claims(source) if claims else files.read_debates(source))
    left = list(range(len(rows)))
    ordered: list[Record] = []
    moved: list[int] = []
    for position, debate in enumerate(wanted):
        at = _find(rows, left, debate, position if len(rows) == len(wanted) else None)
        if at is None:
            if evaluations and not claims:
                ordered.append(_record_of(debate))
                result.done["a missing line written with noes"] += 1
            else:
                missing = debate.claim or debate.key
                result.left.append(f"the debate {missing[:60]!r} of the input is missing: play it")
            continue
        left.remove(at)
        moved.append(at)
        ordered.append(_complete(rows[at], debate, result, with_turns=evaluations and not claims))
    if moved != sorted(moved):
        result.done["a line moved to its place in the input"] += sum(
            then != now for then, now in zip(moved, sorted(moved), strict=True)
        )
    texts = {dump(row) for row in ordered}
    for at in left:
        if dump(rows[at]) in texts or (not rows[at] and evaluations):
            result.done["a copy of a line removed"] += 1
        else:
            result.left.append(f"debate {_id(rows[at]) or at + 1} is not in the input")
            ordered.append(rows[at])
    return ordered


def _find(rows: list[Record], left: list[int], debate: Debate, position: int | None) -> int | None:
    """Return the number of the record of a debate; by position only what names nothing."""
    spoken = tuple(turn.utterance for turn in debate.turns)
    matches: tuple[Callable[[Record], bool], ...] = (
        lambda row: bool(spoken) and _spoken(row) == spoken,
        lambda row: bool(debate.claim) and not spoken and _claim(row) == debate.claim,
    )
    for match in matches:
        for at in left:
            if match(rows[at]):
                return at
    if position in left and position is not None and rows[position]:
        row = rows[position]
        if not _spoken(row) or (not spoken and not _claim(row)):
            return position
    return None


def _complete(row: Record, debate: Debate, result: Repair, *, with_turns: bool) -> Record:
    """Add the configuration or the whole simulation that only the input has."""
    simulation = row.get("simulation")
    given = _record_of(debate)["simulation"]
    if with_turns and not isinstance(simulation, dict):
        result.done["a missing simulation taken from the input"] += 1
        return {**row, "simulation": given}
    if isinstance(simulation, dict) and not isinstance(simulation.get("configuration"), dict):
        configuration = given.get("configuration") or {}
        row = {**row, "simulation": {**simulation, "configuration": configuration}}
        result.done["a missing configuration added"] += 1
    return row


def _record_of(debate: Debate) -> Record:
    record: Record = parse(files.simulation_line(debate))
    return record


@dataclass(frozen=True)
class _Simulation:
    """Repairs the turns of a simulation."""

    result: Repair
    index: ArgumentIndex | None

    def mend(self, row: Record) -> None:
        """Repair a record in place."""
        simulation = row.get("simulation")
        if not isinstance(simulation, dict):
            return
        if not isinstance(simulation.get("configuration"), dict):
            simulation["configuration"] = {}
            self.result.done["a missing configuration added"] += 1
        turns = simulation.get("userTurns")
        for turn in turns if isinstance(turns, list) else ():
            answer = turn.get("systemResponse") if isinstance(turn, dict) else None
            if isinstance(answer, dict):
                self._mend_answer(answer)

    def _mend_answer(self, answer: Record) -> None:
        body = answer.get("response")
        if not isinstance(body, dict):
            if body is not None:
                return
            body = answer["response"] = {}
        for place, key in ((answer, "utterance"), (body, "content")):
            if isinstance(place.get(key), int | float) and not isinstance(place[key], bool):
                place[key] = str(place[key])
                self.result.done["a number written as text"] += 1
        said = next(
            (one for one in (answer.get("utterance"), body.get("content")) if _is_said(one)), None
        )
        for place, key in ((answer, "utterance"), (body, "content")):
            if said is not None and place.get(key) is None:
                place[key] = said
                self.result.done["a missing copy of the answer's text added"] += 1
        cited = body.get("arguments")
        if cited is None:
            body["arguments"] = []
            self.result.done["missing citations written as an empty list"] += 1
        elif isinstance(cited, list):
            body["arguments"] = list(self._citations(cited))

    def _citations(self, cited: list[Any]) -> Iterator[Any]:
        seen: set[str] = set()
        for value in cited:
            if value is None:
                self.result.done["a citation that is null removed"] += 1
                continue
            one = self._citation(value)
            name = one.get("id") if isinstance(one, dict) else None
            if isinstance(name, str):
                if name in seen:
                    self.result.done["a second citation of an argument removed"] += 1
                    continue
                seen.add(name)
            yield one

    def _citation(self, value: Any) -> Any:
        """Return a citation with the id and the text of the index."""
        one = {"id": value} if isinstance(value, str | int) else value
        if not isinstance(one, dict):
            return value
        one = dict(one)
        if isinstance(one.get("id"), int | float) and not isinstance(one["id"], bool):
            one["id"] = str(one["id"])
            self.result.done["an id written as text"] += 1
        text = one.get("text")
        if one.get("id") is None and isinstance(text, str):
            found = self._search(text)
            if found is not None:
                one["id"] = found.id
                self.result.done["a missing id of a citation found by its text"] += 1
        own = self._get(one.get("id"))
        if own is None:
            return one
        if text is None:
            self.result.done["a citation completed from the index"] += 1
            given = {key: value for key, value in one.items() if value is not None}
            return {**own.model_dump(mode="json", exclude_unset=True), **given}
        if isinstance(text, str) and text != own.text and _words(text) == _words(own.text):
            one["text"] = own.text
            self.result.done["white space and case of a citation as in the index"] += 1
        return one

    def _get(self, name: Any) -> Argument | None:
        return self.index.get(name) if self.index is not None and isinstance(name, str) else None

    def _search(self, text: str) -> Argument | None:
        hits = self.index.search("text", text, _CANDIDATES) if self.index is not None else ()
        same = (hit.argument for hit in hits if _words(hit.argument.text) == _words(text))
        return next(same, None)


def _is_said(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _words(text: str) -> list[str]:
    return text.casefold().split()


def _mend_verdicts(row: Record, result: Repair) -> None:
    """Write each verdict in the official form; what is missing becomes a no."""
    simulation = row.get("simulation")
    turns = simulation.get("userTurns") if isinstance(simulation, dict) else None
    found = turns if isinstance(turns, list) else []
    answered = sum(isinstance(turn, dict) and bool(turn.get("systemResponse")) for turn in found)
    given = row.get("userTurnsEvaluations")
    verdicts = given if isinstance(given, list) else []
    while len(verdicts) < answered:
        verdicts.append({})
    row["userTurnsEvaluations"] = [_mend_turn(one, result) for one in verdicts]


def _mend_turn(given: Any, result: Repair) -> Record:
    turn: Record = {}
    for key, value in (given if isinstance(given, dict) else {}).items():
        name = key.capitalize() if key.lower() in tuple(Maxim) else key
        result.done["the name of a maxim written as official"] += name != key
        turn[name] = value
    for maxim in Maxim:
        turn[maxim.key] = _mend_verdict(turn.get(maxim.key), result)
    return turn


def _mend_verdict(value: Any, result: Repair) -> Record:
    one = value if isinstance(value, dict) else {"score": value}
    score = one.get("score")
    if isinstance(score, bool):
        result.done["a score written as a number"] += 1
        return {**one, "score": int(score)}
    if isinstance(score, int | float):
        result.done["a score written as an object"] += one is not value
        return one
    if isinstance(score, str):
        try:
            number = float(score)
        except ValueError:
            number = -1.0
        if 0 <= number <= 1:
            result.done["a score written as a number"] += 1
            return {**one, "score": number}
    if score is not None or not (value is None or isinstance(value, dict)):
        return one  # `check` reports a score that is no number
    result.done["a missing score written as no"] += 1
    return {**one, "score": 0, "explanation": MISSING}
