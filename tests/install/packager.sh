#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# packager.sh RELEASE WGPU: builds and installs the source release in the folder RELEASE as a
# distribution would: with no network and no compiler of kernels, the static library alone and the
# shared one alone, without Chart.js, wgpu-native and the devices for tests. WGPU is a folder with
# wgpu.h, or empty. Not optimised: that would take minutes and is tested elsewhere.
set -euo pipefail
release=$1 wgpu=$2
unset LD_LIBRARY_PATH

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
status=0
fail() {
    echo "FAIL  $*"
    status=1
}
ok() { echo "ok    $*"; }

# ---- the release

tar -xzf "$release"/gpuexec-*.tar.gz
root=$(echo "$scratch"/gpuexec-*)

# ---- no network

# Where the system lets us have none; and in any case nobody who would use it, or compile a kernel.
mkdir tools
for tool in apt-get clang curl git glslc pip pip3 python3 spirv-opt spirv-val wget; do
    printf '#!/bin/sh\necho "%s $*" >>"%s"\nexit 1\n' "$tool" "$scratch/called" >"tools/$tool"
    chmod +x "tools/$tool"
done
# The tiers for some CPUs are optimised in every build, and take half the time of this one.
# shellcheck disable=SC2016 # for the script
printf '#!/usr/bin/env bash\nexec gcc "${@/#-O3/-O0}"\n' >tools/cc
chmod +x tools/cc
export PATH=$scratch/tools:$PATH http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9
offline=()
if unshare -rn true 2>/dev/null; then offline=(unshare -rn); fi

configure() { # OPTION...
    "${offline[@]}" cmake -S "$root" -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 \
        -DGPUEXEC_TESTS=OFF -DGPUEXEC_WERROR=ON -DGPUEXEC_CHART_JS=OFF "$@" >log 2>&1
}
# says WHAT TEXT: the log has it, however its lines are broken.
says() {
    if tr -s ' \n' ' ' <log | grep -qF -- "$2"; then
        ok "$1"
    else
        fail "$1: the log does not say '$2'"
        cat log
    fi
}

# ---- configuring

configure -DBUILD_SHARED_LIBS=OFF || fail "configuring does not work offline"
says "configuring without wgpu-native" "WebGPU: left out, wgpu.h of wgpu-native"
says "configuring without a compiler of kernels" "Kernels: compiled ones, $root/spirv"
says "configuring without Chart.js" "gpuexec report will have tables and no charts"
echo '// changed' >>"$root/src/kernel/mul.comp"
if configure; then fail "kernels that were changed after they were compiled are not noticed"; fi
says "kernels changed" "remove that folder to compile them here, with glslc and spirv-tools"
sed -i '$d' "$root/src/kernel/mul.comp"
if configure -DGPUEXEC_WEBGPU=ON; then fail "WebGPU that is not here was not missed"; fi
says "WebGPU wanted and not here" "run scripts/setup.sh run, which downloads it, or set GPUEXEC_WGPU_DIR"
if [[ -n $wgpu ]]; then
    mkdir -p system/include/webgpu other
    cp "$wgpu/wgpu.h" "$wgpu/webgpu.h" system/include/webgpu/
    cp "$wgpu/webgpu.h" other/
    sed 's/wgpuDevicePoll/wgpuDevicePollOfLastYear/' "$wgpu/wgpu.h" >other/wgpu.h
    if configure -DGPUEXEC_WEBGPU=ON -DGPUEXEC_WGPU_DIR="$scratch/other"; then
        fail "headers of another version are accepted"
    fi
    says "headers of another version" "other/wgpu.h is not that of wgpu-native"
    configure -DGPUEXEC_WEBGPU=ON -UGPUEXEC_WGPU_DIR -Uwgpu_INCLUDE_DIR -DCMAKE_PREFIX_PATH="$scratch/system" ||
        fail "the system's headers are not accepted"
    says "the system's headers" "WebGPU: $scratch/system/include/webgpu"
fi

# ---- what each library gives

