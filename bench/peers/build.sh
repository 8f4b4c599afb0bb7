#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh DIR: builds the adaptors of the peers that fetch.sh brought to DIR, and gpuexec's own,
# into DIR/bin. Needs no network. gpuexec is taken as built, from build/release or from the
# folder that GPUEXEC_BUILD names. Where a compiler is missing, a program that was built before,
# here or elsewhere, stays as it is; where there is none, the peer is left out by name.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dir=$(cd "${1:?usage: build.sh DIR}" && pwd) || exit 1
build=${GPUEXEC_BUILD:-$root/build/release}
mkdir -p "$dir/bin"

# Of the processor here; what is built for it runs on others that have the same.
adx() { grep -qw adx /proc/cpuinfo; }

# tool PROGRAM, sources PEER: there, or $why says that they are not.
tool() {
    why="no $1 here"
    command -v "$1" >/dev/null
}
sources() {
    why="no sources in $dir/src/$1: run fetch.sh"
    [[ -f $dir/src/$1/VERSION ]]
}

# Each returns 2 where something is missing, with $why, and 1 where the compiler fails.
build_gpuexec() {
    tool cc || return 2
    [[ -f $build/libgpuexec.so ]] || { why="no libgpuexec.so in $build" && return 2; }
    cc -std=c11 -O2 -I"$root/include" "$here/gpuexec.c" -L"$build" -lgpuexec "-Wl,-rpath,\$ORIGIN" \
        -o "$dir/bin/gpuexec" || return 1
    cp -L "$build"/libgpuexec.so.?.? "$dir/bin/" || return 1
    git -C "$root" describe --always --dirty >"$dir/bin/gpuexec.version" 2>/dev/null
    # 64 products for each load are no part of the API: the program that measures them, if built.
    local resident=$build/tests/bench-resident
    [[ ! -x $resident ]] || { cp "$resident" "$dir/bin/" && own_libraries "$resident"; }
}

# own_libraries PROGRAM: the libraries of the build, and the one for JSON, which not every machine has.
own_libraries() {
    ldd "$1" | awk '$1 ~ /^lib(jansson|gx-)/ {print $3}' | xargs -r cp -L -t "$dir/bin"
}

# blst, as the crate's own build script compiles it.
blst_objects() {
    local blst=$dir/src/blst/blst flags=(-O2 -fno-builtin -Wno-unused-function)
    [[ $(uname -m) != x86_64 ]] || flags+=(-mno-avx)
    ! adx || flags+=(-D__ADX__)
    cc "${flags[@]}" -c "$blst/src/server.c" -o "$dir/src/blst/server.o" &&
        cc "${flags[@]}" -c "$blst/build/assembly.S" -o "$dir/src/blst/assembly.o"
}

build_blst() {
    tool cc && sources blst || return 2
    local blst=$dir/src/blst/blst
    blst_objects &&
        cc -std=c11 -O2 -fopenmp -I"$blst/bindings" "$here/blst.c" \
            "$dir"/src/blst/{server,assembly}.o -o "$dir/bin/blst"
}

build_arkworks() {
    tool cargo && sources arkworks || return 2
    local target=()
    [[ $(uname -m) != x86_64 ]] || target+=(-C target-cpu=x86-64-v3)
    ! adx || target+=(-C target-feature=+adx) # its assembly is for mulx and adx
    cp "$here"/arkworks/Cargo.{toml,lock} "$dir/src/arkworks/" &&
        cp "$here"/arkworks/src/* "$dir/src/arkworks/src/" &&
        (cd "$dir/src/arkworks" && RUSTFLAGS=${target[*]} cargo build --release --frozen) &&
        cp "$dir/src/arkworks/target/release/arkworks" "$dir/bin/"
}

build_gnark() {
    tool go && sources gnark || return 2
    cp "$here"/gnark/* "$dir/src/gnark/" &&
        (cd "$dir/src/gnark" &&
            CGO_ENABLED=0 GOAMD64=v3 GOFLAGS=-mod=vendor go build -o "$dir/bin/gnark" .)
}

# sppark's headers want blst's beside them, and its host code blst itself.
build_sppark() {
    local nvcc flags=()
    nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || { why="no nvcc here" && return 2; }
    tool cc && sources sppark && sources blst || return 2
    ! adx || flags+=(-D__ADX__)
    blst_objects && "$nvcc" -O3 "${flags[@]}" -std=c++17 -arch="${CUDA_ARCH:-native}" -DFEATURE_BLS12_381 \
        -I"$dir/src/sppark/sppark" -I"$dir/src/blst/blst/src" "$here/sppark.cu" \
        "$dir/src/sppark/sppark/util/all_gpus.cpp" "$dir"/src/blst/{server,assembly}.o -o "$dir/bin/sppark"
}

for peer in gpuexec blst arkworks gnark sppark; do
    why=''
    status=0
    "build_$peer" >"$dir/build-$peer.log" 2>&1 || status=$?
    program=$dir/bin/$peer
    if [[ $status -eq 0 && -f $dir/src/$peer/VERSION ]]; then
        cp "$dir/src/$peer/VERSION" "$program.version"
    fi
    version=$(cat "$program.version" 2>/dev/null)
    if [[ $status -eq 0 ]]; then
        echo "peers: $peer $version: built"
    elif [[ $status -eq 2 && -x $program ]]; then
        echo "peers: $peer $version: as built before ($why)"
    elif [[ $status -eq 2 ]]; then
        echo "peers: $peer: left out: $why" >&2
    else
        rm -f "$program"
        echo "peers: $peer: left out: it does not compile, see $dir/build-$peer.log" >&2
    fi
done
