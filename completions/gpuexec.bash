# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion of gpuexec in bash. The program itself says what there is (gpuexec --describe).

_gpuexec() {
    local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]:-} current=${COMP_WORDS[COMP_CWORD]}
    local previous=${COMP_WORDS[COMP_CWORD - 1]} name letter arg words kept=
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" --describe 2>/dev/null | cut -f1) -h --help --version" -- "$current")
        return
    fi
    # bash makes three words of --option=value.
    if [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $current == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 1]} current=
    fi
    if [[ $previous == -* ]]; then
        # Tabs are blanks to read, and two of them would be one.
        while IFS='|' read -r name letter arg _ words; do
            [[ $previous == "$name" || $previous == "$letter" ]] || continue
            [[ -n $arg ]] || break
            if [[ $name == --device || $name == --devices ]]; then
                words=$("$program" devices --csv 2>/dev/null | tail -n +2 | cut -d, -f1 | tr -d '"')
            fi
            if [[ -z $words ]]; then
                mapfile -t COMPREPLY < <(compgen -f -- "$current")
                return
            fi
            # Of several with commas between them, the last.
            [[ $current == *,* ]] && kept=${current%,*},
            mapfile -t COMPREPLY < <(compgen -P "$kept" -W "$words" -- "${current##*,}")
            return
        done < <("$program" --describe "$command" 2>/dev/null | tr '|\t' '/|')
    fi
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" --describe "$command" 2>/dev/null | cut -f1,2)" -- "$current")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

complete -o filenames -F _gpuexec gpuexec
