#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# make.sh PROGRAM OUT [--quick]: the documents as static pages in OUT/VERSION, beside those of other versions:
# guides and documents of the tree, the reference of the C API from the headers, of the commands from PROGRAM,
# of Python from its sources, and of Rust by cargo. --quick: without Rust. Ends with a check of every link.
# Reaches the network only where cargo has to fetch crates.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
all=$(realpath "$2")
quick=${3:-}
cd "$(dirname "$0")/.."
export GPUEXEC_ROOT=$PWD LC_ALL=C.UTF-8
out=$all/$(sed -n 's/^#define GX_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/gpuexec/core.h | paste -sd .)

if [[ -e $out && ! -e $out/genindex.html ]]; then
    echo "site: $out is there and no site: it is left alone" >&2
    exit 1
fi
if [[ ! -f build/sphinx/stamp ]]; then
    echo "site: Sphinx is not in build/sphinx: run scripts/setup.sh site" >&2
    exit 1
fi
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT

# ---- documents, in the folders that they have in the tree ----

documents() {
    find doc -name '*.md' -o -name '*.svg' -o -name '*.png'
    find bench/results -name '*.md'
    printf '%s\n' CHANGELOG.md CONTRIBUTING.md bench/NOTEBOOK.md bench/peers/README.md bindings/*/README.md
}
documents | tar -cf - -T - | tar -xf - -C "$pages"
cp site/index.md "$pages"
mkdir -p "$pages"/{api,commands,examples}

# ---- references ----

# The headers of the topics, in the order in which gpuexec.h includes them.
headers=$(sed -n 's,^#include "\(gpuexec/.*\)",\1,p' include/gpuexec.h)
# shellcheck disable=SC2086 # one word each
(cd include && awk -v out="$pages/api" -v examples=../man/examples \
    -f ../man/headers.awk -f ../site/rst.awk gpuexec.h $headers)

# title TEXT: a heading of reStructuredText.
title() { printf '%s\n%s\n\n' "$1" "${1//?/=}"; }
indented() { sed 's/^\(.\)/   \1/'; }
{
    title Commands
    "$program" --help | indented | sed '1i ::\n'
    printf '\n.. toctree::\n   :hidden:\n\n'
    "$program" --describe | cut -f 1 | indented
} >"$pages/commands/index.rst"
while IFS=$'\t' read -r command what; do
    {
        title "gpuexec $command"
        printf '%s.\n\n::\n\n' "${what^}"
        "$program" "$command" --help | indented
    } >"$pages/commands/$command.rst"
done < <("$program" --describe)

# Sources of examples; the first comment of each says what it is.
{
    title Examples
    printf 'Complete programs, built and run by the tests.\n\n.. toctree::\n   :maxdepth: 1\n\n'
    find examples -type f -printf '   %f\n' | sort
} >"$pages/examples/index.rst"
for file in examples/*; do
    case $file in
    *.rs) language=rust ;;
    *.cpp) language=cpp ;;
    *.comp) language=glsl ;;
    *.cu) language=cuda ;;
    *.txt) language=cmake ;;
    *) language=c ;;
    esac
    {
        title "${file##*/}"
        printf '.. code-block:: %s\n\n' $language
        indented <"$file"
    } >"$pages/$file.rst"
done

python3 site/python.py bindings/python/src/gpuexec >"$pages/bindings/python/reference.rst"

# rust: the crates' own pages, which Sphinx does not make. Without the library: nothing is linked.
rust() {
    DOCS_RS=1 CARGO_TARGET_DIR=$PWD/build/rust cargo doc --quiet --no-deps --locked \
        --manifest-path bindings/rust/Cargo.toml -p gpuexec -p gpuexec-sys --features arkworks
}
rm -rf build/rust/doc
{
    title "Rust reference"
    if [[ -n $quick ]]; then
        echo "It is not part of this site: run cargo doc --open in bindings/rust."
    elif rust; then
        printf '.. raw:: html\n\n'
        for crate in gpuexec gpuexec_sys; do
            printf '   <p><a href="../../rust/%s/index.html">%s</a></p>\n' $crate "${crate/_/-}"
        done
    else
        echo "site: cargo cannot make the reference of the crates" >&2
        exit 1
    fi
} >"$pages/bindings/rust/reference.rst"

# ---- pages ----

rm -rf "$out"
PYTHONPATH=build/sphinx python3 -m sphinx -q -W --keep-going -j auto -c site "$pages" "$out"
[[ -n $quick ]] || cp -r build/rust/doc "$out/rust"
rm -rf "$out/.doctrees" "$out/.buildinfo" "$out/objects.inv"
site/versions.sh "$all"
python3 tests/site/links.py "$out"
echo "site: $(find "$out" -name '*.html' | wc -l) pages in $out"
