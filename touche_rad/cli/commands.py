"""The names of the commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GROUPS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "First": {
        "demo": ("demo", "Run the whole pipeline on the bundled data and write a report."),
        "chat": ("chat", "Debate with a debater in the terminal."),
        "serve": ("serve", "Serve a debater and a judge over HTTP."),
        "index": ("index", "Build an argument index from a collection or from debates."),
        "simulate": ("play", "Play debates with a simulated user, or between two debaters."),
        "judge": ("judge", "Judge responses on the four maxims, or judge whole debates."),
        "check": ("check", "Validate runs before submission."),
        "submit": ("submit", "Try a plugin, and print the command that submits it to TIRA."),
    },
    "Run and evaluate": {
        "respond": ("play", "Answer the user turns of recorded debates, or one message."),
        "retrieve": ("retrieve", "Search an index and write a TREC run, or print the hits."),
        "score": ("score", "Score runs against labels, qrels or human decisions."),
        "report": ("judge", "Write an HTML report of runs."),
        "audit": ("judge", "Test how judges react to changes of the same responses."),
        "label": ("label", "Label responses by hand in the browser."),
        "bench": ("bench", "Compare debaters, users and judges by a plan that others repeat."),
        "tournament": ("tournament", "Rate debaters that play against each other."),
        "contests": ("convert", "Convert whole debates of other collections for panels."),
        "merge": ("convert", "Merge the shards of a run into its output."),
    },
    "Make and look up": {
        "new": ("tools", "Write the package of a new debater, judge, panel or retriever."),
        "train": ("train", "Train an encoder or a model of a debater; draw examples for a judge."),
        "prompts": ("prompts", "Print the prompts of a plugin, or copy them to change them."),
        "list": ("listing", "List plugins, or the options and profiles of one plugin."),
        "doctor": ("doctor", "Check this machine, the plugins and the index."),
        "schema": ("convert", "Print the JSON schemas of the task's files."),
        "dataset": ("dataset", "Write a dataset for TIRA, and evaluate runs on it."),
        "export": ("export", "Write runs for TREC AutoJudge."),
        "cache": ("convert", "Merge caches of model answers."),
    },
}
"""The commands by group: the module in `touche_rad.cli`, and the purpose."""

OLD: Final = {"explain": "respond --explain", "rerun": "bench", "edition": "bench", "plan": "bench"}
"""What to call instead of former commands."""

COMMANDS: Final = {name: where for group in GROUPS.values() for name, where in group.items()}
