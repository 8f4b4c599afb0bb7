#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# setup.sh run|check|site|test: installs the packages of packages.txt that this machine lacks, and, but for
# check, downloads wgpu-native to build/, for the site Sphinx, and for the tests these, ptxas and Conan, so
# that the build itself needs no network.
# Fast and silent if nothing is missing. If it may not install, exits with 1 and prints the command to
# run.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
run) groups="build run" ;;
check) groups="build check" ;;
site) groups="build run site" ;;
test) groups="build run check site test" ;;
*)
    echo "usage: scripts/setup.sh run|check|site|test" >&2
    exit 2
    ;;
esac

# Without it the WebGPU device is left out, which the tests do not accept.
fetch_wgpu() {
    local machine machines=("$(uname -m)")
    [[ " $groups " == *" run "* ]] || return 0
    if [[ $groups == *test* && ${machines[0]} == x86_64 ]]; then machines+=(aarch64); fi
    if [[ $groups == *windows* ]]; then machines+=(windows-x86_64); fi
    for machine in "${machines[@]}"; do
        scripts/fetch-wgpu.sh "build/wgpu-$machine" "$machine" ||
            echo "setup: wgpu-native for $machine could not be had: no WebGPU device" >&2
    done
}

# Without it the test that assembles the CUDA kernels fails.
fetch_ptxas() {
    if [[ $groups == *test* && $(uname -m) == x86_64 ]]; then
        scripts/fetch-ptxas.sh build/ptxas || echo "setup: ptxas could not be had" >&2
    fi
}

# Programs in Python. Without them the tests that make Conan packages and the site fail.
fetch_wheels() {
    if [[ $groups == *site* ]]; then
        scripts/fetch-wheels.sh site/wheels.txt build/sphinx || echo "setup: Sphinx could not be had" >&2
    fi
    if [[ $groups == *test* ]]; then
        scripts/fetch-wheels.sh cmake/conan-wheels.txt build/conan || echo "setup: Conan could not be had" >&2
    fi
}

fetch() {
    fetch_wgpu
    fetch_ptxas
    fetch_wheels
}

if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian or Ubuntu system: install by hand what packages.txt lists" >&2
    fetch
    exit 0
fi
# shellcheck source=/dev/null
distribution=$(. /etc/os-release && echo "${ID:-unknown}")
machine=$(dpkg --print-architecture)

# The arm64 libraries, only if the configured archive has them (packages.txt).
foreign=$(dpkg --print-foreign-architectures | tr '\n' ' ')
if [[ $groups == *test* && $machine == amd64 ]] &&
    [[ $distribution == debian || " $foreign" == *" arm64 "* ]]; then
    groups+=" arm64"
fi

# Wine, with what scripts/fetch-windows.sh takes from Debian.
if [[ $groups == *test* && $distribution == debian && $machine == amd64 ]]; then
    groups+=" windows"
fi

# Ubuntu ships its browser as a snap, which this script does not install.
if [[ $groups == *test* && $distribution == debian ]]; then
    groups+=" browser"
fi

# The entries of the groups, one per line: a|b|c
wanted=$(awk -v groups=" $groups " '!/^#/ && NF >= 2 && index(groups, " " $1 " ") { print $2 }' packages.txt)
if [[ $machine != amd64 ]]; then # the cross compiler is for machines that are not ARM
    wanted=$(grep -v 'aarch64\|arm64\|qemu' <<<"$wanted")
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Package}:${Architecture}\n' |
    awk '$1 == "installed" { print $2; print $3 }')

is_there() { # a|b|c
    local one
    for one in ${1//|/ }; do
        if [[ $one == cmd:* ]]; then
            command -v "${one#cmd:}" >/dev/null && return 0
        elif grep -qxF -- "$one" <<<"$installed"; then
            return 0
        fi
    done
    return 1
}

missing=()
for entry in $wanted; do
    is_there "$entry" || missing+=("$entry")
done
if [[ ${#missing[@]} -eq 0 ]]; then
    fetch
    exit 0
fi

add_arm64=false
if [[ " ${missing[*]}" == *:arm64* && " $foreign" != *" arm64 "* ]]; then
    add_arm64=true
fi

# Root needs no prefix; others need sudo, if available.
as_root=()
if [[ $(id -u) -ne 0 ]]; then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 && -t 2 ]]; }; then
        as_root=(sudo)
    else
        # Which alternative the archive has is only known after the update.
        names=()
        for entry in "${missing[@]}"; do
            entry=${entry#cmd:*|}
            names+=("${entry%%|*}")
        done
        {
            echo "setup: packages are missing, and installing them needs root. Type:"
            echo
            if $add_arm64; then echo "  sudo dpkg --add-architecture arm64"; fi
            echo "  sudo apt-get update && sudo apt-get install --no-install-recommends ${names[*]}"
            echo
        } >&2
        exit 1
    fi
fi

# Shows what apt-get does on one line of a terminal, and all of it only if it fails.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { # ARGUMENT...
    local line status
    set +e
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" 2>&1 | tee "$log" |
        while IFS= read -r line; do
            if [[ -t 2 ]]; then printf '\r\033[Ksetup: %.70s' "$line" >&2; fi
        done
    status=${PIPESTATUS[0]}
    set -e
    if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
    if [[ $status -ne 0 ]]; then cat "$log" >&2; fi
    return "$status"
}

echo "setup: installing ${missing[*]}" >&2
if $add_arm64; then "${as_root[@]}" dpkg --add-architecture arm64; fi
# A broken third-party source is not a reason to stop: the install will tell.
apt update || echo "setup: apt-get update had errors; going on" >&2

# The first alternative that can be installed; if none can, its own name, so that apt-get reports
# the problem.
choose() {
    local one first=
    for one in ${1//|/ }; do
        [[ $one == cmd:* ]] && continue
        first=${first:-$one}
        if apt-cache policy "$one" | grep -q '^  Candidate: [^(]'; then
            echo "$one"
            return
        fi
    done
    echo "$first"
}
names=()
for entry in "${missing[@]}"; do
    names+=("$(choose "$entry")")
done
apt install -y --no-install-recommends "${names[@]}"
fetch
