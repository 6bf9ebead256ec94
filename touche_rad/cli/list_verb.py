"""`touche-rad list`: the plugins, what they need, whether it is here, and their options."""

from __future__ import annotations

import json
from typing import Any

import click
from pydantic.fields import FieldInfo

from touche_rad.cli import options as shared
from touche_rad.errors import OptionError, ToucheRadError, nearest
from touche_rad.plugins import KINDS, Plugin, registered


@click.command("list", cls=shared.Verb)
@click.argument("name", required=False)
@shared.index
@shared.as_json
@shared.show_config
def command(name: str | None, index: str | None, as_json: bool) -> None:
    """List debaters, judges, retrievers and index homes; with NAME, one plugin's options."""
    plugins = [plugin for kind in KINDS for plugin in registered(kind).values()]
    if name is not None:
        chosen = [plugin for plugin in plugins if plugin.name == name]
        if not chosen:
            names = {plugin.name for plugin in plugins}
            raise OptionError(f"there is no plugin {name!r}{nearest(name, names)}")
        plugins = chosen
    rows = [_row(plugin, detailed=name is not None) for plugin in plugins]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif name is None:
        _print_table(rows)
    else:
        for row in rows:
            _print_one(row)


def _row(plugin: Plugin, *, detailed: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": plugin.kind, "name": plugin.name, "source": plugin.source}
    try:
        # The demo collection's index is always at hand, so an index is never lacking.
        missing = plugin.missing(index=True)
        row |= {
            "purpose": plugin.purpose,
            "needs": [_shown(need) for need in plugin.needs],
            "missing": missing,
        }
        if detailed:
            row["options"] = _options(plugin)
    except ToucheRadError as error:
        row |= {"purpose": "", "needs": [], "missing": [str(error)]}
    return row


def _options(plugin: Plugin) -> list[dict[str, Any]]:
    schema = plugin.options.model_json_schema().get("properties", {})
    rows = []
    for key, field in plugin.options.model_fields.items():
        described = schema.get(key, {})
        rows.append(
            {
                "name": key,
                "type": _type(described),
                "default": _default(field),
                "description": field.description or "",
            }
        )
    return rows


def _default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True, validated_data={})


def _type(described: dict[str, Any]) -> str:
    if "enum" in described:
        return " | ".join(str(value) for value in described["enum"])
    if "anyOf" in described:
        return " | ".join(_type(one) for one in described["anyOf"])
    return str(described.get("type", "value"))


def _print_table(rows: list[dict[str, Any]]) -> None:
    width = max(len(row["name"]) for row in rows)
    for kind in KINDS:
        click.secho(f"{kind}s" if kind != "index" else "index homes", bold=True)
        for row in (row for row in rows if row["kind"] == kind):
            state = "ready" if not row["missing"] else "lacks " + "; ".join(row["missing"])
            needs = f" [needs {', '.join(row['needs'])}]" if row["needs"] else ""
            click.echo(f"  {row['name']:<{width}}  {row['purpose']}{needs} ({state})")


def _print_one(row: dict[str, Any]) -> None:
    click.secho(f"{row['kind']} {row['name']}", bold=True, nl=False)
    click.echo(f" (from {row['source']}): {row['purpose']}")
    click.echo(f"  needs: {', '.join(row['needs']) or 'nothing'}")
    click.echo(f"  lacks: {'; '.join(row['missing']) or 'nothing'}")
    for option in row.get("options", []):
        click.echo(f"  -O {option['name']}={option['default']}  ({option['type']})")
        if option["description"]:
            click.echo(f"      {option['description']}")


def _shown(need: str) -> str:
    """Name an extra without the package that shows whether it is here."""
    return need.partition("/")[0].replace(":", " ") if need.startswith("extra:") else need
