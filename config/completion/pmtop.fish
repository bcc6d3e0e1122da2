# Completion of pmtop for fish. The program says what it offers: pmtop --help=complete WORD ..., of which the last is being typed.
function __pmtop_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] --help=complete $words[2..-1] "$word" 2>/dev/null)
        switch $line
            case :files
                set -l lead (string match -r -- '^--[^=]*=' $word; or echo '')
                for path in (__fish_complete_path (string replace -- "$lead" '' $word))
                    echo $lead$path
                end
            case :command
                set -l at (contains -i -- -- $words)
                complete -C (string join -- ' ' (string escape -- $words[(math $at + 1)..-1]) "$word")
            case '*'
                echo $line
        end
    end
end
complete -c pmtop -f -a '(__pmtop_complete)'
