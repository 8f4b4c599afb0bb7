#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# header.sh INCLUDE: every public header compiles alone, as C11 and as C++17, with every available
# compiler, without a warning; no struct in it has padding, because a future member placed there
# would contain garbage from older callers; and gpuexec.h includes all of them.
set -euo pipefail
include=$1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
headers=(gpuexec.h)
for header in "$include"/gpuexec/*.h; do headers+=("gpuexec/${header##*/}"); done

status=0 tried=0
check() { # COMPILER STANDARD SUFFIX
    command -v "$1" >/dev/null || return 0
    tried=$((tried + 1))
    local good=1
    for header in "${headers[@]}"; do
        # Twice, to pass the include guard.
        printf '#include <%s>\n#include <%s>\nint main(void) { return GX_OK; }\n' "$header" "$header" >"$scratch/one.$3"
        if ! "$1" -std="$2" -Wall -Wextra -Wpedantic -Wpadded -Werror -I "$include" -fsyntax-only "$scratch/one.$3"; then
            echo "FAIL  $1 -std=$2 $header"
            good=0 status=1
        fi
    done
    [[ $good -eq 0 ]] || echo "ok    $1 -std=$2"
}
check gcc c11 c
check clang c11 c
check g++ c++17 cpp
check clang++ c++17 cpp

if [[ $tried -eq 0 ]]; then
    echo "no compiler"
    exit 1
fi
if ! diff <(printf '%s\n' "${headers[@]:1}" | sort) \
    <(sed -n 's,^#include "\(gpuexec/.*\)"$,\1,p' "$include/gpuexec.h" | sort); then
    echo "FAIL  '<' is not included by gpuexec.h"
    status=1
fi
[[ $status -ne 0 ]] || echo "ok    ${#headers[@]} headers"
exit $status
