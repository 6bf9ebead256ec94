"""`touche-rad score --audit`: what else a judge's verdicts go by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from touche_rad.cli import asking, shared
from touche_rad.cli.console import progress, say


def run_audit(
    runs: tuple[Path, ...], names: tuple[str, ...], chosen: shared.Chosen, given: dict[str, Any]
) -> None:
    """Audit the judges and tell what was found; a folder gets audit.json."""
    import anyio

    from touche_rad import files
    from touche_rad.audit import audit
    from touche_rad.audit.family import family_of
    from touche_rad.plugins import Services, find

    folder = chosen.path
    out = folder / "audit.json" if folder is not None else None
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
    plugins = {name: find("judge", name) for name in names}
    model = asking.model_for(plugins, given, chosen, out)
    indexed = given["index"] or any("index" in plugin.needs for plugin in plugins.values())
    services = (
        shared.services(given["index"], given["seed"], model=model)
        if indexed
        else Services(seed=given["seed"], model=model)
    )
    judges = {name: plugin.make(services, chosen.of("judge")) for name, plugin in plugins.items()}
    asking_one = [
        name for name, plugin in plugins.items() if "model" in (*plugin.needs, *plugin.uses)
    ]
    families = {name: family_of(model.name) for name in asking_one} if model else {}
    bad = files.BadLines(skip=given["skip_bad"])

    async def run() -> Any:
        told = asking.counted(model)
        try:
            with progress("auditing", quiet=given["quiet"], besides=told) as report:
                return await audit(
                    runs, judges, families=families, most=given["turns"], seed=given["seed"],
                    bad=bad, progress=report,
                )  # fmt: skip
        finally:
            if model is not None:
                await model.close()

    found = anyio.run(run)
    if out is not None:
        with files.atomic_write(out) as written:
            written.write(found.model_dump_json(indent=2) + "\n")
        say(f"written: {out}", quiet=given["quiet"])
    if given["as_json"]:
        click.echo(found.model_dump_json(indent=2))
    else:
        for line in found.lines():
            click.echo(line)
