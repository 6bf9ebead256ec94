"""The size and the shape of the code, counted in its syntax trees.

Nodes are counted without docstrings, imports and annotations: shorter lines, joined statements,
missing comments and missing types gain nothing, and every version of Python counts alike.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from tests import ROOT

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


def shapes() -> dict[str, list[str]]:
    """Return where the product has what makes code hard to follow, by name."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    modules_of_class: defaultdict[str, set[Path]] = defaultdict(set)
    for path in paths(*PRODUCT, endings=(".py",)):
        tree = ast.parse(path.read_text("utf-8"))
        parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            found = (_mechanisms_of(node, parents), _names_of(node), _dense_forms_of(node, parents))
            for shape in chain(*found):
                places[shape].append(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', '')}")
        for statement in tree.body:
            if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
                modules_of_class[statement.name].add(path)
    # Each plugin has its class Options.
    places["class names of several modules"] = [
        name for name, modules in modules_of_class.items() if len(modules) > 1 and name != "Options"
    ]
    return places


def _mechanisms_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[str]:
    """Name the mechanisms, of which there should be one, that a node uses."""
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
            yield from _mechanisms_of_call(ast.unparse(function))
        case ast.ExceptHandler(type=kind):
            caught = kind.elts if isinstance(kind, ast.Tuple) else [kind]
            names = {ast.unparse(name) if name is not None else "Exception" for name in caught}
            if names & {"Exception", "BaseException"}:
                yield "except Exception"


VAGUE: Final = set(
    "own other whole more few found given said made told it its left kept mine".split()
)
PLACEHOLDERS: Final = set("item x e el obj thing entry it".split())


def _names_of(node: ast.AST) -> Iterator[str]:
    """Name the kinds of variables in a node that do not say what they are."""
    match node:
        case ast.Name(id="one") | ast.arg(arg="one"):
            yield "uses of the variable one"
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in VAGUE:
            yield "vague variables"
        case (
            ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target)
        ):
            names = [part.id for part in ast.walk(target) if isinstance(part, ast.Name)]
            yield from ["loop variables without a name" for name in names if name in PLACEHOLDERS]


def _dense_forms_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[str]:
    """Name the forms in which a node says several things at once."""
    parent = parents.get(node)
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            is_swap = {ast.unparse(part) for part in targets} == {ast.unparse(v) for v in values}
            if len(values) > 1 and not is_swap:
                yield "assignments of several values"
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            if (_is_text(left) and _is_truth(right)) or (_is_text(right) and _is_truth(left)):
                yield "texts multiplied by a condition"
        case ast.IfExp(orelse=orelse):
            if isinstance(orelse, ast.IfExp):
                yield "chained conditional expressions"
            if isinstance(parent, ast.FormattedValue):
                yield "conditions in an f-string"
        case ast.BoolOp() if isinstance(parent, ast.FormattedValue):
            yield "conditions in an f-string"
        case ast.For(iter=ast.IfExp()) | ast.AsyncFor(iter=ast.IfExp()):
            yield "loops over a conditional expression"
        case ast.FormattedValue(value=value):
            if any(isinstance(part, ast.JoinedStr) for part in ast.walk(value)):
                yield "f-strings in an f-string"
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            loops = node.generators
            parts = [part for part in ast.walk(node) if part is not node]
            is_nested = any(isinstance(part, COMPREHENSIONS) for part in parts)
            has_condition = any(loop.ifs for loop in loops)
            if is_nested or len(loops) > 2 or (len(loops) > 1 and has_condition):
                yield "dense comprehensions"
            if any(isinstance(part, ast.NamedExpr) for part in parts):
                yield "assignments in a comprehension"
            if any(_has_single_value(loop.iter) for loop in loops):
                yield "loops over one value"


COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _has_single_value(node: ast.expr) -> bool:
    values = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
    return len(values) == 1 and not isinstance(values[0], ast.Starred)


def _is_text(node: ast.expr) -> bool:
    is_constant = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_constant or isinstance(node, ast.JoinedStr)


def _is_truth(node: ast.expr) -> bool:
    is_bool_call = isinstance(node, ast.Call) and ast.unparse(node.func) == "bool"
    return is_bool_call or isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp))


def _mechanisms_of_call(function: str) -> Iterator[str]:
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
