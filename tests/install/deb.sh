#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# deb.sh ROOT BUILD WGPU: makes Debian packages of BUILD, as it is, and installs, uses and removes them
# in a bare system: a folder with the essential packages of this system and those that ours depend on,
# and no others. apt chooses them, dpkg in a chroot installs ours. Nothing is downloaded. WGPU is not
# empty where wgpu-native is bundled.
set -euo pipefail
root=$1 build=$2 wgpu=$3
unset LD_LIBRARY_PATH
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

if ! command -v dpkg-shlibdeps >/dev/null || ! command -v apt-get >/dev/null; then
    echo "skipped: this is not a Debian system"
    exit 77
fi
if [[ $(id -u) -ne 0 ]]; then
    echo "skipped: only root can chroot"
    exit 77
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
status=0
fail() {
    echo "FAIL  $*"
    status=1
}
ok() { echo "ok    $*"; }
# runs NAME EXPECTED COMMAND...: its output must have a matching line, and its exit code must be 0.
runs() {
    local name=$1 expected=$2 out
    shift 2
    if out=$("$@" 2>&1) && grep -qE "$expected" <<<"$out"; then
        ok "$name"
    else
        fail "$name"
        echo "$out"
    fi
}

# ---- the packages

# gzip instead of xz, for time. The umask must not matter.
(umask 077 && cpack --config "$build/CPackConfig.cmake" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -B made) >log 2>&1 || {
    cat log
    exit 1
}
if cpack --config "$build/CPackConfig.cmake" -D CPACK_GPUEXEC_WEBGPU="by chance" -B lost >log 2>&1; then
    fail "packages without WebGPU are made without a word"
else
    grep -q 'GPUEXEC_WEBGPU=OFF to leave' <(tr '\n' ' ' <log | tr -s ' ') || fail "what to do about WebGPU is not said: $(<log)"
