# accuracy.gp - how good predictions are: the simulated time of each setting against the measured
# one, and how many settings have an error of at most so much.
#
#     gnuplot -c plots/accuracy.gp DATA.csv PICTURE [slide|paper]
#
# DATA.csv is what `pipeline compare --format=csv` printed, or what bench/accuracy/run.sh gathered;
# PICTURE ends in .svg, .png or .pdf.

data = ARG1; picture = ARG2; size = ARG3
if (data eq "" || picture eq "") {
    exit error "usage: gnuplot -c accuracy.gp DATA.csv PICTURE [slide|paper]"
}
folder = ARG0[:strlen(ARG0) - strlen("accuracy.gp")]
awk_scripts = "accuracy"
load exists("style_gp") ? style_gp : folder."style.gp"
load awk." ".path
if (problem ne "") { exit error problem }

# --- the page ---------------------------------------------------------------------------------
eval terminal(page_height)
edge = 0.6 * em
top = 1.3 * large + 5.7 * em
bottom = 4.1 * em
left = 4.6 * em
middle = 0.52 * page_width
right = 2.2 * em
y1 = 1.3 * large + 0.95 * em
room = page_width - 2 * edge - 18 * em   # beside the titles of the curves
set margins 0, 0, 0, 0
set multiplot
set tmargin at screen sy(top)
set bmargin at screen sy(page_height - bottom)
set tics nomirror out scale 0.5, 0.25 font "".face(small) textcolor rgb ink
set border 3 lw 0.7 lc rgb pale
set grid xtics ytics lt 1 lw 0.5 lc rgb grid
set logscale x

# --- predicted against measured ---------------------------------------------------------------
set label "predicted against measured" at screen sx(edge), sy(1.0 * large) tc rgb ink \
    font face(large)
set label fitted(settings, 0.7 * em, room) at screen sx(edge), sy(y1) tc rgb ink \
    font face(fitting(settings, em, 0.7 * em, room))
set label fitted(provenance, 0.7 * em, room) at screen sx(edge), sy(y1 + 1.25 * em) tc rgb pale \
    font face(fitting(provenance, small, 0.7 * em, room))
set label "time as simulated" at screen sx(edge), sy(y1 + 3.4 * em) tc rgb ink font face(em)
set label "time as measured" at screen sx((left + middle) / 2), sy(page_height - 0.85 * em) \
    center tc rgb ink font face(em)
set lmargin at screen sx(left)
set rmargin at screen sx(middle)
set logscale y
set xrange [0.999 * low:1.001 * high]   # so that the outmost ticks are within
set yrange [0.999 * low:1.001 * high]
set xtics () offset 0, tick_shift
set ytics ()
do for [i = 1:time_ticks] {
    set xtics add ("".time_text[i] time_at[i])
    set ytics add ("".time_text[i] time_at[i])
}
set key at graph 0.02, 0.98 left top Left reverse font "".face(small) samplen 1.2 \
    spacing 1.15 textcolor rgb ink noenhanced
way_color(w) = word("0x202020 0x56B4E9 0xE69F00 0x009E73", w) + 0
way_mark(w) = int(word("9 13 7 5", w))
way_name(w) = w == 1 ? "serial" : sprintf("%d-way", w)
set style fill solid noborder
plot $ends using 1:(0.95 * $1):(1.05 * $1) with filledcurves lc rgb grid title "within 5 %", \
    $ends using 1:1 with lines lw 1 lc rgb pale notitle, \
    for [w = 1:4] $points using 2:($1 == w ? $3 : NaN) with points pt way_mark(w) \
        ps 0.9 * mark_size lc rgb way_color(w) title used[w] ? way_name(w) : ""

# --- how many settings have an error of at most so much ---------------------------------------
unset label
unset logscale y
set label "settings with at most that error" at screen sx(middle + 1.2 * em), sy(y1 + 3.4 * em) \
    tc rgb ink font face(em)
set label "|error| of the time" at screen sx((middle + 4.6 * em + page_width - right) / 2), \
    sy(page_height - 0.85 * em) center tc rgb ink font face(em)
set lmargin at screen sx(middle + 4.6 * em)
set rmargin at screen sx(page_width - right)
set xrange [0.999 * least_error:1.001 * most_error]
set yrange [0:100]
set xtics () offset 0, tick_shift
do for [i = 1:error_ticks] { set xtics add ("".error_text[i] error_at[i]) }
set ytics 25
set format y "%g %%"
set key at screen sx(page_width - edge), sy(0.2 * em) right top Left reverse invert \
    font "".face(small) samplen 1.6 spacing 1.0 textcolor rgb ink noenhanced
color(c) = word("0x0072B2 0xD55E00 0xCC79A7 0xA0A0A0", c) + 0
name(c) = word("simulator Werkhoven Gomez-Luna noise", c)
plot for [c = 4:1:-1] $curves index c - 1 using 1:2 with steps lw c == 1 ? 4 : 2.5 \
        lc rgb color(c) title has[c] ? sprintf("%s, median %s", name(c), median[c]) : ""
unset multiplot
set output
