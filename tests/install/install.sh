#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh ROOT BUILD WGPU: installs BUILD, which has both libraries, into an empty prefix, moves it
# elsewhere, and builds and runs every example against it as a stranger would: pkg-config (shared
# and static), find_package, C, C++ and Rust. WGPU is not empty where wgpu-native is installed too.
# packager.sh has one library alone.
set -euo pipefail
root=$1 build=$2 wgpu=$3
# Where the tests of the build find wgpu-native; what is installed has to find its own.
unset LD_LIBRARY_PATH

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

make -C "$root" install BUILD="$build" PREFIX="$scratch/first" DESTDIR='' >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
}
# Installed files must not contain the paths of the installation or of the build.
mv "$scratch/first" "$scratch/prefix"
prefix=$scratch/prefix
cd "$scratch"

status=0
fail() {
    echo "FAIL  $*"
    status=1
}

pc=$(find "$prefix" -name gpuexec.pc)
libdir=$(dirname "$(dirname "$pc")")
for file in include/gpuexec.h include/gpuexec/core.h include/gpuexec/msm.h bin/gpuexec share/man/man1/gpuexec-run.1 share/man/man3/gx_submit.3 share/man/man3/gx_job.3 \
    share/bash-completion/completions/gpuexec share/zsh/site-functions/_gpuexec \
    share/fish/vendor_completions.d/gpuexec.fish share/doc/gpuexec/LICENSE \
    share/doc/gpuexec/design.md share/doc/gpuexec/examples/mul.c share/doc/gpuexec/monitoring/alerts.yml share/doc/gpuexec/monitoring/grafana-dashboard.json; do
    [[ -e $prefix/$file ]] || fail "$file is not installed"
done
for file in libgpuexec.so libgpuexec.a pkgconfig/gpuexec-static.pc cmake/gpuexec/gpuexecConfig.cmake \
    cmake/gpuexec/gpuexecConfigVersion.cmake ${wgpu:+gpuexec/libwgpu_native.so}; do
    [[ -e $libdir/$file ]] || fail "$file is not installed"
done
[[ $(ls "$prefix/bin") == gpuexec ]] || fail "programs installed: $(ls "$prefix/bin")"
while read -r document; do
    [[ -e $prefix/share/doc/gpuexec/$document ]] || fail "$document, which is spoken of, is not installed"
done < <(grep -rhoE 'doc/[a-z]+\.md' "$prefix/include" "$prefix/share/man" | sort -u | cut -d/ -f2)
# What distributions put into packages of their own: each file is in one component, and the static
# library with all that speaks of it in one.
for component in runtime development static program documentation; do
    DESTDIR='' cmake --install "$build" --prefix "$scratch/$component" --component "$component" >/dev/null
    (cd "$scratch/$component" && find . ! -type d)
done | sort >"$scratch/parts"
diff <(cd "$prefix" && find . ! -type d | sort) "$scratch/parts" || fail "components and whole differ"
(cd "$scratch/static" && find . ! -type d) | grep -v static | grep -vxF "./${libdir#"$prefix/"}/libgpuexec.a" &&
    fail "the files above belong to no static library"
if grep -rIlF -e "$build" -e "$root/include" -e "$root/src" -e "$scratch/first" "$prefix"; then
    fail "the files above name a folder of this machine"
fi