fi
rm -rf lost
version=$(sed -n 's/^#define GX_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' "$root/include/gpuexec/core.h" | paste -sd .)
arch=$(dpkg --print-architecture)
library=$(sed -n 's/.*SONAME.*\[\(.*\)\.so\.\(.*\)\]/\1\2/p' <(readelf -d "$build/libgpuexec.so"))
libdir=usr/$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")
mkdir debs
mv made/*.deb debs/
diff <(ls debs) <(printf "%s_$version-1_$arch.deb\n" gpuexec libgpuexec-dev "$library" | sort) || fail "other packages"

field() { dpkg-deb -f debs/"$1"_* "$2"; } # PACKAGE FIELD
is() {                                    # PACKAGE FIELD EXPECTED
    [[ $(field "$1" "$2") =~ ^$3$ ]] || fail "$1: $2 is '$(field "$1" "$2")', not '$3'"
}
for package in "$library" libgpuexec-dev gpuexec; do
    is "$package" Maintainer 'gpuexec maintainers <.+@.+>'
    is "$package" Priority optional
    is "$package" Description $'finite-field [^\n]+\n .*'
    dpkg-deb -I debs/"$package"_* md5sums >/dev/null || fail "$package has no md5sums"
    dpkg-deb -c debs/"$package"_* >list
    for file in copyright changelog.Debian.gz; do
        grep -q " ./usr/share/doc/$package/$file$" list || fail "$package has no $file"
    done
    grep -Ev '^(drwxr-xr-x|-rw-r--r--|lrwxrwxrwx) root/root |^-rwxr-xr-x root/root .* \./usr/bin/' list &&
        fail "$package: owner or mode of the above"
    # Where each may have files.
    where=("usr/share/doc/$package/.+")
    case $package in
    gpuexec) where+=(usr/bin/gpuexec 'usr/share/man/man1/.+' usr/share/bash-completion/completions/gpuexec
        usr/share/zsh/vendor-completions/_gpuexec usr/share/fish/vendor_completions.d/gpuexec.fish) ;;
    libgpuexec-dev) where+=(usr/include/gpuexec.h 'usr/include/gpuexec/[a-z]+\.h' 'usr/share/man/man3/.+' "$libdir/libgpuexec\.(so|a)"
        "$libdir/pkgconfig/.+" "$libdir/cmake/gpuexec/.+") ;;
    *) where+=("$libdir/libgpuexec\.so\.[0-9.]+" ${wgpu:+"$libdir/gpuexec/libwgpu_native\.so"}) ;;
    esac
    awk '$1 !~ /^d/ { print substr($6, 3) }' list | grep -vxE "${where[@]/#/-e}" &&
        fail "$package: the files above are out of place"
    grep '/man/' list | grep -v '^d' | grep -v 'gz$' && fail "$package: the pages above are not compressed"
done
is "$library" Section libs
is "$library" Depends '.*libc6 \(>= .*'
is libgpuexec-dev Section libdevel
is libgpuexec-dev Depends "${library//./\\.} \(= $version-1\)"
is gpuexec Section math
is gpuexec Depends "${library//./\\.} \(>= $version\), .*libjansson4 .*"

# ---- a bare system

# apt finds the packages of this system in a list of its own, so that those can be copied.
# shellcheck disable=SC2016 # for dpkg-query
dpkg-query -W -f '${db:Status-Status} ${Package} ${Architecture}\n' |
    awk -v arch="$arch" '$1 == "installed" && ($3 == arch || $3 == "all") { print $2 ":" $3 }' >installed
xargs dpkg-query -s <installed | grep -Ev '^(Status|Conffiles|Config-Version):|^ /' |
    sed 's/^Package: \(.*\)/&\nFilename: \1\nSize: 1/' >Packages
mkdir -p apt/lists/partial apt/cache/archives/partial apt/etc
echo "deb [trusted=yes] file:$scratch ./" >apt/etc/sources.list
touch apt/status
cat >apt/conf <<CONF
Dir::Etc "$scratch/apt/etc";
Dir::State "$scratch/apt";
Dir::State::status "$scratch/apt/status";
Dir::Cache "$scratch/apt/cache";
APT::Architectures { "$arch"; };
APT::Sandbox::User "root";
APT::Install-Recommends "false";
CONF
export APT_CONFIG=$scratch/apt/conf
apt-get update >log 2>&1 || {
    cat log
    exit 1
}

mkdir -p bare/var/lib/dpkg/{info,updates,triggers} bare/{dev,tmp}
touch bare/var/lib/dpkg/{status,triggers/File,triggers/Unincorp} here
for link in /bin /sbin /lib*; do # to folders in /usr, which have to be there before a file goes through one
    if [[ -L $link ]]; then mkdir -p "bare/$(readlink "$link")" && cp -a "$link" bare/; fi
done
# add PACKAGE...: copies those of this system, and what they depend on, as installed packages.
add() {
    local package file
    apt-get install --simulate "$@" >log 2>&1 || {
        fail "apt cannot install $*"
        cat log
        exit 1
    }
    # As in PACKAGE:ARCHITECTURE of this system, without ours and those of before.
    awk 'NR == FNR { full[substr($1, 1, index($1, ":") - 1)] = $1; next }
         $1 == "Inst" && $2 in full { print full[$2] }' installed log | grep -vxFf here >new || true
    cat new >>here
    xargs dpkg-query -s <new >>bare/var/lib/dpkg/status
    while read -r package; do
        for file in "/var/lib/dpkg/info/$package".* "/var/lib/dpkg/info/${package%:*}".*; do
            if [[ -e $file ]]; then cp -a "$file" bare/var/lib/dpkg/info/; fi
        done
    done <new
    # Without what nothing here reads; and files that an administrator has removed are not here.
    xargs dpkg-query -L <new | grep '^/.' | grep -Ev '^/usr/share/(doc|info|locale|man)/' | sort -u |
        while read -r file; do
            if [[ -e $file || -L $file ]]; then echo "${file#/}"; fi
        done >files
    tar -C / --no-recursion -cf - -T files | tar -C bare --keep-directory-symlink -xf -
}
add '?essential' ./debs/"$library"_* ./debs/gpuexec_*
cp -a /var/lib/dpkg/triggers/ldconfig bare/var/lib/dpkg/triggers/
mknod -m 666 bare/dev/null c 1 3
ok "a bare system: $(wc -l <here) packages, $(du -sm bare | cut -f 1) MiB"

in_bare() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp chroot bare "$@"; }
# Every file but those in which dpkg and ldconfig keep their lists.
contents() { find bare ! -path "bare/var/*" ! -path "bare/etc/ld.so.cache" ! -path "bare/tmp/*" | sort; }

# ---- installing, using and removing

in_bare ldconfig
cp debs/* bare/tmp/
contents >before
if in_bare dpkg -i /tmp/gpuexec_* >log 2>&1; then fail "the program is installed without its library"; fi
in_bare dpkg -P gpuexec >/dev/null 2>&1
install() {
    in_bare sh -c "dpkg --force-unsafe-io -i $*" >log 2>&1 || {
        cat log
        fail "dpkg -i $*"
    }
}
install "/tmp/${library}_*" '/tmp/gpuexec_*'
in_bare dpkg --audit | grep . && fail "dpkg --audit says the above"
in_bare dpkg --verify gpuexec "$library" | grep . && fail "dpkg --verify says the above"
runs "ldconfig knows the library" "libgpuexec.so.* => (/usr)?/${libdir#usr/}/" in_bare ldconfig -p
runs "the program" "$version" in_bare gpuexec --version
runs "the program verifies" . in_bare gpuexec verify -n 16 --field bn254-fr
readelf -d bare/usr/bin/gpuexec | grep RUNPATH && fail "the program has the above"
readelf -SW bare/usr/bin/gpuexec "bare/$libdir"/libgpuexec.so.* ${wgpu:+"bare/$libdir/gpuexec/libwgpu_native.so"} | grep symtab &&
    fail "the above is not stripped"

if [[ -n $wgpu ]]; then # there are no drivers, but the library says so itself
    runs "the program finds wgpu-native" 'no WebGPU adapter found' in_bare gpuexec devices
fi
if in_bare dpkg -r "$library" >/dev/null 2>&1; then fail "the library is removed below the program"; fi
in_bare dpkg -P gpuexec "$library" >log 2>&1 || fail "dpkg -P: $(<log)"
if contents | diff before -; then ok "nothing is left after the removal"; else fail "the removal left the above"; fi

add gcc libc6-dev pkg-config
install '/tmp/*.deb'
mul='^all as expected: 100000 \* 100999 = 10099900000$'
for pc in gpuexec gpuexec-static; do
    runs "mul.c, $pc" "$mul" in_bare sh -euc "cd /tmp
        gcc /usr/share/doc/gpuexec/examples/mul.c \$(pkg-config --cflags --libs $pc) -o mul-$pc
        ./mul-$pc"
done
exit $status
