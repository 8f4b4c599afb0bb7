#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# against_ref.sh PROGRAM DEVICE: one transform and one sum of points on DEVICE, compared with those of the
# reference. For devices on which `verify`, which runs every kind of both, compiles for minutes.
set -euo pipefail
# shellcheck source=/dev/null
. "$(dirname "$0")/helpers.sh"
program=$(realpath "$1") device=$2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

decimals 32 4096 >a.bin
"$program" points --curve bn254-g1 -n 1000 --form xy-mont -o points.bin
for on in ref "$device"; do
    name=${on//:/-}
    "$program" ntt --device "$on" --field bn254-fr --log2 12 -i a.bin -o "ntt.$name"
    head -c 32000 a.bin |
        "$program" msm --device "$on" --curve bn254-g1 --points points.bin --point-form xy-mont --scalars - \
            -o "msm.$name"
done
for what in ntt msm; do
    [[ -s $what.ref ]]
    cmp "$what.ref" "$what.${device//:/-}"
    echo "$what: the same"
done
