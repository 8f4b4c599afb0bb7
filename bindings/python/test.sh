#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test.sh PREFIX: builds the wheel with the gpuexec that is installed in PREFIX, installs it into a
# virtual environment in build/python, and runs ruff, mypy and pytest there. Needs Python 3.11 or
# later and a C compiler; Debian's are installed where they are missing and it may.
set -euo pipefail
if [[ $# -ne 1 ]]; then
    echo "usage: test.sh PREFIX" >&2
    exit 2
fi
GPUEXEC_PREFIX=$(cd "$1" && pwd)
export GPUEXEC_PREFIX
GPUEXEC_TREE=$(cd "$(dirname "$0")/../.." && pwd)
export GPUEXEC_TREE
cd "$(dirname "$0")"
root=$GPUEXEC_TREE
build=$root/build/python

missing=()
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3 python3-venv)
command -v cc >/dev/null || missing+=(gcc libc6-dev)
if [[ ${#missing[@]} -gt 0 ]]; then
    if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
        echo "test.sh: install ${missing[*]} first" >&2
        exit 1
    fi
    { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >/dev/null
fi

# The environment is made again when its contents or its Python change. Little of it is imported, so
# Python compiles it then.
mkdir -p "$build"
stamp="$(python3 -c 'import sys; print(sys.executable, sys.version)') $(sha256sum <requirements.txt)"
if [[ $(cat "$build/venv/stamp" 2>/dev/null) != "$stamp" ]]; then
    rm -rf "$build/venv"
    python3 -m venv "$build/venv"
    "$build/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
        --no-compile --only-binary :all: -r requirements.txt
    echo "$stamp" >"$build/venv/stamp"
fi
python=$build/venv/bin/python

# From a copy, so that nothing is built in the source tree.
rm -rf "$build/source" "$build/wheel"
cp -r . "$build/source"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
    --wheel-dir "$build/wheel" "$build/source"
diff -rq -x __pycache__ . "$build/source" # it has left nothing in the sources
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall \
    "$build"/wheel/gpuexec-*.whl
echo "-- python: $(basename "$build"/wheel/gpuexec-*.whl)"

cd "$build/source"
rm -rf src # what is tested is what is installed
(cd "$root/bindings/python" && "$python" -m ruff check --quiet --no-cache . &&
    "$python" -m ruff format --quiet --check --no-cache .)
"$python" -m mypy --cache-dir "$build/mypy" -p gpuexec
MYPYPATH=tests "$python" -m mypy --cache-dir "$build/mypy" tests examples/*.py bench.py
# Kernels that Mesa has compiled are shared with the tests of the library (tests/CMakeLists.txt); examples
# have no other cache.
export XDG_CACHE_HOME=$build/cache GALLIVM_PERF=nopt MESA_SHADER_CACHE_DIR=$root/build/shaders/mesa
"$python" -m pytest tests
