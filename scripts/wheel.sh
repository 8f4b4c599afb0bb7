# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# For scripts that take files from a wheel of the Python package index; to be sourced.

# fetch_wheel WHO LIST PACKAGE VERSION MACHINE FOLDER: puts what the Python program on standard input
# takes from the wheel (arguments: the wheel, a folder to make) into FOLDER. LIST names the wheel of each
# MACHINE and its checksum; pip downloads it from the package index configured on this machine, and a
# wheel with another checksum is rejected. Does nothing if FOLDER has it already.
fetch_wheel() {
    local who=$1 list=$2 package=$3 version=$4 machine=$5 folder=$6 platform sum stamp wheel
    read -r platform sum <<<"$(awk -v machine="$machine" '$1 == "platform" && $2 == machine { print $3, $4 }' "$list")"
    if [[ -z $sum ]]; then
        echo "$who: there is no wheel for $machine: see $list" >&2
        exit 1
    fi
    stamp="$version $platform $sum"
    if [[ -f $folder/stamp && $(<"$folder/stamp") == "$stamp" ]]; then exit 0; fi

    mkdir -p "$(dirname "$folder")"
    work=$(mktemp -d "$folder.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    python3 -m pip --disable-pip-version-check --quiet download "$package==$version" --no-deps \
        --only-binary=:all: --platform "$platform" --dest "$work" </dev/null
    wheel=("$work"/*.whl)
    if ! echo "$sum  ${wheel[0]}" | sha256sum --check --quiet >&2; then
        echo "$who: ${wheel[0]##*/} is not the file that cmake/${list##*/} names" >&2
        exit 1
    fi
    python3 - "${wheel[0]}" "$work/new"
    echo "$stamp" >"$work/new/stamp"
    # A concurrent run puts the same files there.
    rm -rf "$folder"
    mv -T "$work/new" "$folder" 2>/dev/null || [[ -f $folder/stamp ]]
}
