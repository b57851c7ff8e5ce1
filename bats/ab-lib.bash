# ab-lib.bash - tables of `fastsha ab`, a row for each command
# shellcheck shell=bash
# For the ab-*.sh scripts: source it, then `ab_begin "$@"` and one `ab NAME CMD...` for each row of the table.

set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$(realpath -m "${BUILD:-$ROOT/build}")
AB_DIR=$(mktemp -d "${TMPDIR:-/tmp}/fastsha-ab.XXXXXX")
trap 'rm -rf "$AB_DIR"' EXIT
unset LD_PRELOAD FASTSHA FASTSHA_CPU FASTSHA_REPORT
export LC_ALL=C

ab_die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# ab_begin [-n RUNS] [NAME...]: the arguments of every ab script; AB_RUNS before it is the number of pairs otherwise. Prints what is measured
# on what. Only rows named NAME are run, all where none is named.
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
	[ -x "$BUILD/fastsha" ] || ab_die "$BUILD/fastsha is not there: run make first"
	echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors, $(date -u +%Y-%m-%d)," \
		"load $(cut -d' ' -f1 /proc/loadavg), $AB_RUNS pairs"
}

# ab_wanted NAME: is this row asked for?
ab_wanted() {
	[[ $AB_ONLY == *[![:space:]]* ]] || return 0
	[[ $AB_ONLY == *" $1 "* ]]
}

# ab NAME CMD...: one row. AB_OPTIONS, where set, is an array of more options for `fastsha ab`; bytes must go through the door AB_DOOR (git; any
# where empty), lest it be a measurement of nothing.
ab() {
	local name=$1 row
	shift
	ab_wanted "$name" || return 0
	row=$("${AB_COMMAND:-$BUILD/fastsha}" ab --brief -n "$AB_RUNS" "${AB_OPTIONS[@]}" -- "$@") || ab_die "$name: no result"
	[[ $row == *[\ ]"${AB_DOOR-git} "* ]] || ab_die "$name: no bytes through the door '${AB_DOOR-git}': $row"
	if [ -z "${ab_header-}" ]; then
		ab_header=printed
		printf '%-22s %10s %10s %8s   %-14s   %s\n' '' without with ratio '95 % interval' 'doors (bytes served)'
	fi
	printf '%-22s %s\n' "$name" "$row"
}
AB_OPTIONS=()

# ab_big: the name of a file of 256 MiB without structure, made in large writes: they give it large pages in the page cache.
ab_big() {
	local big=$BUILD/ab-256M
	[ -s "$big" ] || perl -e 'srand 7; my $s = pack "L*", map { int rand 2**32 } 1 .. 2**18; print $s x 256' |
		dd of="$big" bs=8M iflag=fullblock status=none
	echo "$big"
}
