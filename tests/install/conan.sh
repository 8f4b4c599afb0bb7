#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# conan.sh ROOT RELEASE: makes Conan packages of the source release in the folder RELEASE, static and
# shared, with no remote and no network; their test builds an example with what CMakeDeps and
# CMakeToolchain write, and runs it. Not optimised: that would take minutes and is tested elsewhere.
# Conan is that of scripts/setup.sh test, or the system's.
set -euo pipefail
root=$1 release=$2
unset LD_LIBRARY_PATH

conan=(conan)
if [[ -d $root/build/conan ]]; then
    conan=(env "PYTHONPATH=$root/build/conan" python3 -m conans.conan)
elif ! command -v conan >/dev/null; then
    echo "FAIL  Conan is not here: run scripts/fetch-wheels.sh cmake/conan-wheels.txt build/conan"
    exit 1
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
tar -xzf "$release"/gpuexec-*.tar.gz
status=0
fail() {
    echo "FAIL  $*"
    status=1
}
offline=()
if unshare -rn true 2>/dev/null; then offline=(unshare -rn); fi

export CONAN_HOME=$scratch/home
# The tiers for some CPUs are optimised in every build, and take half the time of this one.
mkdir tools
# shellcheck disable=SC2016 # for the script
printf '#!/usr/bin/env bash\nexec gcc "${@/#-O3/-O0}"\n' >tools/cc
chmod +x tools/cc
"${conan[@]}" --version
"${conan[@]}" profile detect >log 2>&1
create() { # SHARED
    PATH=$scratch/tools:$PATH "${offline[@]}" "${conan[@]}" create gpuexec-*/packaging/conan --no-remote -o "gpuexec/*:shared=$1" \
        -s build_type=Debug -c tools.cmake.cmaketoolchain:generator=Ninja -c tools.build:jobs=2 \
        -c 'tools.cmake.cmaketoolchain:extra_variables={"CMAKE_C_FLAGS_DEBUG": "-O0"}' >log 2>&1 &&
        grep -q 'WebGPU: left out of this package' log &&
        grep -qx 'all as expected: 100000 \* 100999 = 10099900000' log
}
: >before
for shared in False True; do
    if create $shared; then
        echo "ok    conan create, shared=$shared"
    else
        cat log
        fail "conan create, shared=$shared"
    fi
    # What the package of this turn has.
    (cd home/p && find . -path '*/p/*' -path './b/*' ! -type d | sort) >after
    comm -13 before after | sed -nE 's,^\./b/[^/]*/p/,,p' | grep -v '^conan' | sed 's/\.[0-9.]*$//' | sort -u >has
    mv after before
    if [[ $shared == True ]]; then library=lib/libgpuexec.so; else library=lib/libgpuexec.a; fi
    diff has <({ cd "$root" && find include -type f; printf '%s\n' "$library" licenses/LICENSE; } | sort) || fail "shared=$shared: other files"
done
# The recipe builds both at once.
grep -q "Won't be built, using previous build folder" log || fail "the shared library was compiled again"
exit $status
