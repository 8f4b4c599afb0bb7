#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bench.sh PREFIX [OPTION...]: gpuexec of PREFIX beside gnark-crypto, and the overhead of a call.
# Options are those of gnark/bench: -threads N, -turns N.
set -euo pipefail
prefix=${1:-${GPUEXEC_PREFIX:-}}
[[ ! -d $prefix ]] || prefix=$(cd "$prefix" && pwd)
cd "$(dirname "$0")"
# shellcheck source=bindings/go/env.sh
. ./env.sh "$prefix"
shift || true

cd gnark
go build -o "$build/go-bench" ./bench
printf '$ bindings/go/bench.sh PREFIX %s\n' "$*"
exec "$build/go-bench" "$@"
