#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# resolved.sh ROOT: only src/api sees the caller's jobs. The layers below have tasks, which are
# resolved once (api/resolve.c), and call none of the public functions that do work and set
# gx_last_message. Comments and texts may name them.
set -euo pipefail

names='gx_job|gx_operand|gx_ntt_params|gx_poly_params|gx_msm_params|gx_op_params|gx_domain_params'
calls='gx_run|gx_submit|gx_wait|gx_poll|gx_estimate|gx_last_message|gx_buf_(create|destroy|map|unmap|read|write)'

# base/abi.c has the layouts of these structs, and base/log.c the last message.
# shellcheck disable=SC2016 # awk expands these
found() {
    find "$1/src" -name '*.[ch]' ! -path '*/src/api/*' ! -path '*/base/abi.[ch]' \
        ! -path '*/base/log.c' -print0 | sort -z |
        NAMES="(^|[^a-zA-Z0-9_])($names)([^a-zA-Z0-9_]|\$)" CALLS="(^|[^a-zA-Z0-9_])($calls) *[(]" \
            xargs -0 -r awk '
            {
                code = $0
                gsub(/"([^"\\]|\\.)*"/, "", code)
                if (inside && !sub(/^.*\*\//, "", code)) next
                inside = 0
                gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", code)
                inside = sub(/\/\*.*$/, "", code)
                if (code ~ ENVIRON["NAMES"] || code ~ ENVIRON["CALLS"]) print FILENAME ":" FNR ": " $0
            }'
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/src/{api,exec}
cat >"$scratch/src/exec/bad.c" <<'END'
const gx_job *job; /* bad */
/* a gx_job as a caller has it */
s = gx_buf_read(buf, 0, to, 8); /* bad */
x = "see gx_ntt_params"; /* of gx_job,
                            and gx_operand */
struct gx_task task; /* gx_run( */ gx_operand *o; /* bad */
END
cp "$scratch/src/exec/bad.c" "$scratch/src/api/run.c"
if [[ $(found "$scratch" | grep -c 'bad \*/') -ne 3 || $(found "$scratch" | grep -c .) -ne 3 ]]; then
    echo "FAIL  mistakes made on purpose are not found, or others:"
    found "$scratch"
    exit 1
fi
offences=$(found "$1")
if [[ -n $offences ]]; then
    echo "$offences"
    echo "FAIL  use struct gx_task (op/task.h), or the function behind the public one"
    exit 1
fi
echo "ok    only src/api sees the caller's jobs"
