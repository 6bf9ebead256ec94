"""Redact the key of the model's endpoint from all output."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

KEY: Final = "OPENAI_API_KEY"
HIDDEN: Final = "***"
_MIN_LENGTH: Final = 6
_MAX_WORD_LENGTH: Final = 15
"""A shorter key, or a plain word ("public"), can occur in any text by chance. Redacting it would
damage quotations and protect nothing."""


def redact(text: str) -> str:
    """Return a text with the key replaced by `***`, in plain form and in both JSON forms."""
    key = os.environ.get(KEY, "")
    if len(key) < _MIN_LENGTH or (len(key) <= _MAX_WORD_LENGTH and key.isalpha()):
        return text
    for form in (key, json.dumps(key, ensure_ascii=False)[1:-1], json.dumps(key)[1:-1]):
        text = text.replace(form, HIDDEN)
    return text


def redact_data(value: Any) -> Any:
    """Return JSON data with the key redacted in its texts; names of fields do not change."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: redact_data(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact_data(inner) for inner in value]
    return value


def redact_line(line: str) -> str:
    """Return a line of a run file with the key redacted; a JSON line remains valid JSON."""
    if redact(line) == line:
        return line
    try:
        return json.dumps(redact_data(json.loads(line)), ensure_ascii=False)
    except ValueError:
        return redact(line)
