#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# header.sh HEADER: the public header compiles alone, as C11 and as C++17, with every available
# compiler, without a warning; and no struct in it has padding, because a future member placed there
# would contain garbage from older callers.
set -euo pipefail
header=$1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Twice, to pass the include guard.
printf '#include "gpuexec.h"\n#include "gpuexec.h"\nint main(void) { return GX_OK; }\n' >"$scratch/one.c"
cp "$scratch/one.c" "$scratch/one.cpp"

status=0 tried=0
check() { # COMPILER STANDARD FILE
    command -v "$1" >/dev/null || return 0
    tried=$((tried + 1))
    if "$1" -std="$2" -Wall -Wextra -Wpedantic -Wpadded -Werror -I "$(dirname "$header")" \
        -fsyntax-only "$scratch/$3"; then
        echo "ok    $1 -std=$2"
    else
        echo "FAIL  $1 -std=$2"
        status=1
    fi
}
check gcc c11 one.c
check clang c11 one.c
check g++ c++17 one.cpp
check clang++ c++17 one.cpp

if [[ $tried -eq 0 ]]; then
    echo "no compiler"
    exit 1
fi
exit $status
