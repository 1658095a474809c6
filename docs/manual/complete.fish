# fish completion for pipeline

# The command on the line; "run" where a config file stands instead; nothing if neither does.
function __pipeline_command
    set -l waiting no
    for word in (commandline -opc)[2..-1]
        if test $waiting = yes
            set waiting no
        else if contains -- $word @valued-words@
            set waiting yes
        else if not string match -q -- '-*' $word
            if contains -- $word @commands@
                echo $word
            else
                echo run
            end
            return
        end
    end
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
complete -c pipeline -n '__pipeline_at view' -a '(__pipeline_files (commandline -ct) .csv .sqlite .db)'
@fish-options@
