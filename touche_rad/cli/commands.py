"""The names of the commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GROUPS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Play": {
        "demo": ("demo", "Run the whole pipeline on the bundled data and write a report."),
        "respond": ("play", "Answer the user turns of recorded debates, or one message."),
        "chat": ("chat", "Debate with a debater in the terminal."),
        "simulate": ("play", "Play debates with a simulated user, or between two debaters."),
        "tournament": ("tournament", "Let debaters play against each other and rate them."),
        "serve": ("serve", "Serve a debater and a judge over HTTP."),
    },
    "Judge": {
        "judge": ("judge", "Judge responses on the four maxims, or judge whole debates."),
        "audit": ("judge", "Test how judges react to changes of the same responses."),
        "label": ("label", "Label responses by hand in the browser."),
        "contests": ("contests", "Convert debates of other collections for panels."),
    },
    "Measure": {
        "score": ("score", "Score runs against labels, qrels or human decisions."),
        "report": ("judge", "Write an HTML report of runs."),
        "bench": ("bench", "Compare debaters and judges by a plan: users x judges x seeds."),
    },
    "Submit": {
        "check": ("check", "Validate runs before submission."),
        "schema": ("schema", "Print the JSON schemas of the task's files."),
        "submit": ("submit", "Try a plugin, and print the command that submits it to TIRA."),
        "dataset": ("dataset", "Write a dataset for TIRA, and evaluate runs on it."),
    },
    "Tools": {
        "merge": ("merge", "Merge the shards of a run into its output."),
        "index": ("index", "Build an argument index from a collection or from debates."),
        "retrieve": ("retrieve", "Search an index and write a TREC run, or print the hits."),
        "export": ("export", "Write runs for inspect_ai and TREC AutoJudge."),
        "list": ("listing", "List plugins, or the options and profiles of one plugin."),
        "new": ("tools", "Write the package of a new debater, judge or retriever."),
        "prompts": ("prompts", "Print the prompts of a plugin, or copy them to change them."),
        "train": ("train", "Train a debater, a judge, a stance model or an encoder."),
        "cache": ("cache", "Show, merge and prune cached model answers."),
        "doctor": ("doctor", "Check this machine, the plugins and the index."),
        "completion": ("tools", "Print the script that completes commands in your shell."),
    },
}
"""The commands by group: the module in `touche_rad.cli`, and the purpose."""

COMMANDS: Final = {name: where for group in GROUPS.values() for name, where in group.items()}
