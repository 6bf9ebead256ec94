"""The files with weights that `touche-rad train` writes for judges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from touche_rad.errors import UserError, refuse_newer
from touche_rad.files.records import read_json

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
        record = read_json(path)
        refuse_newer(path, record, kind.model_fields["format"].default)
        return kind.model_validate_json(json.dumps(record))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first: Any = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise UserError(f"{path}: {place}: {first['msg']}: expected a file of {command}") from None
    except ValueError as error:
        raise UserError(f"{path}: {error}: expected a file of {command}") from None
