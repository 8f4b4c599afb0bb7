#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""code.py ROOT BUILD: the C in the documents compiles with the library of BUILD, installed, and runs.
Pieces of a program, of documents and of man/examples, are compiled as functions after around.h; none may
leave a message in gx_last_message. Guides are followed from the first line to the last in an empty folder:
programs are written to the file that their first line names, commands are run, and a block of text is what
the commands before it print. First runs on examples with known mistakes."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT, BUILD = (Path(arg).resolve() for arg in sys.argv[1:3])
HOME = Path(tempfile.mkdtemp())
PREFIX = HOME / ".local"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
NEEDS_CUDA = re.compile(r"gx_buf_(from_)?cuda|\"cuda:0\"")


class Wrong(Exception):
    """What is wrong with a document."""


def run(command, folder, **more):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, **more)
    if done.returncode != 0:
        shown = command if isinstance(command, str) else " ".join(map(str, command))
        raise Wrong(f"{shown}\n{done.stdout}{done.stderr}")
    return done.stdout


def compiled(source, program, folder):
    libs = [path.parent for path in PREFIX.glob("lib*/**/libgpuexec.so")]
    run(["gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-unused-function",
         "-Wno-unused-but-set-variable", "-I", PREFIX / "include", "-I", ROOT / "tests/site", "-I", folder, source,
         "-o", program, "-L", libs[0], "-lgpuexec", f"-Wl,-rpath,{libs[0]}"], folder)


def blocks(path):
    """The blocks of a document: language, text, and the line on which the text begins."""
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield match[1], match[2], text.count("\n", 0, match.start()) + 2


def pieces():
    for path in [ROOT / "README.md", ROOT / "site/index.md", *sorted((ROOT / "doc").rglob("*.md"))]:
        for language, text, line in blocks(path):
            if language == "c" and "int main(" not in text:
                yield path, line, text
    names = set(re.findall(r"\bgx_\w+", "".join(p.read_text() for p in (ROOT / "include/gpuexec").glob("*.h"))))
    for path in sorted((ROOT / "man/examples").glob("*.c")):
        if path.stem not in names:
            raise Wrong(f"{path}: an example of what is not in the headers")
        yield path, 1, path.read_text(encoding="utf-8")


def check_pieces(all_of_them, folder):
    """All pieces as one program, which runs the one whose number it is given."""
    run(["glslc", "--target-env=vulkan1.2", "-O", "-mfmt=num", ROOT / "examples/kernel.comp", "-o", "kernel.spv.h"],
        folder)
    source = folder / "pieces.c"
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include "around.h"\n')
        for i, (path, line, text) in enumerate(all_of_them):
            file.write(f'static int piece_{i}(void)\n{{\n#line {line} "{path}"\n{text}return 0;\n}}\n')
        table = ", ".join(f"piece_{i}" for i in range(len(all_of_them)))
        file.write("""int main(int argc, char **argv)
{
    int (*const piece[])(void) = {%s};
    int failed = !set_up() || piece[atoi(argv[argc - 1])]();
    fputs(gx_last_message(), stderr);
    failed = failed || *gx_last_message();
    tear_down();
    return failed;
}
""" % table)
    compiled(source, folder / "pieces", folder)
    for i, (path, line, text) in enumerate(all_of_them):
        if NEEDS_CUDA.search(text):
            continue
        try:
            run([folder / "pieces", str(i)], folder, env=os.environ | {"GPUEXEC_DEVICE": "cpu"})
        except Wrong as wrong:
            raise Wrong(f"{path}:{line}: this fails when it runs:\n{wrong}") from None


def follow(path, home):
    """Does what a guide says, in an empty folder."""
    folder = Path(tempfile.mkdtemp(dir=home))
    env = os.environ | {"HOME": str(home), "PATH": f"{PREFIX}/bin:{os.environ['PATH']}", "GPUEXEC_DEVICE": "cpu"}
    printed = ""
    for language, text, line in blocks(path):
        try:
            if language == "c" and "int main(" in text:
                name = re.match(r"/\* (\w+\.c) \*/\n", text)
                if not name:
                    raise Wrong("the first line of a program is the name of its file")
                (folder / name[1]).write_text(text, encoding="utf-8")
                compiled(folder / name[1], folder / "strict", folder)
            elif language == "sh":
                printed = run(["bash", "-euo", "pipefail", "-c", text], folder, env=env)
            elif language == "text" and text != printed:
                raise Wrong(f"this is printed instead:\n{printed}")
        except Wrong as wrong:
            raise Wrong(f"{path}:{line}: {wrong}") from None


def must_fail(what, *arguments):
    try:
        what(*arguments)
    except Wrong:
        return
    sys.exit(f"FAIL  a mistake made on purpose is not found: {arguments}")


def prove_it_fails(folder):
    here = Path("document.md")
    must_fail(check_pieces, [(here, 1, "gx_run(ctx, &job, 1);\n")], folder)
    must_fail(check_pieces, [(here, 1, "job.op = 0;\ngx_run(ctx, &job, 1, NULL, NULL);\n")], folder)
    guide = folder / "guide.md"
    for text in ("```sh\nfalse\n```\n", "```sh\necho one\n```\n\n```text\ntwo\n```\n",
                 "```c\nint main(void) {}\n```\n"):
        guide.write_text(text, encoding="utf-8")
        must_fail(follow, guide, folder)


def main():
    run(["cmake", "--install", BUILD, "--prefix", PREFIX], HOME, env=os.environ | {"DESTDIR": ""})
    prove_it_fails(HOME)
    guides = sorted((ROOT / "doc/guide").glob("*.md"))
    try:
        all_of_them = list(pieces())
        if len(all_of_them) < 30 or len(guides) < 6:
            raise Wrong("where are the documents?")
        check_pieces(all_of_them, HOME)
        for guide in guides:
            follow(guide, HOME)
    except Wrong as wrong:
        sys.exit(f"{wrong}\nFAIL  the code of a document does not work")
    print(f"ok    {len(all_of_them)} pieces of C, {len(guides)} guides")


try:
    main()
finally:
    shutil.rmtree(HOME)
