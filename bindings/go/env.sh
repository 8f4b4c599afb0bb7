# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# For test.sh and bench.sh; to be sourced in this folder, with the absolute prefix of the library.
# Sets the variables that Go and the programs find it with, and $build; gets what a bare Debian
# lacks: a C compiler, pkg-config and Go from its archive, and by that a Go that is new enough.

if [[ -z ${1:-} || ! -d $1 ]]; then
    echo "usage: $0 PREFIX, where gpuexec is installed" >&2
    exit 2
fi
prefix=$1
build=$(cd ../.. && pwd)/build
mkdir -p "$build"

pc=$(find "$prefix" -name gpuexec.pc -print -quit)
lib=$(find "$prefix" -name 'libgpuexec.so' -print -quit)
if [[ -z $pc || -z $lib ]]; then
    echo "go: $prefix has no shared gpuexec with its gpuexec.pc" >&2
    exit 1
fi
export PKG_CONFIG_PATH=${pc%/*}${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export LD_LIBRARY_PATH=${lib%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export CGO_ENABLED=1

# The Go that gnark/go.mod asks for.
go_version=$(awk '$1 == "go" { print $2 }' gnark/go.mod)
go_works() {
    local have
    have=$("$1" env GOVERSION 2>/dev/null) || return 1
    [[ $(printf '%s\n' "$go_version" "${have#go}" | sort -V | head -n 1) == "$go_version" ]]
}

tools=()
command -v gcc >/dev/null || tools+=(gcc libc6-dev)
command -v pkg-config >/dev/null || tools+=(pkg-config)
command -v go >/dev/null || tools+=(golang-go ca-certificates)
if [[ ${#tools[@]} -gt 0 ]]; then
    echo "go: installing ${tools[*]}"
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${tools[@]}" >/dev/null
fi

# fetch_go: the Go that is new enough, by the one that is here, however old: it is a module, which
# the user's proxy or mirror may have, and which the go command compares with the checksum database.
# The sums here, as in go.sum, hold also where that is switched off. Prints its folder, in the module
# cache; files there are not executable before they are made so, as the go command itself does.
fetch_go() {
    local machine sum module found dir
    case "$go_version $(uname -m)" in
    "1.26.8 x86_64") machine=amd64 sum=h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM= ;;
    "1.26.8 aarch64") machine=arm64 sum=h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc= ;;
    *)
        echo "go: no checksum of Go $go_version for $(uname -m): install it" >&2
        return 1
        ;;
    esac
    module=golang.org/toolchain@v0.0.1-go$go_version.linux-$machine
    # Not here, where go.mod is too new for it.
    found=$(cd / && GOWORK=off go mod download -json "$module") || {
        echo "go: no $module: $found" >&2
        return 1
    }
    if [[ $(member Sum "$found") != "$sum" ]]; then
        echo "go: $module has the checksum $(member Sum "$found"), not $sum" >&2
        return 1
    fi
    dir=$(member Dir "$found")
    chmod +x "$dir"/bin/* "$dir/pkg/tool/linux_$machine"/* && echo "$dir"
}

# member NAME JSON: the text of that name, which has a line of its own.
member() { sed -n "s/^[[:space:]]*\"$1\": \"\(.*\)\",*\$/\1/p" <<<"$2"; }

# GOTOOLCHAIN=local: what was looked for is used, and nothing else is downloaded.
export GOTOOLCHAIN=local
if ! go_works go; then
    go_root=$(fetch_go)
    export PATH=$go_root/bin:$PATH
fi
# Sources are not always in a repository that belongs to this user.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false"
# gnark-crypto and gpuexec are where go.mod says, whatever workspace surrounds this.
export GOWORK=off
