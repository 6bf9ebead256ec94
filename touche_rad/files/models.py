"""What the records of files have in common: how they are read, strictly or leniently.

Each kind of file has one model, next to its writer. It is the reader, and its JSON schema, which
`touche-rad schema` prints, says what we write. Where a reader accepts more than we write (a null,
a missing answer), the field's annotation says so.
"""

from __future__ import annotations

import json
from typing import Annotated, ClassVar, Final, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from touche_rad.debate import OpenRecord
from touche_rad.files.records import B, JsonObject, drop_keys, field_error


def validate(model: type[B], value: object, *, lenient: bool = False) -> B:
    """Return a JSON value as a model; `lenient` records accept almost any value.

    Raises:
        FieldError: A field, which it names, is missing or wrong.
    """
    try:
        return model.model_validate(value, context=lenient)
    except ValidationError as error:
        raise field_error(error) from None


def lenient_text(value: object) -> str:
    """Return a text where clients may send any JSON value.

    A list of parts such as `{"type": "text", "text": "..."}` is its texts; another object or list
    is written as JSON.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str | dict) for part in value):
        texts = [part if isinstance(part, str) else part.get("text") for part in value]
        if all(isinstance(text, str) for text in texts):
            return " ".join(texts)
    return str(value) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)


def only_text(value: object) -> str:
    """Return a text; what is none is left out."""
    return value if isinstance(value, str) else ""


class FileRecord(OpenRecord):
    """A record that may have more fields, which are kept."""


class LenientRecord(FileRecord):
    """A record that accepts almost any value where it is read with `lenient`.

    Then a field of `texts` is the text of any value, also if it is missing, and any other wrong
    field is left out. In place of the whole object, a value alone is the first of the texts.
    """

    texts: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="wrap")
    @classmethod
    def _read(
        cls, value: object, read: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        try:
            return read(value)
        except ValidationError as error:
            if not info.context:
                raise
            wrong = {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}
        record = value if isinstance(value, dict) else cls.of_text(value)
        texts = {name: lenient_text(record.get(name)) for name in cls.texts}
        return read({**drop_keys(record, wrong), **texts})

    @classmethod
    def of_text(cls, value: object) -> JsonObject:
        """Return the object that a value stands for."""
        return dict.fromkeys(cls.texts[:1], value)


def written(*names: str) -> ConfigDict:
    """Say in the schema that these fields are always written, although a reader needs none."""

    def require(schema: JsonObject) -> None:
        for name in names:
            field = schema["properties"][name]
            field.pop("default", None)
            if "anyOf" in field:  # or null, in what is read
                schema["properties"][name] = field["anyOf"][0]
        required = {*names, *schema.get("required", ())}
        schema["required"] = [name for name in schema["properties"] if name in required]

    return ConfigDict(json_schema_extra=require)


WRITTEN_TEXT: Final = WithJsonSchema({"minLength": 1, "pattern": r"\S", "type": "string"})
"""The schema of a text that we never leave empty; a reader accepts an empty one."""

NullAsText = BeforeValidator(lambda value: "" if value is None else value)
NullAsObject = BeforeValidator(lambda value: {} if value is None else value)
OptionalText = Annotated[str, NullAsText]
"""A text; null is empty."""


def _content(value: object) -> object:
    if value is None:
        return ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


Content = Annotated[str, BeforeValidator(_content)]
"""What a system said; null is empty, and a number is its digits."""
