"""Ask a language model: `Model.ask(prompt, schema)` returns a valid object."""

from touche_rad.models.errors import ModelError
from touche_rad.models.model import Model, ask_in_parts
from touche_rad.models.prompts import Message, Prompt, drop_oldest

__all__ = [
    "Message",
    "Model",
    "ModelError",
    "Prompt",
    "ask_in_parts",
    "drop_oldest",
]
