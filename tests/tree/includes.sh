#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# includes.sh ROOT: files include only lower layers, and the program, its reports and the examples
# use nothing of the library but its public headers. The program and its reports may also use the layer
# for operating systems, of which they have a copy, and what reads numbers, and the program may use report/, which does not
# depend on it; so may bench/suites, which also uses the program's files. http/, for
# gpuexec serve and top, uses nothing at all. First runs on a small tree with known mistakes, to check that it finds each.
set -euo pipefail

layers="base field curve pairing op verify kernel device exec compose route api" # lowest first
shared="base/os.h base/number.h"

# Prints FILE:LINE: reason for each forbidden include of ROOT.
offences() {
    cd "$1"
    find include src cli http report examples bench/suites -type f \
        \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' \) -print0 | sort -z |
        xargs -0 -r grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null |
        awk -v layers="$layers" -v shared=" $shared " '
            BEGIN {
                n = split(layers, name, " "); for (i = 1; i <= n; i++) rank[name[i]] = i
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

                public = target == "gpuexec.h" || target ~ /^gpuexec\/[a-z]+\.h$/

                if (file == "include/gpuexec.h" && quoted) {
                    if (!public) bad("the public headers stand alone")
                } else if (file ~ /^include\// && quoted) {
                    if (target ~ /\// || system("test -f include/gpuexec/" target))
                        bad("the public headers stand alone")
                } else if (!ours || public) {
                    if (file ~ /^include\// && ours) bad("the public headers stand alone")
                } else if (target ~ /(^|\/)\.\.(\/|$)/) {
                    bad("no way up")
                } else if (file ~ /^include\//) {
                    bad("the public headers stand alone")
                } else if (file ~ /^(cli|report|bench)\// && folder == "report" ||
                           file ~ /^(cli|http)\// && folder == "http") {
                    if (system("test -f " target)) bad("no such file")
                } else if (file ~ /^(cli|report|bench)\// && index(shared, " " target " ")) {
                    next
                } else if (file ~ /^http\//) {
                    bad("only the files beside it")
                } else if (file ~ /^bench\//) {
                    if (target ~ /\// || system("test -f bench/suites/" target " || test -f cli/" target))
                        bad("only gpuexec.h, the files beside it and those of the program")
                } else if (file ~ /^(cli|report|examples)\//) {
                    own = file; sub(/\/.*/, "", own)
                    if (target ~ /\// || system("test -f " own "/" target))
                        bad("only the public headers and the files beside it")
                } else if (!(folder in rank)) {
                    bad("not the path of a layer")
                } else {
                    own = file; sub(/^src\//, "", own)
                    mine = n + 1
                    if (own ~ /\//) { sub(/\/.*/, "", own); mine = own in rank ? rank[own] : 0 }
                    if (!mine) bad(own " is not a layer")
                    else if (rank[folder] > mine) bad(own " is below " folder)
                }
            }'
}

prove_it_fails() {
    local tree found expected=0
    tree=$(mktemp -d)
    # shellcheck disable=SC2064 # this very folder
    trap "rm -rf '$tree'" EXIT
    mkdir -p "$tree"/{include/gpuexec,cli,http,report,examples,bench/suites} "$tree"/src/{base,field,curve,pairing,op,verify,kernel,device,exec,compose,route,api,other}
    touch "$tree/include/gpuexec/core.h" "$tree/cli/cli.h" "$tree/report/scan.h" "$tree/http/get.h" "$tree/bench/suites/suite.h"
    put() { # good|bad FILE INCLUDE
        printf '%s /* %s */\n' "$3" "$1" >>"$tree/$2"
        if [[ $1 == bad ]]; then expected=$((expected + 1)); fi
    }
    put good include/gpuexec.h '#include <stdint.h>'
    put bad include/gpuexec.h '#include "base/log.h"'
    put good include/gpuexec.h '#include "gpuexec/core.h"'
    put good include/gpuexec/ntt.h '#include "core.h"'
    put good include/gpuexec/ntt.h '#include <stdint.h>'
    put bad include/gpuexec/ntt.h '#include "base/log.h"'
    put bad include/gpuexec/ntt.h '#include "log.h"'
    put good src/op/op.c '#include "gpuexec/ntt.h"'
    put good src/api/run.c '#include "route/route.h"'
    put bad src/route/route.c '#include "api/context.h"'
    put good src/route/route.c '#include "compose/compose.h"'
    put good src/compose/msm.c '#include "exec/engine.h"'
    put bad src/compose/msm.c '#include "route/route.h"'
    put bad src/exec/run.c '#include "compose/compose.h"'
    put good src/route/route.c '#include "exec/run.h"'
    put good src/base/log.c '#include "base/log.h"'
    put good src/base/log.c '#include "gpuexec.h"'
    put good src/base/log.c '#include <stdio.h>'
    put bad src/base/log.c '#include "field/field.h"'
    put bad src/field/field.c '#  include <device/device.h>'
    put bad src/device/cpu.c '#include "exec/run.h"'
    put good src/device/gpu.c '#include "kernel/shaders.h"'
    put good src/kernel/wgsl.h '#include "op/op.h"'
    put good src/kernel/wgsl.h '#include "field/field.h"'
    put bad src/kernel/wgsl.h '#include "device/device.h"'
    put bad src/kernel/wgsl.h '#include "device/gpu/gpu.h"'
    put bad src/op/op.h '#include "kernel/shaders.h"'
    put bad src/field/field.c '#include "kernel/shaders.h"'
    put good src/op/op.c '#include "field/field.h"'
    put bad src/field/field.c '#include "op/op.h"'
    put bad src/field/field.c '#include "curve/curve.h"'
    put good src/curve/curve.c '#include "field/field.h"'
    put bad src/curve/curve.c '#include "op/op.h"'
    put bad src/curve/curve.c '#include "pairing/pairing.h"'
    put good src/pairing/pairing.c '#include "curve/curve.h"'
    put bad src/pairing/pairing.c '#include "op/op.h"'
    put bad src/base/log.c '#include "kernel/shaders.h"'
    put good src/verify/verify.c '#include "op/op.h"'
    put bad src/verify/verify.c '#include "kernel/shaders.h"'
    put bad src/op/op.c '#include "verify/verify.h"'
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
    put good cli/options.c '#include "base/number.h"'
    put bad examples/mul.c '#include "base/os.h"'
    put bad cli/main.c '#include "../src/base/log.h"'
    put bad cli/main.c '#include "log.h"'
    put good cli/main.c '#include "report/scan.h"'
    put bad cli/main.c '#include "report/none.h"'
    put good cli/main.c '#include "http/get.h"'
    put good http/get.c '#include "http/get.h"'
    put bad http/get.c '#include "get.h"'
    put bad http/get.c '#include "base/os.h"'
    put bad http/get.c '#include "cli.h"'
    put bad bench/suites/main.c '#include "http/get.h"'
    put good bench/suites/main.c '#include "cli.h"'
    put good bench/suites/main.c '#include "suite.h"'
    put good bench/suites/main.c '#include "report/scan.h"'
    put bad bench/suites/main.c '#include "log.h"'
    put bad bench/suites/main.c '#include "base/log.h"'
    put bad cli/main.c '#include "suite.h"'
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
