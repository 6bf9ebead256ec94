"""Texts that made a quadratic pattern run for minutes: each is read at once.

The sizes are fixed, and nothing is timed: with a quadratic pattern the test would reach the time
limit of the test run.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from tests.serve.served import app_of_the_demo
from touche_rad import errors
from touche_rad.cli.chat.view import _LONG_QUOTE
from touche_rad.debate import MOST_CHARACTERS, Argument, Debate, Response
from touche_rad.debaters.grounded.quoting import quotation, whole_sentences
from touche_rad.debaters.grounded.reading import parts
from touche_rad.evidence.highlights import supported_sentences
from touche_rad.evidence.standalone import missing_context
from touche_rad.evidence.words import read_passage, split_sentences
from touche_rad.files.messages import parse_messages  # noqa: F401
from touche_rad.runs.answering import Answerer

LENGTH = 300_000
UNITS = ("!", ".", "a", " ", "\n", '"', "A. B. ", "Mr. X ", '."', "1.", "a.com", " a-b", "(", ",", "“")
