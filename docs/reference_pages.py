"""Write the reference pages of the documentation from the code: what runs is what is documented."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from error_messages import collect_messages, exit_codes

from touche_rad.cli import touche_rad as program
from touche_rad.cli.commands import GROUPS
from touche_rad.cli.list import HEADINGS, describe
from touche_rad.files.schemas import names, schema_of
from touche_rad.plugins import KINDS, find, registered

MODULES = {
    "Debates and responses": "touche_rad.debate",
    "Plugins": "touche_rad.plugins.contracts",
    "Plugins by name": "touche_rad.plugins.registry",
    "Contract tests": "touche_rad.testing.contract",
    "PyTerrier": "touche_rad.pipelines.transformers",
    "Topics and qrels for PyTerrier": "touche_rad.pipelines.frames",
    "Official files": "touche_rad.files.formats",
    "Labels": "touche_rad.files.labels",
    "Scores of evaluations": "touche_rad.score.judgements",
    "Scores of TREC runs": "touche_rad.score.retrieval",
    "Errors": "touche_rad.errors",
}
"""The modules of the Python reference."""


def write(folder: Path) -> None:
    """Write all generated pages into a folder."""
    pages = {
        "commands": commands_page(),
        "plugins": plugins_page(),
        "files": files_page(),
        "http": http_page(),
        "python": python_page(),
        "messages": messages_page(),
    }
    folder.mkdir(exist_ok=True)
    for name, lines in pages.items():
        write_page(folder / f"{name}.md", lines)


def write_page(path: Path, lines: Iterable[str]) -> None:
    """Write a page; one that is up to date keeps its time."""
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def _head(title: str, text: str) -> Iterator[str]:
    yield from (f"# {title}", "", text, "")


def commands_page() -> Iterator[str]:
    """Yield the help of each command, in the order and the groups of `touche-rad --help`."""
    yield from _head(
        "Commands",
        "What `--help-all` prints. Exit codes: 0 success; 1 the work failed, or every answer came "
        "from a fallback; 2 an invalid call or input; 130 stopped by Ctrl-C.",
    )
    context = program.context_class(program, info_name="touche-rad")
    for group, commands in GROUPS.items():
        yield from (f"## {group}", "")
        for name in commands:
            command = program.get_command(context, name)
            assert command is not None
            yield from _help(command, context, name)


def _help(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    context = command.context_class(
        command, info_name=name, parent=parent, max_content_width=88, terminal_width=88
    )
    level = "###" if parent.parent is None else "####"
    words = context.command_path.partition(" ")[2]
    about = re.split(r"\n\n\w*( options)?:?Options:", click.unstyle(command.get_help(context)))[0]
    yield from (f"{level} {words}", "", "```text", about, "```", "")
    yield from ("```{eval-rst}", f".. program:: touche-rad {words}", "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            names = record[0].replace(" / ", ", ")
            text = re.sub(r"([*`|_\\])", r"\\\1", " ".join(record[1].split()))
            yield from (f".. option:: {names}", "", f"   {text}", "")
    yield from ("```", "")
    if isinstance(command, click.Group):
        for one in command.list_commands(context):
            found = command.get_command(context, one)
            assert found is not None
            yield from _help(found, context, one)


def plugins_page() -> Iterator[str]:
    """Yield each plugin with its options and profiles."""
    yield from _head(
        "Plugins",
        "What `touche-rad list NAME` prints, for all plugins that come with touche-rad. An option "
        "is set by `-O NAME=VALUE`, or as `plugin(NAME=VALUE)`.",
    )
    for kind in KINDS:
        plugins = [one for one in registered(kind).values() if one.source == "touche-rad"]
        if plugins:
            yield from (f"## {HEADINGS.get(kind, f'{kind}s'.capitalize())}", "")
        for plugin in sorted(plugins, key=lambda one: one.name):
            yield from _plugin(describe(plugin, detailed=True))


def _plugin(row: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {row['kind']} `{row['name']}`", "", row["purpose"], "")
    yield from (f"Needs: {', '.join(row['needs']) or 'nothing'}.", "")
    if row.get("options"):
        yield from ("| option | type | default | meaning |", "| --- | --- | --- | --- |")
        for one in row["options"]:
            cells = (f"`{one['name']}`", one["type"], f"`{one['default']}`", one["description"])
            yield f"| {' | '.join(_cell(cell) for cell in cells)} |"
        yield ""
    if row.get("profiles"):
        yield from ("| profile | what it is |", "| --- | --- |")
        for profile in row["profiles"]:
            yield f"| `{profile['name']}` | {_cell(profile['description'])} |"
        yield ""


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def files_page() -> Iterator[str]:
    """Yield the JSON schema of each kind of file."""
    yield from _head(
        "Files",
        "One line of each kind of file, as a JSON schema. `touche-rad schema KIND` prints it.",
    )
    for name, kind in names().items():
        schema = json.dumps(schema_of(kind), ensure_ascii=False, indent=2)
        yield from (f"## {name}", "", "```json", schema, "```", "")


def http_page() -> Iterator[str]:
    """Yield each path of the server with its request and answers."""
    schema = _server_schema()
    yield from _head(
        "HTTP",
        "What `touche-rad serve` answers. The whole description as OpenAPI is at `/openapi.json` "
        "of a running server.",
    )
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            yield from (f"## {method.upper()} {path}", "")
            yield from (operation.get("description") or operation.get("summary", ""), "")
            body = operation.get("requestBody", {}).get("content", {})
            for kind, content in body.items():
                text = json.dumps(_resolved(content.get("schema", {}), schema), indent=2)
                yield from (f"Request ({kind}):", "", "```json", text, "```", "")
            for code, answer in operation.get("responses", {}).items():
                yield f"- {code}: {answer.get('description', '')}"
            yield ""


def _server_schema() -> dict[str, Any]:
    from touche_rad.plugins import Services, open_index
    from touche_rad.runs.answering import make_answerer
    from touche_rad.serve.app import create_app

    index = open_index("demo")
    services = Services(index=index)
    answerer = make_answerer(find("debater", "grounded").configure(), services)
    return create_app(answerer, find("judge", "grounded").make(services)).openapi()


def _resolved(value: Any, schema: dict[str, Any]) -> Any:
    """Replace references by what they name."""
    if isinstance(value, dict):
        name = value.get("$ref")
        if isinstance(name, str):
            return _resolved(schema["components"]["schemas"][name.rpartition("/")[2]], schema)
        return {key: _resolved(one, schema) for key, one in value.items()}
    if isinstance(value, list):
        return [_resolved(one, schema) for one in value]
    return value


def messages_page() -> Iterator[str]:
    """Yield the message of each error in the code, by part of the software."""
    yield from _head(
        "All error messages",
        "`…` stands for a name, a number or another part of the line. The fixes of common ones are "
        "in [When it goes wrong](../errors.md).",
    )
    codes = exit_codes()
    parts: dict[str, dict[str, int]] = {}
    for one in collect_messages():
        package, _, rest = one.module.partition(".")
        name = f"{package}.{rest.partition('.')[0]}".rstrip(".")
        parts.setdefault(name, {})[one.text] = codes[one.error]
    for part, messages in sorted(parts.items()):
        yield from (f"## {part}", "", "| message | exit code |", "| --- | --- |")
        for text in sorted(messages, key=lambda text: text.strip("… :").lower()):
            quoted = f"`` {_cell(text)} ``" if "`" in text else f"`{_cell(text)}`"
            yield f"| {quoted.replace('&lt;', '<')} | {messages[text]} |"
        yield ""


def python_page() -> Iterator[str]:
    """Yield the directives that document the public modules."""
    yield from _head("Python", "The modules that other software may import.")
    for title, module in MODULES.items():
        yield from (f"## {title}: `{module}`", "", "```{eval-rst}", f".. automodule:: {module}")
        yield from ("   :members:", "```", "")
