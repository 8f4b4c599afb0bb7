#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# dist.sh BUILD FOLDER: writes the source release FOLDER/gpuexec-VERSION.tar.gz: the files that git
# tracks, as they are in the working tree, and the kernels that were compiled in BUILD, as spirv/ and
# ptx/, with which it builds without glslc, spirv-tools and clang. The same files give the same bytes.
set -euo pipefail
build=$(realpath "$1") folder=$(realpath "$2")
cd "$(dirname "$0")/.."

if ! commit_time=$(git log -1 --format=%ct 2>/dev/null); then
    echo "dist: this is not a git checkout" >&2
    exit 1
fi
if [[ ! -s $build/shaders/shaders.c ]]; then
    echo "dist: $build has no compiled kernels: run make build first" >&2
    exit 1
fi
if [[ -n $(git status --porcelain --untracked-files=no) ]]; then
    echo "dist: note: uncommitted changes are part of it" >&2
fi

name=gpuexec-$(awk '/^#define GX_VERSION_(MAJOR|MINOR|PATCH) /{ printf "%s%s", dot, $3; dot = "." }' include/gpuexec/core.h)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/$name/spirv"
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$scratch/$name"
cut -d ' ' -f 6- "$build/shaders/modules.txt" | tr '\n' '\0' | xargs -0 cp -t "$scratch/$name/spirv"
cp "$build/shaders/sources.sha256" "$scratch/$name/spirv/"
if [[ -s $build/ptx/modules.txt ]]; then
    mkdir "$scratch/$name/ptx"
    cut -d ' ' -f 6- "$build/ptx/modules.txt" | tr '\n' '\0' | xargs -0 cp -t "$scratch/$name/ptx"
    cp "$build/ptx/sources.sha256" "$scratch/$name/ptx/"
else
    echo "dist: note: $build has no CUDA kernels, and neither has the release" >&2
fi

tar --format=gnu --sort=name --mtime="@${SOURCE_DATE_EPOCH:-$commit_time}" --owner=0 --group=0 --numeric-owner \
    --mode='u=rwX,go=rX' -C "$scratch" -cf - "$name" | gzip -9n >"$scratch/release"
mv "$scratch/release" "$folder/$name.tar.gz"
echo "$folder/$name.tar.gz: $(find "$scratch/$name" -type f | wc -l) files, $(stat -c %s "$folder/$name.tar.gz") bytes"
