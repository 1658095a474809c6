# timeline.gp - what ran when: every run of a timeline above one another, on one time axis.
#
#     gnuplot -c plots/timeline.gp DATA.csv PICTURE [slide|paper] [ROWS [RUN]]
#
# DATA.csv is what `pipeline --timeline=DATA.csv` wrote; PICTURE ends in .svg, .png or .pdf. ROWS:
# engines, streams, or both (of one run; RUN says which, from 1). `pipeline --timeline=PICTURE`
# draws with this script as well; PIPELINE_PLOTS=DIR makes it take a changed one from DIR.
#
# Where everything goes is worked out by timeline.awk; how it looks is said here and in style.gp.

data = ARG1; picture = ARG2; size = ARG3; rows = ARG4; only = ARG5
if (data eq "" || picture eq "") {
    exit error "usage: gnuplot -c timeline.gp DATA.csv PICTURE [slide|paper] [ROWS [RUN]]"
}
if (rows eq "") { rows = "auto" }
if (strstrt("|auto|engines|streams|both|", "|".rows."|") == 0) {
    exit error "the rows are engines, streams or both, not ".rows
}
folder = ARG0[:strlen(ARG0) - strlen("timeline.gp")]
if (!exists("style_gp")) {
    style_gp = folder."style.gp"; csv_awk = folder."csv.awk"
    boxes_awk = folder."boxes.awk"; timeline_awk = folder."timeline.awk"
}
load style_gp
ops = sprintf("-v engine_names='%s' -v engine_labels='%s' -v kind_names='%s' -v kind_engines='%s' \
              -v kind_letters='%s' -v kind_in_stream='%s'", engine_names, engine_labels, \
              kind_names, kind_engines, kind_letters, kind_in_stream)
load sprintf("< %s '%s' -f '%s' -v page=%g -v em=%g -v density=%g -v rows=%s -v only=%d %s \
             pass=1 %s pass=2 %s", awk, boxes_awk, timeline_awk, page_width, em, png_scale, rows, \
             only eq "" ? 0 : only + 0, ops, path, path)
if (problem ne "") { exit error problem }

# --- the page ---------------------------------------------------------------------------------
top = 1.3 * large + 3.5 * em
bottom = 3.7 * em
if (size eq "paper") {
    # A slide has its height; paper gives each row what it needs, within a page.
    page_height = top + bottom + y_max * 1.35 * em
    page_height = page_height < 300 ? 300 : page_height > 880 ? 880 : page_height
}
row = (page_height - top - bottom) / y_max      # units per row
eval terminal(page_height)
if (!on_output) { set output picture }

set margins 0, 0, 0, 0
set lmargin at screen sx(left)
set rmargin at screen sx(page_width - right)
set tmargin at screen sy(top)
set bmargin at screen sy(page_height - bottom)
set xrange [0:x_max]
set yrange [y_max:0]
unset border; unset ytics; unset key
set style fill solid noborder

# --- titles -----------------------------------------------------------------------------------
edge = 0.6 * em
aside = top_note eq "" ? 0 : 0.62 * em * strlen(top_small) + edge
room = page_width - 2 * edge - aside
set label fitted(title, 0.89 * em, room) at screen sx(edge), sy(1.0 * large) tc rgb ink \
    font face(fitting(title, large, 0.89 * em, room))
y1 = 1.3 * large + 0.9 * em
set label fitted(settings, 0.7 * em, room) at screen sx(edge), sy(y1) tc rgb ink \
    font face(fitting(settings, em, 0.7 * em, room))
y2 = y1 + (settings eq "" ? 0 : 1.25 * em)
set label fitted(provenance, 0.7 * em, page_width - 2 * edge) at screen sx(edge), sy(y2) \
    tc rgb pale font face(fitting(provenance, small, 0.7 * em, page_width - 2 * edge))
set label top_note at screen sx(page_width - edge), sy(1.0 * large) right tc rgb ink \
    font face(large)
set label top_small at screen sx(page_width - edge), sy(y1) right tc rgb ink font face(em)

# --- the time axis, on the lowest only --------------------------------------------------------
set xtics nomirror out scale 0.5 font "".face(small) textcolor rgb ink offset 0, tick_shift
set grid xtics lt 1 lw 0.5 lc rgb grid
set format x "%g ".time_unit

