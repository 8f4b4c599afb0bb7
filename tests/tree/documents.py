#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""documents.py ROOT: what documents name is there. Links lead to files and headings; paths and names
of source files between backticks exist, and so do names that begin with gx_ or GX_. The README is short,
and its picture is of the results that are there. First runs on an example with known mistakes."""
import os
import re
import subprocess
import sys
import tempfile

DOCUMENTS = ["README.md", "CONTRIBUTING.md", "doc", "bench", "bindings", "examples"]
SOURCES = ["bench", "bindings", "cli", "cmake", "completions", "examples", "include", "man",
           "monitoring", "packaging", "report", "scripts", "site", "src", "tests"]
FOREIGN = {"wgpu.h", "webgpu.h", "cuda.h"}  # headers of others
FILE = re.compile(r"(?<![\w./*-])((?:[\w-]+/)*[\w-]+\.(?:c|h|comp|glsl|cuh|wgsl|cmake))\b")
FOLDER = re.compile(r"(?<![\w./*-])((?:%s|doc)/[\w./-]*\w)" % "|".join(SOURCES))
NAME = re.compile(r"\b(?:gx|GX)_\w*[A-Za-z0-9]\b(?![*_])")


def files_of(root, folders):
    for folder in folders:
        path = os.path.join(root, folder)
        if os.path.isfile(path):
            yield path
        for at, below, names in os.walk(path):
            below[:] = [b for b in below if b not in ("build", "node_modules", "target", ".venv")]
            yield from (os.path.join(at, name) for name in names)


def read(path):
    with open(path, encoding="utf-8", errors="ignore") as file:
        return file.read()


def headings(text):
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    for line in re.findall(r"^#+ (.*)$", text, flags=re.M):
        yield re.sub(r"[^\w\- ]", "", line.strip().lower()).replace(" ", "-")


def mistakes(root):
    paths = [os.path.relpath(path, root) for path in files_of(root, SOURCES)]
    code = [p for p in paths if not p.endswith((".md", ".csv", ".json", ".svg"))]
    words = set()
    for path in code:
        words.update(re.findall(r"\w+", read(os.path.join(root, path))))
    ends = {"/".join(p.split("/")[i:]) for p in paths for i in range(p.count("/") + 1)}
    for document in sorted(files_of(root, DOCUMENTS)):
        where = os.path.relpath(document, root)
        if not where.endswith(".md") or where.startswith("bench/results/2"):
            continue
        text = re.sub(r"```.*?```", "", read(document), flags=re.S)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = link.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
            if not os.path.exists(to):
                yield f"{where}: no file {link}"
            elif anchor and anchor not in headings(read(to)):
                yield f"{where}: no heading {link}"
        for quoted in set(re.findall(r"`([^`\n]+)`", text)):
            if "://" in quoted or "build/" in quoted:
                continue
            for file in FILE.findall(quoted):
                if file not in ends and file not in FOREIGN and file.lower() == file:
                    yield f"{where}: no source file {file}"
            for folder in FOLDER.findall(quoted):
                near = os.path.join(os.path.dirname(document), folder)
                if folder.lower() == folder and not (
                        os.path.exists(os.path.join(root, folder)) or os.path.exists(near)):
                    yield f"{where}: no {folder}"
            for name in NAME.findall(quoted):
                if name not in words:
                    yield f"{where}: no name {name}"
    lines = read(os.path.join(root, "README.md")).count("\n")
    if lines > 120:
        yield f"README.md: {lines} lines, more than 120"


def picture(root):
    made = subprocess.run([sys.executable, os.path.join(root, "bench/picture.py")], capture_output=True, text=True)
    if made.stdout != read(os.path.join(root, "doc/peers.svg")):
        yield f"doc/peers.svg: not what bench/picture.py prints {made.stderr}"


def prove_it_fails():
    with tempfile.TemporaryDirectory() as root:
        for folder in ("doc", "src/op"):
            os.makedirs(os.path.join(root, folder))
        put = {"src/op/op.c": "gx_run GX_ADD", "doc/a.md": "# One `two`\n[x](b.md#there) `op/op.c` `op.c`"
               " `src/op/` `gx_run` `GX_ADD` `GX_A*` `src/NAME.c` [x](#one-two)\n```\ngx_none\n```\n",
               "README.md": "\n" * 121,
               "doc/b.md": "# There\n[x](c.md) [x](a.md#b) `src/none` `exec/op.c` `gone.h` `gx_gone`"}
        for path, text in put.items():
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        found = sorted(mistakes(root))
        if len(found) != 7 or any(not line.startswith(("doc/b.md", "README.md")) for line in found):
            print("FAIL  of 7 mistakes made on purpose, this was found:", *found, sep="\n")
            sys.exit(1)


prove_it_fails()
wrong = sorted({*mistakes(sys.argv[1]), *picture(sys.argv[1])})
print(*wrong, sep="\n")
print(f"FAIL  {len(wrong)} in documents" if wrong else "ok    what documents name is there")
sys.exit(bool(wrong))
