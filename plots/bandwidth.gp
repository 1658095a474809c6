# bandwidth.gp - how fast copies were, against their size: a point for each copy (alike ones
# once), a line through the mean of each size.
#
#     gnuplot -c plots/bandwidth.gp DATA.csv PICTURE [slide|paper]
#
# DATA.csv is a timeline (`pipeline --timeline=DATA.csv`), whose copies may have many sizes where
# its runs have different --tiles, or the report of a sweep
# (`pipeline --sweep=tiles=1,2,4,8 --format=csv`), which has the mean of a run's copies. PICTURE
# ends in .svg, .png or .pdf.

data = ARG1; picture = ARG2; size = ARG3
if (data eq "" || picture eq "") {
    exit error "usage: gnuplot -c bandwidth.gp DATA.csv PICTURE [slide|paper]"
}
folder = ARG0[:strlen(ARG0) - strlen("bandwidth.gp")]
awk_scripts = "bandwidth"
load exists("style_gp") ? style_gp : folder."style.gp"
load awk." ".path
if (problem ne "") { exit error problem }

# --- the page ---------------------------------------------------------------------------------
eval terminal(page_height)
edge = 0.6 * em
top = 1.3 * large + 5.1 * em
bottom = 4.1 * em
left = 5.5 * em
right = 6 * em
set margins 0, 0, 0, 0
set lmargin at screen sx(left)
set rmargin at screen sx(page_width - right)
set tmargin at screen sy(top)
set bmargin at screen sy(page_height - bottom)
y1 = 1.3 * large + 0.95 * em
room = page_width - 2 * edge
set label "bandwidth against copy size" at screen sx(edge), sy(1.0 * large) tc rgb ink \
    font face(large)
set label settings at screen sx(edge), sy(y1) tc rgb ink font face(em)
y2 = y1 + (settings eq "" ? 0 : 1.25 * em)
set label fitted(provenance, 0.7 * em, room) at screen sx(edge), sy(y2) tc rgb pale \
    font face(fitting(provenance, small, 0.7 * em, room))
set label "GB/s in one direction" at screen sx(edge), sy(y1 + 2.75 * em) tc rgb ink font face(em)
set label x_name at screen sx((left + page_width - right) / 2), sy(page_height - 0.85 * em) center \
    tc rgb ink font face(em)
if (dots == 0) {
    set label "nothing to draw: there are no copies" at graph 0.5, 0.5 center font face(large) \
        tc rgb pale front
}

# --- points and lines -------------------------------------------------------------------------
set xtics nomirror out scale 0.5 () font "".face(small) textcolor rgb ink offset 0, tick_shift
do for [i = 1:x_ticks] { set xtics add ("".x_text[i] x_at[i]) }
set ytics nomirror out scale 0.5 font "".face(small) textcolor rgb ink
set grid ytics lt 1 lw 0.5 lc rgb grid
set border 3 lw 0.7 lc rgb pale
set xrange [x_min - 0.3:x_max + 0.3]
set yrange [0:1.06 * y_max]
set key at screen sx(page_width - edge), sy(top) right top Left reverse font "".face(small) \
    samplen 1.6 spacing 1.15 textcolor rgb ink noenhanced
mark(c) = c == 1 ? 7 : 5
color(c) = c == 1 ? h2d : d2h
plot for [c = 1:2] $dots using 2:($1 == c ? $3 : NaN) with points pt mark(c) ps 0.45 * mark_size \
        lc rgb shade(color(c), 0.45) notitle, \
    for [c = 1:2] $means index c - 1 using 1:2 with linespoints lw 2.5 pt mark(c) ps mark_size \
        lc rgb color(c) title used[c] ? (c == 1 ? "H2D" : "D2H") : ""
set output
