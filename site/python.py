# SPDX-License-Identifier: Apache-2.0
"""python.py FOLDER: the reference of the Python package in FOLDER, for Sphinx. It is read, not imported:
that would need the library."""
import ast
import re
import sys
import textwrap
from pathlib import Path


def read(folder):
    """The names that the package exports, in its order, and where they are defined."""
    found, exported, package = {}, [], None
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if path.name == "__init__.py":
            package = tree
        for node in tree.body + [n for x in tree.body if isinstance(x, ast.If) for n in x.body]:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] = node
            elif isinstance(node, ast.AnnAssign):
                found[node.target.id] = node
    for node in package.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            exported = ast.literal_eval(node.value)
    return package, exported, found


def text(doc, indent):
    """Plain text as reStructuredText: paragraphs that are indented are code, and so is `x`."""
    parts = []
    for part in re.split(r"\n\n+", (doc or "").strip("\n")):
        if part.startswith("    "):
            if not (parts and parts[-1].startswith("    ")):
                parts.append(".. code-block:: python")
        else:
            part = re.sub(r"([\\*|])", r"\\\1", part)
            part = re.sub(r"`([^`]+)`", r"\1", part)
            part = re.sub(r"(?<![\s\"(\[])(?=\b\w*_)", r"\\ ", part)
            part = re.sub(r"\b\w*_\w*\b", r"``\g<0>``", part)
        parts.append(part)
    return textwrap.indent("\n\n".join(parts), indent) + "\n\n" if parts[0] else "\n"


def signature(function, method):
    args = function.args
    if method and args.args:
        args.args = args.args[1:]
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"({ast.unparse(args)}){result}".replace("'", '"')


def decorators(function):
    return {ast.unparse(d) for d in function.decorator_list}


def members(node, found):
    """What a class has, its bases in the package first, each name once."""
    all_of_them = {}
    for base in node.bases:
        if isinstance(base, ast.Name) and isinstance(found.get(base.id), ast.ClassDef):
            all_of_them.update(members(found[base.id], found))
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            all_of_them[item.name] = item
        elif isinstance(item, ast.AnnAssign):
            all_of_them[item.target.id] = item
        elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            all_of_them[item.targets[0].id] = item
    return all_of_them


def value_doc(value):
    """The text that a member described by a call has: its last argument."""
    if isinstance(value, ast.Call) and value.args and isinstance(value.args[-1], ast.Constant):
        return value.args[-1].value if isinstance(value.args[-1].value, str) else ""
    return ""


def write_class(node, found):
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    error = "Error" in bases or "Exception" in bases
    doc = ast.get_docstring(node)
    if error: # those of Error are said once
        print(f".. py:exception:: {node.name}\n\n   Is a {' and a '.join(bases)}.\n\n{text(doc, '   ')}")
        all_of_them = {i.target.id: i for i in node.body if isinstance(i, ast.AnnAssign)}
    else:
        all_of_them = members(node, found)
        # Where contexts make objects, their arguments are no one's business.
        makes = all_of_them.get("__init__")
        shown = signature(makes, True).partition(" -> ")[0] if makes and "ptr" not in ast.unparse(makes.args) else ""
        print(f".. py:class:: {node.name}{shown}\n\n{text(doc, '   ')}")
    for name, item in all_of_them.items():
        if name.startswith("_"):
            continue
        if isinstance(item, ast.FunctionDef):
            kinds = decorators(item)
            if kinds & {"overload"}:
                continue
            doc = text(ast.get_docstring(item), "      ")
            if "property" in kinds:
                print(f"   .. py:property:: {name}\n      :type: {ast.unparse(item.returns)}\n\n{doc}")
            else:
                print(f"   .. py:method:: {name}{signature(item, 'staticmethod' not in kinds)}")
                print("".join(f"      :{k}:\n" for k in ("classmethod", "staticmethod") if k in kinds))
                print(doc)
        elif isinstance(item, ast.AnnAssign):
            print(f"   .. py:attribute:: {name}\n      :type: {ast.unparse(item.annotation)}\n")
        elif isinstance(item.value, ast.Constant) or isinstance(item.value, ast.UnaryOp):
            print(f"   .. py:attribute:: {name}\n      :value: {ast.unparse(item.value)}\n")
        else:
            print(f"   .. py:attribute:: {name}\n\n{text(value_doc(item.value), '      ')}")


def is_type(node):
    """PointForm = Literal[...], Operand: TypeAlias = ..."""
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.annotation) == "TypeAlias"
    types = r"(Literal|Callable|npt\.NDArray|tuple)\[|\w+ \|"
    return isinstance(node, ast.Assign) and re.match(types, ast.unparse(node.value))


def main():
    package, exported, found = read(Path(sys.argv[1]))
    print("Python reference\n================\n\n.. py:module:: gpuexec\n")
    print(text(ast.get_docstring(package).partition("\n\n")[2], ""))
    kinds = {"Classes and functions": [], "Fields and curves": [], "Exceptions": []}
    for name in exported:
        node = found.get(name)
        if isinstance(node, ast.ClassDef) and ("Error" in name):
            kinds["Exceptions"].append(name)
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            kinds["Classes and functions"].append(name)
        else:
            kinds["Fields and curves"].append(name)
    for title, names in kinds.items():
        print(f"{title}\n{'-' * len(title)}\n")
        for name in sorted(names, key=lambda n: (n not in ("Context", "Job"), n)):
            node = found[name]
            if isinstance(node, ast.ClassDef):
                write_class(node, found)
            elif isinstance(node, ast.FunctionDef):
                print(f".. py:function:: {name}{signature(node, False)}\n\n{text(ast.get_docstring(node), '   ')}")
            else:
                print(f".. py:data:: {name}\n   :value: {ast.unparse(node.value)}\n")
    print("Types of arguments\n------------------\n")
    for name, node in sorted(found.items()):
        if name not in exported and is_type(node):
            print(f".. py:data:: {name}\n   :value: {ast.unparse(node.value)}\n")


main()
