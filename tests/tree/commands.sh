#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# commands.sh PROGRAM FILE...: runs the commands of documents: the blocks that begin with ```sh, in order,
# in one empty folder per document, with PROGRAM on the PATH as gpuexec. A block that is not to be run
# begins with ``` alone. First runs documents of its own, to check that it runs and finds what it should.
set -euo pipefail

# blocks FILE: its ```sh blocks, each as one line: its number and its text in base64
blocks() {
    awk '/^```sh$/ { inside = 1; start = NR + 1; text = ""; next }
         /^```/ { if (inside) { printf "%d\t", start; cmd = "base64 -w0"; printf "%s", text | cmd; close(cmd); print "" }
                  inside = 0; next }
         inside { text = text $0 "\n" }' "$1"
}

# run FILE: 1 if a command fails, or there is none
run() {
    local document=$1 folder start text any=1
    folder=$(mktemp -d "$scratch/XXXXXX")
    while IFS=$'\t' read -r start text; do
        any=0
        if ! (cd "$folder" && base64 -d <<<"$text" | bash -euo pipefail -x) >"$scratch/log" 2>&1 </dev/null; then
            echo "FAIL  $document:$start: a command of this block fails:"
            tail -n 15 "$scratch/log"
            return 1
        fi
    done < <(blocks "$document")
    if [[ $any -ne 0 ]]; then echo "FAIL  $document has no block of commands"; fi
    return "$any"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$(realpath "$1")" "$scratch/bin/gpuexec"
shift
export PATH=$scratch/bin:$PATH GPUEXEC_CACHE_DIR=$scratch/cache

# shellcheck disable=SC2016 # backquotes of documents
prove_it_fails() {
    printf '```sh\necho kept >file\n```\n```\nfalse\n```\n```sh\ngrep kept file\n```\n' >"$scratch/good.md"
    printf '```sh\ntrue\nfalse\ntrue\n```\n' >"$scratch/bad.md"
    printf '```sh\nfalse | true\n```\n' >"$scratch/pipe.md"
    printf '```\ntrue\n```\n' >"$scratch/none.md"
    run "$scratch/good.md" || { echo "a good document fails"; exit 1; }
    for name in bad pipe none; do
        if run "$scratch/$name.md" >/dev/null; then
            echo "FAIL  $name.md should fail"
            exit 1
        fi
    done
}
prove_it_fails

for document; do
    run "$document"
    echo "ok    ${document##*/}: every command runs"
done
