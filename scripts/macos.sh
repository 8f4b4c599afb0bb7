#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# macos.sh FOLDER: checks that the library and the program compile for macOS on 64-bit ARM, with clang
# and the headers of macOS that zig has, which the Python package ziglang contains. No code is made,
# linked or run. The files are those of the release leg, which has generated what they include.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -ne 1 ]]; then
    echo "usage: macos.sh FOLDER" >&2
    exit 2
fi
folder=$(realpath -m "$1")
mkdir -p "$folder"
if [[ ! -d $folder/headers ]]; then
    work=$(mktemp -d "$folder/zig.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    python3 -m pip --disable-pip-version-check --quiet download ziglang==0.17.0 --no-deps --only-binary=:all: --dest "$work"
    python3 - "$work" <<'END'
import pathlib, sys, zipfile

work = pathlib.Path(sys.argv[1])
with zipfile.ZipFile(next(work.glob("ziglang-*.whl"))) as wheel:
    wheel.extractall(work, [n for n in wheel.namelist() if "/libc/include/any-darwin-any/" in n])
END
    mv "$work/ziglang/lib/libc/include/any-darwin-any" "$folder/headers"
fi
if [[ ! -f build/release/compile_commands.json ]]; then
    cmake --preset release -DGPUEXEC_TESTS=OFF
fi
cp -r /usr/include/vulkan /usr/include/vk_video /usr/include/volk.[ch] /usr/include/jansson*.h \
    /usr/include/microhttpd.h "$folder"
find /usr/include -name jansson_config.h -exec cp {} "$folder" \; -quit
python3 - "$folder" <<'END'
import concurrent.futures, json, os, pathlib, platform, shlex, subprocess, sys

folder = pathlib.Path(sys.argv[1])
root = pathlib.Path.cwd()
wanted = {}
for entry in json.load(open("build/release/compile_commands.json")):
    file = pathlib.Path(entry["file"])
    if not file.is_relative_to(root):
        continue
    name = file.relative_to(root)
    # Not generated tables, nor code for another processor.
    if (name.parts[0] in ("src", "cli", "http", "report") or name.parts[:2] == ("bench", "suites")) and not name.stem.endswith(("avx512", "adx")):
        wanted[name] = [w for w in shlex.split(entry["command"]) if w.startswith(("-DGX", "-D_", "-ffp"))]

def check(item):
    name, flags = item
    command = ["clang", "-target", "arm64-apple-macos11", "-nostdlibinc", "-isystem", folder / "headers", "-std=c11",
               "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-Isrc", "-I.", "-Icli", "-Ibench/suites", f"-I{folder}",
               "-isystem", f"build/wgpu-{platform.machine()}", "-D_DARWIN_C_SOURCE", *flags, name]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    return name, done.returncode, done.stderr

failed = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for name, code, text in pool.map(check, sorted(wanted.items())):
        if code:
            failed += 1
            print(f"{name}:\n{text}")
print(f"{len(wanted) - failed} of {len(wanted)} files compile for aarch64-macos")
sys.exit(1 if failed or len(wanted) < 150 else 0)
END
