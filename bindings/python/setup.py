# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel: the package, declarations made from the headers, and the library itself.

GPUEXEC_PREFIX says where gpuexec is installed; without it, pkg-config does.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).parent))
from abi import builder  # noqa: E402


def installed() -> tuple[Path, Path]:
    """The header and the library."""

    def ask(what: str) -> Path:
        command = ["pkg-config", f"--variable={what}", "gpuexec"]
        return Path(
            subprocess.run(command, check=True, text=True, capture_output=True).stdout.strip()
        )

    if prefix := os.environ.get("GPUEXEC_PREFIX"):
        include, libs = Path(prefix, "include"), sorted(Path(prefix).glob("lib*/**/libgpuexec.so"))
        if not libs:
            sys.exit(
                f"gpuexec: no libgpuexec.so in GPUEXEC_PREFIX={prefix}: make install PREFIX=..."
            )
        return include / "gpuexec.h", libs[0].resolve()
    try:
        return ask("includedir") / "gpuexec.h", (ask("libdir") / "libgpuexec.so").resolve()
    except (OSError, subprocess.CalledProcessError):
        sys.exit(
            "gpuexec: set GPUEXEC_PREFIX to where gpuexec is installed (make install PREFIX=...)"
        )


def binaries() -> dict[str, Path]:
    """The library, and wgpu-native where only it looks, by their places in the package."""
    library = installed()[1]
    found, wgpu = {"libgpuexec.so": library}, "gpuexec/libwgpu_native.so"
    if (library.parent / wgpu).exists():
        found[wgpu] = library.parent / wgpu
    return found


class BuildPy(build_py):
    """Adds what is not in the source tree."""

    def run(self) -> None:
        super().run()
        header, library = installed()
        package = Path(self.build_lib, "gpuexec")
        builder(header).emit_python_code(str(package / "_abi.py"))
        for name, file in binaries().items():
            (package / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(file, package / name)
        if len(binaries()) == 1:
            self.warn("no libwgpu_native.so is installed with the library: a wheel without WebGPU")
        for text in library.parents[1].glob("share/doc/gpuexec/LICENSE"):
            shutil.copyfile(text, package / "LICENSE")


class Wheel(bdist_wheel):
    """Any Python 3, but only this platform: the oldest glibc that has what the library asks for."""

    def get_tag(self) -> tuple[str, str, str]:
        data = b"".join(file.read_bytes() for file in binaries().values())
        versions = re.findall(rb"\bGLIBC_(\d+)\.(\d+)", data)
        major, minor = max((int(major), int(minor)) for major, minor in versions)
        machine = sysconfig.get_platform().rpartition("-")[2]
        return "py3", "none", f"manylinux_{major}_{minor}_{machine}"


class Binary(Distribution):
    """A distribution that is not pure Python."""

    def has_ext_modules(self) -> bool:
        return True


# Not in the source tree: it stays clean, and a wheel has nothing of an earlier one.
with tempfile.TemporaryDirectory() as scratch:
    setup(
        cmdclass={"build_py": BuildPy, "bdist_wheel": Wheel},
        distclass=Binary,
        options={"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}},
    )
