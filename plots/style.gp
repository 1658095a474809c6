# style.gp - what all pictures share: sizes, fonts, colours. The other scripts load it.
#
# They have set `picture` (the file to write; only an ending, such as ".svg": standard output),
# `size` (slide, paper or figure), `data` (the file to read), and `awk_scripts` (what reads it: the names, less
# ".awk", of files in `folder`; variables such as `csv_awk` name others). No name is part of what
# `exit error` says, which would be a format for printf(). Lengths are in units of the page: on a slide of 1920 x 1080 a pixel, on
# paper, 170 mm wide, 1/96 inch. A figure is for a slide of 1280 x 720 that has a title of its own: it has no heading,
# and no text below 24 pixels, which is 18 pt. `em` is the size of the text.

set encoding iso_8859_1   # a name may be no valid UTF-8: each byte is a character here
if (size eq "") { size = "slide" }
if (size ne "slide" && size ne "paper" && size ne "figure") {
    exit error "the size is slide, paper or figure"
}
is_figure = size eq "figure"
page_width = size eq "paper" ? 642.5 : is_figure ? 1216.0 : 1920.0
page_height = size eq "paper" ? 380.0 : is_figure ? (exists("figure_height") ? figure_height : 512.0) : 1080.0
em = size eq "paper" ? 12.0 : is_figure ? 24.0 : 29.0       # 9 pt on paper
smallest = is_figure ? em : 0
legible(units) = units < smallest ? smallest : units
small = legible(0.89 * em)               # 8 pt on paper
large = (size eq "paper" ? 1.2 : 1.5) * em

# --- colours: after Okabe and Ito, told apart also by those who see few -----------------------
bad = 0xA50F15  # causes, races, wrong results: dark, so that it shows in grey, too
ink = 0x202020; pale = 0x606060; grid = 0xD8D8D8; paper = 0xF4F4F4
# A class is what a box is coloured by: the number of its kind of op in the lists of ops.gp.
load exists("ops_gp") ? ops_gp : folder."ops.gp"
class_color(c) = word(kind_colors, int(c)) + 0
class_name(c) = word(kind_labels, int(c))
class_ink(c) = word(kind_inks, int(c)) + 0   # text on it
class_of(name) = class_among(name, 1)
class_among(name, c) = word(kind_names, c) eq name ? c : class_among(name, c + 1)
kernel = class_color(class_of("kernel")); h2d = class_color(class_of("h2d")); d2h = class_color(class_of("d2h"))
wait = class_color(class_of("wait"))
# Curves: a colour and a mark each; neighbours differ in how dark they are.
curve_color(i) = word("0x0072B2 0xE69F00 0x202020 0x56B4E9 0xD55E00 0xCC79A7 0x009E73 0x8A6D00 0x7B5CA8", \
                      (i - 1) % 9 + 1) + 0
curve_ink(i) = (i - 1) % 9 == 1 || (i - 1) % 9 == 3 || (i - 1) % 9 == 5 ? 0x000000 : 0xFFFFFF
curve_mark(i) = int(word("7 5 9 13 6 4 8 12 11", (i - 1) % 9 + 1))
# `color` over the paper, `share` of it.
part(color, shift, share) = int(((color >> shift) & 255) * share + 244 * (1 - share)) << shift
shade(color, share) = share >= 1 ? color : part(color, 16, share) + part(color, 8, share) + \
                                           part(color, 0, share)

hatch = 4        # the pattern of what is marked

# --- lengths ----------------------------------------------------------------------------------
sx(units) = units / page_width               # from the left
sy(units) = 1 - units / page_height          # from the top
# Terminals differ in how far apart the lines of one label are, so each line of a heading is a label.
line_end(text) = strstrt(text."\n", "\n")
line_of(text, k) = k > 0 ? line_of(text[line_end(text) + 1:], k - 1) : text[:line_end(text) - 1]
# The size in which `text` takes no more than `room`, from `wanted` down to `least`.
fitting(text, wanted, least, room) = fitting_(text, legible(wanted), legible(least), room)
fitting_(text, wanted, least, room) = strlen(text) * 0.6 * wanted <= room ? wanted : \
                                     strlen(text) * 0.6 * least >= room ? least : \
                                     room / (strlen(text) * 0.6)
