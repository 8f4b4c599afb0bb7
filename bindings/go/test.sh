#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test.sh PREFIX: formatting, vet, and all tests of the Go packages with the library installed in
# PREFIX (or $GPUEXEC_PREFIX), under the race detector and the full checks of cgo. gnark-crypto is
# downloaded by the go command, and so is Go, unless there is one as new as gnark/go.mod asks for.
set -euo pipefail
prefix=${1:-${GPUEXEC_PREFIX:-}}
[[ ! -d $prefix ]] || prefix=$(cd "$prefix" && pwd)
cd "$(dirname "$0")"
# shellcheck source=bindings/go/env.sh
. ./env.sh "$prefix"

unformatted=$(gofmt -l .)
if [[ -n $unformatted ]]; then
    echo "go: run gofmt on: $unformatted" >&2
    exit 1
fi
# Kernels that Mesa has compiled are shared with the tests of the library (tests/CMakeLists.txt).
export GALLIVM_PERF=nopt MESA_SHADER_CACHE_DIR=$build/shaders/mesa
# As users compile it: faster, with other interleavings.
go test -count=1 .
# The rest in one way of compiling, which vet and tests share.
export GOEXPERIMENT=cgocheck2
for module in . gnark; do
    (cd "$module" && go vet -race ./... && go test -race -count=1 ./...)
done

# The program of the README, in a module of its own, as it says.
stranger=$(mktemp -d)
trap 'rm -rf "$stranger"' EXIT
ln -s "$(cd ../.. && pwd)" "$stranger/gpuexec"
mkdir "$stranger/example"
block() { sed -n "/^$1\$/,/^\`\`\`\$/p" README.md; }
block 'module example' | grep -v '^`' >"$stranger/example/go.mod"
block 'package main' | grep -v '^`' >"$stranger/example/main.go"
cp gnark/go.sum "$stranger/example/"
said=$(cd "$stranger/example" && go mod tidy && go vet . && go run .)
if [[ $said != "[1,4,9]" ]]; then
    echo "go: the program of the README prints: $said" >&2
    exit 1
fi
