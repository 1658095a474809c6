# ops.gp - the kinds of ops and the engines: names, letters, colours. One word each.
#
# Made from op_rows in src/plan/op.c: `make ops` writes it anew.

engine_names = "h2d compute d2h peer cpu host none"
engine_labels = "H2D kernel D2H peer CPU host waits"
kind_names = "h2d kernel d2h record wait callback cpu d2d memset sync alloc event-sync pack peer"
kind_labels = "H2D kernel D2H record wait callback CPU D2D memset sync alloc event-sync pack peer"
kind_engines = "h2d compute d2h none none host cpu compute compute host host host host peer"
kind_letters = "H K D - - B C E Z S A S P X"
kind_colors = "0x0072B2 0xE69F00 0x009E73 0x999999 0x999999 0x56B4E9 0xCC79A7 0xD55E00 0xF0E442 0x999999 0x707070 0x999999 0x8C6BB1 0x882255"
kind_inks = "0xFFFFFF 0x000000 0x000000 0x000000 0x000000 0x000000 0x000000 0x000000 0x000000 0x000000 0xFFFFFF 0x000000 0xFFFFFF 0xFFFFFF"
kind_in_stream = "1 1 1 1 1 1 0 1 1 0 0 0 0 1"
