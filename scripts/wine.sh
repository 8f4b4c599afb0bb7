#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# wine.sh PROGRAM [ARGUMENT...]: runs a Windows program under Wine, with a prefix of its own in
# build/wine, which has what DX12 needs (scripts/fetch-windows.sh). Vulkan under Wine needs a display;
# scripts/test.sh starts one. DX12 is there only with GX_WINE_DX12=1: Wine calls its software device a
# GPU of NVIDIA, which would be chosen automatically, and opening it takes seconds.
set -euo pipefail
root=$(dirname "$(dirname "$(realpath "$0")")")

export WINEPREFIX=$root/build/wine WINEDEBUG=${WINEDEBUG:--all}
export LC_ALL=C.UTF-8 # the names of files
export WINEDLLOVERRIDES="mscoree,mshtml,winemenubuilder.exe=;bcryptprimitives=n"
if [[ ${GX_WINE_DX12:-0} == 1 ]]; then
    WINEDLLOVERRIDES+=";d3d12,d3d12core,dxgi,wined3d,d3dcompiler_47=n"
else
    WINEDLLOVERRIDES+=";d3d12="
fi
if [[ ! -e $WINEPREFIX/ready ]]; then
    (
        flock 9
        [[ ! -e $WINEPREFIX/ready ]] || exit 0
        rm -rf "$WINEPREFIX"
        WINEDLLOVERRIDES="mscoree,mshtml,winemenubuilder.exe=" wine wineboot -i >/dev/null 2>&1
        wineserver -w
        cp -f "$root"/build/windows-libraries/dx12/*.dll "$WINEPREFIX/drive_c/windows/system32/"
        touch "$WINEPREFIX/ready"
    ) 9>"$root/build/wine.lock"
fi
# Programs that end keep their exit codes.
if [[ ! -e $root/build/wine_exit.so || $root/tests/support/wine_exit.c -nt $root/build/wine_exit.so ]]; then
    gcc -O1 -shared -fPIC "$root/tests/support/wine_exit.c" -o "$root/build/wine_exit.$$" &&
        mv "$root/build/wine_exit.$$" "$root/build/wine_exit.so"
fi
LD_PRELOAD=$root/build/wine_exit.so exec wine "$@"
