#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assemble.py PTXAS TABLE: assembles every kernel of TABLE (ptx.c of cmake/ptx.cmake) for the GPUs that
there are, and fails if ptxas does, or if a kernel that has to be fast keeps registers in memory.
Kernels that can await the launches before them are also assembled with that, as src/device/cuda/kernel.c
makes them. Kernels that have to be fast are assembled for every GPU, the others for the oldest and for a
recent one; where the operation decides what a kernel contains, for several, on one GPU of each
generation.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

GPUS = ("70", "75", "80", "86", "89", "90")
GENERATIONS = ("70", "80", "90")
FEW = ("70", "90")
# The operations to try of a family: those of GX__OP_LIST and after it, in src/op/op.h.
OPS = {"LINEAR": (1, 2, 4, 64), "MUL": (3, 5, 8), "DOT": (12,), "NTT": (13, 69, 70, 71),
       "NTT_SMALL": (13, 69, 70, 71), "MSM_ADD": (76,),
       "INVERT_UP": (6,), "INVERT_TOP": (7,), "INVERT_DOWN": (7,), "SUM": (11,), "NTT_TABLE": (67,),
       "SCAN": (14, 15, 18, 19), "PERMUTE": (20, 21), "MSM_SORT": (72, 73, 74, 75), "MSM_SUM": (77, 78),
       "MSM_ADD_2": (76,), "MSM_SUM_2": (77, 78), "WORDS": (1, 3), "COPY": (65,)}
FAST = ("LINEAR", "MUL", "DOT", "NTT", "NTT_SMALL", "MSM_ADD")
# Registers that an invocation may have, so that as many workgroups run at once as the kernel needs.
MOST = {"MSM_ADD": 168, "NTT": 96, "NTT_SMALL": 80}


AWAIT = "GX_PTX_AWAIT"
AWAITS = {AWAIT: "griddepcontrol.wait; griddepcontrol.launch_dependents;", ".version 6.0": ".version 7.8",
          ".target sm_70": ".target sm_90"}


def assemble(ptxas, family, field, text, op, gpu, awaits, folder):
    name = "%s of %s for operation %d on sm_%s%s" % (family, field, op, gpu, ", awaiting others" * awaits)
    for word, put in AWAITS.items() if awaits else ((AWAIT, ""),):
        text = text.replace(word, put)
    text = text.replace("GX_PTX_OP", str(op)).replace("GX_PTX_CHECK", "1").replace("GX_PTX_REPEAT", "1")
    file = os.path.join(folder, "%s-%s-%d-%s-%d.ptx" % (family, field, op, gpu, awaits))
    with open(file, "w", encoding="ascii") as f:
        f.write(text)
    run = subprocess.run([ptxas, "-v", "-arch=sm_" + gpu, file, "-o", file + ".cubin"],
                         capture_output=True, text=True, check=False)
    os.unlink(file)
    if run.returncode:
        return [name + ": " + run.stderr.strip()]
    problems = []
    used = [int(n) for n in re.findall(r"Used (\d+) registers", run.stderr)]
    memory = [int(n) for n in re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", run.stderr)]
    if not used or not memory:
        return ["%s: what ptxas says is not known: %s" % (name, run.stderr)]
    if family in FAST and any(memory):
        problems.append("%s keeps registers in memory: %s" % (name, run.stderr))
    if max(used) > MOST.get(family, 255):
        problems.append("%s has %d registers, not %d" % (name, max(used), MOST[family]))
    return problems


def read(table):
    """Family, field and text of every kernel, from the C file."""
    texts, rows = {}, []
    with open(table, encoding="ascii") as f:
        for line in f:
            begins = re.match(r"static const char (text_\d+)\[\]", line)
            row = re.match(r"    \{GX_SHADER_(\w+), (\w+), \d+, \d+, \"[^\"]*\", (text_\d+),", line)
            if begins:
                name = begins[1]
                texts[name] = []
            elif row:
                rows.append((row[1], row[2], "".join(texts[row[3]])))
            elif line.startswith('    "'):
                texts[name].append(re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], line.strip()[1:-1]))
    return rows


def main():
    ptxas, table = sys.argv[1:]
    if not os.access(ptxas, os.X_OK):
        sys.exit("assemble.py: there is no %s: run scripts/setup.sh test" % ptxas)
    jobs, problems = [], []
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for family, field, text in read(table):
            for gpu in GPUS if family in FAST else FEW:
                for op in OPS[family] if gpu in GENERATIONS else OPS[family][:1]:
                    for awaits in (False, True) if AWAIT in text and int(gpu) >= 90 else (False,):
                        jobs.append(pool.submit(assemble, ptxas, family, field, text, op, gpu, awaits, folder))
        for job in jobs:
            problems += job.result()
    for problem in problems:
        print(problem, file=sys.stderr)
    print("%d kernels assembled, %d problems" % (len(jobs), len(problems)))
    return 1 if problems or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
