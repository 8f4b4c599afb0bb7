#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# versions.sh SITE: what is beside the folders of versions in SITE, each of which has the pages of one
# (make.sh): a link `latest`, a page that leads there, and the script with which the pages of each list them
# all, those that are older than others too. To publish another version, copy its folder here and run this.
set -euo pipefail
cd "$1"
versions=()
for page in */genindex.html; do
    if [[ ! -L ${page%%/*} ]]; then versions+=("${page%%/*}"); fi
done
mapfile -t versions < <(printf '%s\n' "${versions[@]}" | sort -rV)
ln -sfn "${versions[0]}" latest
cat >index.html <<'END'
<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=latest/index.html">
<title>gpuexec</title>
<p><a href="latest/index.html">gpuexec</a></p>
END
{
    echo "const versions = [$(printf '"%s",' "${versions[@]}")];"
    cat <<'END'
// Links to the other versions, behind the one of this page; nothing if there is no other.
{
    const script = document.currentScript;
    const shown = script.previousElementSibling;
    const here = shown.textContent.trim().split(" ")[1];
    for (const version of versions.filter(v => v !== here)) {
        const link = document.createElement("a");
        link.textContent = version;
        link.href = new URL(`${version}/index.html`, script.src);
        shown.append(" \u00b7 ", link);
    }
}
END
} >versions.js