shortened(text, letters) = strlen(text) <= letters ? text : text[1:letters - 2].".."
fitted(text, least, room) = shortened(text, int(room / (0.6 * legible(least))))

# --- where it goes ----------------------------------------------------------------------------
ending = picture
while (strstrt(ending, "/") > 0) { ending = ending[strstrt(ending, "/") + 1:] }
while (strstrt(ending, ".") > 0) { ending = ending[strstrt(ending, ".") + 1:] }
on_output = picture eq ".".ending
ending = ending eq "SVG" ? "svg" : ending eq "PNG" ? "png" : ending eq "PDF" ? "pdf" : ending
if (ending ne "svg" && ending ne "png" && ending ne "pdf") {
    exit error "the picture's name must end in .svg, .png or .pdf"
}
# gnuplot would run "|..." and look for a home in "~...".
if (!on_output && picture[1:1] ne "/") { picture = "./".picture }
device = ending eq "svg" ? "svg" : ending."cairo"
if (strstrt(" ".GPVAL_TERMINALS." ", " ".device." ") == 0) {
    exit error "this gnuplot draws no .".ending.": it has no terminal ".device." (gnuplot-nox has)"
}
face(units) = sprintf("%s,%.2f", ending eq "svg" ? "sans-serif" : "Sans", legible(units))
bold(units) = sprintf("%s,%.2f", ending eq "svg" ? "sans-serif:Bold" : "Sans:Bold", legible(units))
# The cairo terminals take a font's size in points of 1/96 inch for a pixel of theirs.
png_scale = size eq "paper" ? 300.0 / 96 : 1
terminal(height) = terminal_(height)."; ".output
terminal_(height) = ending eq "svg" ? \
    sprintf('set terminal svg size %.0f,%.0f font "%s" noenhanced background "#ffffff" \
             linewidth %.2f', page_width, height, face(em), line) : ending eq "png" ? \
    sprintf('set terminal pngcairo size %.0f,%.0f font "%s" noenhanced fontscale %.5f \
             linewidth %.2f background "#ffffff"', page_width * png_scale, height * png_scale, \
            face(em), 0.75 * png_scale, line * png_scale) : \
    sprintf('set terminal pdfcairo size %.5fin,%.5fin font "%s" noenhanced fontscale %.5f \
             linewidth %.2f background "#ffffff"', page_width * inch, height * inch, \
            face(em), 0.75 * 72 * inch, line * 144 * inch)
inch = size eq "slide" ? 1.0 / 144 : 1.0 / 96   # of a unit; a slide is 13.33 inches wide
line = size eq "paper" ? 0.6 : is_figure ? 1.2 : 1.5
# Terminals differ in how large a mark is, and how far below the axis its labels are.
mark_size = ending eq "svg" ? 0.6 : size eq "paper" ? (ending eq "png" ? 2.0 : 0.55) : \
            (ending eq "pdf" ? 1.2 : 1.6)
tick_shift = ending eq "svg" ? 0.45 : 0.15

# --- calling awk ------------------------------------------------------------------------------
# Paths are words for the shell, in which nothing is special. A file's name is no assignment for awk
# where a slash goes before the "=".
if (data[1:1] ne "/") { data = "./".data }
awk = "< LC_ALL=C awk"
do for [script in "picture csv ".awk_scripts." data"] {
    file = script eq "data" ? data : script eq "picture" ? picture : exists(script."_awk") ? value(script."_awk") : folder.script.".awk"
    path = ""
    do for [i = 1:strlen(file)] { path = path.(file[i:i] eq "'" ? "'\\''" : file[i:i]) }
    path = "'".path."'"
    if (script eq "picture") { target = path } else { if (script ne "data") { awk = awk." -f ".path } }
}
# gnuplot calls what it draws by its own code, which browsers show as tips, and gives an SVG a size
# that no window makes smaller.
tidy = "|LC_ALL=C sed 's/<title>[^<]*<.title>//; 1,5s/^ width=/ style=\"max-width:100%;height:auto\"&/'"
output = ending eq "svg" ? "set output tidy" : on_output ? "" : "set output picture"
if (!on_output) { tidy = tidy." >".target }
set encoding utf8
set datafile separator "\t"
problem = "awk could not read the data"   # it says otherwise
