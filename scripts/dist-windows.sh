#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# dist-windows.sh BUILD FOLDER: the release for Windows, a zip of what is built in BUILD, in FOLDER:
# programs and DLLs in bin, the import library and the CMake package in lib.
set -euo pipefail

if [[ $# -ne 2 ]]; then
    echo "usage: dist-windows.sh BUILD FOLDER" >&2
    exit 2
fi
build=$(realpath "$1")
folder=$(realpath "$2")
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name=gpuexec-$version-windows-x86_64
work=$(mktemp -d "$folder/dist.XXXXXX")
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/$name" >/dev/null
x86_64-w64-mingw32-strip "$work/$name"/bin/gpuexec.*
rm -f "$folder/$name.zip"
(cd "$work" && zip -qr "$folder/$name.zip" "$name")
echo "$folder/$name.zip"
