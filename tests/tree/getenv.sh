#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# getenv.sh ROOT: the library reads the environment in one place only (base/env.c, by base/os.h), which honours
# gx_config.ignore_environment and privileged processes.
set -euo pipefail

found() {
    find "$1/src" -name '*.[ch]' ! -path '*/base/env.c' ! -path '*/base/os_*.c' -print0 |
        xargs -0 -r grep -nwE '(secure_)?getenv|environ' | grep -vE '^[^:]*:[0-9]+: *(/\*|\*)' || true
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/src/base"
echo 'x = getenv("HOME");' | tee "$scratch/src/bad.c" >"$scratch/src/base/env.c"
if [[ $(found "$scratch" | grep -c .) -ne 1 ]]; then
    echo "FAIL  a call made on purpose is not found"
    exit 1
fi
offences=$(found "$1")
if [[ -n $offences ]]; then
    echo "$offences"
    echo "FAIL  use gx__env (base/env.h)"
    exit 1
fi
echo "ok    the environment is read in one place"
