"""Compare a run with its input: missing, additional and moved debates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from operator import attrgetter
from pathlib import Path
from textwrap import shorten
from typing import Final

from touche_rad import files
from touche_rad.debate import Debate
from touche_rad.files import Evaluation, Kind
from touche_rad.files.labels import digests
from touche_rad.files.outputs import known_status
from touche_rad.score.conversations import content_of
from touche_rad.score.findings import (
    MISSING,
    ON_OTHERS,
    OTHER_NUMBER,
    OTHER_ORDER,
    OTHER_RESPONSES,
    Validation,
)
from touche_rad.text import count_of

Line = tuple[int, Debate, Evaluation | None]
"""A line of a run: its number, its debate, and the verdicts if it has any."""
_LONGEST_CLAIM: Final = 80


def read_inputs(
    source: Path, bad: files.BadLines, run: Iterable[Debate] | None = None
) -> list[Debate]:
    """Read the debates of a run's input, or its claims; a lost debate keeps its place.

    Of recorded debates, a simulated user takes the claims only: no debate of the run begins as one
    of them.
    """
    kind = files.detect_kind(source)
    if kind is Kind.CLAIMS:
        return list(files.read_claims(source, bad))
    debates = [debate for debate, _ in files.read_views(source, bad, keep_lost=True)]
    if (
        run is not None
        and kind is Kind.ANNOTATED
        and {debate.thesis for debate in run}.isdisjoint(debate.thesis for debate in debates)
    ):
        debates = [debate.replace(turns=()) for debate in debates]
    return debates


def compare_with_input(
    result: Validation, lines: list[Line], debates: dict[int, Debate], source: Path
) -> Counter[str]:
    """Compare a run with its input, and return how often the input has each claim.

    Debates are matched by their claims, responses by the messages before them. A line without a
    claim, or whose debate cannot be read, has the debate of its place, if no other line has it.
    """
    bad = files.BadLines(skip=True)
    inputs = read_inputs(source, bad, debates.values())
    result.has_claims_as_input = not any(debate.turns for debate in inputs)
    if bad.count:
        result.add(
            None,
            "the input has lines that cannot be read",
            f"lines of {source} that cannot be read: {bad}",
            "warning",
        )
    of_input = Counter(debate.claim for debate in inputs)
    what = "debate"
    key_of: Callable[[Debate], object] = attrgetter("claim")
    if result.kind == Kind.RESPONSES:
        what = "response"
        key_of = digests
        debates = {
            number: debate.before_response() if debate.turns else debate
            for number, debate in debates.items()
        }
        is_last_only = known_status(Path(result.path)).get("identity", {}).get("last_only")
        inputs = [
            debate.before_response(turn)
            for debate in inputs
            for turn in range(len(debate.turns))[-1 if is_last_only else 0 :]
        ]
    has_keys = any(map(key_of, inputs))
    keys = {number: key_of(debate) if has_keys else None for number, debate in debates.items()}
    rest: dict[object, list[int]] = {}
    for place, debate in enumerate(inputs):
        rest.setdefault(key_of(debate), []).append(place)
    if any(keys.values()) and rest.keys().isdisjoint(keys.values()):
        result.add(
            None,
            ON_OTHERS.replace("debate", what),
            f"{source} has none of its {len(keys)}: check --input",
        )
        return of_input

    places: dict[int, int] = {}
    numbers = sorted(debates)
    of_run = Counter(keys.values())
    if len(inputs) != len(numbers):
        result.add(
            None,
            OTHER_NUMBER.replace("debate", what),
            f"{result.counts}, and {source} has {count_of(len(inputs), what)}",
        )
    else:
        for place, number in enumerate(numbers):
            key = key_of(inputs[place])
            if not keys[number] and len(rest[key]) > of_run[key]:
                places[number] = place
                rest[key].remove(place)
    # Of several debates on a claim, a line has the one with its words.
    texts = list(map(digests, inputs))
    for number in numbers:
        words = digests(debates[number])
        of_key = rest.get(keys[number] or None, [])
        same = next((place for place in of_key if texts[place] == words), None)
        if same is not None:
            places[number] = same
            of_key.remove(same)
    for number in numbers:
        key = keys[number]
        if number in places:
            continue
        if key and rest.get(key):
            places[number] = rest[key].pop(0)
        elif key and (key not in rest or what == "response"):
            result.add(
                number, f"a {what} is additional", f"not in {source}: {_name(debates[number])}"
            )
    missing = [inputs[place] for place in chain(*rest.values()) if key_of(inputs[place])]
    # Nobody knows which of them the other lines lost.
    without_claim = [number for number in numbers if number not in places and not keys[number]]
    lost = len(without_claim)
    if what == "debate" and not missing and "" not in rest:
        for number in without_claim:
            # An empty line is a debate for the official client, but not for `read_claims`.
            if debates[number].turns:
                result.add(number, "a debate without a claim: the parameter file has an empty line")
    kind = MISSING.replace("debate", what)
    if not lost:
        for debate in missing:
            result.add(None, kind, f"no {what} on {_name(debate)}")
    elif len(missing) > lost:
        count = len(missing) - lost
        result.add(
            None,
            kind,
            f"{count} missing and {lost} lost, among them {_name(missing[0])}",
            times=count,
        )

    in_order = zip(sorted(places), sorted(places.values()), strict=True)
    moved = [number for number, place in in_order if places[number] != place]
    if moved:
        place = places[moved[0]]
        result.add(
            moved[0],
            OTHER_ORDER,
            f"{len(moved)} of {len(places)} {what}s are not in the order of {source}; the "
            f"first: {_name(inputs[place])} is {what} {place + 1} there",
        )

    others = []
    for number, debate, evaluation in lines:
        expected = inputs[places[number]] if number in places else Debate()
        if not expected.turns:
            continue
        if not evaluation:
            if debate.turns and expected.user_texts != debate.user_texts:
                others.append(number)
        elif not debate.turns:
            result.add(number, "a debate of the input is lost", "the input has it")
        elif digests(expected) != digests(debate):
            result.add(number, OTHER_RESPONSES)
        elif content_of(expected.turns) != content_of(debate.turns):
            result.add(number, "the citations are not the input's", level="warning")
    if 2 * len(others) < len(lines):  # else a simulated user wrote the messages
        for number in others:
            result.add(number, "the user's messages are not the input's", level="warning")
    return of_input


def _name(debate: Debate) -> str:
    """Return the first words of a claim in quotes, or the turn of a response."""
    if debate.turns and not debate.last.response:
        return f"turn {len(debate.turns)} of {debate.id}"
    return f"“{shorten(debate.claim, _LONGEST_CLAIM, placeholder=' …')}”"
