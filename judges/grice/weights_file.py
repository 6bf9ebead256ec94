"""The files with weights that `touche-rad train` writes for judges."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from touche_rad.errors import UserError, refuse_newer

Weights = TypeVar("Weights", bound=BaseModel)


def load_weights(path: Path, kind: type[Weights], command: str) -> Weights:
    """Load a file of weights.

    Args:
        path: The file.
        kind: Its schema, with a field `format`.
        command: The command that writes such files, for the error.

    Raises:
        UserError: The file cannot be read, is invalid, or a newer version wrote it.
    """
    try:
        text = path.read_bytes()
        with suppress(ValueError):  # pydantic reports what is no JSON
            refuse_newer(path, json.loads(text), kind.model_fields["format"].default)
        return kind.model_validate_json(text)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first: Any = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise UserError(f"{path}: {place}: {first['msg']}: expected a file of {command}") from None
