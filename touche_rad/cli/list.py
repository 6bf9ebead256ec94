"""The command `list`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import print_json, print_text
from touche_rad.cli.program import command
from touche_rad.errors import OptionError, ToucheRadError, nearest
from touche_rad.plugins import KINDS, Plugin, registered
from touche_rad.plugins.profiles import is_setting
from touche_rad.users import USERS

HEADINGS: Final = {"index": "Index backends"}
_print: Final = partial(print_text, limit=100)


@opt.offering("as_json")
class ListOptions(opt.Common):
    """The options of `list`."""

    name: str | None = opt.argument("[KIND|NAME]", required=False)


@command("list", "list judges", "list grounded", "list papers", "list criteria")
def list_command(options: ListOptions) -> None:
    """List debaters, judges, panels, retrievers, index backends, annotators and simulated users.

    With KIND (such as judges), list the plugins of this kind. With NAME, show the options and
    profiles of this plugin. With papers, list the tables of papers for bench run; with criteria,
    the shipped criteria with their questions.
    """
    name = options.name
    if name in ("papers", "criteria"):
        from touche_rad.criteria import load_shipped, shipped_names
        from touche_rad.papers import tables

        titles: dict[str, str] = {}
        if name == "papers":
            key = "table"
            for table in tables.names():
                titles[f"paper:{table}"] = tables.load(table).title
        else:
            key = "name"
            for shipped in map(load_shipped, shipped_names()):
                unit = shipped.unit.replace("user", "message of the user")
                titles[shipped.name] = f"on each {unit}: {', '.join(shipped.keys)}"
        if options.as_json:
            print_json([{key: listed, "title": title} for listed, title in titles.items()], None)
            return
        width = max(map(len, titles))
        for listed, title in titles.items():
            click.echo(f"{listed:{width}}  {title}")
        return
    plugins_of = {kind: registered(kind) for kind in KINDS} | {"user": USERS}
    plurals = {kind: "indexes" if kind == "index" else f"{kind}s" for kind in plugins_of}
    kinds = [
        kind for kind in plurals if name in (kind, plurals[kind], HEADINGS.get(kind, "").lower())
    ]
    plugins: list[Plugin] = []
    for kind in kinds or plurals:
        plugins += plugins_of[kind].values()
    if name is None or kinds:
        rows = [describe(plugin, detailed=False) for plugin in plugins]
    else:
        rows = [describe(plugin, detailed=True) for plugin in plugins if plugin.name == name]
        if not rows:
            names = {*(plugin.name for plugin in plugins), *plurals.values()}
            known = ", ".join([*plurals.values(), "papers, criteria"])
            hint = nearest(name, names, otherwise=f" (touche-rad list shows all; kinds: {known})")
            raise OptionError(f"there is no plugin or kind {name!r}{hint}")
    if options.as_json:
        print_json(rows)
    elif name is None or kinds:
        _print_table(rows)
    else:
        for row in rows:
            _print_plugin(row)


def describe(plugin: Plugin, *, detailed: bool) -> dict[str, Any]:
    """Return a plugin as JSON values, in detail with its options and profiles."""
    row: dict[str, Any] = {"kind": plugin.kind, "name": plugin.name, "source": plugin.source}
    try:
        # The index of the demo collection is always available.
        missing = plugin.missing(index=True)
        needs = [need.partition("/")[0].replace(":", " ") for need in plugin.needs]
        row |= {"purpose": plugin.purpose, "needs": needs, "missing": missing}
        if detailed:
            fields = plugin.options.model_fields
            schema = plugin.options.model_json_schema().get("properties", {})
            row["options"] = [
                {
                    "name": key,
                    "type": _type(schema.get(key, {})),
                    "default": field.get_default(call_default_factory=True, validated_data={}),
                    "description": field.description or "",
                }
                for key, field in fields.items()
                if not is_setting(field)
            ]
            row["profiles"] = [asdict(profile) for profile in plugin.profiles()]
            row["settings"] = {key: field.description or key for key, field in fields.items()}
    except ToucheRadError as error:
        row |= {"purpose": "", "needs": [], "missing": [str(error)], "broken": True}
    return row


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " | ".join(map(_type, schema["anyOf"]))
    return str(schema.get("type", "value"))


def _print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    width = max(len(row["name"]) for row in rows)
    for kind in dict.fromkeys(row["kind"] for row in rows):
        click.secho(HEADINGS.get(kind, f"{kind}s".capitalize()), bold=True)
        for row in rows:
            if row["kind"] == kind:
                name = click.style(f"{row['name']:{width}}", fg="cyan")
                text = row["purpose"]
                if row.get("broken"):
                    text = "; ".join(row["missing"])
                elif row["needs"]:
                    text += f" (needs: {', '.join(row['needs'])})"
                _print(text, f"  {name}  ", " " * (width + 4))
        click.echo()
    _print("touche-rad list NAME shows the options and profiles of a plugin.")


def _print_plugin(row: Mapping[str, Any]) -> None:
    """Print one plugin with its options and profiles."""
    click.secho(f"{row['kind']} {row['name']}", bold=True, nl=False)
    click.echo(f" (package {row['source']})")
    if row["purpose"]:
        _print(row["purpose"], "  ", "  ")
    needs = ", ".join(row["needs"]) or "nothing"
    _print(f"needs: {needs}", "  ", "    ")
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
    settings = {profile["name"]: profile["settings"] for profile in profiles}
    for profile in profiles:
        # The first profile is the base of those that extend none: they show what differs.
        base = profile["extends"] or profiles[0]["name"]
        base_settings = settings.get(base, {})
        is_base = profile is profiles[0]
        text = f"{profile['name']}: {profile['description']}"
        _print(text if is_base else f"{text} (like {base}, but:)", "  ", "      ")
        for key, value in profile["settings"].items():
            text = f"{key} = {json.dumps(value, default=str)}"
            if is_base:
                _print(f"{text}  ({row['settings'][key]})", "      ", "        ")
            elif key not in base_settings or base_settings[key] != value:
                _print(text, "      ", "        ")
