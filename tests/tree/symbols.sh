#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# symbols.sh HEADER SHARED STATIC: the shared library exports exactly the functions that the headers
# declare GX_API, each with a version; the static one defines nothing outside gx_; the soname
# contains major and minor while the version is 0.x.
set -euo pipefail
header=$1 shared=$2 static=$3
status=0

# The preprocessed header has no comments or macros: GX_API has become an attribute. One statement
# per line; in those with the attribute, the name before a parenthesis.
declared=$(gcc -E -P -x c "$header" | tr '\n' ' ' | tr ';' '\n' |
    sed -n 's/.*visibility("default")//p' | grep -o 'gx_[a-z0-9_]* *(' | tr -d ' (' | sort -u)
node='GPUEXEC_[0-9.]+' # the version that a name came with; itself a name without an address
exported=$(nm -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort -u)

if [[ -z $declared ]]; then
    echo "FAIL  no GX_API function found in $header"
    exit 1
fi
if ! diff <(echo "$declared") <(echo "$exported"); then
    echo "FAIL  '<' is declared and not exported, '>' is exported and not declared"
    status=1
fi
if grep -E '^gx__' <<<"$exported" || grep -vE '^gx_' <<<"$exported"; then
    echo "FAIL  the names above are exported"
    status=1
fi

if nm -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' | grep -vE "@@$node\$"; then
    echo "FAIL  the names above are in no version"
    status=1
fi

if nm -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | grep -v '^gx_'; then
    echo "FAIL  the static library defines the names above"
    status=1
fi

number() { awk -v name="GX_VERSION_$1" '$2 == name { print $3 }' "${header%.h}/core.h"; }
soname=$(readelf -d "$shared" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
want=libgpuexec.so.$(number MAJOR)
[[ $(number MAJOR) -ne 0 ]] || want+=.$(number MINOR)
if [[ $soname != "$want" ]]; then
    echo "FAIL  the soname is $soname and should be $want"
    status=1
fi

[[ $status -ne 0 ]] || echo "ok    $(wc -l <<<"$exported") functions exported, soname $soname"
exit $status
