# timeline.gp - what ran when: every run of a timeline above one another, on one time axis.
#
#     gnuplot -c plots/timeline.gp DATA.csv PICTURE [slide|paper|figure] [ROWS [RUN]]
#
# DATA.csv is what `pipeline --timeline=DATA.csv` wrote; PICTURE ends in .svg, .png or .pdf. ROWS:
# engines, streams, or both (of one run). RUN says which run, from 1, or which runs: 1-4.
# `pipeline --timeline=PICTURE` draws with this script as well; PIPELINE_PLOTS=DIR makes it take a
# changed one from DIR.
#
# Where everything goes is worked out by timeline.awk; how it looks is said here and in style.gp.

data = ARG1; picture = ARG2; size = ARG3; rows = ARG4; only = ARG5
if (data eq "" || picture eq "") {
    exit error "usage: gnuplot -c timeline.gp DATA.csv PICTURE [slide|paper|figure] [ROWS [RUN]]"
}
if (rows eq "") { rows = "auto" }
if (rows ne "auto" && rows ne "engines" && rows ne "streams" && rows ne "both") {
    exit error "the rows are engines, streams or both"
}
dash = strstrt(only, "-")
only_from = int(only eq "" ? 0 : dash > 1 ? only[:dash - 1] + 0 : only + 0)
only_to = int(dash > 1 ? only[dash + 1:] + 0 : only_from)
folder = ARG0[:strlen(ARG0) - strlen("timeline.gp")]
awk_scripts = "boxes timeline"
load exists("style_gp") ? style_gp : folder."style.gp"
ops = sprintf("-v engine_names='%s' -v engine_labels='%s' -v kind_names='%s' -v kind_engines='%s' \
              -v kind_letters='%s' -v kind_in_stream='%s'", engine_names, engine_labels, \
              kind_names, kind_engines, kind_letters, kind_in_stream)
load sprintf("%s -v page=%g -v em=%g -v density=%g -v rows=%s -v only=%d -v only_to=%d -v large=%g \
             -v page_height=%g -v paper=%d -v figure=%d %s pass=1 %s pass=2 %s", awk, page_width, em, \
             png_scale, rows, only_from, only_to, large, page_height, size eq "paper", is_figure, ops, \
             path, path)
if (problem ne "") { exit error problem }

# --- the page ---------------------------------------------------------------------------------
eval terminal(page_height)

set margins 0, 0, 0, 0
set lmargin at screen sx(left)
set rmargin at screen sx(page_width - right)
set tmargin at screen sy(top)
set bmargin at screen sy(page_height - bottom)
set xrange [0:x_max]
set yrange [y_max:0]
unset border; unset ytics; unset key
set style fill solid noborder

# --- the message, and small beneath it what it is a picture of ----------------------------------
edge = 0.6 * em
do for [k = 0:1] {
    set label line_of(title, k) at screen sx(edge), sy(0.35 * em + (0.6 + 1.2 * k) * title_size) \
        font face(title_size) tc rgb title_wrong ? bad : ink
}
y1 = title_bottom + 0.1 * em
aside = top_note eq "" ? 0 : 0.62 * em * strlen(top_small) + edge
room = page_width - 2 * edge - aside
do for [k = 0:1] {
    set label line_of(settings, k) at screen sx(edge), sy(y1 + (0.3 + 1.05 * k) * em) tc rgb ink \
        font face(0.8 * em)
}
y2 = y1 + settings_lines * 1.05 * em
if (is_figure) { y2 = page_height - 0.95 * em; room = page_width - 2 * edge }
set label fitted(provenance, 0.55 * em, room) at screen sx(edge), sy(y2 + 0.3 * em) \
    tc rgb pale font face(fitting(provenance, 0.8 * em, 0.55 * em, room))
set label top_note at screen sx(page_width - edge), sy(1.0 * large) right tc rgb ink \
    font face(large)
set label top_small at screen sx(page_width - edge), sy(1.3 * large + 0.9 * em) right tc rgb ink \
    font face(0.9 * em)

