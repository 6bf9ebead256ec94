"""Check a run before it is submitted: TIRA's own checks, and what people and scorers will notice.

A fault loses a debate or a score; a warning makes an answer or a verdict worse.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Final

from touche_rad import files
from touche_rad.criteria import Criteria
from touche_rad.debate import NOTHING_FOUND, Debate, Response, Turn
from touche_rad.errors import InputError, InputProblem
from touche_rad.events import EventKind
from touche_rad.evidence.instructions import flags
from touche_rad.files import Evaluation, Kind
from touche_rad.files.criteria import criteria_of
from touche_rad.files.labels import digests
from touche_rad.files.outputs import (
    UNKNOWN_FALLBACKS,
    changes_of_answers,
    count_replaced,
    status_or_problem,
)
from touche_rad.files.records import JOURNAL, numbered_lines, original_record, records
from touche_rad.files.simulations import SIMULATIONS, fallback_of
from touche_rad.plugins import ArgumentIndex
from touche_rad.runs.fallbacks import ANSWERS, UTTERANCES
from touche_rad.runs.judging import VERDICTS
from touche_rad.score.conversations import DebateOfRun
from touche_rad.score.evaluations import FILLED_IN, debate_of
from touche_rad.score.findings import DEMO, TWICE, UNFIT, Level, Validation
from touche_rad.score.inputs import Line, compare_with_input
from touche_rad.score.words import names_of
from touche_rad.text import count_words, is_blank, shell_words

WORDS: Final = 60
ODD: Final = ("empty response", "too long response", "uncited response", "no-argument response")
"""What is counted of the responses of a run, whoever judges them; too long is over 60 words, and
no-argument that the debater says it has found none."""
OFFICIAL: Final = (Kind.SIMULATIONS, Kind.EVALUATIONS)
"""The kinds of files that can be uploaded."""


@dataclass
class CollectedErrors(files.BadLines):
    """Skips invalid lines, and keeps their errors."""

    skip: bool = True
    most: int = sys.maxsize


def runs_in(place: Path) -> list[Path]:
    """Return the runs of an output folder, or the one that a file is."""
    if not place.is_dir():
        return [place]
    return [path for path in sorted(place.iterdir()) if path.name.endswith((".jsonl", ".jsonl.gz"))]


def check(
    run: Path,
    *,
    source: Path | None = None,
    index: ArgumentIndex | None = None,
    words: int = WORDS,
    criteria: Criteria | None = None,
) -> Validation:
    """Check every line of a run.

    Args:
        run: Simulations, responses or evaluations, or the output folder that contains one run.
        source: The input of the run, to report missing and additional debates.
        index: The index that must contain each cited argument.
        words: Maximum words of a response; 0 = no limit.
        criteria: Those of the evaluations; by default those that the run names.
    """
    runs = runs_in(run)
    if len(runs) != 1:
        result = Validation(str(run), "folder")
        names = names_of([path.name for path in runs]) or "none"
        message = f"expected exactly one *.jsonl, found {names}"
        if runs:
            message += f": to check each, touche-rad check {shell_words(run)}/*.jsonl"
        result.add(None, "the folder is no run", message)
        return result
    (run,) = runs
    result = Validation(str(run), "unfinished run" if run.suffix == JOURNAL else "")
    bad = CollectedErrors()
    lines: list[Line] = []
    try:
        kind = files.detect_kind(run)
        result.kind = kind.value
        if kind is Kind.EVALUATIONS:
            criteria = criteria_of(criteria, run)
            result.official = criteria.official
        else:
            result.official = kind in OFFICIAL
        lines.extend(files.read_numbered(run, bad, criteria))
        if result.official:
            for number in bad.empty:
                result.add(number, "a line is empty", "the official programs refuse such a file")
    except InputError as error:
        times = 1
        if error.problem is InputProblem.EMPTY_RECORD:  # all lines are lost debates
            times = sum(line.value == {} for line in records(run, bad))
        result.add_error(error, times)
        if not lines:
            with suppress(InputError):  # of a file that cannot be read at all
                result.lines = result.lost or sum(1 for _ in numbered_lines(run, bad))
            _add_fallbacks(result, run, lines)
            return result
        # The rest of the file is lost: how many lines, and which debates, is unknown.
        source = None
    for bad_line in bad.errors:
        result.add_error(bad_line)

    debates = {bad_line.line or 0: Debate() for bad_line in bad.errors}
    # Of a line with a wrong verdict, the debate can be read.
    with suppress(InputError):
        for line in records(run, files.BadLines(skip=True)):
            if line.number in debates:
                debates[line.number] = debate_of(line.value)
    without_verdict = 0
    for number, debate, evaluation in lines:
        debates[number] = debate
        if debate.turns:
            result.example = debate
        result.turns += 1 if kind is Kind.RESPONSES else len(debate.turns)
        if not debate.turns and evaluation and debate.wire:
            result.add(
                number,
                InputProblem.EMPTY_RECORD,
                "lost in the debates that were judged; its verdicts count as no",
                "warning",
            )
        elif not debate.turns:
            result.add(
                number, "the debate has no turn" if debate.wire else "there is no simulation"
            )
        level: Level = "warning" if evaluation else "fault"
        unit = evaluation.criteria.unit if evaluation else "response"
        # Verdicts are on the answered turns; a run of debates gets a fault for each other one.
        judged = DebateOfRun(0, debate, unit=unit)
        present = len(judged.places) if evaluation else len(debate.turns)
        expected = len(judged.expected)
        if debate.turns and present < expected:
            result.add(
                number,
                "turns are missing",
                f"{present} of {expected} turns; the others count as no",
                level,
            )
        if result.official and debate.wire and not isinstance(files.configured(debate), dict):
            result.add(
                number,
                "the configuration is missing",
                "TIRA refuses a line without simulation.configuration",
                level,
            )
        if evaluation:
            without_verdict += _check_verdicts(result, number, debate, evaluation, words)
        else:
            _check_debate(result, number, debate, index, words)

    result.lines = len(debates)
    result.lost = sum(not debate.turns for debate in debates.values()) + without_verdict
    result.debates = result.lines - result.lost
    if kind is Kind.RESPONSES:  # a debate has a line for each of them
        result.debates = len({debate.id for _, debate, _ in lines})
    of_input: Counter[str] = Counter()
    if source:
        of_input = compare_with_input(result, lines, debates, source)
    if kind is not Kind.RESPONSES:
        claims = {number: debate.claim for number, debate, _ in lines}
        of_run = Counter(claims.values())
        first_line: dict[object, int] = {}  # by id, or by the texts if the id is the default
        for number, debate, _ in lines:
            keys: list[object] = [debate.id]
            if debate.turns and debate.id == f"debate-{number}":
                keys.append((debate.claim, debate.user, *digests(debate)))
            earlier = min(first_line.setdefault(key, number) for key in keys)
            if earlier == number:
                continue
            # The input may have a claim twice.
            if claims[earlier] != debate.claim or of_input[debate.claim] < of_run[debate.claim]:
                message = f"line {number} repeats line {earlier}"
                if not source:
                    message += ", which is right only if the input has it twice: --input"
                result.add(number, TWICE, message)
    _add_fallbacks(result, run, lines)
    result.findings.sort(key=lambda issue: issue.line or 0)
    return result


def odd_in(response: Response) -> Iterable[str]:
    """Return what an answer lacks, and that it is too long."""
    content = response.content
    is_long = count_words(content) > WORDS
    has_none = content == NOTHING_FOUND
    return compress(ODD, (is_blank(content), is_long, not response.arguments, has_none))


def _count_answer(
    result: Validation, line: int, number: int, turn: Turn, words: int, level: Level
) -> None:
    """Count a turn's message and its answer, also where verdicts are added.

    Report an answer that is empty, has found no argument, or has too many words.
    """
    place = f"turn {number}: "
    result.count(UTTERANCES, fallback_of(turn.model_extra), line, place)
    if turn.response:
        result.count(ANSWERS, fallback_of(turn.response.extra), line, place)
        result.odd.update(odd_in(turn.response))
        if is_blank(turn.response.content):
            result.add(line, "the answer is empty", f"{place}the answer is empty", level)
        if turn.response.content == NOTHING_FOUND:
            result.add(line, "no argument is found", f"{place}no argument is found", "warning")
        count = count_words(turn.response.content)
        if words and count > words:
            result.add(
                line,
                f"the answer has more than {words} words",
                f"{place}the answer has {count} words, at most {words} are allowed",
                level,
            )


def _check_debate(
    result: Validation, line: int, debate: Debate, index: ArgumentIndex | None, words: int
) -> None:
    """Check the responses of a debate; of a file of responses, only the last one is new."""
    # The messages before the last response are those of the input.
    first = len(debate.turns) if result.kind == Kind.RESPONSES else 1
    for number, turn in enumerate(debate.turns[first - 1 :], first):
        place = f"turn {number}: "
        response = turn.response
        _count_answer(result, line, number, turn, words, "fault")
        if not response:
            result.add(line, "the turn has no answer", f"{place}there is no answer")
            continue
        if not response.arguments:
            result.add(line, "nothing is cited", f"{place}nothing is cited", "warning")
        if len({argument.id for argument in response.arguments}) < len(response.arguments):
            kind = "an argument is cited twice"
            result.add(line, kind, f"{place}{kind}", "warning")
        if index is not None:
            for argument in response.arguments:
                in_index = index.get(argument.id)
                if not in_index:
                    problem = "is not in the index"
                elif in_index.text != argument.text:
                    problem = "has another text in the index"
                else:
                    continue
                result.add(
                    line,
                    f"a cited argument {problem}",
                    f"{place}the cited argument {argument.id!r} {problem}",
                )
        if result.kind == Kind.SIMULATIONS:
            # A content that is no text was read as one.
            record = original_record(debate, SIMULATIONS) or {}
            system = record["simulation"]["userTurns"][number - 1]["systemResponse"]
            body = system.get("response") or {}
            content = body.get("content")
            if not isinstance(content, str) or not (content or response.content == ""):
                result.add(
                    line,
                    "the content is no text",
                    f"{place}response.content: expected text, got {content!r:.40}",
                )
            if body.get("arguments") is None:
                result.add(
                    line,
                    "the citations are missing",
                    f"{place}response.arguments: expected a list, which may be empty",
                )
    for flagged, sentence in flags(debate.turns):
        result.add(line, EventKind.INSTRUCTION, f"turn {flagged + 1}: {sentence}", "warning")


def _check_verdicts(
    result: Validation, line: int, debate: Debate, evaluation: Evaluation, words: int
) -> bool:
    """Check the verdicts of a line; return whether `--fix` wrote all: `score` calls it lost."""
    answered = len(debate.views(evaluation.criteria.unit))
    if debate.turns and len(evaluation.turns) != answered:
        result.add(
            line,
            "the verdicts do not match the turns",
            f"{len(evaluation.turns)} turns are judged, and {answered} are answered",
        )
    for number, debated in enumerate(debate.turns, 1):
        _count_answer(result, line, number, debated, words, "warning")
    causes = {verdict.fallback for turn in evaluation.turns for verdict in turn.values()}
    is_lost = causes == {FILLED_IN}
    if is_lost:
        result.add(
            line,
            InputProblem.EMPTY_RECORD,
            "there was no verdict; each is a no by --fix",
            "warning",
        )
    for turn, verdicts in enumerate(evaluation.turns, 1):
        for criterion in evaluation.criteria:
            verdict = verdicts.get(criterion.key)
            place = f"turn {turn}: {criterion.title}"
            cause = verdict.fallback if verdict else ""
            if cause == FILLED_IN:  # `score` counts it as missing, too
                if not is_lost:
                    result.add(line, "a verdict is missing", f"{place} is a no by --fix", "warning")
                cause = ""
            result.count(VERDICTS, cause, line, f"{place} has a fallback score: ")
            if verdict and criterion.answers.kind == "categories":
                continue  # the answer alone is its verdict
            if not verdict or verdict.score is None:
                result.add(line, "a maxim has no score", f"{place} has no score")
            elif not 0 <= verdict.score <= 1:
                result.add(
                    line,
                    "a score is not 0 to 1",
                    f"{place} has the score {verdict.score:g}, not 0 to 1",
                )
    return is_lost


def _add_fallbacks(result: Validation, run: Path, lines: list[Line]) -> None:
    """Add how the run was made: by its own lines, and by the status of a run that has one."""
    status, problem = status_or_problem(run)
    if problem:
        result.add(None, problem, UNKNOWN_FALLBACKS, "warning")
    if status.get("demo") is True:
        result.add(None, DEMO)
    counts = status.get("counts", {})
    of_lines = result.fallbacks
    result.fallbacks = of_lines | count_replaced(status.get("fallbacks", ()))
    for what, count in result.fallbacks.items():
        total = result.totals[what] = result.totals[what] or counts.get(what, 0)
        # The debater's answers can be its own although all messages of the user are fallbacks.
        if what != UTTERANCES and count >= total > 0:
            result.add(None, f"{UNFIT}all {what} are fallbacks")
        elif not of_lines[what]:  # else the lines say it
            result.add(None, f"some {what} are fallbacks", level="warning", times=count)
    for events in changes_of_answers(status):
        without_example = events.count - len(events.examples)
        for event in events.examples:
            place = event.place
            of_turn = (
                number
                for number, debate, _ in lines
                if debate.id == place.debate and len(debate.turns) >= place.turn
            )
            line = next(of_turn, None)
            message = f"turn {place.turn}: {event.detail}" if line else ""
            result.add(line, event.title, message, "warning", 1 + without_example)
            without_example = 0