make_install() { # PREFIX
    "${offline[@]}" make -C "$root" install BUILD="$scratch/build" PREFIX="$scratch/$1" DESTDIR='' >log 2>&1
}
build() {
    "${offline[@]}" cmake --build build -j 2 >log 2>&1 || {
        fail "the build"
        tail -n 40 log
        exit 1
    }
}
# find_package as a project would, with these words; nothing is compiled.
mkdir finds
cat >finds/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(finds LANGUAGES NONE)
find_package(gpuexec REQUIRED ${WORDS})
get_target_property(real gpuexec::gpuexec ALIASED_TARGET)
message(STATUS "gpuexec::gpuexec is ${real}.")
END
finds() { # PREFIX WORDS
    rm -rf found
    cmake -S finds -B found -DCMAKE_PREFIX_PATH="$scratch/$1" -DWORDS="$2" >log 2>&1
}
# link WHAT PREFIX FLAG...: a program with what pkg-config says.
link() {
    local what=$1 flags
    export PKG_CONFIG_PATH=$scratch/$2/lib/pkgconfig
    shift 2
    read -ra flags <<<"$(pkg-config --cflags --libs "$@")"
    if gcc "$root/examples/mul.c" "${flags[@]}" -o mul && LD_LIBRARY_PATH=$PKG_CONFIG_PATH/.. ./mul >log 2>&1; then
        ok "$what"
    else
        fail "$what: mul.c does not build or run"
        cat log
    fi
}

make -n -C "$root" install BUILD="$scratch/build" >log
if grep -E 'setup\.sh|--preset|--build' log; then fail "make install does the above"; fi
if make_install nothing; then fail "make install installs what was not built"; fi
says "make install before the build" "run make build first"
[[ ! -e nothing ]] || fail "make install left something although nothing was built"

configure -DBUILD_SHARED_LIBS=OFF -DGPUEXEC_WEBGPU=AUTO -UCMAKE_PREFIX_PATH -Uwgpu_INCLUDE_DIR || fail "configuring"
build
make_install static || {
    cat log
    fail "make install"
}
[[ -e static/lib/libgpuexec.a && -z $(find static -name '*.so*') ]] || fail "not the static library alone is installed"
link "static alone, pkg-config" static gpuexec
link "static alone, pkg-config --static" static --static gpuexec
finds static "" || fail "static alone, find_package"
says "static alone, find_package" "gpuexec::gpuexec is gpuexec::gpuexec-static."
if finds static "COMPONENTS;shared"; then fail "a shared library that is not there is found"; fi

configure -DBUILD_SHARED_LIBS=ON || fail "configuring"
build
make_install shared || fail "make install"
[[ -e shared/lib/libgpuexec.so && -z $(find shared -name '*.a' -o -name 'gpuexec-static*') ]] ||
    fail "not the shared library alone is installed"
link "shared alone, pkg-config" shared gpuexec
finds shared "COMPONENTS;shared" || fail "shared alone, find_package"
if finds shared "COMPONENTS;static"; then fail "a static library that is not there is found"; fi
says "shared alone, static wanted" "but the static library is not installed"

# ---- a program without what is optional

for prefix in static shared; do
    program=$scratch/$prefix/bin/gpuexec
    "$program" verify -n 16 --field bn254-fr >log 2>&1 || fail "$prefix: verify"
    if [[ -z ${GX_TEST_NO_VULKAN:-} ]]; then
        "$program" verify -n 16 --field bn254-fr --op add,mul --device vulkan:0 >log 2>&1 ||
            fail "$prefix: verify on vulkan:0"
    fi
    for device in sim:desktop fault:lose@1:cpu; do
        code=0
        "$program" verify --device "$device" >log 2>&1 || code=$?
        [[ $code -eq 3 ]] || fail "$prefix: --device $device exits with $code"
        says "$prefix: --device $device" "build it with -DGPUEXEC_TEST_DEVICES=ON"
    done
    "$program" devices >log 2>&1 || fail "$prefix: devices"
    says "$prefix: no WebGPU" "no WebGPU: this library was built without it"
    "$program" report "$root/tests/report/data/server.csv" -o page.html >log 2>&1 || fail "$prefix: report"
    says "$prefix: no Chart.js" "built without Chart.js"
done
if grep -E '\b(sim|fault):' <<<"$("$program" --help && "$program" verify --help)"; then
    fail "the help speaks of devices that are not there"
fi

# ---- vcpkg

# The port, on the objects that are built already.
if "${offline[@]}" cmake -DROOT="$root" -DBUILD="$scratch/build" -DPACKAGES="$scratch/vcpkg" \
    -P "$root/tests/install/vcpkg.cmake" >log 2>&1; then
    ok "the vcpkg port"
    says "what the port leaves out" "WebGPU: left out of this package"
    grep -q "WebGPU device is left out" vcpkg/share/gpuexec/usage || fail "the usage of the port does not say so"
else
    fail "the vcpkg port"
    tail -n 40 log
fi

[[ ! -e called ]] || fail "these were called: $(<called)"
exit $status