export PKG_CONFIG_PATH=${pc%/*}
version=$(awk '$2 ~ /^GX_VERSION_/ { printf "%s%s", dot, $3; dot = "." }' "$prefix/include/gpuexec/core.h")
[[ $(pkg-config --modversion gpuexec) == "$version" ]] || fail "pkg-config does not say $version"
read -ra cflags <<<"$(pkg-config --cflags gpuexec)"
read -ra static_libs <<<"$(pkg-config --libs gpuexec-static)"
warnings=(-Wall -Wextra -Wpedantic -Werror)

# runs NAME EXPECTED PROGRAM: its output must have a matching line, and its exit code must be 0.
runs() {
    local name=$1 expected=$2 out
    shift 2
    if out=$("$@" 2>&1) && grep -qE "$expected" <<<"$out"; then
        echo "ok    $name"
    else
        fail "$name"
        echo "$out"
    fi
}
# as_told FILE EXPECTED: builds and runs an example with the commands in its first comment.
as_told() {
    local commands
    cp "$root/examples/${1%.*}".* .
    commands=$(sed -nE 's,^( \*|//) {3}((glslc|clang|cc|c\+\+|rustc|LD_LIBRARY_PATH)[ =].*),\2,p' "$1")
    [[ $(grep -Evc '^(glslc|clang)' <<<"$commands") == 2 ]] || fail "$1 does not say how it is built and run"
    runs "$1, as it says" "$2" bash -euc "$commands"
}
needs_no_shared() {
    if readelf -d "$1" | grep -q 'NEEDED.*libgpuexec'; then fail "$1 still needs the shared library"; fi
}

mul='^all as expected: 100000 \* 100999 = 10099900000$'
batch='^as expected$'
events='^4 tickets, 4 events, all as expected$'
poly='^2048 x 2048 coefficients on [a-z0-9:-]*, all 4096 as expected$'
kernel='^m31-mul-add on [1-9][0-9]* devices, all as expected$'
cuda='^(100000 products in place on cuda:[0-9]+, all as expected|there is no CUDA device here.*)$'
inverse='^10000 inverses, each x \* 1/x is 1$'

runs "the program" "$version" "$prefix/bin/gpuexec" --version
runs "the program verifies" . "$prefix/bin/gpuexec" verify -n 64
if [[ -n $wgpu ]]; then
    runs "the program finds wgpu-native" '^webgpu:vulkan:0,.*true$' "$prefix/bin/gpuexec" devices --csv
fi

as_told mul.c "$mul"
as_told events.c "$events"
as_told kernel.c "$kernel"
as_told poly_product.c "$poly"
as_told cuda.c "$cuda"
as_told batch.cpp "$batch"
as_told inverse.rs "$inverse"

if gcc -std=c11 "${warnings[@]}" "${cflags[@]}" "$root/examples/mul.c" "${static_libs[@]}" -o mul-static; then
    needs_no_shared mul-static
    runs "mul.c, pkg-config, static" "$mul" ./mul-static
else fail "mul.c, static, does not build"; fi

if gcc -std=c11 "${warnings[@]}" "${cflags[@]}" "$root/examples/events.c" "${static_libs[@]}" -o events-static; then
    needs_no_shared events-static
    runs "events.c, pkg-config, static" "$events" ./events-static
else fail "events.c, static, does not build"; fi
if g++ -std=c++17 "${warnings[@]}" "${cflags[@]}" "$root/examples/batch.cpp" "${static_libs[@]}" -o batch-static; then
    needs_no_shared batch-static
    runs "batch.cpp, pkg-config, static" "$batch" ./batch-static
else fail "batch.cpp, static, does not build"; fi

# With -static all is: pkg-config --static names what that takes.
read -ra whole_libs <<<"$(pkg-config --static --libs gpuexec)"
if gcc -std=c11 -static "${cflags[@]}" "$root/examples/mul.c" "${whole_libs[@]}" -o mul-whole 2>log; then
    if readelf -d mul-whole | grep NEEDED; then fail "with -static a program needs the above"; fi
    runs "mul.c, with -static" "$mul" ./mul-whole
else
    cat log
    fail "mul.c, with -static, does not build"
fi

read -ra lib_paths <<<"$(pkg-config --libs-only-L gpuexec)"
read -ra private <<<"$(pkg-config --static --libs-only-l gpuexec | sed 's/-lgpuexec//')"
if rustc -O -D warnings "${lib_paths[@]}" -l static=gpuexec "${private[@]/#/-Clink-arg=}" \
    "$root/examples/inverse.rs" -o inverse-static; then
    needs_no_shared inverse-static
    runs "inverse.rs, static" "$inverse" ./inverse-static
else fail "inverse.rs, static, does not build"; fi

# The same with CMake, by the commands in its file, from the installed copy.
cp -R "$prefix/share/doc/gpuexec/examples" project
commands=$(sed -nE 's,^# {3}((cmake|build/).*),\1,p' project/CMakeLists.txt)
runs "CMakeLists.txt, as it says" "$mul" bash -euc "cd project; ${commands//\/where\/gpuexec\/is/$prefix}"
needs_no_shared project/build/mul-static
needs_no_shared project/build/batch-static
runs "mul.c, find_package, static" "$mul" project/build/mul-static
runs "batch.cpp, find_package, shared" "$batch" project/build/batch
runs "batch.cpp, find_package, static" "$batch" project/build/batch-static
exit $status
