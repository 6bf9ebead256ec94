"""The command `respond`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, Literal

from touche_rad.cli import options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.console import Label, print_json, print_line, say
from touche_rad.cli.program import command
from touche_rad.debate import Debate
from touche_rad.errors import OptionError, UserError
from touche_rad.text import is_blank, printable

OWN_HISTORY: Final = (
    "each answer was made after the recorded answers, and stands after the debater's own earlier "
    "ones: a judge reads another history than in responses, so compare no score of the two"
)


@opt.offering("max_words", "index", "fallback_index", "trace", "as_json")
class RespondOptions(opt.ModelOptions, opt.FileOptions):
    """The options of `respond`."""

    source: Path | None = opt.argument("[INPUT]", required=False)
    output: Path | None = opt.output("Run to write.")
    debater: opt.PluginSpec = opt.DEBATER
    plugin_options: opt.PluginOptions = opt.plugin_options("debater")
    utterance: str | None = opt.option("Answer this message instead.", "--say", metavar="TEXT")
    explain: bool = opt.flag("Print the best candidates with their features, and the reason.")
    last_only: bool = opt.flag("Answer only the last turn of each debate.")
    shape: Literal["responses", "simulations"] = opt.option(
        "One response per line, or whole debates, where an answer stands after the debater's own "
        "earlier ones: a judge reads another history.",
        "--as",
        default="responses",
    )


@command(
    'respond --say "Zoos should be closed."',
    'respond --say "Zoos should be closed." --explain',
    "respond touche_rad/demo/debates.jsonl -i demo -o run.jsonl",
    'respond --say "Zoos are cruel." -i demo -d sinai -m vllm:MODEL',
)
def respond_command(options: RespondOptions) -> int:
    """Answer each user turn of the debates in INPUT.

    INPUT is a file of simulations, annotated debates or chat messages. A response depends only on
    the turns before it, with what they cite. Under TIRA (inputDataset and outputDir are set), INPUT
    and -o are optional.
    """
    if options.utterance is not None and is_blank(options.utterance):
        raise UserError("respond --say: expected a text, got only blanks")
    is_on_screen = options.utterance is not None or options.explain
    of_runs = {"--dry-run": options.dry_run, "-o": options.output, "--shard": options.shard}
    for option, value in of_runs.items():
        if is_on_screen and value:
            raise OptionError(f"{option} is for runs over a file, without --say and --explain")

    debater = options.debater.configure("debater")
    if not is_on_screen:
        from touche_rad import files
        from touche_rad.runs.play import RespondJob

        written = files.Kind(options.shape)
        places = run_files.find_places("respond", options, options.source, files.DEBATES, written)
        job = RespondJob(
            source=places.source,
            debater=debater,
            max_words=options.max_words,
            deadline=options.deadline,
            last_only=options.last_only,
            shape=options.shape,
        )
        code = run_files.run_on_files(job, options, places)
        if written is files.Kind.SIMULATIONS and not options.last_only:
            say(OWN_HISTORY, Label.NOTE)
        return code

    # Print one answer, or the candidates of every turn.
    from touche_rad.debate import Debate
    from touche_rad.runs.answering import make_answerer
    from touche_rad.runs.fallbacks import FailureLog

    utterance = options.utterance
    debate = Debate().with_utterance(utterance or "")
    with prepare.open_session(
        options,
        debater,
        needs_index=not debater.works_without_index,
        or_demo=utterance is not None,
    ) as session:
        answerer = make_answerer(debater, session.services, options.max_words, options.deadline)
        if options.explain:
            from touche_rad.cli.explain import print_explanations

            explain = partial(
                print_explanations,
                answerer,
                _each_turn(options.source) if utterance is None else [debate],
                has_model=session.model is not None and debater.plugin.uses_model,
                of_file=utterance is None,
                as_json=options.as_json,
                strict=options.strict,
            )
            return 0 if session.run(explain) else 1
        answer = session.run(
            # No failure is shown: the notices say it.
            partial(answerer.answer, debate, failures=FailureLog(shows=False))
        )
    if answer.fallback:
        say(answer.fallback.notice, Label.WARNING)
        if options.strict:
            return 1
    response = answer.response
    if options.as_json:
        record = response.model_dump(mode="json")
        print_json(record | record.pop("extra"), None)
    else:
        print_line(printable(response.content), 0)
        for argument in response.arguments:
            print_line(printable(f"  [{argument.id}] {argument.text}"), 4)
        if not answer.fallback:
            for event in answer.events:
                say(event.text, Label.NOTE, quiet=False)
    if not session.model and debater.plugin.uses_model and sys.stdout.isatty():
        say(prepare.SIDE_UNKNOWN, Label.NOTE)
    return 1 if answer.fallback else 0


def _each_turn(source: Path | None) -> Iterator[Debate]:
    from touche_rad import files

    if not source:
        raise UserError("respond --explain: give an input file, or --say TEXT")
    for debate in files.read_debates(source):
        for turn in range(len(debate.turns)):
            yield debate.before_response(turn)
