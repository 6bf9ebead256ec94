"""The commands `list`, `new` and `doctor`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import say
from touche_rad.errors import OptionError, ToucheRadError, nearest

if TYPE_CHECKING:
    from touche_rad.plugins import Plugin
    from touche_rad.testing.skeleton import NewKind

WIDTH: Final = 80
HEADINGS: Final = {"index": "index backends"}


@opt.command("list", "list", "list grounded", "list --json")
@click.argument("name", required=False)
@opt.options(opt.JSON)
def list_command(name: str | None, as_json: bool) -> None:
    """List debaters, judges, panels, retrievers and index backends.

    With NAME, show the options and profiles of this plugin.
    """
    from touche_rad.plugins import KINDS, registered

    plugins = [plugin for kind in KINDS for plugin in registered(kind).values()]
    if name is not None:
        names = {plugin.name for plugin in plugins}
        plugins = [plugin for plugin in plugins if plugin.name == name]
        if not plugins:
            raise OptionError(f"there is no plugin {name!r}{nearest(name, names)}")
    rows = [_describe(plugin, detailed=name is not None) for plugin in plugins]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif name is None:
        _print_table(rows)
    else:
        for row in rows:
            _print_plugin(row)


def _describe(plugin: Plugin, *, detailed: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": plugin.kind, "name": plugin.name, "source": plugin.source}
    try:
        # The index of the demo collection is always available.
        missing = plugin.missing(index=True)
        row |= {"purpose": plugin.purpose, "needs": _needs(plugin), "missing": missing}
        if detailed:
            row["options"] = list(_describe_options(plugin))
            row["profiles"] = [
                {"name": one.name, "description": one.description, "settings": dict(one.settings)}
                for one in plugin.profiles()
            ]
    except ToucheRadError as error:
        row |= {"purpose": "", "needs": [], "missing": [str(error)]}
    return row


def _needs(plugin: Plugin) -> list[str]:
    """Return the needs without the module of an extra: `extra dense`."""
    return [need.partition("/")[0].replace("extra:", "extra ") for need in plugin.needs]


def _describe_options(plugin: Plugin) -> Iterator[dict[str, Any]]:
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


def _print_table(rows: list[dict[str, Any]]) -> None:
    width = max(len(row["name"]) for row in rows) + 4
    heading = ""
    for row in rows:
        if row["kind"] != heading:
            heading = row["kind"]
            click.secho(HEADINGS.get(heading, f"{heading}s").capitalize(), bold=True)
        lacks = [text.partition(" (")[0] for text in row["missing"]]
        text = f"{row['purpose']} [needs {', '.join(lacks)}]" if lacks else row["purpose"]
        _wrap(text, f"  {row['name']}".ljust(width), " " * width)
    click.echo()
    _wrap("touche-rad list NAME shows the options and profiles of a plugin.")
    if any(text.startswith("a language model") for row in rows for text in row["missing"]):
        from touche_rad.plugins.registry import A_MODEL

        _wrap(f"Some plugins need {A_MODEL}.")


def _print_plugin(row: dict[str, Any]) -> None:
    click.secho(f"{row['kind']} {row['name']}", bold=True, nl=False)
    click.echo(f" (package {row['source']})")
    _wrap(row["purpose"], "  ", "  ")
    _wrap(f"needs: {', '.join(row['needs']) or 'nothing'}", "  ", "    ")
    if row["missing"]:
        _wrap(f"missing here: {'; '.join(row['missing'])}", "  ", "    ")
    if row.get("options"):
        click.secho("Options", bold=True)
    for option in row.get("options", []):
        _wrap(f"-O {option['name']}={option['default']}  ({option['type']})", "  ", "      ")
        _wrap(option["description"], "      ", "      ")
    profiles = row.get("profiles", [])
    if profiles:
        click.secho("Profiles (-O profile=NAME, or -O profile=FILE.toml)", bold=True)
    for profile in profiles:
        base = profiles[0]["settings"] if profile is not profiles[0] else {}
        _wrap(f"{profile['name']}: {profile['description']}", "  ", "      ")
        for key, value in profile["settings"].items():
            if key not in base or base[key] != value:
                _wrap(f"{key} = {json.dumps(value, default=str)}", "      ", "        ")


def _wrap(text: str, first: str = "", rest: str = "") -> None:
    if text:
        click.echo(
            textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=rest,
                          break_long_words=False, break_on_hyphens=False)
        )  # fmt: skip


@opt.command("new", "new debater my-debater", "new judge strict-judge -o ../strict-judge")
@click.argument("kind", type=click.Choice(["debater", "judge", "retriever"]))
@click.argument("name")
@opt.options(opt.output("New folder of the package. [default: ./NAME]", "DIR"))
def new_command(kind: NewKind, name: str, output: Path | None) -> None:
    """Write the package of a new plugin with one working step and a test of its contract."""
    from touche_rad.testing.skeleton import write_package

    folder = output or Path(name)
    for path in write_package(kind, name, folder):
        say(f"written: {path}")
    say(f"next: cd {folder} && pip install -e . && python -m pytest && touche-rad list {name}")


@opt.command("doctor", "doctor", "doctor -i index -m http://localhost:8000/v1#llama")
@opt.options(
    opt.INDEX, *opt.MODEL_OPTIONS, opt.WITH_TRACE, opt.plugin_options(None), opt.JSON
)  # fmt: skip
def doctor_command(**given: Any) -> int:
    """Check this machine, the plugins, the index and the language model.

    Each problem is printed with its fix; then the exit code is 1. "optional" marks what only some
    plugins need.
    """
    from touche_rad.cli.doctor import run_checks

    checks = run_checks(given)
    if given["as_json"]:
        click.echo(json.dumps(checks, ensure_ascii=False, indent=2))
    else:
        for check in checks:
            mark = "ok" if check["ok"] else "optional" if check["optional"] else "missing"
            colour = {"ok": "green", "missing": "red"}.get(mark)
            click.secho(mark.ljust(9), fg=colour, nl=False)
            _wrap(f"{check['what']}: {check['found']}", "", " " * 9)
            if mark == "missing":
                _wrap(f"fix: {check['fix']}", " " * 9, " " * 9)
    return 0 if all(check["ok"] or check["optional"] for check in checks) else 1
