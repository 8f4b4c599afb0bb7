#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch-promtool.sh FILE: puts promtool, which checks what /metrics says, into FILE, from the
# distribution's package prometheus. That is not installed, as it would bring a service that
# starts by itself. Nothing is done where promtool is on the PATH or FILE is there already.
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
# As root apt would become a user of its own, who may not write here.
apt=(apt-get -q -o APT::Sandbox::User=root -o Acquire::Retries=2 -o Acquire::http::Timeout=20)
if ! "${apt[@]}" download prometheus; then
    # What the archive has may not be known here, and finding out in its place needs root.
    mkdir -p lists/partial cache/archives/partial
    apt+=(-o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache")
    "${apt[@]}" update
    "${apt[@]}" download prometheus
fi
dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
mv usr/bin/promtool "$file"
