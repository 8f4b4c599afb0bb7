#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""documents.py ROOT: what documents name is there. Links lead to files and headings; paths and names
of source files between backticks exist, and so do names that begin with gx_ or GX_. The README is short,
and its picture is of the results that are there. Revisions are in the history, where there is a whole one.
First runs on an example with known mistakes."""
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
FOREIGN_REVISIONS = {"59a51a0"}  # of SuperVM, doc/csv.md
# Seven decimal digits are a number, unless a word before them says more.
REVISION = re.compile(r"\b(?=\d*[a-f])(?=[a-f]*\d)([0-9a-f]{7})\b(?!\.\w)"
                      r"|\b(?:at|revisions?|session) (\d{7})\b")
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


def history(root):
    """The start of each revision that a clone of this one has; None: that cannot be known."""
    def git(*arguments):
        return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout.split()

    try:
        if not os.path.exists(os.path.join(root, ".git")) or git("rev-parse", "--is-shallow-repository") != ["false"]:
            return None
        return {revision[:7] for revision in git("rev-list", "HEAD")}
    except (OSError, subprocess.CalledProcessError):
        return None


def dead_revisions(root, revisions):
    for document in sorted(files_of(root, DOCUMENTS)):
        where = os.path.relpath(document, root)
        printed = where.startswith("bench/results/2") and not where.endswith("README.md")
        if revisions is None or printed or not where.endswith(".md"):
            continue
        for found in REVISION.findall(read(document)):
            revision = "".join(found)
            if revision not in revisions | FOREIGN_REVISIONS:
                yield f"{where}: no revision {revision}"


def picture(root):
    made = subprocess.run([sys.executable, os.path.join(root, "bench/picture.py")], capture_output=True, text=True)
    if made.stdout != read(os.path.join(root, "doc/peers.svg")):
        yield f"doc/peers.svg: not what bench/picture.py prints {made.stderr}"


def prove_it_fails():
    with tempfile.TemporaryDirectory() as root:
        for folder in ("doc", "src/op"):
            os.makedirs(os.path.join(root, folder))
        put = {"src/op/op.c": "gx_run GX_ADD", "doc/a.md": "# One `two`\n[x](b.md#there) `op/op.c` `op.c`"
               " `src/op/` `gx_run` `GX_ADD` `GX_A*` `src/NAME.c` [x](#one-two)\n```\ngx_none\n```\n"
               "at 7654321, 0123abc; effaced 1048576 7fc00000 0123abd.txt",
               "README.md": "\n" * 121,
               "doc/b.md": "# There\n[x](c.md) [x](a.md#b) `src/none` `exec/op.c` `gone.h` `gx_gone`"
               " 0123abd, revision 1234567"}
        for path, text in put.items():
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        found = sorted([*mistakes(root), *dead_revisions(root, {"0123abc", "7654321"})])
        if len(found) != 9 or any(not line.startswith(("doc/b.md", "README.md")) for line in found):
            print("FAIL  of 9 mistakes made on purpose, this was found:", *found, sep="\n")
            sys.exit(1)


prove_it_fails()
wrong = sorted({*mistakes(sys.argv[1]), *dead_revisions(sys.argv[1], history(sys.argv[1])), *picture(sys.argv[1])})
print(*wrong, sep="\n")
print(f"FAIL  {len(wrong)} in documents" if wrong else "ok    what documents name is there")
sys.exit(bool(wrong))
