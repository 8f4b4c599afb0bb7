# SPDX-License-Identifier: Apache-2.0
"""The library, opened. Every call through cffi releases the GIL."""

import os
from pathlib import Path
from typing import Any

from . import _abi

_PATH = os.environ.get("GPUEXEC_LIBRARY") or str(Path(__file__).with_name("libgpuexec.so"))

ffi: Any = _abi.ffi
lib: Any = ffi.dlopen(_PATH)


def text(chars: Any) -> str:
    """A C string, or an array of characters with one in it."""
    return str(ffi.string(chars).decode("utf-8", "replace"))


def names(function: Any, first: int = 1) -> dict[str, int]:
    """Names of consecutive values, by what the library calls them."""
    found: dict[str, int] = {}
    value = first
    while (name := text(function(value))) != "unknown":
        found[name] = value
        value += 1
    return found
