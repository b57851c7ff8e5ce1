# ab-lib.bash - times a command stock and preloaded: outputs compared first, then alternating runs, medians, their ratio and its 95 % interval
# shellcheck shell=bash
# For the ab-*.sh scripts: source it, then `ab_begin "$@"` and one `ab NAME CMD...` for each row of the table.

set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$(realpath -m "${BUILD:-$ROOT/build}")
LIB=$BUILD/libfastsha.so
AB_DIR=$(mktemp -d "${TMPDIR:-/tmp}/fastsha-ab.XXXXXX")
trap 'rm -rf "$AB_DIR"' EXIT
unset LD_PRELOAD FASTSHA FASTSHA_CPU FASTSHA_REPORT
export LC_ALL=C

ab_die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# ab_begin [-n RUNS] [NAME...]: the arguments of every ab script; AB_RUNS before it is the number of runs otherwise. Prints what is measured on what. Only rows named NAME are run, all where
# none is named.
ab_begin() {
	AB_RUNS=${AB_RUNS-15}
	while getopts n: option; do
		case $option in
		n) AB_RUNS=$OPTARG ;;
		*) ab_die "usage: ${0##*/} [-n RUNS] [NAME...]" ;;
		esac
	done
	shift $((OPTIND - 1))
	AB_ONLY=" $* "
	[ -r "$LIB" ] || ab_die "$LIB is not there: run make first"
	echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors, $(date -u +%Y-%m-%d)," \
		"load $(cut -d' ' -f1 /proc/loadavg), median of $AB_RUNS alternating runs"
}

# ab_wanted NAME: is this row asked for?
ab_wanted() {
	[[ $AB_ONLY == *[![:space:]]* ]] || return 0
	[[ $AB_ONLY == *" $1 "* ]]
}

# ab_doors REPORT: the doors that served, with the bytes of all processes, the most first.
ab_doors() {
	grep -o '"name":"[^}]*"state":"on"[^}]*' "$1" | sed -n 's/"name":"\([a-z]*\)".*"bytes":\([0-9]*\).*/\1 \2/p' |
		awk '{ bytes[$1] += $2 } END { for (door in bytes) if (bytes[door]) printf "%s %.1f MB\n", door, bytes[door] / 1e6 }' |
		sort -k2 -rn | sed -n 'H; ${ x; s/\n/, /g; s/^, //; p; }'
}

# ab_run SIDE CMD...: one run, with the hook ab_prepare, where a script defines one, before it. Its output goes to $AB_DIR/SIDE.out and .err,
# its time in microseconds to the variable `microseconds`.
ab_run() {
	local side=$1 start preload=
	shift
	[ "$side" = stock ] || preload=${AB_PRELOAD:-$LIB}
	! declare -F ab_prepare >/dev/null || ab_prepare
	start=$EPOCHREALTIME
	# Both sides are started alike; an empty LD_PRELOAD is none.
	LD_PRELOAD=$preload "$@" >"$AB_DIR/$side.out" 2>"$AB_DIR/$side.err" <"${AB_INPUT:-/dev/null}"
	code=$?
	microseconds=$((${EPOCHREALTIME/./} - ${start/./}))
}

# ab_pair CMD...: one run of each side, in random order, to the variables `stock` and `preloaded`, in microseconds.
ab_pair() {
	local side sides=(stock preloaded)
	((RANDOM & 1)) || sides=(preloaded stock)
	for side in "${sides[@]}"; do
		ab_run "$side" "$@"
		printf -v "$side" %d "$microseconds"
	done
}

# ab_pairs CMD...: AB_RUNS pairs to $AB_DIR/times, one a line.
ab_pairs() {
	local i stock preloaded
	for ((i = 0; i < AB_RUNS; i++)); do
		ab_pair "$@"
		echo "$stock $preloaded"
	done >"$AB_DIR/times"
}

# ab_statistics <times: medians of both columns, their ratio and difference, each with the 95 % bootstrap interval over pairs:
# "median median ratio low high difference low high".
ab_statistics() {
	perl -e '
		sub median { my @s = sort { $a <=> $b } @_; return ($s[$#s / 2] + $s[@s / 2]) / 2 }
		my @pairs = map { [split] } <STDIN>;
		my ($stock, $preloaded) = map { my $i = $_; median(map { $_->[$i] } @pairs) } 0, 1;
		srand 1;
		my (@ratios, @differences);
		for (1 .. 2000) {
			my @s = map { $pairs[rand @pairs] } @pairs;
			my ($x, $y) = map { my $i = $_; median(map { $_->[$i] } @s) } 0, 1;
			push @ratios, $x / $y;
			push @differences, $y - $x;
		}
		@ratios = sort { $a <=> $b } @ratios;
		@differences = sort { $a <=> $b } @differences;
		printf "%d %d %.3f %.3f %.3f %.0f %.0f %.0f\n", $stock, $preloaded, $stock / $preloaded,
			@ratios[50, 1949], $preloaded - $stock, @differences[50, 1949]'
}

# ab_time MICROSECONDS: for people.
ab_time() {
	if [ "$1" -ge 1000000 ]; then
		printf '%d.%03d s' $(($1 / 1000000)) $(($1 / 1000 % 1000))
	else
		printf '%d.%02d ms' $(($1 / 1000)) $(($1 / 10 % 100))
	fi
}

# ab_compare NAME CMD...: runs both sides once, and gives up where output or exit code differ or where no bytes went through the door
# AB_DOOR (git; any where empty). The doors that served go to the variable `doors`.
ab_compare() {
	local name=$1 code_stock
	shift
	ab_run stock "$@"
	code_stock=$code
	rm -f "$AB_DIR/report"
	FASTSHA_REPORT=$AB_DIR/report ab_run preloaded "$@"
	[ "$code" = "$code_stock" ] || ab_die "$name: exit codes $code_stock and $code: $(tail -n 3 "$AB_DIR/preloaded.err")"
	cmp "$AB_DIR/stock.out" "$AB_DIR/preloaded.out" || ab_die "$name: the outputs differ"
	cmp "$AB_DIR/stock.err" "$AB_DIR/preloaded.err" || ab_die "$name: what is printed on standard error differs"
	doors=$(ab_doors "$AB_DIR/report")
	[[ $doors == *"${AB_DOOR-git} "* ]] || ab_die "$name: no bytes through the door '${AB_DOOR-git}': $(head -c 2000 "$AB_DIR/report" 2>&1)"
}

# ab NAME CMD...: one row of the table, after ab_compare. AB_INPUT, where set, is a file for standard input; ab_prepare, where defined, runs
# before every run.
ab() {
	local name=$1 doors a b ratio low high
	shift
	ab_wanted "$name" || return 0
	ab_compare "$name" "$@"
	ab_pairs "$@"
	if [ -z "${ab_header-}" ]; then
		ab_header=printed
		printf '%-22s %11s %11s %7s  %-15s %s\n' '' stock preloaded ratio '95 % interval' 'doors (bytes served)'
	fi
	read -r a b ratio low high _ < <(ab_statistics <"$AB_DIR/times")
	printf '%-22s %11s %11s %7.2f  %-15s %s\n' "$name" "$(ab_time "$a")" "$(ab_time "$b")" "$ratio" \
		"$(printf '%.2f .. %.2f' "$low" "$high")" "$doors"
}
