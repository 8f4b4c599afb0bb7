#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh DIR [PEER...]: downloads the peers (all, or those named) into DIR/src at the versions
# pinned here, in arkworks/Cargo.lock and in gnark/go.mod, and checks them against the checksums
# beside. The one step that needs a network. A peer that cannot be had is left out by name.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: fetch.sh DIR [PEER...]}
shift
peers=("$@")
[[ $# -gt 0 ]] || peers=(blst sppark arkworks gnark)
mkdir -p "$dir/src" || exit 1
dir=$(cd "$dir" && pwd)

# crate NAME VERSION SHA256: the sources of a crate of crates.io, in the folder we are in.
crate() {
    local file=$1-$2.crate
    curl -sSfL --retry 3 -o "$file" "https://static.crates.io/crates/$1/$file" &&
        echo "$3  $file" | sha256sum --check --quiet &&
        tar xzf "$file" --strip-components=1 &&
        rm "$file" &&
        echo "$2" >VERSION
}

fetch_blst() {
    crate blst 0.3.17 c20659f9bbee16cbbd2f7393e40ab6309f5a98f76a2eb57a995ec508b72387fe
}

fetch_sppark() {
    crate sppark 0.1.16 b31329773eb3ccd829ea7b50434e510cbeebd7c2ef7dfbfce8bc96e151add377
}

fetch_arkworks() {
    mkdir .cargo
    cp -r "$here/arkworks/." . &&
        cargo vendor --locked --quiet >.cargo/config.toml &&
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
        arkworks) echo cargo ;;
        gnark) echo go ;;
        *) echo curl ;;
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
