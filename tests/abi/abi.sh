#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# abi.sh KEPT HEADER MAP: checks that programs built with the kept headers of a release still work
# with the current ones. KEPT and HEADER are gpuexec.h, with the others beside it. Both are turned into libraries of declarations with debug information,
# which abidiff (libabigail) compares. abidiff is told to ignore structs that may grow (abi.suppr)
# and does not see constants, so member offsets are compared by a program compiled with either
# of them, and constants as text. Deliberate changes come first, to test the test.
set -euo pipefail
kept=$(realpath "$1") header=$(realpath "$2") map=$3
release=$(basename "$(dirname "$kept")")
here=$(cd "$(dirname "$0")" && pwd)
command -v abidiff >/dev/null || {
    echo "FAIL  abidiff is missing: scripts/setup.sh test installs it (abigail-tools)"
    exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# library HEADER NAME: every declared function, with a body that is never run.
library() {
    gcc -E -P -x c "$1" | tr '\n' ' ' |
        sed 's/\(__attribute__((visibility("default"))) [^;]*\);/\n\1 { __builtin_trap(); }\n/g' >"$scratch/$2.c"
    gcc -std=gnu11 -g -fPIC -shared -fvisibility=hidden -Wl,--version-script="$map" \
        -Wl,-soname,libgpuexec.so "$scratch/$2.c" -o "$scratch/$2.so"
}

constants() {
    gcc -E -P -x c "$1" | tr '\n' ' ' | grep -oE 'enum \{[^}]*\}' |
        grep -oE 'GX_[A-Z0-9_]+ = -?[0-9]+' | sort
    grep -hE '^#define GX_[A-Z_]+ +[0-9]+u?( |$)' "${1%.h}"/*.h | grep -v GX_VERSION | awk '{ print $2, $3 }' | sort
}

# STRUCT MEMBER for everything in the kept headers.
members() {
    gcc -E -P -x c "$kept" | tr '\n' ' ' | sed 's/typedef struct/\n&/g' |
        sed -nE 's/^typedef struct (gx_[a-z_]+) \{(.*)\} *gx_[a-z_]+;.*/\1;\2/p' |
        awk -F ';' '{ for (i = 2; i <= NF; i++) {
            gsub(/\)\([^)]*\)/, ")", $i)       # arguments of functions
            n = split($i, names, ",")
            for (k = 1; k <= n; k++) {
                sub(/\[.*/, "", names[k])
                if (match(names[k], /[a-z_0-9]+\)? *$/)) {
                    name = substr(names[k], RSTART); gsub(/[ )]/, "", name); print $1, name } } } }'
}

# Offsets of these members in other headers.
positions() {
    {
        printf '#include <stdio.h>\n#include "%s"\n' "$1"
        echo 'int main(void) {'
        members | awk '{ printf "printf(\"%s.%s %%zu %%zu\\n\", offsetof(%s, %s), sizeof((%s *)0)->%s);\n", $1, $2, $1, $2, $1, $2 }'
        echo '}'
    } >"$scratch/positions.c"
    gcc "$scratch/positions.c" -o "$scratch/positions" 2>&1 && "$scratch/positions"
}

# compatible HEADER: compares with the kept one and prints the differences.
compatible() {
    local status=0
    library "$1" new
    abidiff --no-added-syms --suppressions "$here/abi.suppr" "$scratch/old.so" "$scratch/new.so" ||
        status=1
    positions "$1" >"$scratch/now" || status=1
    if ! diff "$scratch/then" "$scratch/now"; then
        echo "these members are elsewhere, or have another size (> now)"
        status=1
    fi
    if constants "$kept" | grep -vxFf <(constants "$1"); then
        echo "these constants are gone, or have another value"
        status=1
    fi
    return $status
}

# tried good|bad WHAT SED-SCRIPT: a change to the kept headers, and the expected verdict.
tried() {
    rm -rf "$scratch/changed"
    cp -r "$(dirname "$kept")" "$scratch/changed"
    sed -Ei "$3" "$scratch/changed"/gpuexec/*.h
    if diff -qr "$(dirname "$kept")" "$scratch/changed" >/dev/null; then
        echo "FAIL  the change '$2' changes nothing"
        exit 1
    fi
    if compatible "$scratch/changed/gpuexec.h" >"$scratch/said"; then found=good; else found=bad; fi
    if [[ $found != "$1" ]]; then
        cat "$scratch/said"
        echo "FAIL  found $found: $2"
        exit 1
    fi
}

library "$kept" old
positions "$kept" >"$scratch/then"
if [[ $(members | grep -cxE 'gx_(job a|calibrate_params progress|estimate_info submits|report message|device_statistics busy_ns)') -ne 5 ]]; then
    echo "FAIL  members are not found in $kept"
    exit 1
fi
tried good "a new function" 's/^(GX_API const char \*gx_version\(void\);)/\1\nGX_API int gx_new(int x);/'
tried good "a new constant" 's/^    GX_F32 = 6/    GX_F32 = 6, GX_NEW_FIELD = 7/'
tried good "a member at the end of a struct with a size" 's/^\} gx_report;/    uint64_t later; } gx_report;/'
tried good "a member at the end of static data" 's/^\} gx_field_info;/    uint64_t later; } gx_field_info;/'
tried bad "a function that is gone" '/^GX_API const char \*gx_version\(void\);/d'
tried bad "another argument" 's/gx_poll\(gx_ticket \*ticket\)/gx_poll(gx_ticket *ticket, int how)/'
tried bad "another number" 's/GX_SUB = 2/GX_SUB = 20/'
tried bad "a constant that is gone" 's/GX_SUB = 2,//'
tried bad "a member in the middle" 's/^(    gx_candidate \*candidate; )/    uint64_t new; \1/'
tried bad "a member of another width" 's/^    uint32_t dispatches;/    uint64_t dispatches;/'
tried bad "growth of what is frozen" 's/^\} gx_job;/    uint64_t later; } gx_job;/'
tried bad "another width of an enum" 's/^typedef uint32_t gx_mode;/typedef uint64_t gx_mode;/'

if ! compatible "$header"; then
    echo "FAIL  programs built with $release would break: see \"ABI\" in CONTRIBUTING.md"
    exit 1
fi
echo "ok    $(nm -D --defined-only "$scratch/old.so" | grep -c ' T ') functions as in $release"
