#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch-wgpu.sh FOLDER VERSION PLATFORM SHA256: puts wgpu-native, its library and its headers,
# into FOLDER, from the wheel of the Python package wgpu in that version. pip gets it, so that
# the package index this machine is set up for is the one asked; a wheel with another checksum
# is refused. Nothing is done where FOLDER has it already.
set -euo pipefail

if [[ $# -ne 4 ]]; then
    echo "usage: fetch-wgpu.sh FOLDER VERSION PLATFORM SHA256" >&2
    exit 2
fi
folder=$1 version=$2 platform=$3 sum=$4
stamp="$version $platform $sum"
if [[ -f $folder/stamp && $(<"$folder/stamp") == "$stamp" ]]; then exit 0; fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 -m pip --disable-pip-version-check --quiet download "wgpu==$version" --no-deps \
    --only-binary=:all: --platform "$platform" --dest "$work"
wheel=("$work"/*.whl)
if ! echo "$sum  ${wheel[0]}" | sha256sum --check --quiet >&2; then
    echo "fetch-wgpu: ${wheel[0]##*/} is not the file that cmake/wgpu.cmake names" >&2
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
# Whoever else fetches at the same time puts the same there.
rm -rf "$folder"
mv -T "$work/new" "$folder" 2>/dev/null || [[ -f $folder/stamp ]]
