"""The size and the shape of the code, counted in its syntax trees.

Nodes are counted without docstrings, imports and annotations: shorter lines, joined statements,
missing comments and missing types gain nothing, and every version of Python counts alike.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PRODUCT: Final = ("touche_rad", "retrieval", "judges")

LOOP_STARTS: Final = {"Runner", "new_event_loop", "start_blocking_portal", "run_until_complete"}
ENVIRONMENT: Final = {
    "os.environ.update",
    "os.environ.setdefault",
    "os.environ.pop",
    "os.putenv",
}
JSON_TYPES: Final = {"Mapping", "dict", "Dict"}


def paths(*folders: str, endings: tuple[str, ...] = ()) -> list[Path]:
    """Return the files below some folders with these endings, without compiled ones."""
    files = (path for folder in folders for path in sorted((ROOT / folder).rglob("*")))
    return [
        path
        for path in files
        if path.is_file()
        and "__pycache__" not in path.parts
        and (not endings or path.suffix in endings)
    ]


def nodes(*folders: str) -> int:
    """Count the nodes of the Python files below some folders."""
    modules = paths(*folders, endings=(".py",))
    return sum(_nodes(ast.parse(path.read_text("utf-8"))) for path in modules)


def _nodes(node: ast.AST) -> int:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.expr_context():
            return 0
        case ast.Expr(value=ast.Constant(value=str())):
            return 0
    total = 1
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        children = value if isinstance(value, list) else [value]
        total += sum(_nodes(child) for child in children if isinstance(child, ast.AST))
    return total


def shapes() -> Counter[str]:
    """Count in the product what makes code hard to follow, by name."""
    counts: Counter[str] = Counter()
    for path in paths(*PRODUCT, endings=(".py",)):
        tree = ast.parse(path.read_text("utf-8"))
        parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            counts.update(_shapes_of(node, parents))
    return counts


def _shapes_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[str]:
    """Name what a node is counted as."""
    match node:
        case ast.Name(id="Any") if not _is_json(node, parents):
            yield "Any"
        case ast.Name(id="WeakKeyDictionary"):
            yield "tables keyed by the event loop"
        case ast.Assign(targets=targets):
            texts = [ast.unparse(target) for target in targets]
            if any(text.startswith("os.environ[") for text in texts):
                yield "writing to os.environ"
        case ast.Call(func=function):
            yield from _shapes_of_call(ast.unparse(function))
        case ast.ExceptHandler(type=kind):
            caught = kind.elts if isinstance(kind, ast.Tuple) else [kind]
            names = {ast.unparse(name) if name is not None else "Exception" for name in caught}
            if names & {"Exception", "BaseException"}:
                yield "except Exception"
        case (
            ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target)
        ):
            names = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
            yield from ["loop variables without a name"] * len(names & PLACEHOLDERS)


PLACEHOLDERS: Final = {"item", "x", "e", "el", "obj", "thing", "entry", "it"}


def _shapes_of_call(function: str) -> Iterator[str]:
    """Name what a call of a function is counted as."""
    last = function.rpartition(".")[2]
    if last in LOOP_STARTS or function in ("anyio.run", "asyncio.run"):
        yield "starts of an event loop"
    if function in ENVIRONMENT:
        yield "writing to os.environ"
    if function in ("ContextVar", "contextvars.ContextVar"):
        yield "context variables"
    if function in ("chdir", "os.chdir", "contextlib.chdir"):
        yield "changes of the working folder"
    if function in ("getattr", "hasattr"):
        yield "getattr and hasattr"


def _is_json(node: ast.Name, parents: dict[ast.AST, ast.AST]) -> bool:
    """Return whether this Any is that of `Mapping[str, Any]`: JSON has no other type."""
    arguments = parents.get(node)
    generic = parents.get(arguments) if isinstance(arguments, ast.Tuple) else None
    return isinstance(generic, ast.Subscript) and ast.unparse(generic.value) in JSON_TYPES
