"""Render pages: as one self-contained file, or for a server with its files beside the page.

Templates, styles and scripts are named by their path in the package, such as `report/page.js`.
Text is escaped by default; scripts build elements with `h` of `common.js`, which sets text only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from touche_rad import __version__
from touche_rad.text import packaged_text

STYLE: Final = "pages/style.css"
SCRIPTS: Final = ("pages/vendor/preact.js", "pages/common.js", "pages/views.js")
"""The scripts that every page has: Preact, and `rad` for the page's own scripts."""

SERVED_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy header of a served page."""

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_ISLAND = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})


def visible(text: object) -> str:
    """Return a text with control characters and direction overrides written as ‹U+202E›."""
    return _HIDDEN.sub(lambda match: f"‹U+{ord(match[0]):04X}›", str(text).replace("\r\n", "\n"))


def json_island(name: str, value: object) -> Markup:
    """Return JSON data for the page's scripts: `rad.island(name)` reads it.

    No text in it can end the element.
    """
    data = Markup(to_json(value))
    return Markup('<script type="application/json" id="{}">{}</script>').format(name, data)


def to_json(value: object) -> str:
    """Return JSON that may stand in a script element: without tags, and valid as UTF-8."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ISLAND).encode("utf-8", "replace").decode()


@cache
def read_asset(name: str) -> str:
    """Return the text of a style or a script of this package, such as `pages/style.css`."""
    return packaged_text("touche_rad", name)


def render_page(
    template: str,
    *,
    scripts: Sequence[str],
    styles: Sequence[str] = (),
    policy: Mapping[str, str] | None = None,
    **context: object,
) -> str:
    """Return one self-contained HTML file with a strict content policy."""
    all_scripts = [*map(read_asset, SCRIPTS), *scripts]
    all_styles = [read_asset(STYLE), *styles]
    for text in all_scripts + all_styles:
        if re.search(r"</(script|style)|<!--", text, re.IGNORECASE):
            raise ValueError("a script or style contains a tag that ends it")
    allowed = {
        "default-src": "'none'",
        "script-src": _digests(all_scripts),
        "style-src": _digests(all_styles),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    for directive, sources in (policy or {}).items():
        allowed[directive] = f"{allowed.get(directive, '')} {sources}".strip()
    return _render(
        template,
        context,
        policy="; ".join(map(" ".join, allowed.items())),
        scripts=map(Markup, all_scripts),
        styles=map(Markup, all_styles),
    )


def render_served(
    template: str,
    *,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    root: str = "/assets/",
    **context: object,
) -> str:
    """Return a page for a server, which sends the header `SERVED_POLICY` and the named files."""
    return _render(
        template,
        context,
        linked_scripts=[root + name for name in (*SCRIPTS, *scripts)],
        linked_styles=[root + name for name in (STYLE, *styles)],
    )


def _render(template: str, context: Mapping[str, Any], **frame: object) -> str:
    parts = ("policy", "scripts", "styles", "linked_scripts", "linked_styles")
    values = {"version": __version__, **context, **dict.fromkeys(parts, ()), **frame}
    values["json_island"] = json_island
    page = _environment().get_template(template).render(values)
    return page.encode("utf-8", "replace").decode().replace("\0", "\ufffd").strip() + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("touche_rad", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    return environment


def _digests(texts: Sequence[str]) -> str:
    """Return the sources of a policy that allow exactly these scripts or styles."""
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