# --- the time axis, on the lowest only --------------------------------------------------------
set xtics nomirror out scale 0.5 font "".face(small) textcolor rgb ink offset 0, tick_shift
set grid xtics lt 1 lw 0.5 lc rgb grid
set format x "%g ".time_unit
if (is_figure) {
    # Few enough that their labels stand apart.
    step = 10 ** floor(log10(x_max / 3.5))
    step = step * (x_max / step > 14 ? 5 : x_max / step > 7 ? 2 : 1)
    set xtics step
}

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
    if (section_wrong[i]) {
        set object rectangle from 0, section_top[i] to x_max, section_bottom[i] \
            fs empty border rgb bad lw 4 front
    }
    if (rows_both) {
        set label section_axis[i] at screen sx(0.8 * em), first middle center rotate by 90 \
            font face(small) tc rgb pale
    } else {
        name = section_name[i]
        if (size_ < 0.6 * em) { name = section_short[i]; lines = 1; size_ = 0.6 * em }
        set label name at screen sx(edge), first middle - (lines - 1) * 0.62 * size_ / row \
            tc rgb section_wrong[i] ? bad : ink font face(size_)
        x = page_width - right + 0.6 * em
        if (lowest >= 2.6 * em) {
            set label section_note[i] at screen sx(x), first middle - 0.62 * em / row \
                tc rgb ink font face(1.1 * em)
            if (section_wrong[i]) {
                set label "WRONG\nRESULT" at screen sx(x), first middle + 0.72 * em / row \
                    tc rgb bad font bold(1.25 * em)
            } else {
                set label section_small[i] at screen sx(x), first middle + 0.66 * em / row \
                    tc rgb ink font face(em)
            }
        } else {
            set label section_note[i]." ".(section_wrong[i] ? "WRONG" : section_small[i]) \
                at screen sx(x), first middle tc rgb section_wrong[i] ? bad : ink \
                font face(lowest > 0.96 * em ? 0.8 * em : 0.62 * em)
        }
    }
}

# Devices are headed, and every other one is darker.
do for [i = 1:heads] {
    if (head_odd[i]) {
        set object rectangle from 0, head_top[i] to x_max, head_bottom[i] fc rgb 0xE4E4E4 fs solid noborder behind
    }
    if ((head_bottom[i] - head_top[i]) * row >= 0.7 * em) {
        set label head_name[i] at screen sx(labels_left + 0.2 * em), first (head_top[i] + head_bottom[i]) / 2.0 \
            font face(small) tc rgb pale
    }
}

# The order of issue is no time: it has no ground, and says so where there is room.
do for [i = 1:bands] {
    if (band_issue[i]) {
        set object rectangle from 0, band_y[i] - band_height[i] / 2.0 to x_max, band_y[i] + band_height[i] / 2.0 + 0.25 \
            fc rgb "white" fs solid noborder behind
        if (band_height[i] * row >= legible(0.7 * em)) { set label "order of the calls, not time" at screen sx(page_width - right), first band_y[i] right \
            font face(0.7 * em) tc rgb pale }
    }
}

# A label for every band that is high enough; of a pile of thin ones as many as there is room for.
last_y = -1e9
thinnest = page_height
do for [i = 1:bands] {
    thinnest = band_height[i] * row < thinnest ? band_height[i] * row : thinnest
}
# Engines without a name are still told by their colours.
by_color = rows ne "streams" && !rows_both && thinnest < least_band * em
do for [i = 1:bands] {
    height = band_height[i] * row
    size_ = height > 1.05 * small ? small : height > 0.62 * em ? height / 1.05 : 0.62 * em
    if ((!by_color || band_issue[i]) && (band_y[i] - last_y) * row >= (is_figure ? least_band * em : 1.04 * size_)) {
        set label band_name[i] at screen sx(left - 0.35 * em), first band_y[i] right \
            font face(size_) tc rgb ink
        if (band_note[i] ne "") {
            set label band_note[i] at screen sx(page_width - right + 0.4 * em), first band_y[i] \
                font face(size_) tc rgb pale
        }
        if (band_lanes[i] > 1 && height > 2.4 * small && !rows_both && !is_figure) {
            set label "side by side" at screen sx(left - 0.35 * em), first band_y[i] + size_ / row \
                right font face(0.6 * small) tc rgb pale
        }
        last_y = band_y[i]
    }
}
if (busy_known && !is_figure) {
    set label "busy" at screen sx(page_width - right + 0.4 * em), sy(top - 0.6 * em) \
        font face(small) tc rgb pale
}

