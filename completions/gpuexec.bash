# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion of gpuexec in bash. The program itself says what there is (gpuexec --describe).

# Only of files: bash would quote the colon of vulkan:0 too.
_gpuexec_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_gpuexec() {
    local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]:-} current=${COMP_WORDS[COMP_CWORD]}
    local previous name letter arg words kept='' at=$COMP_CWORD
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" --describe 2>/dev/null | cut -f1) -h --help --version" -- "$current")
        return
    fi
    # bash makes three words of vulkan:0, and of --option=value.
    while [[ $at -gt 2 && (${COMP_WORDS[at]} == : || ${COMP_WORDS[at - 1]} == :) ]]; do
        at=$((at - 1))
        current=${COMP_WORDS[at]}$current
    done
    previous=${COMP_WORDS[at - 1]}
    if [[ $previous == = ]]; then
        previous=${COMP_WORDS[at - 2]}
    elif [[ $current == = ]]; then
        current=
    fi
    if [[ $previous == -* ]]; then
        # Tabs are blanks to read, and two of them would be one.
        while IFS='|' read -r name letter arg _ words; do
            [[ $previous == "$name" || $previous == "$letter" ]] || continue
            [[ -n $arg ]] || break
            if [[ $name == --device ]]; then
                words=$("$program" devices --csv 2>/dev/null | tail -n +2 | cut -d, -f1 | tr -d '"')
            fi
            if [[ $arg == FILE || $arg == FOLDER ]]; then
                _gpuexec_files "$current"
                return
            fi
            # Of several with commas between them, the last.
            [[ $current == *,* ]] && kept=${current%,*},
            mapfile -t COMPREPLY < <(compgen -P "$kept" -W "$words" -- "${current##*,}")
            # What bash replaces begins after the last colon.
            if [[ $COMP_WORDBREAKS == *:* && $current == *:* ]]; then
                COMPREPLY=("${COMPREPLY[@]#"${current%:*}:"}")
            fi
            return
        done < <("$program" --describe "$command" 2>/dev/null | tr '|\t' '/|')
    fi
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" --describe "$command" 2>/dev/null | cut -f1,2)" -- "$current")
    else
        _gpuexec_files "$current"
    fi
}

complete -F _gpuexec gpuexec
