# fish completion for pipeline

# The words on the line that are no options, up to a program behind record: the rest is its own.
function __pipeline_words
    set -l waiting no
    set -l words
    for word in (commandline -opc)[2..-1]
        if test $waiting = yes
            set waiting no
        else if contains -- $word @valued-words@
            set waiting yes
        else if not string match -q -- '-*' $word
            set -a words $word
            echo -- $word
            test "$words[1]" = record -a (count $words) -eq 2; and return
        end
    end
end

# The command on the line; "run" where a config file stands instead; nothing if neither does.
function __pipeline_command
    set -l words (__pipeline_words)
    if contains -- "$words[1]" @commands@
        echo $words[1]
    else if set -q words[1]
        echo run
    end
end

# Whether the line has a program to be recorded.
function __pipeline_program
    set -l words (__pipeline_words)
    test "$words[1]" = record; and set -q words[2]
end

# Whether the command on the line is $argv[1]; without any, whether none is there.
function __pipeline_at
    test "$(__pipeline_command)" = "$argv[1]"
end

# What is typed of the value, without the option before it.
function __pipeline_value
    commandline -ct | string replace -r -- '^(--[^=]*=|-[a-z])' ''
end

function __pipeline_command_words
@fish-commands@
end

# Folders, and files with one of the endings $argv[2..]; $argv[1] is the beginning of their names.
function __pipeline_files
    for path in $argv[1]*
        if test -d $path
            echo $path/
            continue
        end
        for ending in $argv[2..-1]
            if string match -q -- "*$ending" $path
                echo $path
                break
            end
        end
    end
end

function __pipeline_kernel_words
@fish-kernels@
end

# A chain: names with commas between.
function __pipeline_kernels
    set -l before (__pipeline_value | string match -r -- '.*,')
    for word in (__pipeline_kernel_words)
        echo -- "$before$word"
    end
end

function __pipeline_devices
@fish-devices@
    set -l value (__pipeline_value)
    if string match -q -- 'sim:*' $value
        printf 'sim:%s\n' (__pipeline_files (string replace -- sim: '' $value) .ini)
    end
end

function __pipeline_endings
@fish-endings@
end

# The files there are, and what is typed with each ending.
function __pipeline_timelines
    set -l value (__pipeline_value)
    set -l stem (string replace -r -- '\.[^./]*$' '' $value)
    if string match -qr -- '[^/.]$' $stem
        for ending in (__pipeline_endings)
            echo -- $stem$ending
        end
    end
    __pipeline_files "$value" (__pipeline_endings | string replace -r -- '\t.*' '')
end

function __pipeline_sweeps
@fish-sweeps@
end

complete -c pipeline -f
complete -c pipeline -n __pipeline_at -a '(__pipeline_command_words)'
complete -c pipeline -n '__pipeline_at; or __pipeline_at run' -a '(__pipeline_files (commandline -ct) .ini)'
complete -c pipeline -n '__pipeline_at list' -a '@lists@'
complete -c pipeline -n '__pipeline_at lesson' -a '@lessons@'
complete -c pipeline -n '__pipeline_at help' -a '@topics@'
complete -c pipeline -n '__pipeline_at view' -a '(__pipeline_files (commandline -ct) .csv .sqlite .db .jsonl .json .gz)'
complete -c pipeline -n '__pipeline_at try' -a '(__pipeline_files (commandline -ct) .cu .cpp .cc .c .o .a .so)'
complete -c pipeline -n '__pipeline_at record' -F
complete -c pipeline -n '__pipeline_at record; and not __pipeline_program' -a '(__fish_complete_command)'
@fish-options@
