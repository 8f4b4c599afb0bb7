#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# resolved.sh ROOT: only src/api sees what callers pass in and are given: the layers below have tasks,
# which are resolved once (api/resolve.c), outcomes and descriptions of their own. And no code of the
# library calls a public function that does work and sets gx_last_message: it calls the one behind it.
# Comments and texts may name them.
set -euo pipefail

structs='gx_job|gx_operand|gx_[a-z]+_params'
structs+='|gx_report|gx_candidate|gx_estimate_info|gx_device_statistics'
# These are tables, and say nothing about a failure.
tables='gx_(version|status_message|point_bytes|op_exists|[a-z_]+_(get_info|by_name|name))'

# calls_of ROOT: the other functions, as alternatives
calls_of() {
    grep -ohE '\bgx_[a-z0-9_]+\(' "$1"/include/gpuexec/*.h | tr -d '(' | sort -u |
        grep -vxE "$tables" | paste -sd '|'
}

# base/abi.c has the layouts of these structs, and base/log.c the last message. A definition begins its
# line.
# shellcheck disable=SC2016 # awk expands these
found() {
    find "$1/src" -name '*.[ch]' ! -path '*/base/abi.[ch]' ! -path '*/base/log.c' -print0 | sort -z |
        NAMES="(^|[^a-zA-Z0-9_])($structs)([^a-zA-Z0-9_]|\$)" \
            CALLS="^[ \t].*[^a-zA-Z0-9_]($(calls_of "$1")) *[(]" xargs -0 -r awk '
            {
                code = $0
                gsub(/"([^"\\]|\\.)*"/, "", code)
                if (inside && !sub(/^.*\*\//, "", code)) next
                inside = 0
                gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", code)
                inside = sub(/\/\*.*$/, "", code)
                public = FILENAME ~ /\/src\/api\//
                if ((!public && code ~ ENVIRON["NAMES"]) || code ~ ENVIRON["CALLS"])
                    print FILENAME ":" FNR ": " $0
            }'
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/src/{api,exec}
cp -r "$1/include" "$scratch"
cat >"$scratch/src/exec/bad.c" <<'END'
const gx_job *job; /* bad */
/* a gx_job as a caller has it */
    s = gx_buf_read(buf, 0, to, 8); /* bad */
x = "see gx_ntt_params"; /* of gx_job,
                            and gx_operand */
struct gx_task task; /* gx_run( */ gx_operand *o; /* bad */
gx_candidate c = {.status = s}; /* bad */
    name = gx_op_get_info(op)->name;
END
cat >"$scratch/src/api/run.c" <<'END'
gx_status gx_run(gx_ctx *ctx, const gx_job *jobs, gx_report *report)
{
    gx_status s = gx_trace_start(ctx, path); /* bad */
    explain("%s: %s", "gx_run(", gx_last_message()); /* bad */
END
if [[ $(found "$scratch" | grep -c 'bad \*/') -ne 6 || $(found "$scratch" | grep -c .) -ne 6 ]]; then
    echo "FAIL  mistakes made on purpose are not found, or others:"
    found "$scratch"
    exit 1
fi
offences=$(found "$1")
if [[ -n $offences ]]; then
    echo "$offences"
    echo "FAIL  use struct gx_task (op/task.h), or the function or struct behind the public one"
    exit 1
fi
echo "ok    only src/api sees what callers pass in, and nothing calls the public functions"
