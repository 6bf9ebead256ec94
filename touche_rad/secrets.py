"""What nobody else may read: values of secret options, and the key of the model's endpoint.

An option is secret by its type (`pydantic.SecretStr`). Its value is remembered when it is read, and
whatever is written for others to see goes through `without_secrets` on its way.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from typing import Any, Final, get_args

from pydantic import BaseModel, SecretBytes, SecretStr

KEY: Final = "OPENAI_API_KEY"
HIDDEN: Final = "***"
_SHORTEST: Final = 6
_LONGEST_WORD: Final = 15
"""What is shorter, or a mere word ("public"), may stand in any text by chance: to blot it out would
spoil quotations and guard nothing."""
_known: set[str] = set()


def secret_fields(options: type[BaseModel]) -> frozenset[str]:
    """Return the names of the options whose values are secret."""
    fields = options.model_fields.items()
    return frozenset(name for name, field in fields if _is_secret(field.annotation))


def _is_secret(kind: Any) -> bool:
    if isinstance(kind, type) and issubclass(kind, SecretStr | SecretBytes):
        return True
    return any(_is_secret(part) for part in get_args(kind))


def remember(*values: object) -> None:
    """Keep values out of all that is written from now on."""
    for value in values:
        if isinstance(value, SecretStr | SecretBytes):
            value = value.get_secret_value()
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
        if _tells(text):
            _known.add(text)
    log = logging.getLogger("touche_rad")
    if _known and _discreet not in log.filters:
        log.addFilter(_discreet)


def without_secrets(text: str) -> str:
    """Return a text with each secret blotted out, as it is and as JSON writes it."""
    for secret in sorted({*_known, _key()} - {""}, key=len, reverse=True):
        for form in (
            secret,
            json.dumps(secret, ensure_ascii=False)[1:-1],
            json.dumps(secret)[1:-1],
        ):
            if form in text:
                text = text.replace(form, HIDDEN)
    return text


def discreet(value: Any) -> Any:
    """Return data with each secret blotted out of its texts; its keys stay as they are."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return {key: discreet(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [discreet(inner) for inner in value]
    return value


def discreet_line(line: str) -> str:
    """Return a line of a run file; one of JSON stays one whose keys are what they were."""
    if without_secrets(line) == line:
        return line
    try:
        return json.dumps(discreet(json.loads(line)), ensure_ascii=False)
    except ValueError:
        return without_secrets(line)


def _key() -> str:
    key = os.environ.get(KEY, "")
    return key if _tells(key) else ""


def _tells(text: str) -> bool:
    return len(text) >= _SHORTEST and (len(text) > _LONGEST_WORD or not text.isalpha())


def _discreet(record: logging.LogRecord) -> bool:
    """Blot secrets out of a log's message and of the traceback below it."""
    record.msg, record.args = without_secrets(record.getMessage()), ()
    if record.exc_info and not record.exc_text:
        record.exc_text = without_secrets(logging.Formatter().formatException(record.exc_info))
    return True
