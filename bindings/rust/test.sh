#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test.sh PREFIX: tests the Rust crates against the library installed in PREFIX. Everything is built
# below build/rust of the tree. What is missing on Debian 12 is installed, if this is root.
#
# test.sh --bindings: writes gpuexec-sys/src/bindings.rs anew, after a change of the headers.
set -euo pipefail
if [[ $# -ne 1 || ( $1 != --bindings && ! -d $1 ) ]]; then
    echo "usage: test.sh PREFIX | test.sh --bindings" >&2
    exit 2
fi
if [[ $1 != --bindings ]]; then
    GPUEXEC_PREFIX=$(cd "$1" && pwd)
    export GPUEXEC_PREFIX
fi
cd "$(dirname "$0")"
tree=$(cd ../.. && pwd)

say() { echo "-- rust: $*"; }

install() { # PACKAGE...
    if [[ $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
        say "installing $*"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
        hash -r
    fi
}

need() { # COMMAND PACKAGE...
    command -v "$1" >/dev/null || install "${@:2}"
    command -v "$1" >/dev/null || { say "$1 is missing: install ${*:2}"; exit 1; }
}

# Whether the cargo on the PATH can build the crates.
new_enough() {
    command -v cargo >/dev/null &&
        printf '%s\n' 1.85.0 "$(cargo --version | cut -d' ' -f2)" | sort -C -V
}

need cc gcc libc6-dev
need pkg-config pkg-config
new_enough || install rustc-web cargo-web
new_enough || { say "cargo 1.85 or newer is needed"; exit 1; }

export CARGO_TARGET_DIR=$tree/build/rust RUST_BACKTRACE=0
# Kernels that Mesa has compiled are shared with the tests of the library (tests/CMakeLists.txt).
export GALLIVM_PERF=nopt MESA_SHADER_CACHE_DIR=$tree/build/shaders/mesa
jobs=${JOBS:-2}

# ---- declarations ----

# What they are made from, and they: as long as these are as they were, there is nothing to make.
sums=gpuexec-sys/bindings.sha256
bindgen() {
    compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null || need clang clang
    cargo run -q -j "$jobs" --locked -p gpuexec-bindgen -- "$tree/include/gpuexec.h"
}
if [[ $1 == --bindings ]]; then
    bindgen >gpuexec-sys/src/bindings.rs.new
    mv gpuexec-sys/src/bindings.rs.new gpuexec-sys/src/bindings.rs
    sha256sum ../../include/gpuexec.h ../../include/gpuexec/*.h bindgen/src/main.rs gpuexec-sys/src/bindings.rs >"$sums"
    exit
fi

say "declarations"
mkdir -p "$CARGO_TARGET_DIR"
if ! sha256sum --status --check "$sums"; then
    bindgen >"$CARGO_TARGET_DIR/bindings.rs"
    if ! diff -u gpuexec-sys/src/bindings.rs "$CARGO_TARGET_DIR/bindings.rs"; then
        say "the headers have changed: run bindings/rust/test.sh --bindings, and commit the result"
        exit 1
    fi
    say "they have not changed, but $sums has: bindings/rust/test.sh --bindings saves this step"
fi

# ---- tests, with arkworks as the oracle ----

if cargo fmt --version >/dev/null 2>&1; then
    say "format"
    cargo fmt --all --check
else
    say "format: SKIPPED, there is no rustfmt"
fi
# Clippy looks at the crates while they are compiled for the tests: on its own, it would compile all
# of arkworks again.
# The library is found where it is installed, which gpuexec-sys sees to.
unset LD_LIBRARY_PATH
export RUSTFLAGS="-D warnings"
if clippy-driver --version >/dev/null 2>&1; then
    say "tests and clippy"
    export RUSTC_WORKSPACE_WRAPPER=clippy-driver
else
    say "tests; clippy: SKIPPED, it is not installed"
fi
crates=(-q -j "$jobs" --locked -p gpuexec-sys -p gpuexec --features arkworks)
cargo test "${crates[@]}" --lib --tests --examples
# Examples that must not compile say with which error. rustdoc looks at that only with this variable,
# which it alone must see: with it, cargo would build everything again.
say "documentation"
printf '#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n' >"$CARGO_TARGET_DIR/rustdoc"
chmod +x "$CARGO_TARGET_DIR/rustdoc"
RUSTDOC=$CARGO_TARGET_DIR/rustdoc cargo test "${crates[@]}" --doc
for example in product future arkworks; do
    say "example $example"
    cargo run -q --locked -p gpuexec --features arkworks --example "$example" \
        >"$CARGO_TARGET_DIR/$example.txt"
done

# A crate of somebody else, with nothing set but where the library is. Its program is the first example
# of the crate's page.
say "a crate that depends on it"
stranger=$(mktemp -d)
trap 'rm -rf "$stranger"' EXIT
mkdir "$stranger/src"
printf '[package]\nname = "stranger"\nedition = "2021"\n[workspace]\n[dependencies]\ngpuexec = { path = "%s" }\n' \
    "$PWD/gpuexec" >"$stranger/Cargo.toml"
# shellcheck disable=SC2016 # the fences of Markdown
sed -n '/^\/\/! ```rust$/,/^\/\/! ```$/ { /```/d; s,^//! \{0\,1\},,; p }; /^\/\/! ```$/q' gpuexec/src/lib.rs \
    >"$stranger/src/main.rs"
grep -q 'fn main' "$stranger/src/main.rs"
(cd "$stranger" && cargo run -q -j "$jobs" --offline)

# ---- AddressSanitizer ----

# Without arkworks: what is looked for are mistakes with memory and tickets. Some tests leak on
# purpose. rustc's own runtime is used, or clang's where a distribution leaves it out.
say "AddressSanitizer"
host=$(rustc -vV | sed -n 's/^host: //p')
flags="-Zsanitizer=address"
if ! compgen -G "$(rustc --print sysroot)/lib/rustlib/$host/lib/*rt.asan.a" >/dev/null; then
    need clang clang libclang-rt-14-dev
    flags+=" -Zexternal-clangrt -Clinker=clang -Clink-arg=-fsanitize=address"
fi
unset RUSTC_WORKSPACE_WRAPPER
RUSTC_BOOTSTRAP=1 RUSTFLAGS=$flags CARGO_TARGET_DIR=$CARGO_TARGET_DIR/asan \
    ASAN_OPTIONS=detect_leaks=0 \
    cargo test -q -j "$jobs" --locked --target "$host" -p gpuexec --test api --test tickets
say "ok"
