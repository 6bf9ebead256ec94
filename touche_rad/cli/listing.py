"""What `touche-rad list` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli.console import print_text
from touche_rad.errors import ToucheRadError

if TYPE_CHECKING:
    from touche_rad.plugins import Plugin

HEADINGS: Final = {"index": "Index backends"}
_print: Final = partial(print_text, limit=100)
MARKS: Final = {"model": "M", "index": "I", "extra": "E", "module": "P"}
"""The marks of needs, by the first part of a need; the legend explains them."""


def plural_of(kind: str) -> tuple[str, str]:
    """Return the words that name several plugins of a kind; `indexes` for index backends."""
    return (f"{kind}es" if kind == "index" else f"{kind}s", HEADINGS.get(kind, kind).lower())


def describe(plugin: Plugin, *, detailed: bool) -> dict[str, Any]:
    """Return a plugin as JSON values, in detail with its options and profiles."""
    row: dict[str, Any] = {"kind": plugin.kind, "name": plugin.name, "source": plugin.source}
    try:
        # The index of the demo collection is always available.
        missing = plugin.missing(index=True)
        row |= {"purpose": plugin.purpose, "needs": _needs(plugin), "missing": missing}
        if detailed:
            row["options"] = list(describe_options(plugin))
            row["profiles"] = [
                {"name": one.name, "description": one.description, "settings": dict(one.settings)}
                for one in plugin.profiles()
            ]
    except ToucheRadError as error:
        row |= {"purpose": "", "needs": [], "missing": [str(error)], "broken": True}
    return row


def _needs(plugin: Plugin) -> list[str]:
    """Return the needs without the module of an extra: `extra dense`."""
    return [
        need.partition("/")[0].replace("extra:", "extra ").replace("module:", "module ")
        for need in plugin.needs
    ]


def describe_options(plugin: Plugin) -> Iterator[dict[str, Any]]:
    """Yield the options of a plugin as JSON values."""
    from touche_rad.plugins.profiles import is_setting

    schema = plugin.options.model_json_schema().get("properties", {})
    for key, field in plugin.options.model_fields.items():
        if not is_setting(field):
            yield {
                "name": key,
                "type": _type(schema.get(key, {})),
                "default": field.get_default(call_default_factory=True, validated_data={}),
                "description": field.description or "",
            }


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_type(one) for one in schema["anyOf"])
    return str(schema.get("type", "value"))


def print_table(rows: Sequence[dict[str, Any]], *, model: bool) -> None:
    """Print the plugins by kind, with a mark for each need and one legend."""
    name_width = max(len(row["name"]) for row in rows)
    mark_width = max(len(_marks(row)) for row in rows)
    for kind in dict.fromkeys(row["kind"] for row in rows):
        click.secho(HEADINGS.get(kind, f"{kind}s".capitalize()), bold=True)
        for row in rows:
            if row["kind"] == kind:
                marks = _marks(row).ljust(mark_width)
                name = click.style(row["name"], fg="cyan") + " " * (name_width - len(row["name"]))
                text = "; ".join(row["missing"]) if row.get("broken") else row["purpose"]
                _print(text, f"  {name}  {marks}  ", " " * (name_width + mark_width + 6))
        click.echo()
    for line in _legend(rows, model=model):
        _print(line, "", "   ")
    _print("touche-rad list NAME shows the options and profiles of a plugin.")


def print_papers(*, as_json: bool) -> None:
    """Print the tables of papers that `bench run` can run."""
    from touche_rad.papers.tables import load, names

    rows = [(f"paper:{name}", load(name).title) for name in names()]
    if as_json:
        click.echo(json.dumps([dict(zip(("table", "title"), row, strict=True)) for row in rows]))
        return
    width = max(len(name) for name, _ in rows)
    for name, title in rows:
        click.echo(f"{name:{width}}  {title}")


def _marks(row: dict[str, Any]) -> str:
    if row.get("broken"):
        return "!"
    return "".join(dict.fromkeys(MARKS[need.partition(" ")[0]] for need in row["needs"]))


def _legend(rows: Sequence[dict[str, Any]], *, model: bool) -> Iterator[str]:
    from touche_rad.plugins.registry import A_MODEL

    def state(word: str) -> str:
        missing = sorted({text for row in rows for text in row["missing"] if word in text})
        return f"missing: {'; '.join(missing)}" if missing else "installed"

    where = "the environment names one" if model else A_MODEL.partition(" (")[2].rstrip(")")
    meanings = {
        "M": f"needs a language model: {where}",
        "I": "searches an argument index: -i DIR",
        "E": f"needs an extra: {state('extra')}",
        "P": f"needs a package: {state('module')}",
        "!": "cannot be imported",
    }
    used = {mark for row in rows for mark in _marks(row)}
    yield from (f"{mark}  {text}" for mark, text in meanings.items() if mark in used)


def print_plugin(row: dict[str, Any]) -> None:
    """Print one plugin with its options and profiles."""
    click.secho(f"{row['kind']} {row['name']}", bold=True, nl=False)
    click.echo(f" (package {row['source']})")
    if row["purpose"]:
        _print(row["purpose"], "  ", "  ")
    _print(f"needs: {', '.join(row['needs']) or 'nothing'}", "  ", "    ")
    if row["missing"]:
        _print(f"missing here: {'; '.join(row['missing'])}", "  ", "    ")
    if row.get("options"):
        click.secho("Options", bold=True)
    for option in row.get("options", []):
        name = click.style(f"-O {option['name']}={option['default']}", fg="cyan")
        _print(f"{name}  ({option['type']})", "  ", "      ")
        if option["description"]:
            _print(option["description"], "      ", "      ")
    profiles = row.get("profiles", [])
    if profiles:
        click.secho("Profiles (-O profile=NAME, or -O profile=FILE.toml)", bold=True)
    for profile in profiles:
        base = profiles[0]["settings"] if profile is not profiles[0] else {}
        _print(f"{profile['name']}: {profile['description']}", "  ", "      ")
        for key, value in profile["settings"].items():
            if key not in base or base[key] != value:
                _print(f"{key} = {json.dumps(value, default=str)}", "      ", "        ")
