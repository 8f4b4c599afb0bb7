#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# lists.sh ROOT: every constant with a value in the public headers is a row of one of the library's
# lists, with the same value, and vice versa. The compiler detects a row whose constant is missing
# or differs; only this test detects a constant without a row.
set -euo pipefail

# SYMBOL VALUE of each enumerator, comments left out, and of each row X(SYMBOL, VALUE, ...).
constants() {
    gcc -E -P -x c "$1" | tr '\n' ' ' | grep -oE 'enum \{[^}]*\}' |
        grep -oE 'GX_[A-Z0-9_]+ = -?[0-9]+' | sed 's/ = / /' | sort
}
rows() {
    find "$1" -name '*.[ch]' -exec cat {} + | grep -oE '^ *X\(GX_[A-Z0-9_]+, -?[0-9]+,' |
        sed -E 's/^ *X\(//; s/,//g' | sort
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
printf 'enum { GX_ONE = 1, /* GX_NO = 3 */\n GX_TWO = -2 };\n' >"$scratch/h.h"
mkdir "$scratch/src"
printf '    X(GX_ONE, 1, "one")\n    X(GX_TWO, -2, "two") \\\n' >"$scratch/src/list.h"
if ! diff <(constants "$scratch/h.h") <(rows "$scratch/src") ||
    [[ $(constants "$scratch/h.h") != $'GX_ONE 1\nGX_TWO -2' ]]; then
    echo "FAIL  the check misreads an example"
    exit 1
fi

found=$(constants "$1/include/gpuexec.h")
if ! diff <(echo "$found") <(rows "$1/src"); then
    echo "FAIL  '<' has no row in a list under src/, '>' no constant in gpuexec.h"
    exit 1
fi
echo "ok    $(wc -l <<<"$found") constants"
