# strides.gp - bandwidth against stride: what is left of it when neighbours read `stride` elements
# apart, with the spread of the repeats, and what sectors of 32 bytes would leave of it.
#
#     gnuplot -c plots/strides.gp DATA.csv PICTURE [slide|paper]
#
# DATA.csv is what `pipeline bench strides --format=csv` printed; PICTURE ends in .svg, .png or .pdf.

data = ARG1; picture = ARG2; size = ARG3
if (data eq "" || picture eq "") {
    exit error "usage: gnuplot -c strides.gp DATA.csv PICTURE [slide|paper]"
}
folder = ARG0[:strlen(ARG0) - strlen("strides.gp")]
awk_scripts = "strides"
load exists("style_gp") ? style_gp : folder."style.gp"
load awk." ".path
if (problem ne "") { exit error problem }

# --- the page ---------------------------------------------------------------------------------
eval terminal(page_height)
edge = 0.6 * em
top = 1.3 * large + 5.1 * em
bottom = 4.1 * em
left = 5.5 * em
right = 2.2 * em
set margins 0, 0, 0, 0
set lmargin at screen sx(left)
set rmargin at screen sx(page_width - right)
set tmargin at screen sy(top)
set bmargin at screen sy(page_height - bottom)
y1 = 1.3 * large + 0.95 * em
room = page_width - 2 * edge
set label "bandwidth against stride" at screen sx(edge), sy(1.0 * large) tc rgb ink \
    font face(large)
set label settings at screen sx(edge), sy(y1) tc rgb ink font face(em)
set label fitted(provenance, 0.7 * em, room) at screen sx(edge), sy(y1 + 1.25 * em) tc rgb pale \
    font face(fitting(provenance, small, 0.7 * em, room))
set label "GB/s read and written" at screen sx(edge), sy(y1 + 2.75 * em) tc rgb ink font face(em)
set label "stride in elements of 4 bytes" at screen sx((left + page_width - right) / 2), \
    sy(page_height - 0.85 * em) center tc rgb ink font face(em)

# --- the curve --------------------------------------------------------------------------------
set logscale x 2
set xtics nomirror out scale 0.5, 0 () font "".face(small) textcolor rgb ink offset 0, tick_shift
do for [i = 1:x_ticks] { set xtics add (sprintf("%d", x_at[i]) x_at[i]) }
set ytics nomirror out scale 0.5 font "".face(small) textcolor rgb ink
set grid ytics lt 1 lw 0.5 lc rgb grid
set border 3 lw 0.7 lc rgb pale
set xrange [0.93:1.07 * x_max]
set yrange [0:1.06 * y_max]
set key at graph 0.99, 0.99 right top Left reverse font "".face(small) samplen 1.6 \
    spacing 1.15 textcolor rgb ink noenhanced
set samples 1000
# A stride of 1 moves 8 bytes per element; one of s reads 4 s bytes for it, 32 at most, and writes 4.
sectors(s) = first * 8.0 / (4 + 4 * (s < 8 ? s : 8))
plot $rates using 1:2:3:4 with yerrorbars lw 1.2 pt 7 ps 0.1 * mark_size \
        lc rgb shade(kernel, 0.6) notitle, \
    [1:x_max] first > 0 ? sectors(x) : NaN with lines lw 1.2 dt 2 lc rgb pale \
        title first > 0 ? "as sectors of 32 bytes would have it" : "", \
    $rates using 1:2 with linespoints lw 2.5 pt 7 ps mark_size lc rgb kernel \
        title "stride-copy, median"
set output
