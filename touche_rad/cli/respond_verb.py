"""`touche-rad respond`: recorded debates in, one official response for each user turn out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touche_rad.cli import options as shared
from touche_rad.cli import runs
from touche_rad.cli.console import progress, say
from touche_rad.debate import Debate
from touche_rad.errors import UserError
from touche_rad.tira import places as tira

if TYPE_CHECKING:
    from touche_rad.runs.answering import Answer


@click.command("respond", cls=shared.Verb)
@click.argument("source", required=False, type=click.Path(path_type=Path), metavar="[INPUT]")
@shared.output("The run to write.")
@shared.debater
@shared.index
@shared.spare_index
@shared.options
@click.option("--say", "utterance", metavar="TEXT", help="Answer this one utterance instead.")
@click.option("--last-only", is_flag=True, help="Answer only the last user turn of each debate.")
@click.option(
    "--as", "shape", type=click.Choice(["responses", "simulations"]), default="responses",
    show_default=True, help="One response a line, or whole debates in the official shape.",
)  # fmt: skip
@click.option("--explain", is_flag=True, help="Print each candidate with its features instead.")
@shared.as_json
@shared.max_words
@shared.of_a_run
@click.pass_context
def command(ctx: click.Context, /, source: Path | None, utterance: str | None, **given: Any) -> int:
    """Answer every user turn of the debates in INPUT, given the recorded words before it.

    INPUT is any file of debates (simulations, annotated debates, chat messages). Under TIRA
    (inputDataset and outputDir in the environment) neither INPUT nor -o is needed.
    """
    chosen = shared.choose(ctx, "debater", given["output"], given["option"])
    if utterance is not None:
        debater = runs.Debater.choose(given, chosen)
        return _answer_one(debater, utterance, as_json=given["as_json"], explain=given["explain"])
    if given["explain"]:
        debater = runs.Debater.choose(given, chosen)
        return _explain_all(debater, source, as_json=given["as_json"])
    return _run(source, chosen, given)


def _run(source: Path | None, chosen: shared.Chosen, given: dict[str, Any]) -> int:
    from touche_rad import files
    from touche_rad.plugins import find
    from touche_rad.runs.respond import respond
    from touche_rad.runs.runner import run

    find("debater", given["debater"]).parse(chosen.of("debater"))  # a wrong option is told first
    name = "simulations.jsonl" if given["shape"] == "simulations" else "responses.jsonl"
    places = tira.places("respond", source, chosen.path, files.DEBATES, name)
    debater = runs.Debater.choose(given, chosen, places.out)
    told = shared.counted(debater.services.model)
    method = runs.method("debater", given["debater"], chosen, debater.identity)
    with (
        runs.tracked("respond", places, given, method),
        progress("responding", quiet=given["quiet"], besides=told) as report,
    ):
        status = run(
            lambda: respond(
                places.source, places.out, debater.answerer, identity=debater.identity,
                last_only=given["last_only"], shape=given["shape"],
                options=runs.run_options(given, places, debater.model, report),
            ),
            places.out,
        )  # fmt: skip
    return runs.close(status, places, quiet=given["quiet"])


def _answer_one(debater: runs.Debater, utterance: str, *, as_json: bool, explain: bool) -> int:
    import anyio

    debate = Debate().with_utterance(utterance)
    if explain:
        _print_candidates(debater.explain(debate), as_json=as_json)
        return 0
    answer = anyio.run(_answered, debater, debate)
    if as_json:
        click.echo(json.dumps(answer.response.model_dump(mode="json"), ensure_ascii=False))
        return 0
    click.echo(answer.response.content)
    for argument in answer.response.arguments:
        click.echo(f"  [{argument.id}] {argument.text}")
    for note in answer.notes:
        say(f"note: {note}")
    return 0


async def _answered(debater: runs.Debater, debate: Debate) -> Answer:
    try:
        return await debater.answerer.answer(debate)
    finally:
        if debater.model is not None:
            await debater.model.close()


def _explain_all(debater: runs.Debater, source: Path | None, *, as_json: bool) -> int:
    for debate in _asked(source):
        if not as_json:
            click.secho(f"{debate.id} turn {len(debate.turns) - 1}: ", bold=True, nl=False)
            click.echo(debate.last.utterance)
        _print_candidates(debater.explain(debate), as_json=as_json)
    return 0


def _asked(source: Path | None) -> Iterator[Debate]:
    from touche_rad import files

    if source is None:
        raise UserError("respond --explain: give an input file, or --say TEXT")
    for debate in files.read_debates(source):
        for turn in range(len(debate.turns)):
            yield debate.before_response(turn)


def _print_candidates(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    from touche_rad.secrets import redact_data

    for row in map(redact_data, rows):
        if as_json:
            click.echo(json.dumps(row, ensure_ascii=False))
            continue
        plain = {key: value for key, value in row.items() if key not in ("text", "features")}
        click.echo("  " + "  ".join(f"{key}={_short(value)}" for key, value in plain.items()))
        click.echo(f"      {row.get('text', '')}")
        for name, part in row.get("features", {}).items():
            click.echo(f"      {name}: {_short(part)}")


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, dict):
        return " ".join(f"{key}={_short(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return " > ".join(_short(inner) for inner in value)
    return str(value)
