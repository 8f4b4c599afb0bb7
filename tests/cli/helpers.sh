# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the case scripts use. Read by bash before each of them.

# try ARGS...: runs the program and prints its exit code
try() {
    "$GPUEXEC" "$@"
    echo "exit $?"
}

# unhex HEX...: bytes
unhex() {
    local word
    for word; do
        printf '%b' "$(printf '%s' "$word" | sed 's/../\\x&/g')"
    done
}

# tohex FILE BYTES: one line of hexadecimal per BYTES bytes
tohex() {
    od -An -v -tx1 -w"$2" "$1" | tr -d ' '
}

# decimals BYTES COUNT: COUNT different elements of BYTES bytes: decimal digits and a
# newline, whose value, 10, in the highest byte keeps them below every modulus
decimals() {
    seq -f "%0$(($1 - 1)).0f" 1 "$2"
}

# known --field|--op: the names that the program takes
known() {
    "$GPUEXEC" verify "$1" none 2>&1 | sed -n 's/.*choose from //p'
}

# inputs: creates a.bin, a file of elements, p.bin, one of points, and s.csv, a scan, for `every`
inputs() {
    decimals 32 4 >a.bin
    "$GPUEXEC" points --curve bn254-g1 -n 4 --form xy-mont -o p.bin
    "$GPUEXEC" scan --sizes 64 --op add --field u32 --device cpu --samples 3 -o s.csv >/dev/null 2>&1
}

# every FILE: each command that writes a file, with -o FILE; prints how it ended and what FILE is
every() {
    local what
    for what in 'run --op neg --field bn254-fr -a a.bin' 'ntt --field bn254-fr --log2 2 -i a.bin' \
        'points --curve bn254-g1 -n 4 --form xy-mont' 'msm --curve bn254-g1 --points p.bin --point-form xy-mont --scalars a.bin' 'compare s.csv' 'platforms s.csv' 'report s.csv' \
        'scan --sizes 64 --op add --field u32 --device cpu --samples 3'; do
        # shellcheck disable=SC2086
        "$GPUEXEC" $what -o "$1" >/dev/null
        echo "${what%% *} exit $?, $(stat -c %F "$1" 2>&1 | sed 's/.*: //')"
    done
}
