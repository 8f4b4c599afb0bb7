#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# includes.sh ROOT: files include only lower layers, and the program, its reports and the examples
# use nothing of the library but its public header. The program and its reports may also use the layer
# for operating systems, of which they have a copy, and the program may use report/, which does not
# depend on it. First runs on a small tree with known mistakes, to check that it finds each.
set -euo pipefail

layers="base field curve op device exec route api" # lowest first
# src/kernel, the GPU code, is next to op; its C headers use terms of the device contract, so they
# may include that one file of the layer above.
contract=device/device.h
system=base/os.h

# Prints FILE:LINE: reason for each forbidden include of ROOT.
offences() {
    cd "$1"
    find include src cli report examples -type f \
        \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' \) -print0 | sort -z |
        xargs -0 -r grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null |
        awk -v layers="$layers" -v contract="$contract" -v os="$system" '
            BEGIN {
                n = split(layers, name, " "); for (i = 1; i <= n; i++) rank[name[i]] = i
                rank["kernel"] = rank["op"]
            }
            function bad(why) { print file ":" line ": " text "  (" why ")" }
            {
                split($0, part, ":"); file = part[1]; line = part[2]
                text = substr($0, length(file) + length(line) + 3)
                target = text; sub(/^[ \t]*#[ \t]*include[ \t]*/, "", target)
                if (target !~ /^["<]/) { bad("not a plain name"); next }
                quoted = substr(target, 1, 1) == "\""
                target = substr(target, 2); sub(/[">].*/, "", target)
                folder = target; if (!sub(/\/.*/, "", folder)) folder = ""
                ours = quoted || folder in rank || target ~ /(^|\/)(src|cli|report|\.\.)(\/|$)/

                if (!ours || target == "gpuexec.h") {
                    if (file ~ /^include\// && ours) bad("the public header stands alone")
                } else if (target ~ /(^|\/)\.\.(\/|$)/) {
                    bad("no way up")
                } else if (file ~ /^include\//) {
                    bad("the public header stands alone")
                } else if (file ~ /^(cli|report)\// && folder == "report") {
                    if (system("test -f " target)) bad("no such file")
                } else if (file ~ /^(cli|report)\// && target == os) {
                    next
                } else if (file ~ /^(cli|report|examples)\//) {
                    own = file; sub(/\/.*/, "", own)
                    if (target ~ /\// || system("test -f " own "/" target))
                        bad("only gpuexec.h and the files beside it")
                } else if (!(folder in rank)) {
                    bad("not the path of a layer")
                } else {
                    own = file; sub(/^src\//, "", own)
                    mine = n + 1
                    if (own ~ /\//) { sub(/\/.*/, "", own); mine = own in rank ? rank[own] : 0 }
                    if (!mine) bad(own " is not a layer")
                    else if (own == "kernel" && target == contract) next
                    else if ((own == "field" || own == "curve") && folder == "kernel") bad(own " knows no GPU")
                    else if (rank[folder] > mine) bad(own " is below " folder)
                }
            }'
}

prove_it_fails() {
    local tree found expected=0
    tree=$(mktemp -d)
    # shellcheck disable=SC2064 # this very folder
    trap "rm -rf '$tree'" EXIT
    mkdir -p "$tree"/{include,cli,report,examples} "$tree"/src/{base,field,curve,op,kernel,device,exec,route,api,other}
    touch "$tree/cli/cli.h" "$tree/report/scan.h"
    put() { # good|bad FILE INCLUDE
        printf '%s /* %s */\n' "$3" "$1" >>"$tree/$2"
        if [[ $1 == bad ]]; then expected=$((expected + 1)); fi
    }
    put good include/gpuexec.h '#include <stdint.h>'
    put bad include/gpuexec.h '#include "base/log.h"'
    put good src/api/run.c '#include "route/route.h"'
    put bad src/route/route.c '#include "api/context.h"'
    put good src/route/route.c '#include "exec/run.h"'
    put good src/base/log.c '#include "base/log.h"'
    put good src/base/log.c '#include "gpuexec.h"'
    put good src/base/log.c '#include <stdio.h>'
    put bad src/base/log.c '#include "field/field.h"'
    put bad src/field/field.c '#  include <device/device.h>'
    put bad src/device/cpu.c '#include "exec/run.h"'
    put good src/device/gpu.c '#include "kernel/shaders.h"'
    put good src/kernel/plan.h '#include "device/device.h"'
    put good src/kernel/plan.h '#include "field/field.h"'
    put bad src/kernel/plan.h '#include "device/gpu.h"'
    put bad src/field/field.c '#include "kernel/shaders.h"'
    put good src/op/op.c '#include "field/field.h"'
    put bad src/field/field.c '#include "op/op.h"'
    put bad src/field/field.c '#include "curve/curve.h"'
    put good src/curve/curve.c '#include "field/field.h"'
    put bad src/curve/curve.c '#include "op/op.h"'
    put bad src/base/log.c '#include "kernel/shaders.h"'
    put bad src/exec/run.c '#include "route/route.h"'
    put bad src/exec/run.c '#include "run.h"'
    put bad src/exec/run.c '#include "../route/route.h"'
    put bad src/exec/run.c '#include HEADER'
    put bad src/other/x.c '#include "base/log.h"'
    put good cli/main.c '#include "cli.h"'
    put good cli/main.c '#include <jansson.h>'
    put bad cli/main.c '#include "base/log.h"'
    put good cli/main.c '#include "base/os.h"'
    put good report/scan.c '#include "base/os.h"'
    put bad examples/mul.c '#include "base/os.h"'
    put bad cli/main.c '#include "../src/base/log.h"'
    put bad cli/main.c '#include "log.h"'
    put good cli/main.c '#include "report/scan.h"'
    put bad cli/main.c '#include "report/none.h"'
    put good report/scan.c '#include "report/scan.h"'
    put bad report/scan.c '#include "cli.h"'
    put bad report/scan.c '#include "base/log.h"'
    put bad src/exec/run.c '#include "report/scan.h"'
    put bad examples/mul.c '#include "report/scan.h"'
    put good examples/mul.c '#include <gpuexec.h>'
    put bad examples/batch.cpp '#include "field/field.h"'

    found=$(offences "$tree")
    if [[ $(grep -c . <<<"$found") -ne $expected ]] || grep -q '/\* good' <<<"$found"; then
        echo "FAIL  of $expected mistakes made on purpose, this was found:"
        echo "$found"
        exit 1
    fi
}

(prove_it_fails)
found=$(offences "$1")
if [[ -n $found ]]; then
    echo "$found"
    exit 1
fi
echo "ok    includes point down only"
