# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# For test.sh and bench.sh; to be sourced in this folder, with the absolute prefix of the library.
# Sets the variables that Go and the programs find it with, and $build; gets what a bare Debian
# lacks: a C compiler and pkg-config from its archive, and a Go that is new enough.

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
if ! GOTOOLCHAIN=local go_works go && [[ ! -x $build/go-$go_version/bin/go ]]; then
    command -v curl >/dev/null || tools+=(curl ca-certificates)
    command -v unzip >/dev/null || tools+=(unzip)
fi
if [[ ${#tools[@]} -gt 0 ]]; then
    echo "go: installing ${tools[*]}"
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${tools[@]}" >/dev/null
fi

# fetch_go: as the go command would, from the module proxy, into $build.
fetch_go() {
    local machine sum proxy name work
    case "$go_version $(uname -m)" in
    "1.26.8 x86_64") machine=amd64 sum=30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7 ;;
    "1.26.8 aarch64") machine=arm64 sum=02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99 ;;
    *)
        echo "go: no checksum of Go $go_version for $(uname -m): install it" >&2
        return 1
        ;;
    esac
    proxy=${GOPROXY:-https://proxy.golang.org}
    proxy=${proxy%%[,|]*}
    name=v0.0.1-go$go_version.linux-$machine
    work=$(mktemp -d "$build/go.XXXXXX")
    if curl -sSfL --retry 3 -o "$work/go.zip" "$proxy/golang.org/toolchain/@v/$name.zip" &&
        echo "$sum  $work/go.zip" | sha256sum --check --quiet >&2 &&
        unzip -q "$work/go.zip" -d "$work" &&
        chmod +x "$work/golang.org/toolchain@$name"/bin/* \
            "$work/golang.org/toolchain@$name/pkg/tool/linux_$machine"/*; then
        # A concurrent run puts the same files there.
        mv -T "$work/golang.org/toolchain@$name" "$build/go-$go_version" 2>/dev/null || true
    fi
    rm -rf "$work"
    [[ -x $build/go-$go_version/bin/go ]]
}

# GOTOOLCHAIN=local: what was looked for is used, and nothing else is downloaded.
export GOTOOLCHAIN=local
if ! go_works go; then
    [[ -x $build/go-$go_version/bin/go ]] || fetch_go
    export PATH=$build/go-$go_version/bin:$PATH
fi
# Sources are not always in a repository that belongs to this user.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false"
# gnark-crypto and gpuexec are where go.mod says, whatever workspace surrounds this.
export GOWORK=off
