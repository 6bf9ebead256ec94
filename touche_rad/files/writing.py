"""Writing: one line for each record."""

from __future__ import annotations

from touche_rad.debate import Argument, Debate, Response
from touche_rad.files.evaluations import Evaluation, Labels, evaluation_record, labels_record
from touche_rad.files.messages import annotated_record, chat_record, response_record
from touche_rad.files.parts import plain
from touche_rad.files.record import dump
from touche_rad.files.simulations import simulation_record


def simulation_line(debate: Debate) -> str:
    """Write a debate as the official client does."""
    return dump(simulation_record(debate))


def annotated_line(debate: Debate) -> str:
    """Write a debate as in the official annotated debates."""
    return dump(annotated_record(debate))


def chat_line(debate: Debate) -> str:
    """Write a debate as a chat request."""
    return dump(chat_record(debate))


def response_line(debate: Debate, turn: int, response: Response) -> str:
    """Write the response to the last turn of a debate, with the request it answers."""
    return dump(response_record(debate, turn, response))


def evaluation_line(evaluation: Evaluation) -> str:
    """Write a judged debate as the official client does."""
    return dump(evaluation_record(evaluation))


def labels_line(turns: tuple[Labels, ...]) -> str:
    """Write the labels of one debate."""
    return dump(labels_record(turns))


def argument_line(argument: Argument) -> str:
    """Write an argument as in a collection."""
    return dump(plain(argument))
