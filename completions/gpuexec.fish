# SPDX-License-Identifier: Apache-2.0
#
# Completion of gpuexec in fish. The program itself says what there is (gpuexec --describe).

function __gpuexec_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -l previous $words[-1]
    if test (count $words) -eq 1
        $program --describe 2>/dev/null
        return
    end
    for row in ($program --describe $words[2] 2>/dev/null)
        set -l fields (string split \t -- $row)
        if test -n "$fields[3]"; and string match -q -- '-*' $previous; and contains -- $previous $fields[1] $fields[2]
            if contains -- "$fields[3]" FILE FOLDER
                __fish_complete_path $current
                return
            end
            set -l items (string split -n ' ' -- $fields[5])
            if test "$fields[1]" = --device
                set items ($program devices --csv 2>/dev/null | tail -n +2 | string replace -r ',.*' '' | string trim -c '"')
            end
            # Of several with commas between them, the last.
            set -l kept (string match -r -- '.*,' $current)
            for item in $items
                echo "$kept$item"
            end
            return
        end
    end
    if not string match -q -- '-*' $current
        __fish_complete_path $current
        return
    end
    for row in ($program --describe $words[2] 2>/dev/null)
        set -l fields (string split \t -- $row)
        for name in $fields[1] $fields[2]
            test -n "$name"; and printf '%s\t%s\n' $name $fields[4]
        end
    end
end

complete -c gpuexec -f -a '(__gpuexec_complete)'
