#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch-wgpu.sh FOLDER MACHINE: extracts wgpu-native for MACHINE (x86_64, aarch64), library and
# headers, to FOLDER, from the wheel named in cmake/wgpu-wheel.txt. pip downloads it from the
# package index configured on this machine; a wheel with another checksum is rejected. Does nothing
# if FOLDER has it already.
set -euo pipefail

if [[ $# -ne 2 ]]; then
    echo "usage: fetch-wgpu.sh FOLDER MACHINE" >&2
    exit 2
fi
folder=$1 machine=$2
list=$(dirname "$0")/../cmake/wgpu-wheel.txt
version=$(awk '$1 == "wheel" { print $2 }' "$list")
read -r platform sum <<<"$(awk -v machine="$machine" '$1 == "platform" && $2 == machine { print $3, $4 }' "$list")"
if [[ -z $sum ]]; then
    echo "fetch-wgpu: there is no wheel for $machine: see $list" >&2
    exit 1
fi
stamp="$version $platform $sum"
if [[ -f $folder/stamp && $(<"$folder/stamp") == "$stamp" ]]; then exit 0; fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 -m pip --disable-pip-version-check --quiet download "wgpu==$version" --no-deps \
    --only-binary=:all: --platform "$platform" --dest "$work"
wheel=("$work"/*.whl)
if ! echo "$sum  ${wheel[0]}" | sha256sum --check --quiet >&2; then
    echo "fetch-wgpu: ${wheel[0]##*/} is not the file that cmake/wgpu-wheel.txt names" >&2
    exit 1
fi
python3 - "${wheel[0]}" "$work/new" <<'END'
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
echo "$stamp" >"$work/new/stamp"
# A concurrent run puts the same files there.
rm -rf "$folder"
mv -T "$work/new" "$folder" 2>/dev/null || [[ -f $folder/stamp ]]
