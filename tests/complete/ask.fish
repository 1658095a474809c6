# fish --no-config ask.fish COMPLETION <LINES: for each line "? LINE" and the words that its last
# word may become.
source $argv[1]; or exit
while read -l line
    echo "? $line"
    complete -C "$line" | string replace -r '\t.*' '' | string unescape
end
exit 0 # not that of the read that met the end
