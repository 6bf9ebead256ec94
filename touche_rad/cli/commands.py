"""The names of the commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "First": {
        "demo": "Run the whole pipeline on the bundled data and write a report.",
        "chat": "Debate with a debater in the terminal.",
        "serve": "Serve a debater and a judge over HTTP.",
        "index": "Build an argument index from a collection or from debates.",
        "simulate": "Play debates with a simulated user, or between two debaters.",
        "judge": "Judge responses by criteria, or judge whole debates.",
        "check": "Validate runs before submission.",
        "submit": "Try a plugin, and print the command that submits it to TIRA.",
    },
    "Run and evaluate": {
        "respond": "Answer the user turns of recorded debates, or one message.",
        "retrieve": "Search an index and write a TREC run, or print the hits.",
        "score": "Score runs against labels, qrels or human decisions.",
        "report": "Write an HTML report of runs.",
        "audit": "Test how judges react to changes of the same responses.",
        "label": "Label responses by hand in the browser.",
        "try": "Compare a plugin with the baselines, again after each edit.",
        "bench": "Compare debaters, users and judges by a plan that others repeat.",
        "tournament": "Rate debaters that play against each other.",
        "contests": "Convert whole debates of other collections for panels.",
        "merge": "Merge the shards of a run into its output.",
    },
    "Make and look up": {
        "new": "Write the package of a new plugin, or a file of criteria.",
        "train": "Train a model of a debater; draw examples for a judge.",
        "prompts": "Print the prompts of a plugin, or copy them to change them.",
        "list": "List plugins, or the options and profiles of one plugin.",
        "doctor": "Check this machine, the plugins and the index.",
        "schema": "List the kinds of files, or print the JSON schema of one.",
        "dataset": "Write a dataset for TIRA, and evaluate runs on it.",
    },
}
"""The commands by group, with their purposes; `touche_rad/cli/NAME.py` has the command NAME."""

COMMANDS: Final = {name: purpose for group in GROUPS.values() for name, purpose in group.items()}
