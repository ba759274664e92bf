# fish completion of pipewright: the program itself says what may follow.
function __pipewright_candidates
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (command $words[1] completion --candidates -- $words[2..-1] "$current" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c pipewright -f -a '(__pipewright_candidates)'