# --- legend -----------------------------------------------------------------------------------
x = is_figure ? edge : left
y = page_height - (note_apart || is_figure ? 1.95 : 0.95) * em
box = 0.7 * em
do for [c = 1:|used|] {
    if (used[c]) {
        set object rectangle from screen sx(x), sy(y + box / 2) to screen sx(x + 1.6 * box), \
            sy(y - box / 2) fc rgb class_color(c) fs solid noborder front
        set label class_name(c) at screen sx(x + 2 * box), sy(y) font face(small) tc rgb ink
        x = x + 2.2 * box + (strlen(class_name(c)) + 1.5) * 0.58 * small
    }
}
if (has_raced) {
    set object rectangle from screen sx(x), sy(y + box / 2) to screen sx(x + 1.6 * box), \
        sy(y - box / 2) fc rgb kernel fs solid noborder front
    set object rectangle from screen sx(x), sy(y + box / 2) to screen sx(x + 1.6 * box), \
        sy(y - box / 2) fc rgb ink fs transparent pattern hatch border rgb bad lw 2 front
    set label "raced" at screen sx(x + 2 * box), sy(y) font face(small) tc rgb bad
    x = x + 2.2 * box + 6.6 * 0.6 * small
}
if (has_urgent) {
    set object rectangle from screen sx(x), sy(y + box / 2) to screen sx(x + 1.6 * box), \
        sy(y - box / 2) fs empty border rgb ink lw 3 front
    set label "urgent" at screen sx(x + 2 * box), sy(y) font face(small) tc rgb ink
    x = x + 2.2 * box + 7.6 * 0.6 * small
}
if (has_gaps || has_slow) {
    set object rectangle from screen sx(x), sy(y + box / 2) to screen sx(x + 1.6 * box), \
        sy(y - box / 2) fc rgb bad fs transparent pattern hatch border rgb bad lw 1 front
    set label "lost time" at screen sx(x + 2 * box), sy(y) font face(small) tc rgb bad
    x = x + 2.2 * box + 10.6 * 0.6 * small
}
if (limits > 0) {
    set arrow from screen sx(x + 0.4 * em), sy(y + box * 0.75) to screen sx(x + 0.4 * em), \
        sy(y - box * 0.75) nohead lw 2.5 dt (6, 3) lc rgb ink front
    set label "limit" at screen sx(x + 0.9 * em), sy(y) font face(small) tc rgb ink
    x = x + 4.5 * em
}
room = note_apart ? page_width - 2 * edge : page_width - edge - x
if (note_apart) { y = page_height - 0.75 * em }
if (is_figure) { y = page_height - 0.65 * em; room = page_width - 2 * edge - em * (1 + 0.6 * strlen(provenance)) }
if (is_figure && strlen(remark) * 0.6 * em > room) { remark = "" }
if (remark ne "") { set label fitted(remark, 0.5 * em, room) at screen sx(page_width - edge), sy(y) right \
    font face(fitting(remark, small, 0.5 * em, room)) tc rgb pale }
if (spans == 0) {
    set label "nothing to draw: there are no spans" at graph 0.5, 0.5 center font face(large) \
        tc rgb pale front
}

# --- copies to other devices: an arrow to the receiver's kernels --------------------------------
do for [i = 1:hands] {
    set arrow from hand_x[i], hand_y[i] to hand_x[i], hand_to[i] head filled \
        size screen 0.3 * em / page_width, 20 lw 1.2 lc rgb class_color(class_of("peer")) front
}

