#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch-promtool.sh FILE: extracts promtool, which checks /metrics, from the distribution's package
# prometheus to FILE. The package is not installed, because it would start a service. Does nothing
# if promtool is on the PATH or FILE exists.
set -euo pipefail

if [[ $# -ne 1 ]]; then
    echo "usage: fetch-promtool.sh FILE" >&2
    exit 2
fi
file=$(realpath -m "$1")
if [[ -x $file ]] || command -v promtool >/dev/null; then exit 0; fi

mkdir -p "$(dirname "$file")"
work=$(mktemp -d "$file.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
# As root, apt would switch to its own user, who may not write here.
apt=(apt-get -q -o APT::Sandbox::User=root -o Acquire::Retries=2 -o Acquire::http::Timeout=20)
if ! "${apt[@]}" download prometheus; then
    # The package lists may be missing here, and updating them in place needs root.
    mkdir -p lists/partial cache/archives/partial
    apt+=(-o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache")
    "${apt[@]}" update
    "${apt[@]}" download prometheus
fi
dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
mv usr/bin/promtool "$file"