# --- names and results beside each run --------------------------------------------------------
lowest = page_height
do for [i = 1:sections] {
    height = (section_bottom[i] - section_top[i]) * row
    lowest = height < lowest ? height : lowest
}
do for [i = 1:sections] {
    middle = (section_top[i] + section_bottom[i]) / 2.0
    height = (section_bottom[i] - section_top[i]) * row
    lines = 1 + (strstrt(section_name[i], "\n") > 0) + (strlen(section_name[i]) > 28)
    size_ = height / lines < 1.2 * em ? height / lines / 1.2 : em
    set object rectangle from 0, section_top[i] to x_max, section_bottom[i] \
        fc rgb paper fs solid noborder behind
    if (rows_both) {
        set label section_axis[i] at screen sx(0.8 * em), first middle center rotate by 90 \
            font face(small) tc rgb pale
    } else {
        name = section_name[i]
        if (size_ < 0.6 * em) { name = section_short[i]; lines = 1; size_ = 0.6 * em }
        set label name at screen sx(edge), first middle - (lines - 1) * 0.62 * size_ / row \
            tc rgb ink font face(size_)
        x = page_width - right + 0.6 * em
        if (lowest >= 2.6 * em) {
            set label section_note[i] at screen sx(x), first middle - 0.62 * em / row \
                tc rgb ink font face(1.1 * em)
            set label section_small[i] at screen sx(x), first middle + 0.66 * em / row \
                tc rgb ink font face(em)
            if (lowest >= 3.9 * em) {
                set label section_limit[i] at screen sx(x), first middle + 1.85 * em / row \
                    tc rgb pale font face(0.75 * em)
            }
        } else {
            set label section_note[i]." ".section_small[i] at screen sx(x), first middle \
                tc rgb ink font face(lowest > 0.96 * em ? 0.8 * em : 0.62 * em)
        }
    }
}

# A label for every band that is high enough; of a pile of thin ones as many as there is room for.
last_y = -1e9
thinnest = page_height
do for [i = 1:bands] {
    thinnest = band_height[i] * row < thinnest ? band_height[i] * row : thinnest
}
# Engines without a name are still told by their colours.
do for [i = 1:rows ne "streams" && !rows_both && thinnest < 0.6 * em ? 0 : bands] {
    height = band_height[i] * row
    size_ = height > 1.05 * small ? small : height > 0.62 * em ? height / 1.05 : 0.62 * em
    if ((band_y[i] - last_y) * row >= 1.05 * size_) {
        set label band_name[i] at screen sx(left - 0.35 * em), first band_y[i] right \
            font face(size_) tc rgb ink
        if (band_note[i] ne "") {
            set label band_note[i] at screen sx(page_width - right + 0.4 * em), first band_y[i] \
                font face(size_) tc rgb pale
        }
        last_y = band_y[i]
    }
}
if (busy_known) {
    set label "busy" at screen sx(page_width - right + 0.4 * em), sy(top - 0.6 * em) \
        font face(small) tc rgb pale
}

# --- legend -----------------------------------------------------------------------------------
x = left
y = page_height - 0.95 * em
box = 0.7 * em
do for [c = 1:|used|] {
    if (used[c]) {
        set object rectangle from screen sx(x), sy(y + box / 2) to screen sx(x + 1.6 * box), \
            sy(y - box / 2) fc rgb class_color(c) fs solid noborder front
        set label class_name(c) at screen sx(x + 2 * box), sy(y) font face(small) tc rgb ink
        x = x + 2.2 * box + (strlen(class_name(c)) + 1.6) * 0.6 * small
    }
}
if (limits > 0) {
    set arrow from screen sx(x + 0.4 * em), sy(y + box * 0.75) to screen sx(x + 0.4 * em), \
        sy(y - box * 0.75) nohead lw 2.5 dt (6, 3) lc rgb ink front
    set label "limit" at screen sx(x + 0.9 * em), sy(y) font face(small) tc rgb ink
}
set label remark at screen sx(page_width - edge), sy(y) right font face(small) tc rgb pale
if (spans == 0) {
    set label "nothing to draw: there are no spans" at graph 0.5, 0.5 center font face(large) \
        tc rgb pale front
}

# --- the boxes, then the limits, then the tiles' numbers --------------------------------------
pad = 0.06
lower(y, h) = y + (h * row > 6 ? pad * h : 0)
upper(y, h) = y - (h * row > 6 ? pad * h : 0)
label_size(c) = (c == 1 ? 0.86 : 0.66) * em
number(s) = ($6 == s && $5 * row >= label_size(s)) ? $2 : NaN
# A wait is a third as high as work, and stands back behind it.
plot $waits using (($1 + $2) / 2):(($3 + $4) / 2):1:2:($3 + ($4 - $3) / 3):($4 - ($4 - $3) / 3) \
        with boxxyerror lc rgb wait, \
    $narrow using (($1 + $2) / 2):(($3 + $4) / 2):1:2:(lower($3, $4 - $3)):(upper($4, $4 - $3)): \
        (shade(class_color($5), $6)) with boxxyerror lc rgb variable, \
    $wide using (($1 + $2) / 2):(($3 + $4) / 2):1:2:(lower($3, $4 - $3)):(upper($4, $4 - $3)): \
        (class_color($5)) with boxxyerror fs solid border rgb paper lc rgb variable, \
    $limits using 1:2:(0):($3 - $2) with vectors nohead lw 2.5 dt (6, 3) lc rgb ink, \
    for [s = 1:2] $labels using 1:(number(s)):3:(class_ink($4)) \
        with labels center font face(label_size(s)) tc rgb variable
set output
