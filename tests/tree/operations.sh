#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# operations.sh ROOT: the router and the engine name no operation: what differs between operations is
# in their rows, in what their tasks say, and in the tables of their shapes (src/op/op.h, task.h,
# traits.h). The engine has two private ones of its own: it checks operands, and fills tables of
# roots. First runs on a small tree with known mistakes, to check that it finds each.
set -euo pipefail

# Prints FILE:LINE: TEXT of each line of ROOT that names an operation of the rows in ROOT's op.h, a
# private one, the shape or the verifier of a single one, its parameters, or a function of it.
offences() {
    cd "$1"
    local ops
    ops=$(sed -nE 's/^ *X\((GX_[A-Z_]+), [0-9]+, ".*/\1/p' src/op/op.h | paste -sd '|')
    grep -rnE --include='*.[ch]' "\b($ops|GX_OP_[A-Z_]+|GX_(SHAPE|VERIFY)_(TRANSFORM|MSM|POLY))\b" \
        src/route src/exec | grep -vw GX_OP_END |
        grep -vE '^src/exec/.*\bGX_OP_(CHECK|NTT_TABLE)\b' || true
    grep -rnE --include='*.[ch]' '\bgx_+(ntt|transforms?|msm|poly)_\w+' src/route || true
}

prove_it_fails() {
    local tree found
    tree=$(mktemp -d)
    # shellcheck disable=SC2064 # this very folder
    trap "rm -rf '$tree'" EXIT
    mkdir -p "$tree"/src/{exec,op,route}
    printf '    X(%s, %s, "%s", 1)\n' GX_ADD 1 add GX_MUL_ADD 8 mul-add GX_NTT 13 ntt >"$tree/src/op/op.h"
    cat >"$tree/src/route/good.c" <<'END'
for (op = 1; op < GX_OP_END; op++)
GX_ADDED, "GX_HOST_MEMORY", GX_SHAPE_END, gx__op_traits(op)->measured, gx__op_join
END
    cat >"$tree/src/route/bad.c" <<'END'
job.op == GX_ADD
{GX_MUL_ADD, 0}
GX_OP_CHECK
GX_SHAPE_MSM
gx_ntt_params params
gx__msm_part(job)
END
    cat >"$tree/src/exec/bad.c" <<'END'
key.op = GX_OP_CHECK;
job->op == GX_NTT
GX_SHAPE_TRANSFORM
END
    found=$(offences "$tree")
    if [[ $(grep -c '/bad\.c:' <<<"$found") -ne 8 || $(grep -c . <<<"$found") -ne 8 ]]; then
        echo "FAIL  of 8 mistakes made on purpose, this was found:"
        echo "$found"
        exit 1
    fi
}

(prove_it_fails)
found=$(offences "$1")
if [[ -n $found ]]; then
    echo "$found"
    echo "FAIL  put it into the operation's row or the table of its shape (src/op/traits.h)"
    exit 1
fi
echo "ok    the router and the engine name no operation"
