#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch-ptxas.sh FOLDER: extracts NVIDIA's assembler ptxas to FOLDER, from the wheel named in
# cmake/ptxas-wheel.txt. pip downloads it from the package index configured on this machine; a wheel
# with another checksum is rejected. Does nothing if FOLDER has it already.
set -euo pipefail

if [[ $# -ne 1 ]]; then
    echo "usage: fetch-ptxas.sh FOLDER" >&2
    exit 2
fi
folder=$1
list=$(dirname "$0")/../cmake/ptxas-wheel.txt
read -r package version <<<"$(awk '$1 == "wheel" { print $2, $3 }' "$list")"
read -r platform sum <<<"$(awk -v machine="$(uname -m)" '$1 == "platform" && $2 == machine { print $3, $4 }' "$list")"
if [[ -z $sum ]]; then
    echo "fetch-ptxas: there is no wheel for $(uname -m): see $list" >&2
    exit 1
fi
stamp="$version $platform $sum"
if [[ -f $folder/stamp && $(<"$folder/stamp") == "$stamp" ]]; then exit 0; fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 -m pip --disable-pip-version-check --quiet download "$package==$version" --no-deps \
    --only-binary=:all: --platform "$platform" --dest "$work"
wheel=("$work"/*.whl)
if ! echo "$sum  ${wheel[0]}" | sha256sum --check --quiet >&2; then
    echo "fetch-ptxas: ${wheel[0]##*/} is not the file that cmake/ptxas-wheel.txt names" >&2
    exit 1
fi
python3 - "${wheel[0]}" "$work/new" <<'END'
import pathlib, sys, zipfile

to = pathlib.Path(sys.argv[2])
to.mkdir()
with zipfile.ZipFile(sys.argv[1]) as wheel:
    (name,) = [n for n in wheel.namelist() if n.endswith("/bin/ptxas")]
    (to / "ptxas").write_bytes(wheel.read(name))
(to / "ptxas").chmod(0o755)
END
echo "$stamp" >"$work/new/stamp"
# A concurrent run puts the same files there.
rm -rf "$folder"
mv -T "$work/new" "$folder" 2>/dev/null || [[ -f $folder/stamp ]]
