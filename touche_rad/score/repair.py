"""Repair a run without changing an utterance: ids, nulls and missing noes.

The repairs work on the JSON records of a file, since a record with such a defect cannot be read.
What needs a new answer or a new verdict is not repaired.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product, starmap
from operator import ne
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.criteria import grice
from touche_rad.debate import FALLBACK, Debate
from touche_rad.errors import UserError
from touche_rad.files import Kind
from touche_rad.files.criteria import criteria_of
from touche_rad.files.labels import digests
from touche_rad.files.records import dump, records, write_text
from touche_rad.files.simulations import simulation_record
from touche_rad.score.evaluations import FILLED_IN, debate_of, object_of, objects_of, verdicts_of
from touche_rad.score.inputs import read_inputs
from touche_rad.score.validation import OFFICIAL, CollectedErrors

Record = dict[str, Any]
_NUMBER: Final = re.compile(r"\d(\.\d+)?(e-\d+)?")


@dataclass
class Repair:
    """The lines of the repaired run, and what was done."""

    lines: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    """How often each kind of defect was repaired."""

    def write(self, path: Path) -> None:
        """Write the lines to a file."""
        write_text(path, "".join(f"{line}\n" for line in self.lines))


def repair(run: Path, source: Path | None = None) -> Repair:
    """Repair a run of simulations or evaluations; `source` has the debates that were judged."""
    kind = files.detect_kind(run)
    if kind not in OFFICIAL:
        raise UserError(f"{run}: expected simulations or evaluations, got {kind.value}")
    if not criteria_of(None, run).official:
        raise UserError(f"{run}: only evaluations on the task's criteria can be repaired")
    result = Repair()
    bad = CollectedErrors()
    # The lines by number, None where one cannot be read: each keeps its place.
    values = {line.number: line.value for line in records(run, bad)}
    values |= {error.line or 0: None for error in bad.errors}
    result.done["an empty line removed"] = len(bad.empty)
    rows: list[Record] = []
    is_judged = kind is Kind.EVALUATIONS
    for _, value in sorted(values.items()):
        if not isinstance(value, dict) or (
            "simulation" in value
            and debate_of(value) == Debate()
            # As `judge` writes a lost debate.
            and not (is_judged and object_of(value["simulation"]).get("userTurns") == [])
        ):
            result.done["a line that cannot be read replaced"] += 1
            value = {}  # a lost debate
        rows.append(value)
    if source:
        debates = read_inputs(source, files.BadLines(skip=True), map(debate_of, rows))
        rows = _arrange(rows, debates, result, is_judged)
    _mend_ids(rows, result)
    for row in filter(None, rows):
        _mend_simulation(row, result)
        if is_judged:
            _mend_verdicts(row, result)
    result.lines = [dump(row) for row in rows]
    result.done = +result.done  # without zeros
    return result


MISSING_SCORE: Final = "a missing score written as no"
_Key = tuple[str, ...]
"""By what a debate is found: the digests of its texts, or the claim if it was to be played."""
NO_CLAIM: Final = ("",)


def _arrange(
    rows: list[Record], inputs: Sequence[Debate], result: Repair, is_judged: bool
) -> list[Record]:
    """Return a record for each debate of the input; without change if there is another debate."""

    def key_of(debate: Debate) -> _Key:
        return digests(debate) if is_judged else (debate.claim,)

    rows_of: dict[_Key, list[tuple[int, Record]]] = {key_of(debate): [] for debate in inputs}
    without_claim = 0
    for at, row in enumerate(rows):
        if not row:
            continue
        debate = debate_of(row)
        key = key_of(debate)
        if key == NO_CLAIM and debate.turns:  # of an empty line of the client's parameter file
            without_claim += 1
            continue
        # A debate that the input does not have: it is not the input of this run.
        if "simulation" not in row or key not in rows_of:
            return rows
        rows_of[key].append((at, row))
    # What a debate without a claim is, is unknown, unless other rows have all claims of the input.
    if NO_CLAIM in rows_of or (without_claim and not all(rows_of.values())):
        return rows
    result.done["a debate without a claim left out"] = without_claim
    empty = [at for at, row in enumerate(rows) if not row]
    arranged = []
    order = []
    for debate in inputs:
        rows_of_debate = rows_of[key_of(debate)]
        row = simulation_record(debate) if is_judged else {}
        if rows_of_debate:
            at, row = rows_of_debate.pop(0)
            order.append(at)
        elif empty:
            order.append(empty.pop(0))
        else:
            result.done["a line for a lost debate added"] += 1
        arranged.append(row)
    result.done["an empty record left out"] = len(empty)
    result.done["a debate put on its line of the input"] = sum(
        starmap(ne, zip(order, sorted(order), strict=True))
    )
    result.done["a second copy of a debate dropped"] = sum(map(len, rows_of.values()))
    return arranged


def _turns(row: Record) -> list[Record]:
    return objects_of(object_of(row.get("simulation")).get("userTurns"))


def _mend_ids(rows: list[Record], result: Repair) -> None:
    """Write ids as texts, and give each debate an id of its own."""
    for row in rows:
        for record in (row, object_of(row.get("simulation"))):
            name = record.get("id", "")
            if name is None:
                del record["id"]
                result.done["an id that is null removed"] += 1
            elif type(name) is int:  # not true or false
                record["id"] = str(name)
                result.done["an id written as text"] += 1
    seen: dict[str, Record] = {}
    for row in rows:
        record = row if "id" in row else object_of(row.get("simulation"))
        if not isinstance(record.get("id"), str):
            continue
        name = record["id"]
        if seen.get(name) == row:  # a copy of a debate, which `check` reports
            continue
        number = 2
        while record["id"] in seen:
            record["id"] = f"{name}-{number}"
            number += 1
        if record["id"] != name:
            result.done["an id changed that was used twice"] += 1
        seen[record["id"]] = row


def _mend_simulation(row: Record, result: Repair) -> None:
    """Replace the nulls of a simulation."""
    simulation = row.get("simulation")
    if not isinstance(simulation, dict):
        return
    if not isinstance(simulation.get("configuration"), dict):
        simulation["configuration"] = {}
        result.done["a missing configuration added"] += 1
    for turn in _turns(row):
        answer = turn.get("systemResponse")
        if not isinstance(answer, dict):
            continue
        body = answer.get("response")
        if body is None:
            body = answer["response"] = {}
        if not isinstance(body, dict):
            continue
        # The text of an answer stands in two fields.
        text = answer.get("utterance")
        if text is None:
            text = body.get("content")
        for record, key in ((answer, "utterance"), (body, "content")):
            if text is not None and record.get(key) is None:
                record[key] = text
                result.done["a missing copy of the answer's text added"] += 1
        citations = body.get("arguments")
        if citations is None:
            body["arguments"] = []
            result.done["missing citations written as an empty list"] += 1
        elif isinstance(citations, list):
            body["arguments"] = [citation for citation in citations if citation is not None]
            result.done["a citation that is null removed"] += citations.count(None)


def _mend_verdicts(row: Record, result: Repair) -> None:
    """Write a no for each missing verdict on an answered turn."""
    answered = sum(bool(turn.get("systemResponse")) for turn in _turns(row))
    turns = verdicts_of(row)
    turns += [{} for _ in range(answered - len(turns))]
    row["userTurnsEvaluations"] = turns
    for turn in turns:
        for key in turn.keys() & set(grice().keys):
            turn.setdefault(key.capitalize(), turn.pop(key))
            result.done["the name of a maxim written as the task does"] += 1
    for turn, title in product(turns, grice().names):
        verdict = turn.get(title)
        score = verdict.get("score") if isinstance(verdict, dict) else verdict
        if score is None:
            fallback = {"score": 0, "explanation": FILLED_IN, FALLBACK: FILLED_IN}
            turn[title] = {**(verdict or {}), **fallback}
            result.done[MISSING_SCORE] += 1
        elif isinstance(verdict, dict) and isinstance(score, str) and _NUMBER.fullmatch(score):
            verdict["score"] = float(score)
            result.done["a score in quotes written as a number"] += 1
