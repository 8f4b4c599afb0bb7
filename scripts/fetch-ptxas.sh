#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch-ptxas.sh FOLDER: extracts NVIDIA's assembler ptxas to FOLDER, from the wheel named in
# cmake/ptxas-wheel.txt. pip downloads it from the package index configured on this machine; a wheel
# with another checksum is rejected. Does nothing if FOLDER has it already.
set -euo pipefail
# shellcheck source=scripts/wheel.sh
. "$(dirname "$0")/wheel.sh"

if [[ $# -ne 1 ]]; then
    echo "usage: fetch-ptxas.sh FOLDER" >&2
    exit 2
fi
list=$(dirname "$0")/../cmake/ptxas-wheel.txt
read -r package version <<<"$(awk '$1 == "wheel" { print $2, $3 }' "$list")"
fetch_wheel fetch-ptxas "$list" "$package" "$version" "$(uname -m)" "$1" <<'END'
import pathlib, sys, zipfile

to = pathlib.Path(sys.argv[2])
to.mkdir()
with zipfile.ZipFile(sys.argv[1]) as wheel:
    (name,) = [n for n in wheel.namelist() if n.endswith("/bin/ptxas")]
    (to / "ptxas").write_bytes(wheel.read(name))
(to / "ptxas").chmod(0o755)
END
