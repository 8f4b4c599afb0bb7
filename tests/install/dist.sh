#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# dist.sh ROOT BUILD FOLDER: makes the source release of ROOT, which is built in BUILD, checks it, and
# leaves it as FOLDER/gpuexec-VERSION.tar.gz for the tests that build it.
set -euo pipefail
root=$1 build=$2 folder=$3

rm -rf "$folder"
mkdir -p "$folder"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
status=0
fail() {
    echo "FAIL  $*"
    status=1
}
ok() { echo "ok    $*"; }

version=$(sed -n 's/^#define GX_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' "$root/include/gpuexec/core.h" | paste -sd .)
name=gpuexec-$version
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$root # whoever owns it
if ! git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    # An unpacked archive: the tree as it is, and the kernels.
    mkdir -p "$name/spirv"
    tar -C "$root" --exclude=./build -cf - . | tar -xf - -C "$name"
    cut -d ' ' -f 6- "$build/shaders/modules.txt" | tr '\n' '\0' | xargs -0 cp -t "$name/spirv"
    cp "$build/shaders/sources.sha256" "$name/spirv/"
    if [[ -s $build/ptx/modules.txt ]]; then
        mkdir -p "$name/ptx"
        cut -d ' ' -f 6- "$build/ptx/modules.txt" | tr '\n' '\0' | xargs -0 cp -t "$name/ptx"
        cp "$build/ptx/sources.sha256" "$name/ptx/"
    fi
    tar -czf "$folder/$name.tar.gz" "$name"
    exit
fi

mkdir first second
"$root/scripts/dist.sh" "$build" first
(umask 077 && cd / && TZ=Asia/Tokyo LC_ALL=C "$root/scripts/dist.sh" "$build" "$scratch/second" >/dev/null)
[[ $(ls first) == "$name.tar.gz" ]] || fail "the release is called $(ls first)"
if cmp "first/$name.tar.gz" "second/$name.tar.gz"; then
    ok "the same bytes twice"
else
    fail "the second release differs"
fi
# What git has and the kernels, and nothing else; owners, modes and times say nothing about us.
tar -tzf "first/$name.tar.gz" | grep -v '/$' | sed "s,^$name/,," | LC_ALL=C sort >has
git -C "$root" ls-files >wants
sed -n 's,.*/\([^/]*\.spv\)$,spirv/\1,p' "$build/shaders/modules.txt" >>wants
echo spirv/sources.sha256 >>wants
if [[ -s $build/ptx/modules.txt ]]; then # clang has compiled those for CUDA
    sed -n 's,.*/\([^/]*\.ptx\)$,ptx/\1,p' "$build/ptx/modules.txt" >>wants
    echo ptx/sources.sha256 >>wants
fi
LC_ALL=C sort -o wants wants
if diff wants has; then ok "the files of git and the kernels"; else fail "other files than those of git"; fi
tar --numeric-owner --full-time -tvzf "first/$name.tar.gz" | awk '{ print $1, $2, $4, $5 }' | sort -u >kinds
if [[ $(cut -d ' ' -f 2- kinds | sort -u | wc -l) -ne 1 ]] || grep -v '^[-d]rw[x-]r-[x-]r-[x-] 0/0 ' kinds; then
    fail "owners, modes or times differ"
    cat kinds
fi
cp "first/$name.tar.gz" "$folder"
exit $status
