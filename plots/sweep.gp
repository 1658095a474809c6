# sweep.gp - how fast against what: the speed-ups of a sweep as curves, bars, or a field of cells.
#
#     gnuplot -c plots/sweep.gp DATA.csv PICTURE [slide|paper|figure]
#
# DATA.csv is what `pipeline --sweep=OPTION=RANGE --format=csv` printed; PICTURE ends in .svg,
# .png or .pdf. `pipeline --sweep=... --timeline=PICTURE` draws with this script as well;
# PIPELINE_PLOTS=DIR makes it take a changed one from DIR.
#
# Numbers make an x axis (of powers of 2 where they grow by factors), words make bars, and three
# values or more of two options a field of cells. What that is is worked out by sweep.awk; how it looks is
# said here and in style.gp.

data = ARG1; picture = ARG2; size = ARG3
if (data eq "" || picture eq "") {
    exit error "usage: gnuplot -c sweep.gp DATA.csv PICTURE [slide|paper|figure]"
}
folder = ARG0[:strlen(ARG0) - strlen("sweep.gp")]
awk_scripts = "sweep"
load exists("style_gp") ? style_gp : folder."style.gp"
load sprintf("%s -v page=%g -v em=%g -v large=%g %s", awk, page_width, em, large, path)
if (problem ne "") { exit error problem }

# --- the page ---------------------------------------------------------------------------------
eval terminal(page_height)
edge = 0.6 * em
top = title_bottom + (heat && fields_named ? 5.9 : 4.8) * em
bottom = (4.1 + (x_lines - 1) * 1.05) * em
left = 5.5 * em
if (!heat) {
    key_width = ((key_length > 5 ? key_length : 5) * 0.6 + 3.2) * em
    right = key_length > 0 || limits > 0 ? key_width : 2 * em
}
if (heat) { right = 7.5 * em }
set margins 0, 0, 0, 0
set lmargin at screen sx(left)
set rmargin at screen sx(page_width - right)
set tmargin at screen sy(top)
set bmargin at screen sy(page_height - bottom)
aside = 0.62 * em * strlen(best_small) + edge
room = page_width - 2 * edge - aside
y1 = title_bottom + 0.2 * em
do for [k = 0:1] {
    set label line_of(title, k) at screen sx(edge), sy(0.35 * em + (0.6 + 1.2 * k) * title_size) \
        font face(title_size) tc rgb title_wrong ? bad : ink
}
set label fitted(settings, 0.62 * em, room) at screen sx(edge), sy(y1 + 0.2 * em) tc rgb ink \
    font face(fitting(settings, 0.8 * em, 0.62 * em, room))
set label fitted(provenance, 0.62 * em, page_width - 2 * edge) \
    at screen sx(edge), sy(y1 + 1.3 * em) tc rgb pale \
    font face(fitting(provenance, 0.8 * em, 0.62 * em, page_width - 2 * edge))
set label best_note at screen sx(page_width - edge), sy(1.0 * large) right tc rgb ink \
    font face(large)
set label best_small at screen sx(page_width - edge), sy(1.3 * large + 0.95 * em) right tc rgb ink \
    font face(0.9 * em)
set label y_title at screen sx(edge), sy(y1 + 2.75 * em) tc rgb ink font face(em)
set label x_name at screen sx((left + page_width - right) / 2), sy(page_height - 0.85 * em) center \
    tc rgb ink font face(em)
set label remark at screen sx(page_width - edge), sy(page_height - 0.85 * em) right \
    font face(small) tc rgb pale

set xtics nomirror out scale 0.5 () font "".face(small) textcolor rgb ink offset 0, tick_shift
do for [i = 1:x_ticks] { set xtics add ("".x_text[i] x_at[i]) }
set border 0

