#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh DIR [PEER...]: downloads the peers (all, or those named) into DIR/src by name and version,
# with cargo and go: from the user's mirror or proxy if there is one. They check what they get against
# crates/Cargo.lock, arkworks/Cargo.lock and gnark/go.sum. The one step that needs a network. A peer
# that cannot be had is left out by name.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: fetch.sh DIR [PEER...]}
shift
peers=("$@")
[[ $# -gt 0 ]] || peers=(blst sppark arkworks gnark)
mkdir -p "$dir/src" || exit 1
dir=$(cd "$dir" && pwd)

# vendor: the crates of the Cargo.lock in the folder we are in, in its folder vendor. Prints the
# configuration that makes cargo use them, which it does not with --quiet. It looks at the user's
# mirrors only if it is told to respect them.
vendor() {
    cargo vendor --locked --respect-source-config 2>vendor.log || {
        cat vendor.log >&2
        return 1
    }
}

# crate NAME: the sources of a crate of crates/Cargo.toml, in the folder we are in.
crate() {
    mkdir all &&
        cp "$here"/crates/Cargo.{toml,lock} all/ &&
        (cd all && vendor >/dev/null) &&
        mv "all/vendor/$1"/* . &&
        sed -n "s/^$1 = \"=\(.*\)\"/\1/p" all/Cargo.toml >VERSION &&
        rm -rf all
}

fetch_blst() { crate blst; }

fetch_sppark() { crate sppark; }

fetch_arkworks() {
    mkdir .cargo
    cp -r "$here/arkworks/." . &&
        vendor >.cargo/config.toml &&
        grep -A1 '^name = "ark-ff"' Cargo.lock | sed -n 's/^version = "\(.*\)"/\1/p' >VERSION
}

fetch_gnark() {
    cp -r "$here/gnark/." . &&
        GOFLAGS=-mod=readonly go mod vendor &&
        sed -n 's/.*gnark-crypto v\([^ ]*\).*/\1/p' go.mod >VERSION
}

# needs PEER: the program that fetches it.
needs() {
    case $1 in
        gnark) echo go ;;
        *) echo cargo ;;
    esac
}

fetched=0
for peer in "${peers[@]}"; do
    if ! declare -F "fetch_$peer" >/dev/null; then
        echo "peers: no peer '$peer'; there are: blst sppark arkworks gnark" >&2
        exit 2
    fi
    tool=$(needs "$peer")
    if ! command -v "$tool" >/dev/null; then
        echo "peers: $peer: left out: no $tool here" >&2
        continue
    fi
    rm -rf "$dir/src/$peer"
    mkdir -p "$dir/src/$peer"
    if (cd "$dir/src/$peer" && "fetch_$peer"); then
        echo "peers: $peer $(cat "$dir/src/$peer/VERSION"): fetched"
        fetched=$((fetched + 1))
    else
        rm -rf "$dir/src/$peer"
        echo "peers: $peer: left out: not fetched" >&2
    fi
done
[[ $fetched -gt 0 ]]
