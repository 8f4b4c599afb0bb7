# SPDX-License-Identifier: Apache-2.0
"""Turns the headers into declarations for cffi: without comments and preprocessor."""

import re
from pathlib import Path

from cffi import FFI


def headers(umbrella: Path) -> list[str]:
    """The text of each header that gpuexec.h includes, in this order."""
    names = re.findall(r'^#include "(gpuexec/\w+\.h)"', umbrella.read_text(), flags=re.M)
    if not names:
        raise ValueError(f"{umbrella} includes no header")
    return [(umbrella.parent / name).read_text() for name in names]


def declarations(header: str) -> str:
    """What cffi needs of a header's text, in the same order."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    constants = re.compile(r"\s*#\s*define\s+(GX_\w+)\s+(\d+u?)\s*$")
    lines = []
    for line in text.splitlines():
        if match := constants.match(line):
            lines.append(f"#define {match[1]} {match[2].rstrip('u')}")
        elif not line.lstrip().startswith("#"):
            lines.append(line)
    text = "\n".join(lines).replace("GX_API ", "")
    # Of extern "C" { } for C++, each in its own #ifdef, nothing but the braces is left.
    text = text.replace('extern "C" {', "", 1)
    head, brace, tail = text.rpartition("}")
    if not brace or tail.strip():
        raise ValueError('a header does not end with the brace of extern "C"')
    return head


def builder(umbrella: Path) -> FFI:
    """Emits the module gpuexec._abi (ABI mode: no compiler)."""
    ffi = FFI()
    ffi.cdef("\n".join(declarations(header) for header in headers(umbrella)))
    ffi.set_source("gpuexec._abi", None)
    return ffi
