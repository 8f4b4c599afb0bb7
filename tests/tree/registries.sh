#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# registries.sh ROOT: no address of a registry of packages stands in the tree, lock files aside, which
# their tools write. Packages are fetched by name, by the client of their registry (cargo, go, pip,
# npm, apt), so that a user's mirrors, proxies and credentials are honoured.
set -euo pipefail

hosts='crates\.io
pypi\.org
pythonhosted\.org
(proxy|sum|index)\.golang\.org
go\.dev/dl
dl\.google\.com
npmjs\.(org|com)
yarnpkg\.com
(jsdelivr|unpkg)\.(com|net)
maven\.(org|apache\.org)
conan\.io
anaconda\.(org|com)
rubygems\.org
nuget\.org
(docker|ghcr|quay|mcr\.microsoft)\.(io|com)
(deb|security|snapshot|packages|archive|ftp[a-z.]*)\.debian\.org
(archive|ports|security|packages)\.ubuntu\.com
(repo|mirror)\.msys2\.org'

# Text of the tree, without what is built. The expressions themselves are no addresses.
found() {
    grep -rIinE --exclude-dir={build,.git} --exclude={Cargo.lock,go.sum} \
        "(^|[^[:alnum:]-])(${hosts//$'\n'/|})($|[^[:alnum:]])" "$1" || true
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# With @ for a dot. Names of modules and other links are no registries.
tr @ . >"$scratch/bad" <<'END'
curl https://static@crates@io/crates/blst
registry+sparse+https://index@crates@io/
# a crate of crates@io
--index-url=https://pypi@org/simple
${GOPROXY:-https://proxy@golang@org}
deb http://deb@debian@org/debian bookworm main
FROM docker@io/library/debian:12
END
cp "$scratch/bad" "$scratch/Cargo.lock"
printf '%s\n' 'golang.org/x/sys v0.48.0' 'golang.org/toolchain@v0.0.1' https://semver.org >"$scratch/good"
if [[ $(found "$scratch" | grep -c .) -ne $(wc -l <"$scratch/bad") ]]; then
    echo "FAIL  the check misreads an example:"
    found "$scratch"
    exit 1
fi
offences=$(found "$1")
if [[ -n $offences ]]; then
    echo "$offences"
    echo "FAIL  fetch packages by name, with the client of their registry"
    exit 1
fi
echo "ok    no address of a registry"
