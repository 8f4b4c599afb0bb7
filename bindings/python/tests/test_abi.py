# SPDX-License-Identifier: Apache-2.0
"""The declarations agree with the header, as a C compiler reads it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import gpuexec as gx
from gpuexec._lib import ffi, lib

PREFIX = Path(os.environ["GPUEXEC_PREFIX"])
HEADER = "".join(p.read_text() for p in sorted((PREFIX / "include/gpuexec").glob("*.h")))
PLAIN = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)


def compiled(tmp_path: Path, lines: list[str]) -> dict[str, int]:
    """What a C program prints for NAME EXPRESSION."""
    body = "\n".join(lines)
    source = f"#include <stdio.h>\n#include <gpuexec.h>\nint main(void) {{\n{body}\nreturn 0; }}\n"
    (tmp_path / "layout.c").write_text(source)
    program = str(tmp_path / "layout")
    command = ["cc", "-w", f"-I{PREFIX / 'include'}", str(tmp_path / "layout.c"), "-o", program]
    subprocess.run(command, check=True)
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: int(number) for name, number in (line.split() for line in output.splitlines())}


def show(name: str, expression: str) -> str:
    return f'printf("%s %lld\\n", "{name}", (long long)({expression}));'


def test_structs(tmp_path: Path) -> None:
    structs = re.findall(r"^typedef struct (\w+) \{", PLAIN, flags=re.M)
    assert len(structs) > 20
    lines, ours = [], {}
    for struct in structs:
        lines.append(show(struct, f"sizeof({struct})"))
        ours[struct] = ffi.sizeof(struct)
        for member, info in ffi.typeof(struct).fields:
            name = f"{struct}.{member}"
            lines.append(show(name, f"offsetof({struct}, {member})"))
            lines.append(show(f"{name}.size", f"sizeof((({struct} *)0)->{member})"))
            ours[name] = info.offset
            ours[f"{name}.size"] = ffi.sizeof(info.type)
    assert compiled(tmp_path, lines) == ours


def test_constants(tmp_path: Path) -> None:
    constants = re.findall(r"^#define (GX_\w+)\s+\\?\n?\s*\d", PLAIN, flags=re.M)
    constants += re.findall(r"\b(GX_\w+) = ", PLAIN)
    assert len(constants) > 100
    theirs = compiled(tmp_path, [show(name, name) for name in constants])
    # The version is that of the header; cffi has it too.
    assert theirs == {name: getattr(lib, name) for name in constants}
    statuses = {n: v for n, v in theirs.items() if n in ("GX_OK", "GX_PENDING") or "GX_ERR_" in n}
    assert {re.sub("GX_(ERR_)?", "", n): v for n, v in statuses.items()} == {
        status.name: status.value for status in gx.Status
    }


def test_functions() -> None:
    functions = re.findall(r"^GX_API [\w *]*?(gx_\w+)\(", PLAIN, flags=re.M)
    assert len(functions) > 60
    for name in functions:
        assert ffi.typeof(getattr(lib, name)).kind == "function"


def test_every_field_curve_and_operation() -> None:
    assert [f.id for f in gx.FIELDS] == list(range(1, len(gx.FIELDS) + 1))
    assert lib.gx_field_get_info(len(gx.FIELDS) + 1) == ffi.NULL
    assert [c.id for c in gx.CURVES] == list(range(1, len(gx.CURVES) + 1))
    assert lib.gx_curve_get_info(len(gx.CURVES) + 1) == ffi.NULL
    with pytest.raises(gx.InvalidError, match="no operation 'cube'"):
        gx.Job("cube", gx.U32, [1])


def test_version() -> None:
    numbers = re.findall(r"#define GX_VERSION_\w+ (\d+)", HEADER)
    assert gx.__version__ == ".".join(numbers)
