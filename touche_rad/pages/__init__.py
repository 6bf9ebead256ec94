"""The shared look of all pages: one stylesheet, components, and rendering under a strict policy."""

from touche_rad.pages.marks import marked_answer
from touche_rad.pages.rendering import (
    SERVED_POLICY,
    json_island,
    read_asset,
    render_page,
    render_served,
    to_json,
    visible,
)

__all__ = [
    "SERVED_POLICY",
    "json_island",
    "marked_answer",
    "read_asset",
    "render_page",
    "render_served",
    "to_json",
    "visible",
]
