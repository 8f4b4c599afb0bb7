# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the case scripts use. Read by bash before each of them.

# try ARGS...: runs the program and says how it ended
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
