#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# completions.sh FOLDER PROGRAM: tests the completions of FOLDER in the real shells: what is offered
# for some partial command lines.
set -euo pipefail
folder=$(realpath "$1") program=$(realpath "$2")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# The devices of every machine, and some that need no driver here.
cat >"$scratch/gpuexec" <<END
#!/bin/sh
"$program" "\$@" || exit
[ "\$*" != "devices --csv" ] || printf '%s,gpu\\n' vulkan:0 vulkan:1 webgpu:gl:0
END
chmod +x "$scratch/gpuexec"
export PATH=$scratch:$PATH VK_ICD_FILENAMES=/nonexistent VK_DRIVER_FILES=/nonexistent
mkdir "$scratch/work"
touch "$scratch/work/elements.bin"
cd "$scratch/work"
status=0

# Completes the last word of a line; prints what is offered, one per line.
in_bash() {
    bash --norc -c '
        . "$1"
        read -ra COMP_WORDS <<<"$(sed "s/[:=]/ & /g" <<<"$2")" # as bash breaks words
        [[ $2 == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        spec=$(complete -p gpuexec)
        [[ $spec =~ -F\ ([a-z_]+) ]] && "${BASH_REMATCH[1]}"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$folder/gpuexec.bash" "$1"
}
in_fish() {
    HOME=$scratch fish --no-config -c "source $folder/gpuexec.fish; complete -C '$1'" | cut -f1
}
# zsh only completes what is typed: into a terminal of its own, where compadd reports what it is
# given and ^X ends a line.
in_zsh() {
    HOME=$scratch zsh -f "$scratch/capture.zsh" "$folder" "$1"
}
cat >"$scratch/inside.zsh" <<'END'
fpath=($FOLDER $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {
    local -a found
    if [[ -z ${@[(r)-[OAD]]} ]]; then # not a call that only asks what would match
        builtin compadd -A found "$@"
        print -rl -- "${found[@]}" >>$HOME/offered
    fi
    builtin compadd "$@"
}
ended() { print END >>$HOME/offered; BUFFER= }
zle -N ended
bindkey '^I' list-choices
bindkey '^X' ended
PROMPT= LISTMAX=10000
END
cat >"$scratch/capture.zsh" <<'END'
: >$HOME/offered
zmodload zsh/zpty
export FOLDER=$1
zpty shell zsh -f -i
zpty -w shell "source $HOME/inside.zsh"
zpty -w -n shell "$2"$'\t\C-x'
for i in {1..2400}; do
    grep -qx END $HOME/offered && break
    sleep 0.05
done
zpty -d shell
grep -vx END $HOME/offered
END

# offers SHELL LINE WORD...: these are among what is offered; for not:WORD, WORD is not.
offers() {
    local shell=$1 line=$2 word got
    shift 2
    got=$(case $shell in bash) in_bash "$line" ;; fish) in_fish "$line" ;; zsh) in_zsh "$line" ;; esac || true)
    for word; do
        if [[ $word == not:* ]]; then
            ! grep -qxF -e "${word#not:}" <<<"$got" && continue
        elif grep -qxF -e "$word" <<<"$got"; then
            continue
        fi
        echo "FAIL  $shell, '$line', $word; it offers: ${got//$'\n'/ }"
        status=1
    done
}

for shell in bash fish zsh; do
    if ! command -v "$shell" >/dev/null; then
        echo "FAIL  no $shell here (scripts/setup.sh test)"
        status=1
        continue
    fi
    if [[ $shell == zsh ]] && ! script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
        echo "FAIL  no pseudo terminal for zsh here: mount devpts on /dev/pts"
        status=1
        continue
    fi
    offers "$shell" "gpuexec " demo devices run serve top
    offers "$shell" "gpuexec se" serve not:demo
    offers "$shell" "gpuexec run --po" --policy not:--path
    offers "$shell" "gpuexec run --policy " auto throughput not:elements.bin
    offers "$shell" "gpuexec run --op " add mul-add not:bn254-fr
    offers "$shell" "gpuexec verify --field bn" bn254-fr bn254-fq not:u32
    offers "$shell" "gpuexec scan --device c" cpu
    offers "$shell" "gpuexec run -a " elements.bin
    offers "$shell" "gpuexec msm --check " none curve subgroup not:elements.bin
done
for shell in bash fish; do # zsh is as it is above, and slow
    offers "$shell" "gpuexec msm --point-form " xy-mont eip2537 not:elements.bin not:how
    offers "$shell" "gpuexec run --cpumask " portable avx512 not:elements.bin
    offers "$shell" "gpuexec serve --token " not:elements.bin
done
offers bash "gpuexec bench --op add,m" add,mul add,mul-add not:add,sub
offers fish "gpuexec bench --op add,m" add,mul add,mul-add
offers fish "gpuexec scan --device cpu," cpu,vulkan:0
offers fish "gpuexec run --device vulkan:" vulkan:0 vulkan:1
# Without the part before the last colon, which bash leaves unchanged.
offers bash "gpuexec run --device vulkan:" 0 1 not:gl:0
offers bash "gpuexec run --device=vulkan:" 0 1
offers bash "gpuexec run --device webgpu:gl:" 0 not:1
offers bash "gpuexec scan --device cpu,web" cpu,webgpu:gl:0
offers bash "gpuexec scan --device vulkan:0,vul" 0,vulkan:0 0,vulkan:1 not:0,cpu
[[ $status -ne 0 ]] || echo "ok    completions in bash, fish and zsh"
exit $status
