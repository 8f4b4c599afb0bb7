#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch-wgpu.sh FOLDER MACHINE: extracts wgpu-native for MACHINE (x86_64, aarch64), library and
# headers, to FOLDER, from the wheel named in cmake/wgpu-wheel.txt. pip downloads it from the
# package index configured on this machine; a wheel with another checksum is rejected. Does nothing
# if FOLDER has it already.
set -euo pipefail
# shellcheck source=scripts/wheel.sh
. "$(dirname "$0")/wheel.sh"

if [[ $# -ne 2 ]]; then
    echo "usage: fetch-wgpu.sh FOLDER MACHINE" >&2
    exit 2
fi
list=$(dirname "$0")/../cmake/wgpu-wheel.txt
version=$(awk '$1 == "wheel" { print $2 }' "$list")
fetch_wheel fetch-wgpu "$list" wgpu "$version" "$2" "$1" <<'END'
import pathlib, sys, zipfile

to = pathlib.Path(sys.argv[2])
to.mkdir()
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        base = name.rsplit("/", 1)[-1]
        if base in ("webgpu.h", "wgpu.h"):
            (to / base).write_bytes(wheel.read(name))
        elif "wgpu_native-release." in base:
            (to / base.replace("-release", "")).write_bytes(wheel.read(name))
END