# --- curves, or bars where the axis has words -------------------------------------------------
if (!heat) {
    set ytics nomirror out scale 0.5 font "".face(small) textcolor rgb ink
    set format y "%g".y_unit
    set grid ytics lt 1 lw 0.5 lc rgb grid
    set border 3 lw 0.7 lc rgb pale
    reach = bars ? 0.6 : x_max > x_min ? 0.04 * (x_max - x_min) : 1
    set xrange [x_min - reach:x_max + reach]
    set yrange [0:1.06 * y_max]
    set key at screen sx(page_width - edge), sy(top) right top Left reverse font "".face(small) \
        samplen 1.6 spacing 1.15 textcolor rgb ink noenhanced
    wide = 0.8 / curves
    bar(c) = (c - 1) * wide - 0.4
    bar_text = wide / (x_max - x_min + 2 * reach) * (page_width - left - right) / 2.6
    bar_text = bar_text > small ? small : bar_text < 1 ? 1 : bar_text
    # Curves that coincide show all the same: each is wider than those drawn over it.
    step = curves > 3 ? 7.0 / curves : 2.5
    line_width(c) = 2.5 + step * (curves - c)
    mark_scale(c) = mark_size * (1 + 0.2 * step * (curves - c))
    set style fill solid border lc rgb "white"
    # A bar's number stands in its top, or on it where there is no room.
    tall(v) = v > 0.09 * y_max
    number_y(v) = tall(v) ? v - 0.035 * y_max : v + 0.03 * y_max
    limit_ink(c) = c == 0 ? ink : curve_color(int(c))
    if (bars) {
        plot $limit using ($1 - 0.45):2:(0.9):(0):(limit_ink($3)) \
                with vectors nohead lw 2.5 dt (6, 3) lc rgb variable notitle, \
            for [c = 1:curves] $points index c - 1 \
                using ($1 + bar(c) + wide / 2):($2 / 2):($1 + bar(c)):($1 + bar(c) + wide):(0):2 \
                with boxxyerror lc rgb curve_color(c) title curve_name[c], \
            for [c = 1:curves] $points index c - 1 \
                using ($1 + bar(c) + wide / 2):(number_y($2)):5:(tall($2) ? curve_ink(c) : ink) \
                with labels center font face(bar_text) tc rgb variable notitle, \
            for [c = 1:wrongs] $wrongs using ($1 + bar(int($2)) + wide / 2):(0.03 * y_max):("WRONG") \
                with labels center font face(bar_text) tc rgb bad notitle, \
            for [c = 1:(limits > 0)] NaN with lines lw 2 dt (6, 3) lc rgb ink title "limit"
    } else {
        plot $limit using 1:2:(limit_ink($3)) with lines lw 2 dt (6, 3) lc rgb variable notitle, \
            for [c = 1:curves] $points index c - 1 using 1:2:3:4 with yerrorbars pt -1 lw 1 \
                lc rgb curve_color(c) notitle, \
            for [c = 1:curves] $points index c - 1 using 1:2 with linespoints lw line_width(c) \
                pt curve_mark(c) ps mark_scale(c) lc rgb curve_color(c) title curve_name[c], \
            for [c = 1:wrongs] $wrongs using 1:(0.03 * y_max):("WRONG") with labels center \
                font face(small) tc rgb bad notitle, \
            for [c = 1:(limits > 0)] NaN with lines lw 2 dt (6, 3) lc rgb ink \
                title limits_apart ? "limits" : "limit"
    }
}

# --- a field of cells for each run, the lighter the faster ------------------------------------
if (heat) {
    gap = 0.8
    set xrange [0.5:fields * (columns + gap) - gap + 0.5]
    set yrange [rows + 0.5:0.5]
    at(f, x) = (f - 1) * (columns + gap) + x
    set xtics ()
    do for [f = 1:fields] {
        do for [i = 1:x_ticks] { set xtics add ("".x_text[i] at(f, x_at[i])) }
        set label field_name[f] at first at(f, 0.5), screen sy(top - 0.7 * em) tc rgb ink \
            font face(small)
    }
    set ytics nomirror out scale 0.5 () font "".face(small) textcolor rgb ink
    do for [i = 1:y_ticks] { set ytics add ("".y_text[i] y_at[i]) }
    set label y_name at screen sx(1.0 * em), graph 0.5 center rotate by 90 tc rgb ink font face(em)
    set palette defined (0 "#00204d", 0.25 "#414d6b", 0.5 "#7c7b78", 0.75 "#bcae6c", 1 "#ffea46")
    set cbrange [y_min:y_max]
    set colorbox user \
        origin screen sx(page_width - right + 1.2 * em), screen sy(page_height - bottom) \
        size screen sx(1.2 * em), screen sy(top) - sy(page_height - bottom)
    set cbtics font "".face(small) textcolor rgb ink
    set format cb y_unit eq "x" ? "%.2fx" : "%.0f%%"
    unset key
    cell_width = (page_width - left - right) / (fields * (columns + gap))
    cell_height = (page_height - top - bottom) / rows
    number_size = cell_width / 3.3 < 0.6 * cell_height ? cell_width / 3.3 : 0.6 * cell_height
    number_size = number_size > small ? small : number_size
    shown = number_size >= 0.45 * em
    light(v) = (v - y_min) / (y_max - y_min) > 0.55 ? 0x000000 : 0xFFFFFF
    plot $cells using (at($1, $2)):3:(at($1, $2) - 0.5):(at($1, $2) + 0.5):($3 - 0.5):($3 + 0.5):4 \
            with boxxyerror fs solid border rgb "white" lc palette, \
        $cells using (at($1, $2)):($7 == 1 ? $3 : NaN):(at($1, $2) - 0.5):(at($1, $2) + 0.5): \
            ($3 - 0.5):($3 + 0.5) with boxxyerror fs solid border rgb bad lc rgb "white", \
        $cells using (at($1, $2)):($5 == 1 ? $3 : NaN):(at($1, $2) - 0.5):(at($1, $2) + 0.5): \
            ($3 - 0.5):($3 + 0.5) with boxxyerror lc rgb "#D55E00" lw 4 fs empty, \
        for [i = 1:shown] $cells using (at($1, $2)):3:6:($7 == 1 ? bad : light($4)) \
            with labels center font face(number_size > 1 ? number_size : 1) tc rgb variable
}
set output