# --- the boxes, what marks them, the limits, the tiles' numbers ----------------------------------
pad = 0.06
lower(y, h) = y + (h * row > 6 ? pad * h : 0)
upper(y, h) = y - (h * row > 6 ? pad * h : 0)
label_size(c) = legible((c == 1 ? 0.86 : 0.66) * em)
number(s) = ($6 == s && $5 * row >= (is_figure ? 0.95 : 0.8) * label_size(s)) ? $2 : NaN
note(s) = $4 == s ? $2 : NaN
named = strip_size >= (is_figure ? 1 : 0.45) * em   # there is room for the names of limits and gaps
middle_x(a, b) = (a + b) / 2.0
set style textbox opaque noborder fillcolor rgb paper margins 0.6, 0.3
# A wait is a third as high as work, and stands back behind it.
plot $lenses using (middle_x($1, $2)):(middle_x($3, $4)):1:2:3:4 with boxxyerror \
        fs solid border rgb ink lc rgb "white" lw 1, \
    $lenses using 5:3:($1 - $5):(0) with vectors nohead lw 1 lc rgb ink, \
    $lenses using 5:4:($1 - $5):(0) with vectors nohead lw 1 lc rgb ink, \
    $lenses using (middle_x($5, $1)):(middle_x($3, $4)):(sprintf("%gx zoom", $6)) with labels center \
        font face(0.7 * em) tc rgb ink, \
    $ticks using 1:2:(0):3 with vectors nohead lw 0.7 lc rgb grid, \
    $limits using 1:2:(0):3 with vectors nohead lw 2.5 dt (6, 3) lc rgb ink, \
    $leads using 1:2:3:4 with vectors nohead lw 1.2 lc rgb bad, \
    $gaps using (middle_x($1, $2)):(middle_x($3, $4)):1:2:(lower($3, $4 - $3)):(upper($4, $4 - $3)) \
        with boxxyerror fs transparent pattern hatch border rgb bad lw 1 lc rgb bad, \
    $waits using (middle_x($1, $2)):(middle_x($3, $4)):1:2:($3 + ($4 - $3) / 3):($4 - ($4 - $3) / 3) \
        with boxxyerror lc rgb wait, \
    $narrow using (middle_x($1, $2)):(middle_x($3, $4)):1:2:(lower($3, $4 - $3)): \
        (upper($4, $4 - $3)):(class_color($5)) with boxxyerror lc rgb variable, \
    $wide using (middle_x($1, $2)):(middle_x($3, $4)):1:2:(lower($3, $4 - $3)):(upper($4, $4 - $3)): \
        (class_color($5)) with boxxyerror fs solid border rgb paper lc rgb variable, \
    $extra using (middle_x($1, $2)):(middle_x($3, $4)):1:2:(lower($3, $4 - $3)): \
        (upper($4, $4 - $3)):(class_color($5)) \
        with boxxyerror fs solid border rgb ink lw 0.5 lc rgb variable, \
    $raced using (middle_x($1, $2)):(middle_x($3, $4)):1:2:(lower($3, $4 - $3)): \
        (upper($4, $4 - $3)):(class_ink($5)) \
        with boxxyerror fs transparent pattern hatch border rgb bad lw 1 lc rgb variable, \
    $urgent using (middle_x($1, $2)):(middle_x($3, $4)):1:2:(lower($3, $4 - $3)): \
        (upper($4, $4 - $3)) with boxxyerror fs empty border rgb ink lw 3 lc rgb ink, \
    $slow using (middle_x($1, $2)):(middle_x($3, $4)):1:2:(lower($3, $4 - $3)): \
        (upper($4, $4 - $3)) with boxxyerror fs transparent pattern hatch border rgb bad lw 1 lc rgb bad, \
    $limits_over using 1:2:(0):3 with vectors nohead lw 2.5 dt (6, 3) lc rgb ink, \
    for [s = 1:3 * named] $notes using 1:(note(s)):3 with labels center font face(strip_size) \
        tc rgb s == 1 ? ink : s == 2 ? bad : pale, \
    for [s = 4:3 + named * inside] $notes using 1:(note(s)):3 with labels center boxed font face(strip_size) tc rgb bad, \
    for [s = 1:2] $labels using 1:(number(s)):3:(class_ink($4)) \
        with labels center font face(label_size(s)) tc rgb variable
set output
