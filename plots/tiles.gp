# tiles.gp - time against the size of tiles: a line for each way to bring them to the device and
# back, the bare copies of the whole, and circles around what --issue=auto took.
#
#     gnuplot -c plots/tiles.gp DATA.csv PICTURE [slide|paper]
#
# DATA.csv is what `pipeline bench small-tiles --format=csv` printed, or small-tiles-sim; PICTURE ends in
# .svg, .png or .pdf.

data = ARG1; picture = ARG2; size = ARG3
if (data eq "" || picture eq "") {
    exit error "usage: gnuplot -c tiles.gp DATA.csv PICTURE [slide|paper]"
}
folder = ARG0[:strlen(ARG0) - strlen("tiles.gp")]
awk_scripts = "tiles"
load exists("style_gp") ? style_gp : folder."style.gp"
load awk." ".path
if (problem ne "") { exit error problem }

# --- the page ---------------------------------------------------------------------------------
eval terminal(page_height)
edge = 0.6 * em
top = 1.3 * large + 6.4 * em
bottom = 4.1 * em
left = 4.2 * em
right = 10.2 * em   # the names of the lines stand there
between = 1.6 * em
wide = (page_width - left - right - (panels - 1) * between) / panels
y1 = 1.3 * large + 0.95 * em
room = page_width - 2 * edge
set margins 0, 0, 0, 0
set logscale x 2
set logscale y 10
set xtics nomirror out scale 0.5, 0 () font "".face(small) textcolor rgb ink offset 0, tick_shift
do for [i = 1:x_ticks] { set xtics add (x_text[i] x_at[i]) }
set ytics nomirror out scale 0.5, 0 () font "".face(small) textcolor rgb ink
set grid xtics ytics lt 1 lw 0.5 lc rgb grid
set border 3 lw 0.7 lc rgb pale
set xrange [0.84 * x_min:1.19 * x_max]
set yrange [0.85 * y_min:1.15 * y_max]
unset key

# --- a panel for each layout of the host's memory ----------------------------------------------
set multiplot
do for [p = 1:panels] {
    begin = left + (p - 1) * (wide + between)
    set lmargin at screen sx(begin)
    set rmargin at screen sx(begin + wide)
    set tmargin at screen sy(top)
    set bmargin at screen sy(page_height - bottom)
    unset label
    set label panel_name[p] at screen sx(begin + wide / 2), sy(top - 0.9 * em) center \
        tc rgb ink font face(em)
    if (p == 1) {
        set label "time against the size of tiles" at screen sx(edge), sy(1.0 * large) tc rgb ink \
            font face(large)
        set label settings at screen sx(edge), sy(y1) tc rgb ink font face(em)
        set label fitted(provenance, 0.7 * em, room) at screen sx(edge), sy(y1 + 1.25 * em) \
            tc rgb pale font face(fitting(provenance, small, 0.7 * em, room))
        set label "ms" at screen sx(edge), sy(top - 0.9 * em) tc rgb ink font face(em)
        set label "bytes of a tile" at screen sx((left + page_width - right) / 2), \
            sy(page_height - 0.85 * em) center tc rgb ink font face(em)
    }
    do for [i = 1:y_ticks] { set ytics add ((p == 1 ? sprintf("%g", y_at[i]) : "") y_at[i]) }
    if (p == panels) {
        set key at screen sx(page_width - edge), sy(top) right top Left reverse \
            font "".face(small) samplen 1.6 spacing 1.15 textcolor rgb ink noenhanced
    }
    of(c) = (p - 1) * (curves + 1) + c
    plot $points index of(0) using 1:2 with lines lw 2 dt (6, 3) lc rgb pale title "bare copies", \
        for [c = 1:curves] $points index of(c) using 1:(c == auto ? NaN : $2):3:4 \
            with yerrorbars pt -1 lw 1 lc rgb curve_color(c) notitle, \
        for [c = 1:curves] $points index of(c) using 1:(c == auto ? NaN : $2) with linespoints \
            lw 2.5 pt curve_mark(c) ps mark_size lc rgb curve_color(c) \
            title c == auto ? "" : curve_name[c], \
        for [c = 1:(auto > 0)] $points index of(auto) using 1:2 with points pt 6 ps 2 * mark_size \
            lw 1.5 lc rgb ink title "auto"
}
unset multiplot
set output
