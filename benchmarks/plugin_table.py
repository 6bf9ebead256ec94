"""Print the table of all plugins in docs/methods.md.

python benchmarks/plugin_table.py
"""

from __future__ import annotations

import re
from typing import Final

from touche_rad.plugins import Kind, registered

KINDS: Final[tuple[Kind, ...]] = ("debater", "judge", "panel", "retriever")


def main() -> None:
    print("| kind | name | what it does | needs |\n| --- | --- | --- | --- |")
    for kind in KINDS:
        for name, plugin in sorted(registered(kind).items()):
            needs = ", ".join(re.sub(r"extra:(\w+).*", r"extra \1", one) for one in plugin.needs)
            print(f"| {kind} | `{name}` | {plugin.purpose} | {needs or 'nothing'} |")


if __name__ == "__main__":
    main()
