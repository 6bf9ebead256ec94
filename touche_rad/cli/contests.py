"""The command `contests`."""

from __future__ import annotations

from pathlib import Path

from touche_rad import files
from touche_rad.cli import options as opt
from touche_rad.cli.advice import next_after
from touche_rad.cli.console import Label, next_step, say
from touche_rad.cli.prepare import need_file, warn_of_copies
from touche_rad.cli.program import command
from touche_rad.contests.foreign import contests


@opt.offering("replace", "skip_bad", "quiet")
class ContestsOptions(opt.Common):
    """The options of `contests`."""

    source: Path = opt.argument("SOURCE")
    output: Path = opt.output("Contests to write.", checked=True, required=True)


@command("contests debateart.json -o contests.jsonl")
def contests_command(options: ContestsOptions) -> None:
    """Convert whole debates to contests, which panels judge and touche-rad score reads.

    SOURCE is a JSON or JSONL file in the format of DebateArt, a folder in the format of PanelBench,
    or a file of debates of the shared task. The side with the higher mean of the votes wins.

    A line of DebateArt: {"title": "Ban cars.", "arguments": [{"side": "pro", "text": "Yes."},
    {"side": "con", "text": "No."}], "votes": [{"winner": "con"}]}

    PanelBench: motion/1.json is {"motion": "Ban cars.", "pro_side": ["Ann"], "con_side": ["Ben"],
    "speech_order": ["Ann", "Ben"]}, speech/1.json ["Yes.", "No."], gold.json {"1": "Ben"}.
    """
    source = options.source
    output = options.output
    need_file(source)
    bad = files.BadLines(skip=options.skip_bad)
    count = 0
    decided = 0
    with files.atomic_write(output) as stream:
        for contest in contests(source, bad):
            stream.write(files.contest_line(contest) + "\n")
            count += 1
            decided += not {"votes", "scores"}.issuperset(contest.gold)
    if bad.count:
        say(f"invalid records skipped: {bad}")
    say(f"{output}: {count} contests, {decided} with a known result", Label.WRITTEN)
    warn_of_copies(output)
    next_step(*next_after(files.Kind.CONTESTS, output, source))
