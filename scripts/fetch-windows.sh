#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch-windows.sh FOLDER: what the windows leg needs and Debian has no packages of, in FOLDER:
#
#   include, lib   jansson, cmocka, libmicrohttpd and mini-gmp for Windows, cross-built from Debian's
#                  source packages; the Vulkan headers of this machine
#   dx12           DLLs for the DX12 backend under Wine 8, whose own computes wrongly: d3d12 and what
#                  belongs to it of a later Wine, and Microsoft's shader compiler. Tests only: the
#                  latter must not be shipped.
#
# apt checks the signatures of what it downloads. Does nothing if FOLDER has it all.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

if [[ $# -ne 1 ]]; then
    echo "usage: fetch-windows.sh FOLDER" >&2
    exit 2
fi
folder=$(realpath -m "$1")
stamp=$(cat scripts/fetch-windows.sh tests/support/mini/gmp.h | sha256sum)
if [[ -f $folder/stamp && $(<"$folder/stamp") == "$stamp" ]]; then exit 0; fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
new=$work/new
mkdir -p "$new"/{include,lib,dx12} "$work"/{lists/partial,cache/archives/partial}
cd "$work"

# ---- downloads ----

# From the archive that this machine is configured with, which has the later Debian too.
# shellcheck source=/dev/null
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
# shellcheck disable=SC2016 # the names are apt's
archive=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' "Created-By: Packages" |
    awk -v suite="$suite" '$1 == suite && $2 == "main" { print $3; exit }')
if [[ -z $archive ]]; then
    echo "fetch-windows: apt has no archive of '$suite' configured" >&2
    exit 1
fi
keys=/usr/share/keyrings/debian-archive-keyring.gpg
cat >sources.list <<END
deb-src [signed-by=$keys] $archive $suite main
deb [signed-by=$keys arch=amd64] $archive trixie main
END
apt=(apt-get -q -o APT::Sandbox::User=root -o Acquire::Retries=2 -o Acquire::http::Timeout=20
    -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o Acquire::Languages=none
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
"${apt[@]}" update
"${apt[@]}" source --download-only jansson cmocka gmp libmicrohttpd
"${apt[@]}" download libwine:amd64
# The package of another project that contains Microsoft's file.
python3 -m pip --disable-pip-version-check --quiet download kivy_deps.angle==0.5.0 --no-deps \
    --only-binary=:all: --platform win_amd64 --python-version 312 --dest "$work"
sha256sum --check --quiet >&2 <<END
663245a2063c760a1d82f5f0878ef3ed4a63b70a002c6144d62ff54dfd561d2d  kivy_deps_angle-0.5.0-cp312-cp312-win_amd64.whl
END

# ---- libraries ----

for archive in ./*.orig.tar.*; do
    [[ $archive == *.asc ]] || tar -xf "$archive"
done
compiler=x86_64-w64-mingw32-gcc-posix
install_with_cmake() { # FOLDER OPTION...
    local source=$1
    shift
    cmake -S "$source" -B "$source.build" -G Ninja -DCMAKE_SYSTEM_NAME=Windows "-DCMAKE_C_COMPILER=$compiler" \
        -DCMAKE_BUILD_TYPE=Release "-DCMAKE_INSTALL_PREFIX=$new" "$@"
    cmake --build "$source.build" --target install
}
install_with_cmake jansson-*[0-9] -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON
install_with_cmake cmocka-*[0-9] -DCMAKE_C_FLAGS=-D__USE_MINGW_ANSI_STDIO=1 -DWITH_STATIC_LIB=ON -DWITH_EXAMPLES=OFF
mv "$new/lib/libcmocka-static.a" "$new/lib/libcmocka.a"
rm -f "$new"/lib/libcmocka.dll.a "$new"/bin/cmocka.dll
sed -i s/__printf__/__gnu_printf__/ "$new/include/cmocka.h"

mkdir microhttpd.build
(
    cd microhttpd.build
    source=(../libmicrohttpd-*[0-9])
    "${source[0]}/configure" --host=x86_64-w64-mingw32 "CC=$compiler" "--prefix=$new" \
        --disable-shared --enable-static --disable-https --disable-doc --disable-examples --disable-curl \
        --disable-bauth --disable-dauth --disable-postprocessor
    make -j2 install
)

cp gmp-*/mini-gmp/mini-gmp.h "$root/tests/support/mini/gmp.h" "$new/include"
(
    cd gmp-*/mini-gmp
    printf '#include <assert.h>\n#include <ctype.h>\n#include <float.h>\n#include <stdlib.h>\n#include <string.h>\n%s\n%s\n' \
        '#include "gmp.h"' $'#define long long long\n#include "mini-gmp.c"' >gmp.c
    "$compiler" -O2 -I"$new/include" -c gmp.c
    x86_64-w64-mingw32-ar rcs "$new/lib/libgmp.a" gmp.o
)
cp -r /usr/include/vulkan /usr/include/vk_video /usr/include/volk.[ch] "$new/include"

# ---- DX12 ----

dpkg-deb --fsys-tarfile libwine_*.deb | tar -x --wildcards --strip-components=6 -C "$new/dx12" \
    './usr/lib/x86_64-linux-gnu/wine/x86_64-windows/d3d12.dll' \
    './usr/lib/x86_64-linux-gnu/wine/x86_64-windows/d3d12core.dll' \
    './usr/lib/x86_64-linux-gnu/wine/x86_64-windows/dxgi.dll' \
    './usr/lib/x86_64-linux-gnu/wine/x86_64-windows/wined3d.dll' \
    './usr/lib/x86_64-linux-gnu/wine/x86_64-windows/bcryptprimitives.dll'
python3 - "$new/dx12" <<'END'
import pathlib, sys, zipfile

to = pathlib.Path(sys.argv[1])
# Wine takes a DLL with this mark for its own, and looks for its Unix half.
for dll in to.glob("*.dll"):
    data = bytearray(dll.read_bytes())
    if data[0x40:0x50] == b"Wine builtin DLL":
        data[0x40:0x50] = bytes(16)
    dll.write_bytes(data)
with zipfile.ZipFile(next(pathlib.Path(".").glob("kivy_deps_angle-*.whl"))) as wheel:
    name = next(n for n in wheel.namelist() if n.lower().endswith("d3dcompiler_47.dll"))
    (to / "d3dcompiler_47.dll").write_bytes(wheel.read(name))
END
rm -rf "${new:?}"/{share,cmake,bin}

echo "$stamp" >"$new/stamp"
rm -rf "$folder"
mv -T "$new" "$folder" 2>/dev/null || [[ -f $folder/stamp ]]
