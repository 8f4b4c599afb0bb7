#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# macos.sh FOLDER: compiles the library and the program for macOS on 64-bit ARM, with the clang and
# the headers in zig, which the Python package ziglang contains. Nothing is linked or run. The files
# are those of the release leg, which has generated what they include.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -ne 1 ]]; then
    echo "usage: macos.sh FOLDER" >&2
    exit 2
fi
folder=$(realpath -m "$1")
mkdir -p "$folder"
if [[ ! -x $folder/zig/ziglang/zig ]]; then
    python3 -m pip --disable-pip-version-check --quiet install --target "$folder/zig" ziglang==0.17.0
fi
if [[ ! -f build/release/compile_commands.json ]]; then
    cmake --preset release -DGPUEXEC_TESTS=OFF
fi
cp -r /usr/include/vulkan /usr/include/vk_video /usr/include/volk.[ch] /usr/include/jansson*.h \
    /usr/include/microhttpd.h "$folder"
find /usr/include -name jansson_config.h -exec cp {} "$folder" \; -quit
python3 - "$folder" <<'END'
import concurrent.futures, json, pathlib, subprocess, sys

folder = pathlib.Path(sys.argv[1])
root = pathlib.Path.cwd()
wanted = {}
for entry in json.load(open("build/release/compile_commands.json")):
    file = pathlib.Path(entry["file"])
    if not file.is_relative_to(root):
        continue
    name = file.relative_to(root)
    # Not generated tables, nor vector code of another processor.
    if name.parts[0] in ("src", "cli", "report") and "avx512" not in name.name and name.name != "adx.c":
        wanted[name] = [w for w in entry["command"].split() if w.startswith(("-DGX", "-D_", "-ffp"))]

def build(item):
    name, flags = item
    command = [folder / "zig/ziglang/zig", "cc", "-target", "aarch64-macos", "-std=c11", "-O1", "-Wall", "-Wextra",
               "-Werror", "-Iinclude", "-Isrc", "-I.", "-Icli", f"-I{folder}", "-isystem", "build/wgpu-x86_64",
               "-D_DARWIN_C_SOURCE", "-D_GNU_SOURCE", "-DGX_MAN_DATE=\"\"", "-DGX_WGPU_NATIVE_VERSION=0u",
               "-DGX_WGPU_WHEEL=\"\"", "-c", name, "-o", folder / (str(name).replace("/", "-") + ".o")]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    return name, done.returncode, done.stderr

failed = 0
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for name, code, text in pool.map(build, sorted(wanted.items())):
        if code:
            failed += 1
            print(f"{name}:\n{text}")
print(f"{len(wanted) - failed} of {len(wanted)} files compile for aarch64-macos")
sys.exit(1 if failed or len(wanted) < 150 else 0)
END
