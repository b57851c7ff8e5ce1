#!/bin/bash
# ab-grep.sh - git grep in the object store, stock against preloaded, by number of threads: ab-grep.sh [-n RUNS]; a table and build/ab-grep.svg
# The measurement of 2019 that led to threads in git grep for object stores: two expressions, a literal with a class and an extended one.
# shellcheck source=bats/ab-lib.bash
. "$(dirname "$0")/ab-lib.bash"
AB_RUNS=30
ab_begin "$@"

repo=${AB_REPO:-$("$ROOT/bats/make-repo.sh" sha1)} || exit 1
export HOME=$AB_DIR GIT_CONFIG_NOSYSTEM=1
# shellcheck disable=SC2034 # ab looks at it
AB_DOOR=inflate

# What grep takes without inflate, and the picture's data: threads, then median and interval, stock and preloaded, in milliseconds.
expressions=('abcd[02]' '(static|extern) (int|double) \*')
for i in 0 1; do
	for threads in 1 2 8; do
		ab "grep-$((i + 1)) $threads thr." git -C "$repo" grep --threads=$threads -E -e "${expressions[i]}" main
		perl -e '
			my (@columns) = ([], []);
			while (<STDIN>) { my @p = split; push @{$columns[$_]}, $p[$_] / 1000 for 0, 1 }
			printf "%s", $ARGV[0];
			for (@columns) { my @s = sort { $a <=> $b } @$_; printf " %.2f %.2f %.2f", $s[$#s / 2], $s[$#s * .25], $s[$#s * .75] }
			print "\n"' "$threads" <"$AB_DIR/times" >>"$AB_DIR/grep-$i"
	done
done

command -v gnuplot >/dev/null || { echo "no gnuplot, no picture"; exit 0; }
gnuplot <<-PLOT
	set terminal svg size 900,420 font 'sans-serif,13' background 'white'
	set output '$BUILD/ab-grep.svg'
	set style data histogram
	set style histogram errorbars gap 1 lw 1
	set style fill solid 0.8 noborder
	set yrange [0:*]
	set ylabel 'milliseconds, median and quartiles of $AB_RUNS runs'
	set xlabel 'threads'
	set grid ytics lc '#dddddd'
	set border 3
	set tics nomirror
	set key top right
	set multiplot layout 1,2 title 'git grep in $(basename "$repo" .git), stock and preloaded'
	set title "${expressions[0]}" noenhanced
	plot '$AB_DIR/grep-0' using 2:3:4:xtic(1) title 'stock' lc '#999999', '' using 5:6:7 title 'libfastsha' lc '#2266aa'
	set title "${expressions[1]}" noenhanced
	plot '$AB_DIR/grep-1' using 2:3:4:xtic(1) title 'stock' lc '#999999', '' using 5:6:7 title 'libfastsha' lc '#2266aa'
	unset multiplot
PLOT
echo "picture: $BUILD/ab-grep.svg"
